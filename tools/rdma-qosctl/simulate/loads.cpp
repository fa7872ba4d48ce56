#include "tools/rdma-qosctl/simulate/loads.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/yaml/file_reader.h"

namespace rdmaqos {
namespace {

using namespace reader;
using namespace std::string_view_literals;

constexpr std::array kKeys{keys::Key{"version"}, keys::Key{"loads"}, keys::Key{"steps"}, keys::Key{"until"},
                           keys::Key{"port-classes"}};
constexpr std::array kStepKeys{keys::Key{"at"}, keys::Key{"use"}, keys::Key{"loads"}};
constexpr std::array kLoadKeys{keys::Key{"senders"}, keys::Key{"rate"}};
constexpr Bandwidth kLowestRate = Bandwidth::from_kbps(1);
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);

bool says_unlimited(const Node& node)
{
    return node.is_scalar() && (equals_ignoring_case(node.text, "unlimited") || equals_ignoring_case(node.text, "inf"));
}

// False: it was reported.
bool read_load_rate(Context& context, const Field& field, Load& load)
{
    if (says_unlimited(*field.value)) {
        return true;
    }
    load.rate = read_rate(context, field, kLowestRate);
    return load.rate.has_value();
}

void read_load(Context& context, const Node& name, const Node& node, std::vector<Load>& loads)
{
    Load load{name.text, std::nullopt, std::nullopt, context.locate(name)};
    if (!node.is_mapping()) {
        if (read_load_rate(context, {name.text, &node}, load)) {
            loads.push_back(std::move(load));
        }
        return;
    }
    const Mapping mapping(context, node, "a load", kLoadKeys);
    if (const auto senders = mapping.find("senders")) {
        load.senders = read_integer<std::uint32_t>(context, *senders, 1, kMostSenders);
    }
    const auto rate = mapping.find("rate");
    if (rate) {
        static_cast<void>(read_load_rate(context, *rate, load));
    } else if (!mapping.has_unknown_keys()) {
        context.error(node, "a load needs a `rate`", "for as much as possible, write `unlimited`");
    }
    loads.push_back(std::move(load));
}

// The mapping from levels to what they send.
std::vector<Load> read_levels(Context& context, const Field& field)
{
    std::vector<Load> loads;
    const Node& levels = *field.value;
    if (levels.has_no_value()) {
        context.error(levels, "`loads` has no value", "`loads: {}` means that nobody sends");
        return loads;
    }
    if (!levels.is_mapping()) {
        context.error(levels,
                      fmt::format("`loads` must be a mapping of levels and rates, not {}", kind_in_words(levels.kind)),
                      "write `level: 50Gbps` or `level: unlimited`");
        return loads;
    }
    std::unordered_map<std::string, const Node*> seen;
    for (std::size_t i = 0; i + 1 < levels.children.size(); i += 2) {
        const Node& name = levels.children[i];
        const Node& value = levels.children[i + 1];
        const auto [first, is_new] = seen.emplace(to_lower(name.text), &name);
        if (!is_new) {
            context.error(name, fmt::format("level `{}` is listed twice", name.text),
                          "several loads of a level are a list: `[10Gbps, unlimited]`");
            context.note(context.locate(*first->second), "it is first listed here");
            continue;
        }
        if (!value.is_sequence()) {
            read_load(context, name, value, loads);
            continue;
        }
        if (value.children.empty()) {
            context.error(value, fmt::format("the list of `{}` is empty", name.text),
                          "leave the level out if it sends nothing");
        }
        for (const Node& item : value.children) {
            read_load(context, name, item, loads);
        }
    }
    return loads;
}

// The time of the step before, and where it is given.
struct StepTime {
    std::chrono::milliseconds at{};
    const Node* place = nullptr;
};

LoadStep read_step(Context& context, const Node& entry, std::optional<StepTime>& previous)
{
    LoadStep step;
    const Mapping mapping(context, entry, "a step", kStepKeys);
    if (!mapping.is_valid()) {
        return step;
    }
    if (const auto field = mapping.find("at")) {
        const auto at = read_duration(context, *field, std::chrono::milliseconds(0), kLongest);
        if (at && previous && *at <= previous->at) {
            context.error(*field->value, "a step must be later than the one before it");
            context.note(context.locate(*previous->place), "its time is given here");
        }
        if (at) {
            step.at = *at;
            previous = StepTime{*at, field->value};
        }
    } else if (!mapping.has_unknown_keys()) {
        context.error(entry, "a step needs a time, `at`", "`at: 0s` is the beginning");
    }
    if (const auto field = mapping.find("use")) {
        step.use = read_description(context, *field);
    }
    if (const auto field = mapping.find("loads")) {
        step.loads = read_levels(context, *field);
    } else if (!mapping.has_unknown_keys()) {
        context.error(entry, "a step needs `loads`", "`loads: {}` means that nobody sends");
    }
    return step;
}

void read_steps(Context& context, const Field& field, std::vector<LoadStep>& steps)
{
    const Node& list = *field.value;
    if (!check_list(context, field)) {
        return;
    }
    if (list.children.empty()) {
        context.error(list, "the list of `steps` is empty");
    }
    if (list.children.size() > kMostLoadSteps) {
        context.error(
            list, fmt::format("there are {} steps; at most {} are simulated", list.children.size(), kMostLoadSteps));
        return;
    }
    std::optional<StepTime> previous;
    for (const Node& entry : list.children) {
        steps.push_back(read_step(context, entry, previous));
    }
}

void read_until(Context& context, const Field& field, Loads& loads)
{
    if (!loads.over_time) {
        context.error(*field.value, "`until` needs `steps`", "loads without a time have no end");
        return;
    }
    loads.until = read_duration(context, field, std::chrono::milliseconds(1), kLongest);
    if (loads.until && !loads.steps.empty() && *loads.until <= loads.steps.back().at) {
        context.error(*field.value, "`until` must be later than the last step");
    }
}

PortClasses read_port_classes(Context& context, const Field& field)
{
    std::vector<std::string> words;
    for (const Field& item : read_items(context, field)) {
        words.push_back(item.value->text);
    }
    auto classes = parse_port_classes(words);
    if (!classes) {
        context.error(*field.value, classes.error().message);
    }
    return classes.value_or(PortClasses());
}

Loads read_document(Context& context, const Node& document)
{
    Loads loads;
    const Mapping mapping(context, document, "a loads file", kKeys);
    const auto single = mapping.find("loads");
    const auto steps = mapping.find("steps");
    loads.over_time = steps.has_value();
    if (single && steps) {
        context.error(*find_key(document, "steps"), "`loads` and `steps` exclude each other",
                      "a step has its own `loads`");
        context.note(context.locate(*find_key(document, "loads")), "`loads` is given here");
    } else if (steps) {
        read_steps(context, *steps, loads.steps);
    } else if (single) {
        LoadStep& step = loads.steps.emplace_back();
        step.loads = read_levels(context, *single);
    } else if (!mapping.has_unknown_keys()) {
        context.error(context.start_of(0), "neither `loads` nor `steps` is given",
                      "the minimum is `loads: {rpc: 50Gbps, bulk: unlimited}`");
    }
    if (const auto until = mapping.find("until")) {
        read_until(context, *until, loads);
    }
    if (const auto classes = mapping.find("port-classes")) {
        loads.port_classes = read_port_classes(context, *classes);
    }
    return loads;
}

// `--load` options: the line is the number of the option.
class LoadOptions {
public:
    LoadOptions(Context& context, std::uint32_t line) : context_(context), line_(line) {}

