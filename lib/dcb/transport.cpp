#include "lib/dcb/transport.h"

#include <cerrno>
#include <random>

#include <linux/netlink.h>

namespace rdmaqos::dcb {
namespace {

struct Answer {
    netlink::AnswerEnd end = netlink::AnswerEnd::More;
    std::vector<std::uint8_t> content;
    int error = 0;
};

// Another program's numbers, which may begin with 1 or be the time of day, should not be taken for ours, nor those of
// our last run: in between, and at random.
std::uint32_t random_beginning()
{
    std::random_device random;
    return std::uniform_int_distribution<std::uint32_t>(100'000'000, 1'000'000'000)(random);
}

}    // namespace

KernelTransport::KernelTransport() : first_(random_beginning())
{
    connection_.continue_after(first_);
    last_ = first_;
}

tl::expected<std::vector<std::uint8_t>, int> KernelTransport::ask(std::uint16_t type,
                                                                  const std::vector<std::uint8_t>& request)
{
    if (!connection_.is_open()) {
        if (const int error = connection_.open(NETLINK_ROUTE); error != 0) {
            return tl::unexpected(error);
        }
    }
    last_ = connection_.sequence() + 1;    // before anybody can be notified of it
    if (const int error = connection_.ask(type, 0, request); error != 0) {
        return tl::unexpected(error);
    }
    const Answer answer = connection_.read([&](netlink::Bytes datagram) {
        Answer found;
        found.end = netlink::read_datagram(
            datagram, connection_.sequence(),
            [&](netlink::Bytes content) {
                found.content.assign(content.begin(), content.end());
                return netlink::AnswerEnd::Found;
            },
            &found.error);
        return found;
    });
    if (answer.end != netlink::AnswerEnd::Found) {
        return tl::unexpected(answer.error != 0 ? answer.error : ETIMEDOUT);
    }
    return answer.content;
}

bool KernelTransport::has_sent(std::uint32_t sequence) const
{
    return sequence - first_ - 1 < last_.load() - first_;
}

}    // namespace rdmaqos::dcb
