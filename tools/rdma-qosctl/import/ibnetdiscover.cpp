#include "tools/rdma-qosctl/import/ibnetdiscover.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/ib.h"
#include "policy/model/lid_table.h"
#include "policy/yaml/fields.h"
#include "tools/rdma-qosctl/import/text_lines.h"

namespace rdmaqos {
namespace {

using namespace reader;
using namespace std::string_view_literals;

constexpr std::array<std::pair<std::string_view, NodeType>, 5> kNodeWords{{{"Switch", NodeType::Switch},
                                                                           {"Ca", NodeType::Ca},
                                                                           {"Hca", NodeType::Ca},
                                                                           {"Rt", NodeType::Router},
                                                                           {"Router", NodeType::Router}}};
constexpr std::array<std::pair<std::string_view, NodeType>, 3> kPortWords{
    {{"CA", NodeType::Ca}, {"SW", NodeType::Switch}, {"RT", NodeType::Router}}};
// Lines that tell nothing of nodes and ports.
constexpr std::array kHeadings{"#"sv,        "Chassis "sv, "Hostname:"sv,   "Non-Chassis Nodes"sv,
                               "vendid="sv,  "devid="sv,   "sysimgguid="sv, "caguid="sv,
                               "hcaguid="sv, "rtguid="sv,  "???guid="sv};
constexpr std::uint64_t kHighestPort = 254;

// Takes parts off the front of a line.
class Cursor {
public:
    explicit Cursor(std::string_view text) : rest_(text) {}

    [[nodiscard]] std::string_view rest() const { return rest_; }
    bool take(std::string_view prefix)
    {
        if (!rest_.starts_with(prefix)) {
            return false;
        }
        rest_.remove_prefix(prefix.size());
        return true;
    }
    bool blanks()
    {
        const auto before = rest_.size();
        rest_ = without_leading_blanks(rest_);
        return rest_.size() != before;
    }
    std::optional<std::uint64_t> decimal()
    {
        const auto digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
        const auto number = parse(rest_.substr(0, digits));
        rest_.remove_prefix(number ? digits : 0);
        return number;
    }
    std::optional<Guid> hexadecimal()
    {
        const CNumber number = read_hex_digits(rest_);
        rest_.remove_prefix(number.length);
        return number.length == 0 ? std::nullopt : std::optional(Guid{number.value});
    }

private:
    static std::optional<std::uint64_t> parse(std::string_view digits)
    {
        constexpr std::size_t kMostDigits = 9;
        if (digits.empty() || digits.size() > kMostDigits) {
            return std::nullopt;
        }
        std::uint64_t value = 0;
        for (const char c : digits) {
            value = value * 10 + static_cast<std::uint64_t>(c - '0');
        }
        return value;
    }

