#include "lib/nic_mlx5/device_lock.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/process_state.h"
#include "lib/base/text.h"

namespace rdmaqos::mlx5 {
namespace {

// The kernel's list has a line for every lock of the host.
constexpr std::size_t kMostLocks = 4U * 1024 * 1024;

bool only_owner_may_open(const struct stat& file)
{
    return S_ISREG(file.st_mode) && (file.st_mode & (S_IRWXG | S_IRWXO)) == 0 &&
           (file.st_uid == 0 || file.st_uid == geteuid());
}

}    // namespace

// "1: FLOCK  ADVISORY  WRITE 4711 00:16:18481 0 EOF"; who waits for it has a line with "->" behind the number.
std::optional<pid_t> holder_in(std::string_view locks, dev_t device, ino_t inode)
{
    const std::string file = fmt::format("{:02x}:{:02x}:{}", major(device), minor(device), inode);
    for (const std::string_view line : lines_of(locks)) {
        std::array<std::string_view, 6> words;
        std::size_t count = 0;
        std::string_view rest = without_blanks(line);
        while (!rest.empty() && count < words.size()) {
            words[count] = rest.substr(0, rest.find(' '));
            rest = without_leading_blanks(rest.substr(words[count].size()));
            ++count;
        }
        if (count < words.size() || words[1] != "FLOCK" || words[5] != file) {
            continue;
        }
        pid_t process = 0;
        const auto& number = words[4];
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), process);
        if (error == std::errc() && end == number.data() + number.size() && process > 0) {
            return process;
        }
    }
    return std::nullopt;
}

UniqueFd DeviceLocks::open_file(const std::string& device) const
{
    std::error_code error;
    const auto function = std::filesystem::canonical(sys_ / "class/infiniband" / device / "device", error);
    if (error) {
        return {};
    }
    for (const auto& place : {function, function.parent_path()}) {
        UniqueFd file(open((place / "resource0").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
        if (file) {
            return file;
        }
    }
    return {};
}

LockHolder DeviceLocks::find_holder(const struct stat& file) const
{
    LockHolder holder;
    if (const auto locks = read_kernel_file(proc_ / "locks", kMostLocks)) {
        holder.process = holder_in(*locks, file.st_dev, file.st_ino);
    }
    holder.ending = holder.process && has_died(proc_, *holder.process);
    return holder;
}

tl::expected<std::shared_ptr<const DeviceLock>, LockHolder> DeviceLocks::take(const std::string& device)
{
    UniqueFd file = open_file(device);
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !only_owner_may_open(status)) {
        return nullptr;
    }
    const std::lock_guard guard(mutex_);
    // A lock of ours whose last user is letting go of it at this moment is not yet free.
    constexpr int kTries = 20;
    std::optional<LockHolder> holder;
    for (int tries = 0; tries < kTries; ++tries) {
        std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
        auto& held = held_[{status.st_dev, status.st_ino}];
        if (auto ours = held.lock()) {
            return ours;
        }
        if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
            auto lock = std::make_shared<const DeviceLock>(std::move(file));
            held = lock;
            return lock;
        }
        if (errno != EWOULDBLOCK) {
            return nullptr;
        }
        holder = find_holder(status);
        if (holder->process != getpid()) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return tl::unexpected(*holder);
}

}    // namespace rdmaqos::mlx5
