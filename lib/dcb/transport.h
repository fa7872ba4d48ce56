// The seam to the kernel's DCB netlink: a question and its answer. The tests have one with a driver behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <tl/expected.hpp>

#include "lib/netlink/connection.h"

namespace rdmaqos::dcb {

// Not thread-safe, but for has_sent().
class Transport {
public:
    virtual ~Transport() = default;

    // `type`: RTM_GETDCB or RTM_SETDCB. `request`: a dcbmsg and attributes. The content of the answer, which begins
    // with a dcbmsg, too; or the errno with which the kernel refused, ETIMEDOUT: there was no answer within a second.
    [[nodiscard]] virtual tl::expected<std::vector<std::uint8_t>, int>
    ask(std::uint16_t type, const std::vector<std::uint8_t>& request) = 0;

    // Whether a request that was sent by this transport had this sequence number. The kernel repeats it in the
    // notification of what the request changed. From any thread.
    [[nodiscard]] virtual bool has_sent(std::uint32_t sequence) const = 0;
};

// A socket of route netlink, in the network namespace of the thread that opens it.
class KernelTransport final : public Transport {
public:
    // Opens when it is first used.
    KernelTransport();

    [[nodiscard]] tl::expected<std::vector<std::uint8_t>, int> ask(std::uint16_t type,
                                                                   const std::vector<std::uint8_t>& request) override;
    [[nodiscard]] bool has_sent(std::uint32_t sequence) const override;
    // Of the last request.
    [[nodiscard]] std::uint32_t sequence() const { return connection_.sequence(); }

private:
    netlink::Connection connection_;
    std::uint32_t first_;                  // sequence numbers begin behind it
    std::atomic<std::uint32_t> last_{};    // that was sent, or is being sent
};

}    // namespace rdmaqos::dcb