    std::string_view rest_;
};

// What a subnet manager makes of a NodeDescription.
std::string printed_description(std::string_view text)
{
    std::string description(text);
    std::replace_if(
        description.begin(), description.end(), [](char c) { return c < 0x20 || c > 0x7E; }, ' ');
    return description;
}

struct Quoted {
    std::string_view text;
    bool found = false;
};

// From the first to the last of these quotes.
Quoted between(std::string_view text, std::string_view open, std::string_view close)
{
    const auto begin = text.find(open);
    const auto end = text.rfind(close);
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin + open.size()) {
        return {};
    }
    return {text.substr(begin + open.size(), end - begin - open.size()), true};
}

// As they are printed.
struct Lids {
    std::uint64_t base = 0;    // 0: none
    std::uint64_t lmc = 0;
};

// `lid 4 lmc 0`, from where it begins
Lids parse_lids(std::string_view text)
{
    Cursor cursor(text);
    const auto base = cursor.take("lid ") ? cursor.decimal() : std::nullopt;
    const auto lmc = base && cursor.take(" lmc ") ? cursor.decimal() : std::nullopt;
    return lmc ? Lids{*base, *lmc} : Lids{};
}

// What a lane carries, in units of 0.5 Gbit/s. FDR10's 10.3 are nominally 10.
constexpr std::array<std::pair<std::string_view, std::uint32_t>, 9> kLaneSpeeds{{{"SDR", 5},
                                                                                 {"DDR", 10},
                                                                                 {"QDR", 20},
                                                                                 {"FDR10", 20},
                                                                                 {"FDR", 28},
                                                                                 {"EDR", 50},
                                                                                 {"HDR", 100},
                                                                                 {"NDR", 200},
                                                                                 {"XDR", 400}}};

// `4xFDR` or `4x FDR`, and what follows a blank; empty: no rate that InfiniBand has
std::optional<IbRate> parse_rate(std::string_view text)
{
    constexpr std::uint64_t kWidest = 12;
    constexpr std::uint64_t kUnit = 500'000;    // kbit/s
    Cursor cursor(text);
    const auto width = cursor.decimal();
    if (!width || *width > kWidest || !cursor.take("x")) {
        return std::nullopt;
    }
    cursor.blanks();
    const std::string_view word = cursor.rest().substr(0, cursor.rest().find_first_of(" \t"));
    const auto* const speed = std::find_if(kLaneSpeeds.begin(), kLaneSpeeds.end(),
                                           [word](const auto& entry) { return entry.first == word; });
    return speed == kLaneSpeeds.end() ? std::nullopt
                                      : ib_rate_from_bandwidth(Bandwidth::from_kbps(*width * speed->second * kUnit));
}

// `Ca 1 "H-0002c90300a1b2c0"  # "node1 HCA-1"`, of a switch also ` enhanced port 0 lid 2 lmc 0`
struct NodeLine {
    NodeType type = NodeType::Ca;
    Guid guid;
    Quoted description;
    Lids lids;
};

std::optional<NodeLine> parse_node_line(std::string_view line)
{
    for (const auto& [word, type] : kNodeWords) {
        Cursor cursor(line);
        if (!cursor.take(word) || !cursor.blanks() || !cursor.decimal() || !cursor.blanks() || !cursor.take("\"") ||
            cursor.rest().size() < 2) {
            continue;
        }
        cursor.take(cursor.rest().substr(0, 1));    // S, H or R
        const auto guid = cursor.take("-") ? cursor.hexadecimal() : std::nullopt;
        if (!guid || !cursor.take("\"")) {
            continue;
        }
        const std::string_view rest = cursor.rest();
        const auto lids = rest.find("lid ", std::min(rest.rfind('"'), rest.size()));
        return NodeLine{type, *guid, between(rest, "\"", "\""), parse_lids(rest.substr(std::min(lids, rest.size())))};
    }
    return std::nullopt;
}

// `[1](2c90300a1b2c1)  "S-0002c90200400d98"[1] # lid 4 lmc 0 ...`, also `[1][ext 3]...`
struct PortLine {
    std::uint64_t number = 0;
    std::optional<Guid> guid;
    std::optional<Guid> peer;    // the node at the other end
    std::optional<std::uint64_t> peer_port;
    bool peer_is_host = false;
    Lids lids;
    std::optional<IbRate> rate;
};

// The rate behind the name of the other end: `lid 4 lmc 0 "leaf 1" lid 2 4xEDR`
std::optional<IbRate> rate_behind_name(std::string_view remark)
{
    Cursor cursor(remark.substr(remark.rfind('"') + 1));
    return cursor.blanks() && cursor.take("lid ") && cursor.decimal() && cursor.blanks() ? parse_rate(cursor.rest())
                                                                                         : std::nullopt;
}

std::optional<PortLine> parse_port_line(std::string_view line)
{
    Cursor cursor(line);
    PortLine port;
    const auto number = cursor.take("[") ? cursor.decimal() : std::nullopt;
    if (!number || !cursor.take("]")) {
        return std::nullopt;
    }
    port.number = *number;
    if (cursor.take("[ext ")) {
        if (!cursor.decimal() || !cursor.take("]")) {
            return std::nullopt;
        }
    }
    if (cursor.take("(")) {
        port.guid = cursor.hexadecimal();
        if (!port.guid || !cursor.take(")")) {
            return std::nullopt;
        }
    }
    if (!cursor.blanks() || !cursor.take("\"")) {
        return std::nullopt;
    }
    port.peer_is_host = cursor.rest().starts_with('H');
    Cursor peer(cursor.rest().substr(std::min<std::size_t>(cursor.rest().size(), 1)));    // after S, H or R
    port.peer = peer.take("-") ? peer.hexadecimal() : std::nullopt;
    port.peer_port = port.peer && peer.take("\"[") ? peer.decimal() : std::nullopt;
    // Of a switch's port a description follows: that of the other end, whose LID is behind it.
    const std::string_view rest = cursor.rest();
    const auto remark = rest.find('#');
    if (remark != std::string_view::npos) {
        port.lids = parse_lids(without_leading_blanks(rest.substr(remark + 1)));
        port.rate = rate_behind_name(rest.substr(remark + 1));
    }
    return port;
}

// `CA  4  1 0x0002c90300a1b2c1 4x QDR - SW  2  1 0x0002c90200400d98 ( 'node1 HCA-1' - 'leaf 1' )`
struct ReportLine {
    NodeType type = NodeType::Ca;
    std::uint64_t number = 0;
    Guid guid;
    bool linked = false;
    Quoted description;
    std::uint64_t lid = 0;
    std::optional<IbRate> rate;
};

std::optional<ReportLine> parse_report_line(std::string_view line)
{
    const auto* const word = std::find_if(kPortWords.begin(), kPortWords.end(),
                                          [line](const auto& entry) { return line.starts_with(entry.first); });
    if (word == kPortWords.end()) {
        return std::nullopt;
    }
    Cursor cursor(line.substr(word->first.size()));
    const auto lid = cursor.blanks() ? cursor.decimal() : std::nullopt;
    const auto number = lid && cursor.blanks() ? cursor.decimal() : std::nullopt;
    if (!number || !cursor.blanks() || !cursor.take("0x")) {
        return std::nullopt;
    }
    const auto guid = cursor.hexadecimal();
    if (!guid || !cursor.blanks()) {
        return std::nullopt;
    }
    ReportLine port{word->second, *number, *guid, false, {}, *lid, parse_rate(cursor.rest())};
    const std::string_view rest = cursor.rest();
    const auto names = rest.find("( '");
    port.linked = names != std::string_view::npos && rest.find(" - ") < names;
    port.description = port.linked ? between(rest.substr(0, rest.find("' - '", names) + 1), "( '", "'")
                                   : between(rest, "'", "'");
    return port.description.found ? std::optional(port) : std::nullopt;
}

class DiscoveryReader {
public:
    explicit DiscoveryReader(std::shared_ptr<const SourceFile> source) : lines_(std::move(source)) {}

