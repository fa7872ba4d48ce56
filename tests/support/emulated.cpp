#include "tests/support/emulated.h"

#include <iterator>
#include <sstream>
#include <string_view>

#include "tools/emulator/control_socket.h"
#include "tools/emulator/protocol.h"

namespace rdmaqos::test {

std::string emulator(const std::string& words)
{
    std::istringstream stream(words);
    const std::vector<std::string> list{std::istream_iterator<std::string>(stream), {}};
    const char* directory = getenv(emulator::kDirectoryVariable);    // NOLINT(concurrency-mt-unsafe): nobody sets it
    std::string text;
    const auto answered = emulator::ask(directory == nullptr ? "" : directory, list,
                                        [&](std::string_view part) { text += part; });
    if (!answered) {
        throw std::runtime_error("the emulator refuses: " + words + ": " + answered.error().message);
    }
    return text;
}

}    // namespace rdmaqos::test
