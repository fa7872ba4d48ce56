#include "policy/opensm/parser.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/opensm/lexer.h"
#include "policy/opensm/values.h"

namespace rdmaqos::opensm {
namespace {

using enum TokenKind;
using namespace std::string_view_literals;

constexpr TokenSet kGroupEntries(Name, Use, PortGuid, PortName, PKey, Partition, NodeTypes, EndPortGroup);
constexpr TokenSet kLevelEntries(Name, Use, Sl, MtuLimit, RateLimit, PacketLife, PathBits, PKey, EndQosLevel);
constexpr TokenSet kRuleEntries(Use, QosClass, QosLevelName, Source, Destination, ServiceId, PKey, EndQosMatchRule);
constexpr TokenSet kVlarbEntries(Group, Across, VlarbHigh, VlarbLow, VlHighLimit, EndVlarbScope);
constexpr TokenSet kSl2vlEntries(Group, Across, AcrossFrom, AcrossTo, From, To, Sl2vlTable, EndSl2vlScope);
constexpr TokenSet kSections(QosUlps, PortGroups, QosSetup, QosLevels, QosMatchRules);
// Where each line is an entry of its own, the next one that cannot be read is worth a message of its own.
constexpr TokenSet kUnknownWord(TokenKind::Text);
// Where one block can end because its own end was forgotten.
constexpr TokenSet kBlockStarts = TokenSet::range(QosUlps, EndQosMatchRule);

class Parser {
public:
    Parser(reader::Context& context, OpensmMode mode, File& file) : file_(file), in_(context, mode) {}

    void parse();
    [[nodiscard]] std::optional<Refusal> take_refusal() { return in_.take_refusal(); }

private:
    // `entry(tag)` reads what follows a tag that may stand; false: reported.
    template <typename Block, typename Entry>
    void parse_block(TokenKind end, TokenSet entries, Block& block, Entry entry);
    // The objects between `start` and the end of their section, whose own start has been taken.
    template <typename Parse>
    void parse_list(TokenKind start, TokenKind end, bool may_be_empty, Parse parse);
    void parse_section(SectionKind kind);
    void parse_group(const Token& start);
    void parse_level(const Token& start);
    void parse_rule(const Token& start);
    void parse_ulps();
    bool parse_ulp();
    void parse_setup(const Token& start);
    void parse_vlarb(const Token& start, Setup& setup);
    void parse_sl2vl(const Token& start, Setup& setup);
    [[nodiscard]] std::size_t count_of(SectionKind kind) const;

