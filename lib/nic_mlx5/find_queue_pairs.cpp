#include "lib/nic_mlx5/find_queue_pairs.h"

#include <algorithm>
#include <map>
#include <optional>

#include "lib/nic_mlx5/sysfs.h"

namespace rdmaqos::mlx5 {
namespace {

// In one call: some milliseconds. A handle costs a command or two, a pair that is wrong a system call; these are many
// where nothing tells look-alikes apart.
constexpr std::size_t kMostLooked = 128;
constexpr std::size_t kMostTries = 4096;

// What is looked up in the port's tables, each entry once.
class Tables {
public:
    explicit Tables(const PortName& port) : port_(port) {}

    std::optional<Gid> gid(std::uint32_t index)
    {
        const auto [entry, is_new] = gids_.try_emplace(index);
        if (is_new) {
            entry->second = checked(read_gid(port_.sys, port_.device, port_.port, index));
        }
        return entry->second;
    }
    std::optional<std::uint16_t> pkey(std::uint32_t index)
    {
        const auto [entry, is_new] = pkeys_.try_emplace(index);
        if (is_new) {
            entry->second = checked(read_pkey(port_.sys, port_.device, port_.port, index));
        }
        return entry->second;
    }
    // Of what could not be read at this time; 0: nothing.
    [[nodiscard]] int error() const { return error_; }

private:
    template <typename T>
    std::optional<T> checked(const Result<std::optional<T>>& entry)
    {
        if (!entry) {
            error_ = entry.error().sys_errno;
        }
        return entry.value_or(std::nullopt);
    }

    const PortName& port_;
    int error_ = 0;
    std::map<std::uint32_t, std::optional<Gid>> gids_;
    std::map<std::uint32_t, std::optional<std::uint16_t>> pkeys_;
};

bool may_be(const SoughtQueuePair& sought, const VerbsQueuePair& there)
{
    const bool is_connected = sought.type == QueuePairType::Rc || sought.type == QueuePairType::Uc;
    return !is_connected || !sought.remote || *sought.remote == there.remote;
}

FoundQueuePair found_as(std::uint32_t number, std::uint32_t handle, const VerbsQueuePair& there, bool has_address,
                        Tables& tables)
{
    FoundQueuePair found;
    found.number = number;
    found.handle = handle;
    found.state = there.state;
    found.pkey = tables.pkey(there.pkey_index);
    if (has_address) {
        found.sl = there.sl;
        found.traffic_class = there.traffic_class;
        found.destination_lid = there.destination_lid;
        if (there.is_global) {
            found.source = tables.gid(there.source_index);
            found.destination = there.destination;
        }
    }
    return found;
}

struct Pair {
    VerbsQueuePair there;
    std::optional<LeafIds> leaves;
};

// Empty: handle and number do not belong together, or the device does not answer.
std::optional<Pair> ask(int fd, std::uint32_t handle, std::uint32_t number, LinkLayer link_layer, bool with_leaves)
{
    const auto answer = devx_query(fd, handle, query_queue_pair(number, with_leaves),
                                   query_queue_pair_bytes(with_leaves));
    const auto there = answer ? decode_as_verbs(*answer, link_layer) : std::nullopt;
    return there ? std::optional(Pair{*there, decode_queue_pair(*answer).leaves}) : std::nullopt;
}

}    // namespace

Answer<FileSearch> find_queue_pairs(int fd, const PortName& port, bool with_leaves, std::vector<SoughtQueuePair> sought,
                                    const std::set<std::uint32_t>& known)
{
    const auto handles = queue_pair_handles(fd);
    if (!handles) {
        return tl::unexpected(handles.error());
    }
    // The kernel lists the newest first; numbers mostly rise.
    std::ranges::sort(sought, std::greater(), &SoughtQueuePair::number);
    Tables tables(port);
    FileSearch result;
    QueuePairSearch& search = result.search;
    std::size_t looked = 0;
    std::size_t tries = 0;
    for (const std::uint32_t handle : *handles) {
        if (sought.empty()) {
            break;
        }
        if (known.contains(handle)) {
            continue;
        }
        if (++looked > kMostLooked || tries > kMostTries) {
            search.complete = false;
            break;
        }
        std::optional<Pair> pair;
        const auto is_pair = [&](const SoughtQueuePair& each) {
            ++tries;
            pair = ask(fd, handle, each.number, port.link_layer, with_leaves);
            return pair && pair->there.port == port.port && may_be(each, pair->there);
        };
        auto which = sought.begin();
        if (!is_pair(*which)) {
            const auto there = query_verbs(fd, handle);
            which = !there || there->port != port.port
                        ? sought.end()
                        : std::find_if(which + 1, sought.end(), [&](const SoughtQueuePair& each) {
                              return may_be(each, *there) && is_pair(each);
                          });
        }
        if (which == sought.end()) {
            search.others.push_back(handle);
            continue;
        }
        const bool has_address = which->type == QueuePairType::Rc || which->type == QueuePairType::Uc;
        search.found.push_back(found_as(which->number, handle, pair->there, has_address, tables));
        result.leaves.push_back(pair->leaves);
        sought.erase(which);
    }
    if (tables.error() != 0) {
        return tl::unexpected(Failure{tables.error(), 0, 0});
    }
    return result;
}

}    // namespace rdmaqos::mlx5