    void parse(std::string_view text, std::vector<Load>& loads)
    {
        for (std::size_t start = 0; start <= text.size();) {
            const std::size_t end = std::min(text.find(',', start), text.size());
            parse_one(text.substr(start, end - start), start, loads);
            start = end + 1;
        }
    }

private:
    [[nodiscard]] Node node(std::string_view text, std::size_t offset) const
    {
        Node result;
        result.kind = NodeKind::Scalar;
        result.at = {line_, static_cast<std::uint32_t>(offset + 1),
                     static_cast<std::uint32_t>(std::max<std::size_t>(text.size(), 1)), 0};
        result.text = text;
        return result;
    }

    void parse_one(std::string_view text, std::size_t offset, std::vector<Load>& loads)
    {
        const std::size_t equals = text.rfind('=');
        const std::string_view name = text.substr(0, equals);
        if (equals == std::string_view::npos || name.empty()) {
            context_.error(node(text, offset), fmt::format("`{}` is not LEVEL=RATE", text),
                           "write `rpc=50Gbps`, `rpc=inf` or, for eight senders, `rpc*8=1Gbps`");
            return;
        }
        Load load{std::string(name), std::nullopt, std::nullopt, context_.locate(node(name, offset))};
        const std::size_t star = name.rfind('*');
        if (star != std::string_view::npos) {
            const Node count = node(name.substr(star + 1), offset + star + 1);
            load.senders = read_integer<std::uint32_t>(context_, {"senders", &count}, 1, kMostSenders);
            load.level = name.substr(0, star);
        }
        const Node rate = node(text.substr(equals + 1), offset + equals + 1);
        if (read_load_rate(context_, {load.level, &rate}, load)) {
            loads.push_back(std::move(load));
        }
    }

