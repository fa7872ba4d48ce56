#include "lib/port_bytes/counters.h"

#include <cstddef>
#include <cstring>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/base/file.h"

namespace rdmaqos::port_bytes {

std::vector<Counter> read_counters(const std::string& interface)
{
    // The kernel takes the question by a socket of any family, and the daemon may have no others.
    const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    if (!socket || interface.size() >= sizeof(request.ifr_name)) {
        return {};
    }
    std::memcpy(request.ifr_name, interface.data(), interface.size());
    const auto ask = [&](void* command) {
        request.ifr_data = static_cast<char*>(command);
        return ioctl(socket.get(), SIOCETHTOOL, &request) == 0;
    };
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (!ask(&info) || info.n_stats == 0) {
        return {};
    }
    // Both end in an array of as many entries as there are, which may have changed meanwhile: then nothing is said.
    std::vector<std::uint64_t> names(
        (sizeof(ethtool_gstrings) + std::size_t{info.n_stats} * ETH_GSTRING_LEN) / sizeof(std::uint64_t) + 1);
    std::vector<std::uint64_t> values(sizeof(ethtool_stats) / sizeof(std::uint64_t) + info.n_stats + 1);
    ethtool_gstrings wanted{};
    wanted.cmd = ETHTOOL_GSTRINGS;
    wanted.string_set = ETH_SS_STATS;
    wanted.len = info.n_stats;
    std::memcpy(names.data(), &wanted, sizeof(wanted));
    ethtool_stats counted{};
    counted.cmd = ETHTOOL_GSTATS;
    counted.n_stats = info.n_stats;
    std::memcpy(values.data(), &counted, sizeof(counted));
    if (!ask(names.data()) || !ask(values.data())) {
        return {};
    }
    std::memcpy(&wanted, names.data(), sizeof(wanted));
    std::memcpy(&counted, values.data(), sizeof(counted));
    if (wanted.len != info.n_stats || counted.n_stats != info.n_stats) {
        return {};
    }
    const char* name = reinterpret_cast<const char*>(names.data()) + sizeof(ethtool_gstrings);
    const std::uint64_t* value = values.data() + sizeof(ethtool_stats) / sizeof(std::uint64_t);
    std::vector<Counter> counters;
    for (std::uint32_t i = 0; i < info.n_stats; ++i) {
        counters.push_back({std::string(name, strnlen(name, ETH_GSTRING_LEN)), value[i]});
        name += ETH_GSTRING_LEN;
    }
    return counters;
}

}    // namespace rdmaqos::port_bytes
