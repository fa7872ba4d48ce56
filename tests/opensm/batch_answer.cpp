#include "tests/opensm/batch_answer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/units.h"
#include "policy/model/identity.h"
#include "policy/path/path_limits.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kLevelColumns = 5;
constexpr std::size_t kPathColumns = 12;
constexpr std::string_view kAbsent = "-";
constexpr int kNotFound = 5;    // IB_NOT_FOUND, OpenSM's one reason for "no such path"

std::vector<std::string_view> columns_of(std::string_view line)
{
    constexpr std::string_view kBlanks = " \t\r";
    std::vector<std::string_view> columns;
    for (auto begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;
         begin = line.find_first_not_of(kBlanks, begin)) {
        const auto end = std::min(line.find_first_of(kBlanks, begin), line.size());
        columns.push_back(line.substr(begin, end - begin));
        begin = end;
    }
    return columns;
}

// False: it is neither absent nor a number of this type.
template <typename T>
bool read_component(std::string_view text, std::optional<T>& component)
{
    if (text == kAbsent) {
        return true;
    }
    const auto number = parse_number(text);
    if (!number || *number > std::numeric_limits<T>::max()) {
        return false;
    }
    component = static_cast<T>(*number);
    return true;
}

template <typename T>
bool read_selected(std::string_view text, std::optional<Selected<T>>& component)
{
    constexpr std::array<std::pair<char, Selector>, 4> kSelectors{
        {{'<', Selector::LessThan}, {'>', Selector::GreaterThan}, {'=', Selector::Exactly}, {'^', Selector::Largest}}};
    if (text == kAbsent) {
        return true;
    }
    for (const auto& [sign, selector] : kSelectors) {
        std::optional<std::uint8_t> number;
        if (text.front() == sign && read_component(text.substr(1), number) && number) {
            component = {selector, static_cast<T>(*number)};
            return true;
        }
    }
    return false;
}

std::optional<IbRate> rate_of_link(std::string_view speed)
{
    constexpr std::array<std::pair<std::string_view, std::uint8_t>, 4> kRates{
        {{"2.5", 2}, {"10", 3}, {"20", 6}, {"40", 7}}};
    for (const auto& [name, number] : kRates) {
        if (speed == name) {
            return IbRate{number};
        }
    }
    return std::nullopt;
}

bool read_vl15(std::string_view list, PathLimits& limits)
{
    while (list != kAbsent && !list.empty()) {
        const auto comma = std::min(list.find(','), list.size());
        const auto sl = parse_number(list.substr(0, comma));
        if (!sl || *sl > kHighestSl) {
            return false;
        }
        limits.valid_sl_mask = static_cast<std::uint16_t>(limits.valid_sl_mask & ~(1U << *sl));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return true;
}

bool read_path(const std::vector<std::string_view>& columns, Request& request, PathLimits& limits)
{
    const auto rate = rate_of_link(columns[10]);
    const auto mtu = parse_number(columns[9]);
    if (!rate || !mtu || *mtu < 1 || *mtu > 5) {
        return false;
    }
    limits.rate = *rate;
    limits.mtu = static_cast<IbMtu>(*mtu);
    return read_component(columns[5], request.sl) && read_selected(columns[6], request.mtu) &&
           read_selected(columns[7], request.rate) && read_selected(columns[8], request.packet_life) &&
           read_vl15(columns[11], limits);
}

template <typename T>
std::string number_or_absent(const std::optional<T>& value)
{
    return value ? fmt::format("{}", static_cast<unsigned>(*value)) : std::string(kAbsent);
}

enum class As : bool { Number, PKey };

std::string ranges(const IntervalSet& set, As as)
{
    const auto number = [as](std::uint64_t value) {
        return as == As::PKey ? fmt::format("0x{:04x}", value) : fmt::format("{}", value);
    };
    std::string text;
    for (const Interval& interval : set.intervals()) {
        text += text.empty() ? "" : ",";
        text += number(interval.first);
        if (interval.last != interval.first) {
            text += "-" + number(interval.last);
        }
    }
    return text.empty() ? std::string(kAbsent) : text;
}

std::string_view in_words(PKeyProblem problem)
{
    switch (problem) {
    case PKeyProblem::NotShared:
        return "NONE(not-shared)";
    case PKeyProblem::NotInLevel:
        return "NONE(not-in-level)";
    case PKeyProblem::NoneShared:
        return "NONE(no-common)";
    case PKeyProblem::NoneOfLevelShared:
        return "NONE(level-none-shared)";
    }
    return kAbsent;
}

std::string rule_of(const Match& match)
{
    switch (match.source) {
    case LevelSource::Rule:
        return fmt::format("{}", match.rule->number);
    case LevelSource::Partition:
        return "partition";
    case LevelSource::Requested:
    case LevelSource::Default:
        break;
    }
    return "default";
}

}    // namespace

