// What the kernel shows of the device in sysfs and /dev.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

namespace fs = std::filesystem;

fs::path sys()
{
    const char* given = std::getenv("SYSFS_PATH");    // NOLINT(concurrency-mt-unsafe): nobody sets it
    return given != nullptr ? given : "/sys";
}

// With what cannot be seen spelled out.
std::string content_of(const fs::path& path)
{
    std::ifstream file(path);
    if (!file) {
        return fs::exists(path) ? "cannot be read" : "is not there";
    }
    std::ostringstream text;
    text << file.rdbuf();
    std::string spelled_out;
    for (const char each : text.str()) {
        spelled_out += each == '\n' ? "\\n" : std::string(1, each);
    }
    return '"' + spelled_out + '"';
}

// Every digit as #: the form of a number that is the device's own.
std::string form_of(const fs::path& path)
{
    std::string text = content_of(path);
    for (char& each : text) {
        each = std::isxdigit(static_cast<unsigned char>(each)) != 0 ? '#' : each;
    }
    return text;
}

void say_port(const fs::path& port)
{
    for (const char* name : {"link_layer", "state", "phys_state", "rate", "sm_lid", "lid_mask_count", "sm_sl",
                             "pkeys/0", "gid_attrs/types/0", "counters/port_xmit_data"}) {
        say(fmt::format("port 1: {}", name), content_of(port / name));
    }
    for (const char* name : {"gids/0", "lid", "cap_mask"}) {
        say(fmt::format("port 1: {}", name), form_of(port / name));
    }
    std::error_code none;
    std::size_t pkeys = 0;
    for (const auto& each : fs::directory_iterator(port / "pkeys", none)) {
        static_cast<void>(each);
        ++pkeys;
    }
    say("port 1: P_Keys beyond the first", pkeys > 1 ? "some" : "none");
}

}    // namespace

void say_sysfs()
{
    const fs::path device = sys() / "class/infiniband/mlx5_0";
    for (const char* name : {"node_type", "hw_rev", "hca_type", "fw_ver"}) {
        say(name, content_of(device / name));
    }
    for (const char* name : {"node_guid", "sys_image_guid", "fw_pages"}) {
        say(name, form_of(device / name));
    }
    say("node_desc", content_of(device / "node_desc").ends_with("\\n\"") ? "a line" : "something else");
    say_port(device / "ports/1");
    std::error_code none;
    say("device: vendor", content_of(device / "device/vendor"));
    say("device: device", form_of(device / "device/device"));
    say("device: driver", fs::exists(device / "device/driver", none) ? "is there" : "is not there");
    say("device: infiniband", fs::exists(device / "device/infiniband/mlx5_0", none) ? "is there" : "is not there");
    say("device: PCI address", [&] {
        std::string name = fs::canonical(device / "device", none).filename();
        std::replace_if(
            name.begin(), name.end(), [](unsigned char each) { return std::isxdigit(each) != 0; }, 'x');
        return name;
    }());

    const fs::path verbs = sys() / "class/infiniband_verbs";
    say("abi_version of all", content_of(verbs / "abi_version"));
    say("uverbs0: ibdev", content_of(verbs / "uverbs0/ibdev"));
    say("uverbs0: dev", content_of(verbs / "uverbs0/dev"));
    say("uverbs0: abi_version", content_of(verbs / "uverbs0/abi_version"));
    say("uverbs0: leads to the same function",
        fs::canonical(verbs / "uverbs0/device", none) == fs::canonical(device / "device", none) ? "yes" : "no");
    struct stat status {};
    const int found = stat("/dev/infiniband/uverbs0", &status);
    say("/dev/infiniband/uverbs0",
        found != 0 ? "is not there"
                   : fmt::format("{} {:o} {}:{}", S_ISCHR(status.st_mode) ? "character device" : "something else",
                                 status.st_mode & 07777, major(status.st_rdev), minor(status.st_rdev)));
}

}    // namespace rdmaqos::test::agreement
