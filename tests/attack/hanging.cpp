#include "tests/attack/hanging.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/attack/people.h"

namespace rdmaqos::attack {
namespace {

constexpr std::uint64_t kFile = 2;    // node; the root is 1
constexpr const char* kFileName = "policy.yaml";

// ---- the server's process ----

class FuseServer {
public:
    FuseServer(int device, Unanswered unanswered, std::string text)
        : device_(device), unanswered_(unanswered), text_(std::move(text))
    {
    }

    void serve()
    {
        alignas(fuse_in_header) static std::array<char, 1U << 18U> request;
        while (true) {
            const ssize_t size = read(device_, request.data(), request.size());
            if (size < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT) {
                return;
            }
            if (size >= static_cast<ssize_t>(sizeof(fuse_in_header))) {
                fuse_in_header header{};
                std::memcpy(&header, request.data(), sizeof(header));
                answer(header, request.data() + sizeof(header));
            }
        }
    }

private:
    void answer(const fuse_in_header& request, const char* arguments)
    {
        switch (request.opcode) {
        case FUSE_INIT:
            return greet(request);
        case FUSE_LOOKUP:
            return std::string_view(arguments) == kFileName ? find(request) : refuse(request, ENOENT);
        case FUSE_GETATTR:
            return describe(request);
        case FUSE_OPEN:
            return open_file(request);
        case FUSE_READ:
            return unanswered_ == Unanswered::Read ? void() : send_text(request, arguments);
        case FUSE_FLUSH:
            return unanswered_ == Unanswered::Flush ? void() : refuse(request, 0);
        case FUSE_RELEASE:
            return refuse(request, 0);
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
            return;    // have no answer
        default:
            return refuse(request, ENOSYS);
        }
    }

    void greet(const fuse_in_header& request)
    {
        fuse_init_out out{};
        out.major = FUSE_KERNEL_VERSION;
        out.minor = 31;
        out.max_write = 4096;
        reply(request, out);
    }
    void find(const fuse_in_header& request)
    {
        fuse_entry_out out{};
        out.nodeid = kFile;
        out.attr = attributes(kFile);
        reply(request, out);
    }
    void describe(const fuse_in_header& request)
    {
        fuse_attr_out out{};
        out.attr = attributes(request.nodeid);
        reply(request, out);
    }
    void open_file(const fuse_in_header& request)
    {
        fuse_open_out out{};
        out.fh = 1;
        out.open_flags = FOPEN_DIRECT_IO;
        reply(request, out);
    }

    [[nodiscard]] fuse_attr attributes(std::uint64_t node) const
    {
        fuse_attr result{};
        result.ino = node;
        result.mode = node == kFile ? S_IFREG | 0444U : S_IFDIR | 0755U;
        result.nlink = 1;
        result.size = node == kFile ? text_.size() : 0;
        return result;
    }

    void send_text(const fuse_in_header& request, const char* arguments)
    {
        fuse_read_in wanted{};
        std::memcpy(&wanted, arguments, sizeof(wanted));
        const std::size_t begin = std::min<std::size_t>(wanted.offset, text_.size());
        send(request, 0, std::string_view(text_).substr(begin, wanted.size));
    }
    void refuse(const fuse_in_header& request, int error) { send(request, -error, {}); }
    template <typename T>
    void reply(const fuse_in_header& request, const T& value)
    {
        send(request, 0, {reinterpret_cast<const char*>(&value), sizeof(value)});    // NOLINT(*-reinterpret-cast)
    }
    void send(const fuse_in_header& request, int error, std::string_view data) const
    {
        fuse_out_header header{static_cast<std::uint32_t>(sizeof(header) + data.size()), error, request.unique};
        iovec parts[] = {{&header, sizeof(header)}, {const_cast<char*>(data.data()), data.size()}};    // NOLINT
        [[maybe_unused]] const auto written = writev(device_, parts, 2);
    }

    const int device_;
    const Unanswered unanswered_;
    const std::string text_;
};

bool write_to(const char* file, const std::string& text)
{
    return static_cast<bool>(std::ofstream(file) << text << std::flush);
}

// In a user namespace of its own where we are an ordinary user, as an attacker would. The reason when it cannot be.
std::string mount_it(UniqueFd& device, const std::filesystem::path& mount_point)
{
    std::string others;
    if (has_many_users()) {
        if (unshare(CLONE_NEWNS) < 0) {
            return fmt::format("no mount namespace: {}", std::strerror(errno));
        }
        others = ",allow_other";
    } else {
        const uid_t user = geteuid();
        const gid_t group = getegid();
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !write_to("/proc/self/setgroups", "deny") ||
            !write_to("/proc/self/uid_map", fmt::format("0 {} 1", user)) ||
            !write_to("/proc/self/gid_map", fmt::format("0 {} 1", group))) {
            return fmt::format("no user namespace: {}", std::strerror(errno));
        }
    }
    // Opened here: it belongs to the namespace it is opened in.
    device = UniqueFd(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device) {
        return fmt::format("/dev/fuse: {}", std::strerror(errno));
    }
    const std::string options = fmt::format("fd={},rootmode=40000,user_id=0,group_id=0{}", device.get(), others);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
        mount("deaf", mount_point.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) < 0) {
        return fmt::format("it cannot be mounted: {}", std::strerror(errno));
    }
    return {};
}

// ---- sockets ----

sockaddr_in loopback()
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void fill(int socket)
{
    static const std::array<char, 65536> data{};
    while (send(socket, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
}

}    // namespace

DeafFileSystem::DeafFileSystem(const std::filesystem::path& mount_point, Unanswered unanswered, const std::string& text)
{
    struct Answer {
        std::atomic<bool> given;
        char problem[200];
    };
    Shared<Answer> answer;
    server_ = std::make_shared<test::Child>([&] {
        UniqueFd device;
        mount_it(device, mount_point).copy(answer->problem, sizeof(answer->problem) - 1);
        answer->given = true;
        if (answer->problem[0] == '\0') {
            FuseServer(device.get(), unanswered, text).serve();
        }
    });
    if (!test::eventually([&] { return answer->given.load(); })) {
        reason_ = "its server does not start";
    } else {
        reason_ = answer->problem;
    }
    file_ = fmt::format("/proc/{}/root{}/{}", server_->pid(), mount_point.string(), kFileName);
}

std::vector<int> DeafFileSystem::open(std::size_t count) const
{
    std::vector<int> result(count);
    std::ranges::generate(result, [this] { return ::open(file_.c_str(), O_RDONLY | O_CLOEXEC); });
    return result;
}

std::vector<int> lingering_sockets(std::size_t count)
{
    constexpr int kSeconds = 60;    // longer than an attack with all that is looked at afterwards
    std::vector<int> result;
    while (result.size() < count) {
        // The near end is passed on, the far end stays open for as long as this process lives.
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = loopback();
        socklen_t size = sizeof(address);
        auto* plain = reinterpret_cast<sockaddr*>(&address);    // NOLINT(*-reinterpret-cast): how sockets are named
        const linger wait{1, kSeconds};
        if (bind(listener, plain, size) < 0 || listen(listener, 1) < 0 || getsockname(listener, plain, &size) < 0 ||
            connect(sender, plain, size) < 0 || accept(listener, nullptr, nullptr) < 0 ||
            setsockopt(sender, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait)) < 0) {
            _exit(125);
        }
        fill(sender);
        close(listener);
        result.push_back(sender);
    }
    return result;
}

}    // namespace rdmaqos::attack
