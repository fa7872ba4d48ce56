// The helper that receives descriptors, for servers in tests.
#include <cstdlib>

#include "lib/bus/descriptor_helper.h"

int main(int count, char** arguments)
{
    return count == 3 ? rdmaqos::bus::run_descriptor_helper(std::atoi(arguments[2])) : EXIT_FAILURE;
}
