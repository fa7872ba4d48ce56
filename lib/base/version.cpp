#include "lib/base/version.h"

namespace rdmaqos {

const char* const kVersion = RDMAQOS_VERSION;

}    // namespace rdmaqos
