#include "policy/load/host_files.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "policy/load/transient_files.h"

namespace rdmaqos::reader {
namespace {

namespace fs = std::filesystem;

// Later directories mask earlier ones, as with systemd's.
const std::array<fs::path, 3> kDirectories{"/usr/lib/rdma-qos", "/run/rdma-qos", "/etc/rdma-qos"};
constexpr const char* kDropIns = "policy.d";

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

// What is looked for: the host's files, and one more place.
struct Search {
    const fs::path& root;
    const fs::path* proposed;
    const std::set<fs::path>* running;
    std::map<fs::path, TransientFile> transient = {};

    // Its text is the one that is in force, not what the disk has.
    [[nodiscard]] bool is_kept(const fs::path& path) const
    {
        return running != nullptr && running->contains(path) && path.parent_path() != kTransientDirectory;
    }
    // Whether what the disk has of this directory counts.
    [[nodiscard]] bool looks_at(const fs::path& directory) const
    {
        return running == nullptr || directory == kTransientDirectory;
    }

    // One that has ended masks nothing. Null: this file has not.
    [[nodiscard]] const TransientFile* ended(const fs::path& path) const
    {
        const auto found = transient.find(path);
        const bool has_ended = found != transient.end() && found->second.ended.has_value();
        return has_ended && (proposed == nullptr || *proposed != path) ? &found->second : nullptr;
    }
    // Of another directory: a transient file of this name has masked it until now, or a link to /dev/null there
    // disables one.
    [[nodiscard]] bool meets_transient(const fs::path& directory, const fs::path& name) const
    {
        const bool was_masked = directory != fs::path("/etc/rdma-qos") / kDropIns &&
                                running->contains(kTransientDirectory / name);
        return was_masked || is_dev_null(below_root(root, directory / name));
    }
    [[nodiscard]] bool has(const fs::path& path) const
    {
        if (proposed != nullptr && *proposed == path) {
            return true;
        }
        return looks_at(path.parent_path()) ? is_there(below_root(root, path)) : is_kept(path);
    }
};

// policy.yaml and policy.conf: of a later directory, either takes the place of both.
void take_main(const Search& search, const fs::path& directory, std::map<SortKey, fs::path>& found, HostFiles& result)
{
    std::vector<fs::path> mains;
    for (const char* name : {"policy.yaml", "policy.conf"}) {
        if (search.has(directory / name)) {
            mains.push_back(directory / name);
        }
    }
    if (const fs::path near = directory / "policy.yml"; search.has(near)) {
        result.skipped.push_back({near, WhySkipped::OtherName, {}});
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

// The names in a directory; one that is not there has none.
std::set<fs::path> names_in(const Search& search, const fs::path& directory, HostFiles& result)
{
    std::set<fs::path> names;
    if (search.proposed != nullptr && search.proposed->parent_path() == directory) {
        names.insert(search.proposed->filename());
    }
    for (const fs::path& path : search.running == nullptr ? std::set<fs::path>{} : *search.running) {
        if (path.parent_path() == directory && search.is_kept(path)) {
            names.insert(path.filename());
        }
    }
    std::error_code error;
    fs::directory_iterator entries(below_root(search.root, directory), error);
    if (error == std::errc::no_such_file_or_directory) {
        return names;
    }
    for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
        const fs::path name = entries->path().filename();
        if (search.looks_at(directory) || search.meets_transient(directory, name)) {
            names.insert(name);
        }
    }
    if (error) {
        result.unreadable.emplace_back(directory, error_from_errno(ErrorCode::Io, error.value(), "cannot be listed"));
    }
    return names;
}

void scan(const Search& search, const fs::path& directory, std::map<SortKey, fs::path>& found, HostFiles& result)
{
    for (const fs::path& name : names_in(search, directory, result)) {
        if (name.string().front() == '.') {
            continue;
        }
        if (const TransientFile* file = search.ended(directory / name)) {
            result.skipped.push_back({file->path, WhySkipped::Ended, {}, to_string(*file->ended, file->transient)});
        } else if (name.extension() == ".yaml") {
            take(found, {name.string(), true}, directory / name, result);
        } else {
            result.skipped.push_back({directory / name, WhySkipped::OtherName, {}});
        }
    }
}

}    // namespace

HostFiles find_host_files(const fs::path& root, const fs::path* proposed, const std::set<fs::path>* running)
{
    HostFiles result;
    Search search{root, proposed, running};
    for (auto& file : find_transient_files(root, std::chrono::system_clock::now())) {
        fs::path path = file.path;
        search.transient.emplace(std::move(path), std::move(file));
    }
    std::map<SortKey, fs::path> found;
    for (const auto& directory : kDirectories) {
        take_main(search, directory, found, result);
        scan(search, directory / kDropIns, found, result);
    }
    for (const auto& [key, path] : found) {
        const bool is_given = (proposed != nullptr && path == *proposed) || search.is_kept(path);
        if (is_given || !is_dev_null(below_root(root, path))) {
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

std::string_view to_string(WhySkipped why)
{
    switch (why) {
    case WhySkipped::Masked:
        return "masked";
    case WhySkipped::Disabled:
        return "disabled";
    case WhySkipped::OtherName:
        return "other-name";
    case WhySkipped::Ended:
        return "ended";
    }
    return {};
}

std::vector<std::filesystem::path> host_policy_files(const std::filesystem::path& root)
{
    return reader::find_host_files(root).paths;
}

std::vector<SkippedFile> skipped_policy_files(const std::filesystem::path& root)
{
    return reader::find_host_files(root).skipped;
}

bool looks_like_policy(const std::filesystem::path& path)
{
    const std::string extension = to_lower(path.extension().string());
    return extension == ".yml" || extension == ".yaml" || extension == ".conf";
}

Result<std::filesystem::path> place_of(std::string_view name)
{
    using namespace reader;
    const fs::path given = fs::path(name).lexically_normal();
    const fs::path place = given.is_absolute() ? given : "/etc/rdma-qos" / given;
    const fs::path directory = place.parent_path();
    const bool is_main = place.filename() == "policy.yaml" || place.filename() == "policy.conf";
    const bool is_drop_in = directory.filename() == kDropIns && place.extension() == ".yaml" &&
                            !place.filename().string().starts_with(".");
    const auto& home = is_drop_in ? directory.parent_path() : directory;
    if ((is_main || is_drop_in) && std::ranges::find(kDirectories, home) != kDirectories.end()) {
        return place;
    }
    return fail(ErrorCode::InvalidArgument,
                fmt::format("no policy is read from `{}`: write `policy.d/NAME.yaml` or `policy.yaml`, which are in "
                            "/etc/rdma-qos, or the whole path below there, /run/rdma-qos or /usr/lib/rdma-qos",
                            printable(name)));
}

}    // namespace rdmaqos