    ReadResult<IbnetdiscoverReport> read()
    {
        while (!given_up_ && lines_.next()) {
            read_line(without_blanks(lines_.line()));
        }
        if (discovery_.nodes.empty() && !diagnostics_.has_errors()) {
            diagnostics_.error(lines_.start(), "there is no node in this file").hint = kExpected;
        }
        if (!diagnostics_.has_errors()) {
            check_links();
        }
        ReadResult<IbnetdiscoverReport> result;
        if (!diagnostics_.has_errors()) {
            result.value = std::make_shared<const IbnetdiscoverReport>(std::move(discovery_));
        }
        result.diagnostics = std::move(diagnostics_);
        return result;
    }

private:
    static constexpr const char* kExpected =
        "expected the output of `ibnetdiscover`, without options or with -g, -f, -m or -p";

    static constexpr const char* kCutOff =
        "the file was cut off: make it again, and see that `ibnetdiscover` ends with status 0";

    void read_line(std::string_view line)
    {
        if (line.starts_with("switchguid=0x")) {
            read_switch_guid(line);
        } else if (const auto node = parse_node_line(line)) {
            add_node(line, *node);
        } else if (const auto port = parse_port_line(line)) {
            add_port(line, *port);
        } else if (const auto report = parse_report_line(line)) {
            add_report(line, *report);
        } else if (!line.empty() && !is_heading(line)) {
            refuse(line);
        }
    }

    // ibnetdiscover writes a block for every node it has found, links only between those, and each at both ends.
    void check_links()
    {
        check_ends();
        const std::size_t all = links_.size();
        std::erase_if(links_, [this](const Link& link) { return node_guids_.contains(link.peer.value); });
        if (links_.empty()) {
            return;
        }
        const Link& first = links_.front();
        const auto message = fmt::format("{} of {} nodes that links name have no block in this file, the first is {}",
                                         links_.size(), all, to_string(first.peer));
        const bool has_host = std::any_of(discovery_.nodes.begin(), discovery_.nodes.end(),
                                          [](const auto& node) { return node.type == NodeType::Ca; });
        const bool names_host = std::any_of(links_.begin(), links_.end(),
                                            [](const Link& link) { return link.is_host; });
        Diagnostic& diagnostic = names_host && !has_host ? diagnostics_.error(first.at, message)
                                                         : diagnostics_.warning(first.at, message);
        diagnostic.hint = kCutOff;
    }

