#include "lib/smp/umad.h"

#include <cerrno>
#include <optional>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/base/try.h"

namespace rdmaqos::smp {
namespace {

constexpr unsigned kMostUmads = 256;
constexpr std::uint32_t kPatienceMs = 500;    // for each time it is sent
constexpr std::uint32_t kRetries = 2;

struct Message {
    ib_user_mad_hdr header;
    Packet packet;
};
static_assert(sizeof(Message) == sizeof(ib_user_mad_hdr) + kPacketBytes);

// A line of the kernel; empty: the file is not there.
std::optional<std::string> line_of(const std::filesystem::path& path)
{
    constexpr std::size_t kMostBytes = 256;
    const auto text = read_kernel_file(path, kMostBytes);
    return text ? std::optional(text->substr(0, text->find('\n'))) : std::nullopt;
}

// "umad0"; empty: the port has none.
std::optional<std::string> umad_of(const std::string& device, std::uint32_t port, const std::filesystem::path& root)
{
    for (unsigned number = 0; number < kMostUmads; ++number) {
        std::string name = fmt::format("umad{}", number);
        const auto folder = root / "sys/class/infiniband_mad" / name;
        if (line_of(folder / "ibdev") == device && line_of(folder / "port") == std::to_string(port)) {
            return name;
        }
    }
    return std::nullopt;
}

}    // namespace

Result<Umad> Umad::open(const std::string& device, std::uint32_t port, const std::filesystem::path& root)
{
    const auto name = umad_of(device, port, root);
    if (!name) {
        return fail(
            ErrorCode::UnknownDevice,
            fmt::format("{}/{} is no InfiniBand port that packets of subnet management can be sent to: there is "
                        "no umad of it in /sys/class/infiniband_mad (`modprobe ib_umad`, if it is one)",
                        printable(device), port));
    }
    const auto path = root / "dev/infiniband" / *name;
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file) {
        const int error = errno;
        return fail(
            error_from_errno(error == EACCES || error == EPERM ? ErrorCode::AuthorizationRequired : ErrorCode::Io,
                             error, fmt::format("cannot open {} of {}/{}", path.string(), printable(device), port)));
    }
    // With a P_Key's index in the header, as the structure has it.
    static_cast<void>(ioctl(file.get(), IB_USER_MAD_ENABLE_PKEY, nullptr));
    ib_user_mad_reg_req request{};
    request.qpn = 0;
    request.mgmt_class = kDirectedRoute;
    request.mgmt_class_version = kVersion;
    if (ioctl(file.get(), IB_USER_MAD_REGISTER_AGENT, &request) != 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, fmt::format("cannot register with {}", path.string())));
    }
    return Umad(std::move(file), request.id);
}

Result<Packet> Umad::exchange(const Packet& question)
{
    Message message{};
    message.header.id = agent_;
    message.header.timeout_ms = kPatienceMs;
    message.header.retries = kRetries;
    message.header.length = kPacketBytes;
    message.header.lid = htons(kPermissiveLid);
    message.packet = question;
    if (write(file_.get(), &message, sizeof(message)) != static_cast<ssize_t>(sizeof(message))) {
        return fail(error_from_errno(ErrorCode::Io, errno, "cannot send a packet of subnet management"));
    }
    pollfd ready{file_.get(), POLLIN, 0};
    constexpr int kLongest = static_cast<int>(kPatienceMs * (kRetries + 2));
    if (poll(&ready, 1, kLongest) <= 0) {
        return fail(ErrorCode::Io, "the port does not answer");
    }
    Message answer{};
    const ssize_t length = read(file_.get(), &answer, sizeof(answer));
    if (length < 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "cannot read what the port answered"));
    }
    // The kernel gives back the question with an errno.
    if (answer.header.status == ETIMEDOUT) {
        return fail(ErrorCode::Io, "the port does not answer");
    }
    if (answer.header.status != 0 || length < static_cast<ssize_t>(sizeof(answer))) {
        const int error = answer.header.status == 0 ? EPROTO : static_cast<int>(answer.header.status);
        return fail(error_from_errno(ErrorCode::Io, error, "the port's answer cannot be used"));
    }
    return answer.packet;
}

}    // namespace rdmaqos::smp
