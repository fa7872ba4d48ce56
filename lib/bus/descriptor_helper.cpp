#include "lib/bus/descriptor_helper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/verbs_devices.h"
#include "lib/bus/descriptor_wire.h"

namespace rdmaqos::bus {
namespace {

constexpr std::uint8_t kOther = 0;
constexpr std::uint8_t kForeignFileSystem = 1;
constexpr std::uint8_t kTooLarge = 2;
constexpr std::uint8_t kSecondText = 3;
constexpr std::uint8_t kUnreadable = 4;
constexpr std::uint8_t kDirectory = 5;

// File systems that keep their files on this machine. Not among them: those a user can serve (FUSE), those a network
// serves, and those whose files say more to root than to their opener (proc, sysfs and their like).
constexpr std::array<long, 12> kLocalFileSystems{
    EXT4_SUPER_MAGIC,
    XFS_SUPER_MAGIC,
    BTRFS_SUPER_MAGIC,
    TMPFS_MAGIC,
    RAMFS_MAGIC,
    OVERLAYFS_SUPER_MAGIC,
    F2FS_SUPER_MAGIC,
    SQUASHFS_MAGIC,
    EROFS_SUPER_MAGIC_V1,
    ISOFS_SUPER_MAGIC,
    0x2FC12FC1,                       // ZFS
    static_cast<long>(0xCA451A4E),    // bcachefs
};

// Without asking a file system: FUSE answers from what it has cached.
mode_t type_of(int fd)
{
    struct statx status {};
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) {
        return 0;
    }
    return status.stx_mode & S_IFMT;
}

// The name by which the caller knows the file; "" for one that has none.
std::string name_of(int fd)
{
    constexpr std::string_view kMemfd = "/memfd:";
    constexpr std::string_view kDeleted = " (deleted)";
    std::array<char, 4096> target{};
    const auto length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
    std::string name(target.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    if (name.ends_with(kDeleted)) {
        name.resize(name.size() - kDeleted.size());
    }
    if (name.starts_with(kMemfd)) {
        name.erase(0, kMemfd.size());
    }
    return name;
}

// A sealed copy of a text: what is behind it cannot change or go away any more.
UniqueFd sealed_copy(const std::string& text)
{
    UniqueFd copy(memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    for (std::size_t written = 0; copy && written < text.size();) {
        const auto result = write(copy.get(), text.data() + written, text.size() - written);
        if (result <= 0) {
            return UniqueFd();
        }
        written += static_cast<std::size_t>(result);
    }
    if (copy) {
        fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    }
    return copy;
}

class Helper {
public:
    explicit Helper(int socket) : socket_(socket) {}
    int run();

private:
    struct Asked {
        DescriptorRequest request;
        UniqueFd client;
    };

    // False: the other end is gone.
    bool next(Asked& asked) const;
    void serve(const Asked& asked);
    // Reads from the client; what came with the bytes is in `theirs_`.
    void receive(const Asked& asked);
    void look_at(std::size_t index, const DescriptorRequest& request);
    void take_text(std::size_t index, const DescriptorRequest& request);
    void refuse(std::size_t index, std::uint8_t why) { reply_.refusals[index] = why; }
    void answer() const;

    UniqueFd socket_;
    bool became_user_ = false;
    DescriptorReply reply_;
    std::string bytes_;
    std::string name_;
    std::vector<UniqueFd> theirs_;
    std::vector<UniqueFd> accepted_;
};

// Of uid 0, which keeps them when it becomes itself.
bool drop_capabilities()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    return syscall(SYS_capset, &header, none) == 0;
}

// Nothing of root is left: what this process may read, its client may.
bool become(const DescriptorRequest& request)
{
    if (geteuid() == 0 && request.uid != 0 &&
        (setgroups(0, nullptr) != 0 || setresgid(request.gid, request.gid, request.gid) != 0 ||
         setresuid(request.uid, request.uid, request.uid) != 0)) {
        return false;
    }
    if (!drop_capabilities()) {
        return false;
    }
    // Its user must not be able to make it say what it did not see.
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return true;
}

bool Helper::next(Asked& asked) const
{
    iovec part{&asked.request, sizeof(asked.request)};
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    room.offer(message);
    ssize_t length = 0;
    do {
        length = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    } while (length < 0 && errno == EINTR);
    auto descriptors = take_descriptors(message);
    if (length != sizeof(asked.request) || descriptors.size() != 1) {
        return false;
    }
    asked.client = std::move(descriptors.front());
    return true;
}

void Helper::receive(const Asked& asked)
{
    bytes_.resize(std::min<std::size_t>(asked.request.bytes, kMostChunk));
    Received got = rdmaqos::receive(asked.client.get(), bytes_);
    reply_.error = got.length < 0 ? errno : 0;
    bytes_.resize(got.length < 0 ? 0 : static_cast<std::size_t>(got.length));
    theirs_ = std::move(got.descriptors);
    reply_.bytes = static_cast<std::uint32_t>(bytes_.size());
    reply_.count = static_cast<std::uint32_t>(theirs_.size());
    reply_.sender = got.sender;
    if (got.incomplete) {
        // This process has too many open. The message cannot be served as it was meant.
        reply_.error = EMFILE;
    }
}

void Helper::take_text(std::size_t index, const DescriptorRequest& request)
{
    const int fd = theirs_[index].get();
    struct statfs system {};
    if (fstatfs(fd, &system) != 0 ||
        std::ranges::find(kLocalFileSystems, static_cast<long>(system.f_type)) == kLocalFileSystems.end()) {
        refuse(index, kForeignFileSystem);
        return;
    }
    if (!name_.empty() || reply_.name_bytes > 0) {
        refuse(index, kSecondText);
        return;
    }
    struct stat status {};
    if (fstat(fd, &status) == 0 && status.st_size > static_cast<off_t>(request.text_bytes)) {
        refuse(index, kTooLarge);
        return;
    }
    const auto text = read_regular_file(fd, request.text_bytes);
    UniqueFd copy = text ? sealed_copy(*text) : UniqueFd();
    if (!copy) {
        refuse(index, kUnreadable);
        return;
    }
    name_ = name_of(fd);
    name_ = name_.empty() ? "policy" : name_;
    reply_.name_bytes = static_cast<std::uint32_t>(name_.size());
    reply_.kinds[index] = DescriptorKind::Text;
    accepted_.push_back(std::move(copy));
}

void Helper::look_at(std::size_t index, const DescriptorRequest& request)
{
    UniqueFd& fd = theirs_[index];
    const mode_t type = type_of(fd.get());
    if (type == S_IFREG) {
        take_text(index, request);
        return;
    }
    if (type == S_IFDIR) {
        refuse(index, kDirectory);
        return;
    }
    struct stat status {};
    const bool may_be_verbs = fstat(fd.get(), &status) == 0 && S_ISCHR(status.st_mode);
    const auto devices = may_be_verbs ? verbs_devices() : Result<std::set<dev_t>>();
    if (!devices) {
        refuse(index, kUnreadable);
        return;
    }
    if (devices->contains(status.st_rdev)) {
        reply_.kinds[index] = DescriptorKind::Verbs;
        accepted_.push_back(std::move(fd));
        return;
    }
    refuse(index, kOther);
}

void Helper::answer() const
{
    std::array<iovec, 3> parts{
        iovec{const_cast<DescriptorReply*>(&reply_), sizeof(reply_)},    // NOLINT(*-const-cast): iovec has no const
        iovec{const_cast<char*>(name_.data()), name_.size()},            // NOLINT(*-const-cast)
        iovec{const_cast<char*>(bytes_.data()), bytes_.size()},          // NOLINT(*-const-cast)
    };
    std::vector<int> descriptors;
    for (const auto& fd : accepted_) {
        descriptors.push_back(fd.get());
    }
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    room.put(message, descriptors);
    while (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

void Helper::serve(const Asked& asked)
{
    reply_ = {};
    name_.clear();
    receive(asked);
    for (std::size_t index = 0; index < theirs_.size(); ++index) {
        look_at(index, asked.request);
    }
    answer();
    // Behind the answer: any of these may hang.
    accepted_.clear();
    theirs_.clear();
}

int Helper::run()
{
    while (true) {
        Asked asked;
        if (!next(asked)) {
            return EXIT_SUCCESS;
        }
        if (!became_user_ && !become(asked.request)) {
            return EXIT_FAILURE;
        }
        became_user_ = true;
        serve(asked);
    }
}

}    // namespace

int run_descriptor_helper(int socket)
{
    constexpr rlim_t kDescriptors = 1024;
    const rlimit limit{kDescriptors, kDescriptors};
    setrlimit(RLIMIT_NOFILE, &limit);
    return Helper(socket).run();
}

}    // namespace rdmaqos::bus
