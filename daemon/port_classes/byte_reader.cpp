#include "daemon/port_classes/byte_reader.h"

#include <utility>

namespace rdmaqos {

ByteReader::ByteReader(Executor& loop, const Clock& clock, std::function<WallTime()> wall_clock, ReadInterface read)
    : loop_(loop), clock_(clock), wall_clock_(std::move(wall_clock)), read_(std::move(read)), calls_(loop)
{
}

void ByteReader::set(bool is_on)
{
    if (std::exchange(is_on_, is_on) == is_on) {
        return;
    }
    for (auto& [key, port] : ports_) {
        port.status.reset();
        port.number = 0;
    }
    next_round_.reset();
    if (is_on_ && read_) {
        round();
    }
}

void ByteReader::follow(const std::string& key, const std::string& netdev)
{
    const auto [found, is_new] = ports_.try_emplace(key);
    Port& port = found->second;
    if (is_new || port.netdev != netdev) {
        port = {};    // what was read is of another interface
        port.netdev = netdev;
        read(key, port);
    }
}

std::optional<PortTrafficStatus> ByteReader::status(const std::string& key) const
{
    const auto found = ports_.find(key);
    return found == ports_.end() ? std::nullopt : found->second.status;
}

void ByteReader::round()
{
    for (auto& [key, port] : ports_) {
        read(key, port);
    }
    next_round_ = loop_.after(kInterval, [this] { round(); });
}

void ByteReader::read(const std::string& key, Port& port)
{
    if (!is_on_ || !read_ || port.netdev.empty() || port.number != 0) {
        return;
    }
    port.number = ++last_number_;
    calls_.run(
        worker_, [read = read_, netdev = port.netdev] { return read(netdev); },
        [this, key, number = port.number](const Result<std::vector<port_bytes::Counter>>& counters) {
            take(key, number, counters);
        });
}

void ByteReader::take(const std::string& key, std::uint64_t number,
                      const Result<std::vector<port_bytes::Counter>>& counters)
{
    const auto found = ports_.find(key);
    if (found == ports_.end() || found->second.number != number) {
        return;    // it went away, or has another interface
    }
    Port& port = found->second;
    port.number = 0;
    const auto bytes = counters ? port_bytes::bytes_in(*counters) : std::nullopt;
    if (!bytes) {
        port.status.reset();
        return;
    }
    const TimePoint now = clock_.now();
    PortTrafficStatus status{*bytes, wall_clock_()};
    if (port.status) {
        status.moved = port_bytes::moved_between(port.status->total, *bytes);
        status.over = now - port.read_at;
    }
    port.status = std::move(status);
    port.read_at = now;
}

}    // namespace rdmaqos