    File& file_;
    Values in_;
};

template <typename Block, typename Entry>
void Parser::parse_block(TokenKind end, TokenSet entries, Block& block, Entry entry)
{
    const std::string place = fmt::format("a `{}`", word_of(end).substr(4));
    bool damaged = false;
    while (!in_.is_refused()) {
        in_.set_ends_of_value(entries);
        const TokenKind kind = in_.peek().kind;
        if (kind == end) {
            static_cast<void>(in_.take());
            if (!damaged) {
                block.ended = in_.mark();
            }
            break;
        }
        if (!entries.contains(kind)) {
            in_.refuse(place, entries, {});
            if (kind == End || kBlockStarts.contains(kind)) {
                break;    // of another block, which goes on from here
            }
        } else if (const Token tag = in_.take(); entry(tag)) {
            continue;
        }
        damaged = true;
        if (!entries.contains(in_.peek().kind) && !kBlockStarts.contains(in_.peek().kind)) {
            in_.recover(entries | kBlockStarts | kUnknownWord);
        }
    }
    in_.set_ends_of_value(kAllWords);
}

template <typename Parse>
void Parser::parse_list(TokenKind start, TokenKind end, bool may_be_empty, Parse parse)
{
    const std::string place = fmt::format("`{}`", word_of(end).substr(4));
    bool empty = true;
    while (!in_.is_refused()) {
        const TokenKind kind = in_.peek().kind;
        if (kind == start) {
            const Token token = in_.take();
            parse(token);
            empty = false;
            continue;
        }
        if (kind == end && (may_be_empty || !empty)) {
            static_cast<void>(in_.take());
            return;
        }
        in_.refuse(place, empty && !may_be_empty ? TokenSet(start) : TokenSet(start, end), {});
        if (kind == end) {
            static_cast<void>(in_.take());
            return;
        }
        if (kind == End || kSections.contains(kind)) {
            return;
        }
        empty = false;
        in_.recover(TokenSet(start, end) | kSections);
    }
}

void Parser::parse_group(const Token& start)
{
    opensm::Group group;
    group.at = start.at;
    parse_block(EndPortGroup, kGroupEntries, group, [&](const Token& tag) {
        switch (tag.kind) {
        case Name:
            return in_.read_text_of(tag, group.name, group.repeated);
        case Use:
            return in_.read_text_of(tag, group.use, group.repeated);
        case PortGuid:
            return in_.read_ranges(group.port_guids);
        case PortName:
            return in_.read_texts(group.port_names);
        case PKey:
            return in_.read_ranges(group.pkeys);
        case Partition:
            return in_.read_texts(group.partitions);
        default:
            return in_.read_node_types(group.node_types);
        }
    });
    file_.groups.push_back(std::move(group));
}

void Parser::parse_level(const Token& start)
{
    Level level;
    level.at = start.at;
    parse_block(EndQosLevel, kLevelEntries, level, [&](const Token& tag) {
        switch (tag.kind) {
        case Name:
            return in_.read_text_of(tag, level.name, level.repeated);
        case Use:
            return in_.read_text_of(tag, level.use, level.repeated);
        case Sl:
            return in_.read_number_of(tag, level.sl, level.repeated);
        case MtuLimit:
            return in_.read_number_of(tag, level.mtu_limit, level.repeated);
        case RateLimit:
            return in_.read_number_of(tag, level.rate_limit, level.repeated);
        case PacketLife:
            return in_.read_number_of(tag, level.packet_life, level.repeated);
        case PathBits:
            return in_.read_ranges(level.path_bits);
        default:
            return in_.read_ranges(level.pkeys);
        }
    });
    file_.levels.push_back(std::move(level));
}

void Parser::parse_rule(const Token& start)
{
    Rule rule;
    rule.at = start.at;
    parse_block(EndQosMatchRule, kRuleEntries, rule, [&](const Token& tag) {
        switch (tag.kind) {
        case Use:
            return in_.read_text_of(tag, rule.use, rule.repeated);
        case QosLevelName:
            return in_.read_text_of(tag, rule.level_name, rule.repeated);
        case Source:
            return in_.read_texts(rule.source);
        case Destination:
            return in_.read_texts(rule.destination);
        case QosClass:
            return in_.read_ranges(rule.qos_class);
        case ServiceId:
            return in_.read_ranges(rule.service_id);
        default:
            return in_.read_ranges(rule.pkey);
        }
    });
    file_.rules.push_back(std::move(rule));
}

bool Parser::parse_ulp()
{
    const Token word = in_.take();
    UlpEntry entry;
    entry.at = word.at;
    entry.ulp = word.ulp;
    entry.criterion = word.criterion;
    bool good = true;
    if (entry.criterion) {
        good = in_.read_ranges(entry.ranges);
        if (good && !in_.take_if(Colon)) {
            in_.refuse("an entry of `qos-ulps`", TokenSet(), "`:` and an SL");
            good = false;
        }
    }
    if (!good) {
        return false;
    }
    entry.acted = in_.mark();
    entry.sl = in_.read_number();
    good = entry.sl.has_value();
    file_.ulps.push_back(std::move(entry));
    return good;
}

void Parser::parse_ulps()
{
    constexpr std::string_view kPlace = "`qos-ulps`";
    constexpr std::string_view kWanted = "an ulp such as `sdp, port-num 80 : 1`, `ipoib : 2` or `any, pkey 5 : 3`";
    bool empty = true;
    while (!in_.is_refused()) {
        const TokenKind kind = in_.peek().kind;
        if (kind == TokenKind::Ulp) {
            empty = false;
            if (!parse_ulp() && in_.peek().kind != TokenKind::Ulp && in_.peek().kind != EndQosUlps) {
                in_.recover(TokenSet(TokenKind::Ulp, EndQosUlps) | kSections | kUnknownWord);
            }
            continue;
        }
        if (kind == EndQosUlps && !empty) {
            static_cast<void>(in_.take());
            return;
        }
        in_.refuse(kPlace, TokenSet(), kWanted);
        if (kind == EndQosUlps) {
            static_cast<void>(in_.take());
            return;
        }
        if (kind == End || kSections.contains(kind)) {
            return;
        }
        empty = false;
        in_.recover(TokenSet(TokenKind::Ulp, EndQosUlps) | kSections | kUnknownWord);
    }
}

void Parser::parse_vlarb(const Token& start, Setup& setup)
{
    opensm::VlarbScope scope;
    scope.at = start.at;
    parse_block(EndVlarbScope, kVlarbEntries, scope, [&](const Token& tag) {
        switch (tag.kind) {
        case TokenKind::Group:
            return in_.read_texts(scope.group);
        case Across:
            return in_.read_texts(scope.across);
        case VlarbHigh:
            return in_.read_pairs(scope.high);
        case VlarbLow:
            return in_.read_pairs(scope.low);
        default:
            scope.high_limit = in_.read_number();
            return scope.high_limit.has_value();
        }
    });
    setup.vlarb.push_back(std::move(scope));
}

void Parser::parse_sl2vl(const Token& start, Setup& setup)
{
    opensm::Sl2vlScope scope;
    scope.at = start.at;
    parse_block(EndSl2vlScope, kSl2vlEntries, scope, [&](const Token& tag) {
        switch (tag.kind) {
        case TokenKind::Group:
            return in_.read_texts(scope.group);
        case Across:
            return in_.read_texts(scope.across);
        case AcrossFrom:
            return in_.read_texts(scope.across_from);
        case AcrossTo:
            return in_.read_texts(scope.across_to);
        case From:
            return in_.read_ports(tag, scope.from);
        case To:
            return in_.read_ports(tag, scope.to);
        default:
            return in_.read_table(tag, scope.tables);
        }
    });
    setup.sl2vl.push_back(std::move(scope));
}

void Parser::parse_setup(const Token& start)
{
    Setup setup;
    setup.at = start.at;
    const TokenSet wanted(VlarbTables, Sl2vlTables, EndQosSetup);
    while (!in_.is_refused()) {
        const TokenKind kind = in_.peek().kind;
        if (kind == VlarbTables) {
            static_cast<void>(in_.take());
            parse_list(TokenKind::VlarbScope, EndVlarbTables, true,
                       [&](const Token& scope) { parse_vlarb(scope, setup); });
        } else if (kind == Sl2vlTables) {
            static_cast<void>(in_.take());
            parse_list(TokenKind::Sl2vlScope, EndSl2vlTables, true,
                       [&](const Token& scope) { parse_sl2vl(scope, setup); });
        } else if (kind == EndQosSetup) {
            static_cast<void>(in_.take());
            break;
        } else {
            in_.refuse("`qos-setup`", wanted, {});
            if (kind == End || kSections.contains(kind)) {
                break;
            }
            in_.recover(wanted | kSections);
        }
    }
    file_.setups.push_back(std::move(setup));
}

// The value of an option of opensm.conf: `qos_policy_file /etc/opensm/qos-policy.conf`; nothing if it is not there.
std::optional<std::string_view> option_of(std::string_view text, std::string_view option)
{
    for (const std::string_view line : lines_of(text)) {
        const std::string_view bare = without_blanks(line, " \t\r");
        if (bare.starts_with(option) &&
            (bare.size() == option.size() || bare[option.size()] == ' ' || bare[option.size()] == '\t')) {
            return without_blanks(bare.substr(option.size()));
        }
    }
    return std::nullopt;
}

// Options that every opensm.conf has which `opensm -c` wrote, or that an administrator writes for QoS.
bool is_options_file(std::string_view text)
{
    constexpr std::array kOptions{"qos_policy_file"sv, "sm_priority"sv, "subnet_prefix"sv,
                                  "routing_engine"sv,  "qos_max_vls"sv, "partition_config_file"sv};
    return std::ranges::any_of(kOptions,
                               [text](std::string_view option) { return option_of(text, option).has_value(); });
}

std::string policy_file_of(std::string_view options)
{
    const auto file = option_of(options, "qos_policy_file");
    return file && !file->empty() && *file != "(null)"
               ? fmt::format("the policy is the file of its `qos_policy_file`: {}", printable(*file))
               : "the policy is the file of `qos_policy_file`, by default /etc/opensm/qos-policy.conf";
}

std::size_t Parser::count_of(SectionKind kind) const
{
    switch (kind) {
    case SectionKind::Ulps:
        return file_.ulps.size();
    case SectionKind::Groups:
        return file_.groups.size();
    case SectionKind::Setup:
        return file_.setups.size();
    case SectionKind::Levels:
        return file_.levels.size();
    case SectionKind::Rules:
        break;
    }
    return file_.rules.size();
}

void Parser::parse_section(SectionKind kind)
{
    const Token start = in_.take();
    const std::size_t first = count_of(kind);
    switch (kind) {
    case SectionKind::Ulps:
        parse_ulps();
        break;
    case SectionKind::Groups:
        parse_list(PortGroup, EndPortGroups, false, [this](const Token& token) { parse_group(token); });
        break;
    case SectionKind::Setup:
        parse_setup(start);
        break;
    case SectionKind::Levels:
        parse_list(QosLevel, EndQosLevels, true, [this](const Token& token) { parse_level(token); });
        break;
    case SectionKind::Rules:
        parse_list(QosMatchRule, EndQosMatchRules, true, [this](const Token& token) { parse_rule(token); });
        break;
    }
    file_.sections.push_back({kind, start.at, first, count_of(kind) - first});
}

void Parser::parse()
{
    while (!in_.is_refused()) {
        const TokenKind kind = in_.peek().kind;
        switch (kind) {
        case End:
            return;
        case QosUlps:
            parse_section(SectionKind::Ulps);
            break;
        case PortGroups:
            parse_section(SectionKind::Groups);
            break;
        case QosSetup:
            parse_section(SectionKind::Setup);
            break;
        case QosLevels:
            parse_section(SectionKind::Levels);
            break;
        case QosMatchRules:
            parse_section(SectionKind::Rules);
            break;
        default:
            if (is_options_file(file_.source->text)) {
                in_.refuse_file("this is OpenSM's file of options, not its QoS policy",
                                policy_file_of(file_.source->text));
                return;
            }
            in_.refuse("the file outside all sections", kSections, {});
            in_.recover(kSections);
        }
    }
}

}    // namespace

Parsed parse_opensm_file(reader::Context& context, OpensmMode mode)
{
    auto file = std::make_shared<File>();
    file->source = context.files().front();
    Parser parser(context, mode, *file);
    parser.parse();
    return {std::move(file), parser.take_refusal()};
}

}    // namespace rdmaqos::opensm
