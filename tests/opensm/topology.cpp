#include "tests/opensm/topology.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/units.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kColumnsOfPort = 5;

// Words between blanks; one in quotes may hold blanks.
std::vector<std::string> words_of(std::string_view line)
{
    std::vector<std::string> words;
    std::size_t at = 0;
    while (at < line.size()) {
        if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
            ++at;
        } else if (line[at] == '"') {
            const auto end = std::min(line.find('"', at + 1), line.size());
            words.emplace_back(line.substr(at + 1, end - at - 1));
            at = end + 1;
        } else {
            const auto end = std::min(line.find_first_of(" \t\r", at), line.size());
            words.emplace_back(line.substr(at, end - at));
            at = end;
        }
    }
    return words;
}

std::optional<std::uint64_t> number_up_to(std::string_view text, std::uint64_t highest)
{
    const auto number = parse_number(text);
    return number && *number <= highest ? number : std::nullopt;
}

std::optional<NodeType> node_type_of(std::string_view word)
{
    for (const NodeType type : {NodeType::Ca, NodeType::Switch, NodeType::Router}) {
        if (equals_ignoring_case(word, to_string(type))) {
            return type;
        }
    }
    return std::nullopt;
}

bool read_pkeys(std::string_view list, std::vector<std::uint16_t>& pkeys)
{
    while (list != "-" && !list.empty()) {
        const auto comma = std::min(list.find(','), list.size());
        const auto pkey = number_up_to(list.substr(0, comma), UINT16_MAX);
        if (!pkey) {
            return false;
        }
        pkeys.push_back(static_cast<std::uint16_t>(*pkey));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return true;
}

class Topology {
public:
    // False: the line is not one.
    bool add(const std::vector<std::string>& words);
    [[nodiscard]] Fabric take();

private:
    bool add_port(const std::vector<std::string>& words);
    bool add_partition(const std::vector<std::string>& words);

    Fabric fabric_;
    std::optional<Guid> subnet_manager_;
};

bool Topology::add(const std::vector<std::string>& words)
{
    if (words.front() == "@partition") {
        return add_partition(words);
    }
    if (words.front() != "@sm") {
        return add_port(words);
    }
    const auto guid = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
    if (guid) {
        subnet_manager_ = Guid{*guid};
    }
    return guid.has_value();
}

bool Topology::add_partition(const std::vector<std::string>& words)
{
    constexpr std::size_t kColumns = 3;
    const auto pkey = words.size() >= kColumns ? number_up_to(words[2], UINT16_MAX) : std::nullopt;
    if (!pkey) {
        return false;
    }
    FabricPartition partition;
    partition.name = words[1];
    partition.pkey = partition_of(static_cast<std::uint16_t>(*pkey));
    if (words.size() > kColumns) {
        const auto sl = number_up_to(words[kColumns], kHighestSl);
        if (!sl) {
            return false;
        }
        partition.ipoib.emplace().sl = static_cast<std::uint8_t>(*sl);
    }
    fabric_.partitions.push_back(std::move(partition));
    return true;
}

bool Topology::add_port(const std::vector<std::string>& words)
{
    constexpr std::string_view kNode = "node=";
    constexpr std::string_view kPorts = "nports=";
    if (words.size() < kColumnsOfPort) {
        return false;
    }
    const auto guid = parse_number(words[0]);
    const auto type = node_type_of(words[1]);
    const auto number = number_up_to(words[3], UINT8_MAX);
    FabricPort port;
    if (!guid || !type || !number || !read_pkeys(words[4], port.pkeys)) {
        return false;
    }
    port.guid = Guid{*guid};
    port.type = *type;
    port.description = words[2];
    port.port = static_cast<std::uint32_t>(*number);
    if (port.type == NodeType::Switch) {
        port.node_guid = port.guid;
    }
    std::uint64_t ports = 0;
    for (std::size_t i = kColumnsOfPort; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const auto value = parse_number(word.substr(std::min(word.find('=') + 1, word.size())));
        if (!value || (!word.starts_with(kNode) && !word.starts_with(kPorts))) {
            return false;
        }
        if (word.starts_with(kNode)) {
            port.node_guid = Guid{*value};
        } else {
            ports = std::min<std::uint64_t>(*value, UINT8_MAX);
        }
    }
    fabric_.ports.push_back(port);
    if (port.type == NodeType::Switch && ports > port.port) {
        // The highest one says how many there are.
        port.port = static_cast<std::uint32_t>(ports);
        fabric_.ports.push_back(std::move(port));
    }
    return true;
}

Fabric Topology::take()
{
    for (FabricPort& port : fabric_.ports) {
        port.subnet_manager = port.guid == subnet_manager_;
    }
    return std::move(fabric_);
}

}    // namespace

Result<Fabric> parse_topology(const std::string& text)
{
    Topology topology;
    std::size_t number = 0;
    for (const auto line : lines_of(text)) {
        ++number;
        const auto words = words_of(line);
        if (!words.empty() && !words.front().starts_with('#') && !topology.add(words)) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("line {} of the topology is not `GUID TYPE \"DESCRIPTION\" PORT PKEYS [node=GUID] "
                                    "[nports=N]`, `@sm GUID` or `@partition NAME PKEY [SL]`",
                                    number));
        }
    }
    return topology.take();
}

Result<Fabric> read_topology(const std::string& file)
{
    const auto text = read_regular_file(file, kMaxConfigFileSize);
    auto read = text ? parse_topology(*text) : fail(text.error());
    return read ? std::move(read) : fail(std::move(read).error().with_context(file));
}

}    // namespace rdmaqos::ctl
