#include "policy/load/host_files.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/file.h"

namespace rdmaqos::reader {
namespace {

namespace fs = std::filesystem;

// Later directories mask earlier ones.
const std::array<fs::path, 2> kDirectories{"/usr/lib/rdma-qos", "/etc/rdma-qos"};

// The name to sort by, then policy.yaml before a 50-policy.yaml of policy.d.
using SortKey = std::pair<std::string, bool>;

bool is_dev_null(const fs::path& path)
{
    struct stat status {};
    constexpr unsigned kMemoryMajor = 1;
    constexpr unsigned kNullMinor = 3;
    if (stat(path.c_str(), &status) == 0) {
        return S_ISCHR(status.st_mode) && status.st_rdev == makedev(kMemoryMajor, kNullMinor);
    }
    // Below a root without /dev.
    std::error_code error;
    return fs::read_symlink(path, error) == "/dev/null";
}

bool is_there(const fs::path& path)
{
    std::error_code error;
    return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

// A later directory's file of the same key takes the place of an earlier one's.
void take(std::map<SortKey, fs::path>& found, SortKey key, fs::path path, HostFiles& result)
{
    const auto [place, inserted] = found.emplace(std::move(key), path);
    if (!inserted) {
        result.skipped.push_back({place->second, WhySkipped::Masked, path});
        place->second = std::move(path);
    }
}

// policy.yaml and policy.conf: of a later directory, either takes the place of both.
void take_main(const fs::path& root, const fs::path& directory, std::map<SortKey, fs::path>& found, HostFiles& result)
{
    std::vector<fs::path> mains;
    for (const char* name : {"policy.yaml", "policy.conf"}) {
        if (is_there(below_root(root, directory / name))) {
            mains.push_back(directory / name);
        }
    }
    if (mains.empty()) {
        return;
    }
    for (auto entry = found.begin(); entry != found.end();) {
        const bool is_main = !entry->first.second;
        if (is_main) {
            const auto same = std::find_if(mains.begin(), mains.end(), [&](const fs::path& main) {
                return main.filename() == entry->second.filename();
            });
            result.skipped.push_back({entry->second, WhySkipped::Masked, same == mains.end() ? mains.front() : *same});
        }
        entry = is_main ? found.erase(entry) : std::next(entry);
    }
    for (const fs::path& main : mains) {
        found.emplace(SortKey{"50-" + main.filename().string(), false}, main);
    }
}

void scan(const fs::path& root, const fs::path& directory, std::map<SortKey, fs::path>& found, HostFiles& result)
{
    std::error_code error;
    fs::directory_iterator entries(below_root(root, directory), error);
    if (error == std::errc::no_such_file_or_directory) {
        return;
    }
    for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
        const fs::path name = entries->path().filename();
        if (name.string().front() == '.') {
            continue;
        }
        if (name.extension() == ".yaml") {
            take(found, {name.string(), true}, directory / name, result);
        } else {
            result.skipped.push_back({directory / name, WhySkipped::OtherName, {}});
        }
    }
    if (error) {
        result.unreadable.emplace_back(directory, error_from_errno(ErrorCode::Io, error.value(), "cannot be listed"));
    }
}

}    // namespace

HostFiles find_host_files(const fs::path& root)
{
    HostFiles result;
    std::map<SortKey, fs::path> found;
    for (const auto& directory : kDirectories) {
        take_main(root, directory, found, result);
        scan(root, directory / "policy.d", found, result);
    }
    for (const auto& [key, path] : found) {
        if (!is_dev_null(below_root(root, path))) {
            result.paths.push_back(path);
        } else {
            result.skipped.push_back({path, WhySkipped::Disabled, {}});
        }
    }
    std::sort(result.skipped.begin(), result.skipped.end(),
              [](const SkippedFile& a, const SkippedFile& b) { return a.path < b.path; });
    return result;
}

}    // namespace rdmaqos::reader

namespace rdmaqos {

std::vector<std::filesystem::path> host_policy_files(const std::filesystem::path& root)
{
    return reader::find_host_files(root).paths;
}

std::vector<SkippedFile> skipped_policy_files(const std::filesystem::path& root)
{
    return reader::find_host_files(root).skipped;
}

}    // namespace rdmaqos
