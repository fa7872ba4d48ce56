#include "tools/emulator/preload/statistics.h"

#include <cerrno>
#include <cstdint>

#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "tools/emulator/protocol.h"

namespace rdmaqos::emulator {
namespace {

constexpr std::size_t kMost = 64;
struct Answer {
    nlmsghdr header;
    InterfaceCounter counters[kMost];
};

// How many; -1: none.
int ask(int connection, const char* interface, Answer& answer)
{
    struct {
        nlmsghdr header;
        char name[IFNAMSIZ];
    } question{};
    question.header.nlmsg_len = sizeof(question);
    question.header.nlmsg_type = kInterfaceCounters;
    __builtin_memcpy(question.name, interface, IFNAMSIZ);
    if (send(connection, &question, sizeof(question), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(question))) {
        return -1;
    }
    const ssize_t length = recv(connection, &answer, sizeof(answer), 0);
    if (length < static_cast<ssize_t>(sizeof(nlmsghdr)) || answer.header.nlmsg_type != kInterfaceCounters) {
        return -1;
    }
    return static_cast<int>((static_cast<std::size_t>(length) - sizeof(nlmsghdr)) / sizeof(InterfaceCounter));
}

}    // namespace

int answer_statistics(int connection, void* request)
{
    ifreq& about = *static_cast<ifreq*>(request);
    if (about.ifr_data == nullptr) {
        return EFAULT;
    }
    std::uint32_t command = 0;
    __builtin_memcpy(&command, about.ifr_data, sizeof(command));
    Answer answer{};
    const int found = ask(connection, about.ifr_name, answer);
    if (found < 0) {
        return -1;
    }
    const auto count = static_cast<std::uint32_t>(found);
    switch (command) {
    case ETHTOOL_GDRVINFO: {
        auto& info = *reinterpret_cast<ethtool_drvinfo*>(about.ifr_data);
        info = {};
        info.cmd = command;
        __builtin_memcpy(info.driver, "mlx5_core", sizeof("mlx5_core"));
        info.n_stats = count;
        return 0;
    }
    case ETHTOOL_GSTRINGS: {
        auto& names = *reinterpret_cast<ethtool_gstrings*>(about.ifr_data);
        if (names.string_set != ETH_SS_STATS) {
            return EOPNOTSUPP;
        }
        names.len = count;
        auto* name = reinterpret_cast<char*>(about.ifr_data) + sizeof(names);
        for (std::uint32_t i = 0; i < count; ++i, name += ETH_GSTRING_LEN) {
            __builtin_memcpy(name, answer.counters[i].name, ETH_GSTRING_LEN);
        }
        return 0;
    }
    case ETHTOOL_GSTATS: {
        auto& values = *reinterpret_cast<ethtool_stats*>(about.ifr_data);
        values.n_stats = count;
        auto* value = reinterpret_cast<char*>(about.ifr_data) + sizeof(values);
        for (std::uint32_t i = 0; i < count; ++i, value += sizeof(std::uint64_t)) {
            __builtin_memcpy(value, &answer.counters[i].value, sizeof(std::uint64_t));
        }
        return 0;
    }
    default:
        return EOPNOTSUPP;
    }
}

}    // namespace rdmaqos::emulator