    Context& context_;
    std::uint32_t line_;
};

}    // namespace

ReadResult<Loads> read_loads(std::shared_ptr<const SourceFile> source)
{
    return read_single<Loads>(std::move(source), read_document);
}

ReadResult<Loads> read_loads(const std::filesystem::path& path)
{
    return read_file<Loads>(path, read_document);
}

ReadResult<Loads> parse_loads(std::span<const std::string> options)
{
    auto source = std::make_shared<SourceFile>(SourceFile{"--load", {}});
    for (const auto& option : options) {
        source->text += option + '\n';
    }
    ReadResult<Loads> result;
    Context context({source}, result.diagnostics);
    Loads loads;
    LoadStep& step = loads.steps.emplace_back();
    for (std::size_t i = 0; i < options.size(); ++i) {
        LoadOptions(context, static_cast<std::uint32_t>(i + 1)).parse(options[i], step.loads);
    }
    if (!context.has_errors()) {
        result.value = std::make_shared<const Loads>(std::move(loads));
    }
    return result;
}

std::optional<std::uint8_t> dscp_of_outside(std::string_view level)
{
    constexpr std::string_view kOutside = "outside";
    constexpr std::string_view kDscp = ".dscp";
    const std::string text = to_lower(level);
    if (!text.starts_with(kOutside)) {
        return std::nullopt;
    }
    const std::string_view rest = std::string_view(text).substr(kOutside.size());
    if (rest.empty()) {
        return std::uint8_t{0};
    }
    const auto number = rest.starts_with(kDscp) ? parse_number(std::string(rest.substr(kDscp.size()))) : std::nullopt;
    return number && *number < kDscps ? std::optional(static_cast<std::uint8_t>(*number)) : std::nullopt;
}

Diagnostics check_levels(const Loads& loads, std::span<const std::string> levels)
{
    Diagnostics diagnostics;
    std::vector<std::string_view> candidates(levels.begin(), levels.end());
    std::string listed;
    std::unordered_set<std::string> known_names;
    for (const auto& level : levels) {
        known_names.insert(to_lower(level));
        listed += fmt::format("{}`{}`", listed.empty() ? "" : ", ", level);
    }
    for (const auto& step : loads.steps) {
        const Load* previous = nullptr;
        for (const auto& load : step.loads) {
            const bool known = known_names.contains(to_lower(load.level)) || dscp_of_outside(load.level);
            // Loads in a list stand at their level's name.
            const bool repeated = previous != nullptr && previous->location.line == load.location.line &&
                                  previous->location.column == load.location.column;
            previous = &load;
            if (known || repeated) {
                continue;
            }
            const auto near = diagnostics.all().size() < Diagnostics::kMaxKept ? did_you_mean(load.level, candidates)
                                                                               : std::nullopt;
            diagnostics.error(load.location, fmt::format("there is no level `{}`", load.level))
                .hint = near ? fmt::format("did you mean `{}`?", *near)
                             : fmt::format("there are: {}; and `outside.dscpN` for queue pairs in no leaf", listed);
        }
    }
    return diagnostics;
}

}    // namespace rdmaqos