BatchAnswers::BatchAnswers(const Matcher& matcher, const Fabric& fabric) : matcher_(matcher)
{
    for (const FabricPort& port : fabric.ports) {
        ports_.emplace(port.guid.value, &port);
    }
}

std::string BatchAnswers::level_answer(const Request& request, const PathLimits& limits) const
{
    const auto match = matcher_.match(request, Identity{});
    if (!match) {
        return fmt::format("ERROR {}", printable(match.error().message));
    }
    const QosLevel& level = *match->level;
    const PKeyChoice pkey = choose_pkey(level, request, limits);
    return fmt::format("rule={} \"{}\" sl={} mtu={} rate={} life={} path-bits={} pkeys={} path-pkey={}",
                       rule_of(*match), level.name, number_or_absent(level.sl), number_or_absent(level.mtu_limit),
                       number_or_absent(level.rate_limit), number_or_absent(level.packet_life),
                       ranges(level.path_bits, As::Number), ranges(level.pkeys, As::PKey),
                       pkey.problem ? std::string(in_words(*pkey.problem)) : fmt::format("0x{:04x}", *pkey.pkey));
}

std::string BatchAnswers::path_answer(const Request& request, const PathLimits& limits) const
{
    const auto match = matcher_.match(request, Identity{});
    const auto path = match ? apply_level(*match->level, request, limits) : fail(match.error());
    if (!path) {
        return fmt::format("FAIL({})", kNotFound);
    }
    return fmt::format("OK mtu={} rate={} life={} pkey=0x{:04x} sl={}", static_cast<unsigned>(path->mtu),
                       number(path->rate), path->packet_life, path->pkey.value_or(0), number_or_absent(path->sl));
}

Result<std::string> BatchAnswers::answer(std::string_view line) const
{
    const auto columns = columns_of(line);
    const auto no_query = [&] {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`{}` is not a query of {} or {} columns", printable(beginning_of(line, 200)),
                                kLevelColumns, kPathColumns));
    };
    if (columns.size() != kLevelColumns && columns.size() != kPathColumns) {
        return no_query();
    }
    Request request;
    const auto source = parse_number(columns[0]);
    const auto destination = parse_number(columns[1]);
    if (!source || !destination) {
        return no_query();
    }
    request.source = Guid{*source};
    request.destination = Guid{*destination};
    const auto find = [this](Guid guid) -> const FabricPort* {
        const auto found = ports_.find(guid.value);
        return found != ports_.end() ? found->second : nullptr;
    };
    // No port of the topology is one of this host; a port without P_Keys shares none.
    PathLimits limits = path_limits(request, {}, [&find](const std::variant<Guid, Lid>& address) {
        const auto* guid = std::get_if<Guid>(&address);
        return guid != nullptr ? find(*guid) : nullptr;
    });
    limits.pkeys_known = true;
    const bool is_path = columns.size() == kPathColumns;
    if (!read_component(columns[2], request.qos_class) || !read_component(columns[3], request.service_id) ||
        !read_component(columns[4], request.pkey) || (is_path && !read_path(columns, request, limits))) {
        return no_query();
    }
    if (find(Guid{*source}) == nullptr || find(Guid{*destination}) == nullptr) {
        return std::string(find(Guid{*source}) == nullptr ? "ERROR unknown-source" : "ERROR unknown-destination");
    }
    return is_path ? path_answer(request, limits) : level_answer(request, limits);
}

}    // namespace rdmaqos::ctl