    // Of the last block, in which a file that was cut off may end.
    void check_ends()
    {
        const Guid last = discovery_.nodes.empty() ? Guid() : discovery_.nodes.back().guid;
        const auto is_missing = [&](const End& end) { return end.node == last && !ports_.contains(end.port); };
        const auto end = std::find_if(ends_.begin(), ends_.end(), is_missing);
        if (end != ends_.end()) {
            diagnostics_
                .warning(end->at, fmt::format("port {} of {} is not in the block of its node, the last of this file",
                                              end->port, to_string(last)))
                .hint = kCutOff;
        }
    }

    static bool is_heading(std::string_view line)
    {
        return std::any_of(kHeadings.begin(), kHeadings.end(),
                           [line](std::string_view start) { return line.starts_with(start); });
    }

    void refuse(std::string_view line)
    {
        const auto at = lines_.locate(line);
        const std::string_view word = line.substr(0, std::min(line.find_first_of(" \t"), line.size()));
        const bool is_node_list = without_leading_blanks(line.substr(word.size())).starts_with(": 0x");
        if (is_node_list) {
            diagnostics_.error(at, "this is a list of nodes, without their ports")
                .hint = "run `ibnetdiscover` without -l, -H, -S and -R";
        } else if (line.starts_with("< ") || line.starts_with("> ")) {
            diagnostics_.error(at, "this is the difference of two fabrics").hint = "run `ibnetdiscover` without --diff";
        } else {
            diagnostics_.error(at, fmt::format("`{}` is not a line of ibnetdiscover's output", shortened(line)))
                .hint = kExpected;
        }
        // Of another file altogether one line says enough.
        given_up_ = is_node_list || discovery_.nodes.empty();
    }

    // `switchguid=0x2c90200400d98(2c90200400d98)`: of the node, and of its port 0
    void read_switch_guid(std::string_view line)
    {
        Cursor cursor(line);
        cursor.take("switchguid=0x");
        const auto node = cursor.hexadecimal();
        const auto port = cursor.take("(") ? cursor.hexadecimal() : node;
        if (!node || !port || port->value == 0) {
            diagnostics_.error(lines_.locate(line), fmt::format("`{}` has no GUID", shortened(line)));
            return;
        }
        switch_ = {*node, *port};
    }

    void add_node(std::string_view line, const NodeLine& parsed)
    {
        current_.reset();
        const auto at = lines_.locate(line);
        if (parsed.guid.value == 0) {
            diagnostics_.error(at, "the GUID of a node is 0");
            return;
        }
        if (!parsed.description.found) {
            diagnostics_.error(at, "a node without a description").hint = "it follows `#`, in quotes";
            return;
        }
        if (is_too_long(parsed.description)) {
            return;
        }
        const auto [first, is_new] = node_guids_.emplace(parsed.guid.value, at);
        if (!is_new) {
            diagnostics_.warning(at,
                                 fmt::format("node {} is listed twice; this one is ignored", to_string(parsed.guid)));
            diagnostics_.note(first->second, "it is first listed here");
            is_repeated_ = true;
            return;
        }
        is_repeated_ = false;
        ports_.clear();
        current_ = discovery_.nodes.size();
        discovery_.nodes.push_back({parsed.type, parsed.guid, printed_description(parsed.description.text), {}, at});
        if (parsed.type == NodeType::Switch) {
            const Guid port = switch_.first == parsed.guid ? switch_.second : parsed.guid;
            add_port_of(discovery_.nodes.back(), {port, 0, std::nullopt, std::nullopt}, parsed.lids, at);
        }
    }

    bool is_too_long(const Quoted& description)
    {
        if (description.text.size() <= kLongestDescription) {
            return false;
        }
        diagnostics_.error(lines_.locate(description.text),
                           fmt::format("a description of {} bytes; a node has at most 64", description.text.size()));
        return true;
    }

