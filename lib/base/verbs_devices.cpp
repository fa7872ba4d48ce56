#include "lib/base/verbs_devices.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <sys/sysmacros.h>

#include "lib/base/file.h"

namespace rdmaqos {

Result<std::set<dev_t>> verbs_devices()
{
    const char* given = secure_getenv("SYSFS_PATH");
    const std::filesystem::path sys = given == nullptr ? "/sys" : given;
    std::set<dev_t> numbers;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(sys / "class/infiniband_verbs", error)) {
        const auto text = read_kernel_file(entry.path() / "dev");
        unsigned in_major = 0;
        unsigned in_minor = 0;
        if (!text && is_shortage(text.error().sys_errno)) {
            return fail(Error{ErrorCode::Busy, text.error().sys_errno, text.error().message});
        }
        if (text && std::sscanf(text->c_str(), "%u:%u", &in_major, &in_minor) == 2) {    // NOLINT(cert-err34-c)
            numbers.insert(makedev(in_major, in_minor));
        }
    }
    if (is_shortage(error.value())) {
        return fail(error_from_errno(ErrorCode::Busy, error.value(), "the device files cannot be listed at this time"));
    }
    return numbers;
}

}    // namespace rdmaqos