    void add_port(std::string_view line, const PortLine& parsed)
    {
        const auto at = lines_.locate(line);
        if (parsed.peer && peers_.insert(parsed.peer->value).second) {
            links_.push_back({*parsed.peer, parsed.peer_is_host, at});
        }
        if (parsed.peer && parsed.peer_port) {
            ends_.push_back({*parsed.peer, *parsed.peer_port, at});
        }
        if (!current_) {
            if (!is_repeated_ && !diagnostics_.has_errors()) {
                diagnostics_.error(at, "a port before the node it belongs to").hint = kExpected;
            }
            return;
        }
        DiscoveredNode& node = discovery_.nodes[*current_];
        if (parsed.number == 0 || parsed.number > kHighestPort) {
            diagnostics_.error(at, fmt::format("a port cannot have the number {}", parsed.number));
            return;
        }
        ports_.insert(parsed.number);
        if (node.type == NodeType::Switch) {
            return;    // its ports are no ends; they share the GUID of port 0
        }
        if (!parsed.guid) {
            diagnostics_.warning(at, "a port without a GUID is ignored")
                .hint = "ibnetdiscover has printed it since 2007: regenerate the file";
            return;
        }
        if (parsed.guid->value == 0) {
            diagnostics_.error(at, "the GUID of a port is 0");
            return;
        }
        add_port_of(node, {*parsed.guid, static_cast<std::uint32_t>(parsed.number), std::nullopt, parsed.rate},
                    parsed.lids, at);
    }

    void add_report(std::string_view line, const ReportLine& parsed)
    {
        const auto at = lines_.locate(line);
        discovery_.is_ports_report = true;
        if (parsed.guid.value == 0 || parsed.number > kHighestPort) {
            diagnostics_.error(
                at, fmt::format("no port has the number {} and the GUID {}", parsed.number, to_string(parsed.guid)));
            return;
        }
        const bool is_switch = parsed.type == NodeType::Switch;
        if (is_switch ? port_guids_.contains(parsed.guid.value) : !parsed.linked) {
            return;
        }
        if (is_too_long(parsed.description)) {
            return;
        }
        DiscoveredNode node{parsed.type, {}, printed_description(parsed.description.text), {}, at};
        add_port_of(node,
                    {parsed.guid, is_switch ? 0 : static_cast<std::uint32_t>(parsed.number), std::nullopt,
                     is_switch ? std::nullopt : parsed.rate},
                    {parsed.lid, 0}, at);
        if (!node.ports.empty()) {
            discovery_.nodes.push_back(std::move(node));
        }
    }

    void add_port_of(DiscoveredNode& node, DiscoveredPort port, const Lids& lids, const Location& at)
    {
        const auto [first, is_new] = port_guids_.emplace(port.guid.value, at);
        if (is_new) {
            port.lids = lids_of(port.guid, lids, at);
            node.ports.push_back(port);
            return;
        }
        diagnostics_.warning(at,
                             fmt::format("another port has the GUID {}; this one is ignored", to_string(port.guid)));
        diagnostics_.note(first->second, "it is here");
    }

    // Empty: the subnet manager has given it none, or the fabric file could not have them.
    std::optional<LidRange> lids_of(Guid guid, const Lids& printed, const Location& at)
    {
        if (printed.base == 0) {
            return std::nullopt;
        }
        const LidRange lids{{static_cast<std::uint16_t>(printed.base)}, static_cast<std::uint8_t>(printed.lmc)};
        if (printed.base > kHighestLid || printed.lmc > kHighestLmc || !lids.is_aligned()) {
            diagnostics_.warning(
                at, fmt::format("no port can have LID {} with LMC {}; it is left out", printed.base, printed.lmc));
            return std::nullopt;
        }
        if (const auto other = lids_.add(lids, guid)) {
            diagnostics_.warning(at,
                                 fmt::format("another port has {}; this one is taken to have none", in_words(lids)));
            diagnostics_.note(port_guids_.at(other->value), "it is here");
            return std::nullopt;
        }
        return lids;
    }

    struct Link {
        Guid peer;
        bool is_host = false;
        Location at;
    };
    struct End {
        Guid node;
        std::uint64_t port = 0;
        Location at;
    };

    TextLines lines_;
    Diagnostics diagnostics_;
    IbnetdiscoverReport discovery_;
    std::optional<std::size_t> current_;    // the node whose ports are being read
    bool is_repeated_ = false;              // they are those of a node that is left out
    std::pair<Guid, Guid> switch_;          // of the last switchguid line: node, port 0
    std::unordered_map<std::uint64_t, Location> node_guids_;
    std::unordered_map<std::uint64_t, Location> port_guids_;
    std::unordered_set<std::uint64_t> peers_;
    std::vector<Link> links_;          // the first to each of them
    std::set<std::uint64_t> ports_;    // of the last node
    std::vector<End> ends_;            // those that links name
    LidTable lids_;
    bool given_up_ = false;
};

}    // namespace

ReadResult<IbnetdiscoverReport> read_ibnetdiscover(std::shared_ptr<const SourceFile> source)
{
    return DiscoveryReader(std::move(source)).read();
}

}    // namespace rdmaqos
