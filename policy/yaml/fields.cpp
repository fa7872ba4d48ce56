#include "policy/yaml/fields.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "lib/base/percentage.h"
#include "lib/base/text.h"
#include "policy/model/ib.h"

namespace rdmaqos::reader {
namespace {

constexpr std::string_view kUnlimited = "unlimited";

std::vector<std::string_view> names_of(std::span<const keys::Key> known)
{
    std::vector<std::string_view> names;
    std::ranges::transform(known, std::back_inserter(names), &keys::Key::name);
    return names;
}

bool has_control_character(std::string_view text)
{
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7F;
    });
}

// The scalar of a field; reports anything else.
const std::string* scalar_of(Context& context, const Field& field)
{
    const Node& node = *field.value;
    if (node.is_scalar()) {
        return &node.text;
    }
    if (node.kind == NodeKind::Null) {
        context.error(node, fmt::format("`{}` has no value", field.key),
                      "a name that reads `null` or `~` must be quoted; omit the key to set nothing");
    } else if (node.has_no_value()) {
        context.error(node, fmt::format("`{}` has no value", field.key));
    } else {
        context.error(node, fmt::format("`{}` must be a single value, not {}", field.key, kind_in_words(node.kind)));
    }
    return nullptr;
}

std::string rate_hint(UnitError error, std::string_view text)
{
    if (is_percentage(text)) {
        return "a part of the link is taken in the `schedule` of a level and in a scheduling-node only";
    }
    switch (error) {
    case UnitError::MissingUnit:
        return fmt::format("write `{0}Gbps` or `{0}Mbps`", text);
    case UnitError::NotANumber:
    case UnitError::UnknownUnit:
        return "a rate is a number followed by bps, kbps, Mbps, Gbps or Tbps (bits, not bytes): `25Gbps`, `25 Gbit/s`";
    case UnitError::TooFine:
        return "the smallest step is 1kbps";
    case UnitError::Overflow:
        break;
    }
    return {};
}

std::string unit_problem(UnitError error)
{
    switch (error) {
    case UnitError::NotANumber:
        return "is not a number with a unit";
    case UnitError::MissingUnit:
        return "has no unit";
    case UnitError::UnknownUnit:
        return "has an unknown unit";
    case UnitError::TooFine:
        return "exceeds the supported precision";
    case UnitError::Overflow:
        return "is too large";
    }
    return {};
}

// OpenSM reads 010 as octal; people who know that should know that this reader does not.
void warn_of_octal(Context& context, const Node& node, std::string_view text, std::uint64_t value)
{
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0123456789") == std::string_view::npos) {
        context.warning(node, fmt::format("`{}` is read as decimal {}", text, value),
                        "unlike in OpenSM's own format, a leading 0 does not mean octal here");
    }
}

// "1s", "24h"
std::string in_words(std::chrono::milliseconds time)
{
    static constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kUnits{
        {{"h", 3'600'000}, {"min", 60'000}, {"s", 1000}, {"ms", 1}}};
    for (const auto& [name, milliseconds] : kUnits) {
        if (time.count() % milliseconds == 0) {
            return fmt::format("{}{}", time.count() / milliseconds, name);
        }
    }
    return {};
}

}    // namespace

Mapping::Mapping(Context& context, const Node& node, std::string_view what, std::span<const keys::Key> known,
                 std::string_view also)
    : node_(node), known_(known), valid_(node.is_mapping())
{
    if (!valid_) {
        context.error(node,
                      fmt::format("{} must be a mapping of keys and values, not {}", what, kind_in_words(node.kind)));
        return;
    }
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
        const Node& key = node.children[i];
        if (keys::find_key(known, key.text) == nullptr && key.text != also) {
            has_unknown_keys_ = true;
            const auto names = names_of(known);
            context.error(key, fmt::format("unknown key `{}` in {}", shortened(key.text), what),
                          context.suggest(key.text, names, fmt::format("known keys: {}", in_backticks(names))));
        }
    }
}

std::optional<Field> Mapping::find(std::string_view key) const
{
    if (const Node* value = valid_ ? find_value(node_, key) : nullptr) {
        return Field{key, value, keys::find_key(known_, key)};
    }
    return std::nullopt;
}

const Node* find_key(const Node& mapping, std::string_view key)
{
    for (std::size_t i = 0; i + 1 < mapping.children.size(); i += 2) {
        if (mapping.children[i].text == key) {
            return &mapping.children[i];
        }
    }
    return nullptr;
}

const Node* find_value(const Node& mapping, std::string_view key)
{
    const Node* name = find_key(mapping, key);
    return name == nullptr ? nullptr : name + 1;
}

std::optional<std::string> read_text(Context& context, const Field& field)
{
    const std::string* text = scalar_of(context, field);
    if (text == nullptr) {
        return std::nullopt;
    }
    if (without_blanks(*text, " ").empty()) {
        context.error(*field.value, fmt::format("`{}` is empty", field.key));
        return std::nullopt;
    }
    return *text;
}

std::string read_description(Context& context, const Field& field)
{
    const std::string* text = scalar_of(context, field);
    if (text == nullptr) {
        return {};
    }
    if (text->size() > kLongestDescription) {
        context.error(*field.value, fmt::format("`{}` is longer than {} bytes", field.key, kLongestDescription));
        return {};
    }
    return *text;
}

std::optional<std::string> read_name(Context& context, const Field& field)
{
    auto name = read_text(context, field);
    if (!name) {
        return std::nullopt;
    }
    std::string_view problem;
    if (name->size() > kLongestName) {
        context.error(*field.value, fmt::format("the name is longer than {} bytes", kLongestName));
        return std::nullopt;
    }
    if (without_blanks(*name, " ").size() != name->size()) {
        problem = "starts or ends with a blank";
    } else if (has_control_character(*name)) {
        problem = "contains a control character";
    }
    if (!problem.empty()) {
        context.error(*field.value, fmt::format("the name `{}` {}", *name, problem));
        return std::nullopt;
    }
    return name;
}

bool check_path_segment(Context& context, const Field& field, std::string_view name)
{
    if (name.find('/') != std::string_view::npos) {
        context.error(*field.value, fmt::format("the name `{}` contains a `/`", name),
                      "the name becomes part of the path of a scheduling element");
        return false;
    }
    if (equals_ignoring_case(name, "others")) {
        context.error(*field.value, "the name `others` is reserved",
                      "it is the fallback leaf of a class, shared by those without a leaf of their own");
        return false;
    }
    if (to_lower(name).ends_with(".responder")) {
        context.error(*field.value, fmt::format("the name `{}` is reserved", name),
                      "`*.responder` is the leaf of a class's RDMA READ responses");
        return false;
    }
    return true;
}

std::optional<bool> read_bool(Context& context, const Field& field)
{
    static constexpr std::array<Choice<bool>, 4> kChoices{
        {{"true", true}, {"false", false}, {"yes", true}, {"no", false}}};
    return read_choice(context, field, kChoices);
}

std::optional<std::uint64_t> read_number(Context& context, const Field& field, std::uint64_t lowest,
                                         std::uint64_t highest)
{
    const std::string* text = scalar_of(context, field);
    if (text == nullptr) {
        return std::nullopt;
    }
    const auto value = parse_number(*text);
    if (!value) {
        context.error(*field.value, fmt::format("`{}` must be a number, not `{}`", field.key, shortened(*text)),
                      "numbers are decimal or hexadecimal with 0x");
        return std::nullopt;
    }
    if (*value < lowest || *value > highest) {
        context.error(*field.value,
                      fmt::format("`{}` must be from {} to {}, not {}", field.key, lowest, highest, shortened(*text)));
        return std::nullopt;
    }
    warn_of_octal(context, *field.value, *text, *value);
    return value;
}

std::optional<std::size_t> read_word(Context& context, const Field& field, std::span<const std::string_view> words)
{
    const std::string* text = scalar_of(context, field);
    if (text == nullptr) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (equals_ignoring_case(words[i], *text)) {
            return i;
        }
    }
    context.error(*field.value, fmt::format("`{}` cannot be `{}`", field.key, shortened(*text)),
                  context.suggest(*text, words, fmt::format("expected one of {}", in_backticks(words))));
    return std::nullopt;
}

bool may_be_unlimited(const Field& field)
{
    return field.row != nullptr &&
           std::ranges::find(field.row->value.words, kUnlimited) != field.row->value.words.end();
}

std::optional<Bandwidth> read_rate(Context& context, const Field& field, Bandwidth lowest)
{
    constexpr Bandwidth kHighest = Bandwidth::from_gbps(1'000'000);
    const std::string* text = scalar_of(context, field);
    if (text == nullptr) {
        return std::nullopt;
    }
    if (equals_ignoring_case(*text, kUnlimited)) {
        if (!may_be_unlimited(field)) {
            context.error(*field.value, fmt::format("`{}` cannot be `unlimited`", field.key));
        }
        return std::nullopt;
    }
    const auto rate = parse_bandwidth(*text);
    if ((rate.value && rate.value->is_zero()) || parse_number(*text) == 0) {
        context.error(*field.value, fmt::format("`{}` cannot be 0", field.key),
                      may_be_unlimited(field) ? "for no limit, write `unlimited`" : "leave the key out for none");
        return std::nullopt;
    }
    if (!rate.value) {
        context.error(*field.value, fmt::format("`{}`: `{}` {}", field.key, shortened(*text), unit_problem(rate.error)),
                      rate_hint(rate.error, *text));
        return std::nullopt;
    }
    if (*rate.value < lowest || *rate.value > kHighest) {
        const bool low = *rate.value < lowest;
        context.error(*field.value, fmt::format("`{}` must be at {} {}, not {}", field.key, low ? "least" : "most",
                                                to_string(low ? lowest : kHighest), *text));
        return std::nullopt;
    }
    return rate.value;
}

std::optional<std::uint64_t> read_size(Context& context, const Field& field, std::uint64_t lowest,
                                       std::uint64_t highest)
{
    const std::string* text = scalar_of(context, field);
    if (text == nullptr) {
        return std::nullopt;
    }
    const auto hexadecimal = text->starts_with("0x") ? parse_number(*text) : std::nullopt;
    const auto size = hexadecimal ? Parsed<std::uint64_t>{hexadecimal, {}} : parse_bytes(*text);
    if (!size.value) {
        context.error(*field.value, fmt::format("`{}`: `{}` {}", field.key, shortened(*text), unit_problem(size.error)),
                      "a size is a number of bytes, or a number followed by B, KB, MB, KiB or MiB: `64KiB`");
        return std::nullopt;
    }
    if (*size.value < lowest || *size.value > highest) {
        context.error(*field.value, fmt::format("`{}` must be from {} to {}, not {}", field.key,
                                                bytes_to_string(lowest), bytes_to_string(highest), shortened(*text)));
        return std::nullopt;
    }
    return size.value;
}

std::optional<std::chrono::milliseconds>
read_duration(Context& context, const Field& field, std::chrono::milliseconds lowest, std::chrono::milliseconds highest)
{
    const std::string* text = scalar_of(context, field);
    if (text == nullptr) {
        return std::nullopt;
    }
    constexpr std::uint64_t kMostSeconds = std::numeric_limits<std::uint64_t>::max() / 2000;
    const auto hexadecimal = text->starts_with("0x") ? parse_number(*text) : std::nullopt;
    const auto time = hexadecimal ? Parsed<std::uint64_t>{1000 * std::min(*hexadecimal, kMostSeconds), {}}
                                  : parse_milliseconds(*text);
    if (!time.value) {
        context.error(*field.value, fmt::format("`{}`: `{}` {}", field.key, shortened(*text), unit_problem(time.error)),
                      std::string(kTimeHint));
        return std::nullopt;
    }
    if (*time.value < static_cast<std::uint64_t>(lowest.count()) ||
        *time.value > static_cast<std::uint64_t>(highest.count())) {
        context.error(*field.value, fmt::format("`{}` must be from {} to {}, not {}", field.key, in_words(lowest),
                                                in_words(highest), shortened(*text)));
        return std::nullopt;
    }
    return std::chrono::milliseconds(*time.value);
}

std::optional<Guid> read_guid(Context& context, const Field& field)
{
    const auto number = read_number(context, field, 0, ~std::uint64_t{0});
    if (number == 0) {
        context.error(*field.value, fmt::format("`{}` cannot be 0", field.key));
        return std::nullopt;
    }
    return number ? std::optional(Guid{*number}) : std::nullopt;
}

std::vector<Field> read_items(Context& context, const Field& field, Items items)
{
    const auto is_item = [&](const Field& item) {
        return (items == Items::AlsoMappings && item.value->is_mapping()) || scalar_of(context, item) != nullptr;
    };
    const Node& node = *field.value;
    if (!node.is_sequence()) {
        return is_item(field) ? std::vector{field} : std::vector<Field>{};
    }
    if (node.children.empty()) {
        context.error(node, fmt::format("the list of `{}` is empty", field.key), "omit the key to match anything");
    }
    std::vector<Field> found;
    found.reserve(node.children.size());
    for (const Node& item : node.children) {
        const Field entry{field.key, &item, field.row};
        if (is_item(entry)) {
            found.push_back(entry);
        }
    }
    return found;
}

bool check_list(Context& context, const Field& field)
{
    const Node& node = *field.value;
    if (!node.is_sequence()) {
        context.error(node, fmt::format("`{}` must be a list, not {}", field.key, kind_in_words(node.kind)),
                      "start every entry with `- `");
    }
    return node.is_sequence();
}

std::vector<std::string> read_texts(Context& context, const Field& field)
{
    std::vector<std::string> texts;
    for (const Field& item : read_items(context, field)) {
        if (auto text = read_text(context, item)) {
            texts.push_back(std::move(*text));
        }
    }
    return texts;
}

std::optional<Interval> read_interval(Context& context, const Field& item)
{
    const std::string_view text = item.value->text;
    const auto dash = text.find('-');
    const auto first_text = without_blanks(text.substr(0, dash), " ");
    const auto last_text = dash == std::string_view::npos ? first_text : without_blanks(text.substr(dash + 1), " ");
    const auto first = parse_number(first_text);
    const auto last = parse_number(last_text);
    if (!first || !last) {
        const bool comma = text.find(',') != std::string_view::npos;
        context.error(*item.value, fmt::format("`{}`: `{}` is not a number or range", item.key, shortened(text)),
                      comma ? fmt::format("write a list: `[{}]`", shortened(text))
                            : "write `7`, `0x7` or `7-9`; numbers have at most 64 bits");
        return std::nullopt;
    }
    warn_of_octal(context, *item.value, first_text, *first);
    if (*last != *first) {
        warn_of_octal(context, *item.value, last_text, *last);
    }
    if (*last < *first) {
        context.warning(*item.value, fmt::format("the range `{}` is reversed", text),
                        fmt::format("it is read as `{}-{}`", last_text, first_text));
        return Interval{*last, *first};
    }
    return Interval{*first, *last};
}

IntervalSet read_ranges(Context& context, const Field& field, std::uint64_t highest)
{
    std::vector<Interval> intervals;
    for (const Field& item : read_items(context, field)) {
        const auto interval = read_interval(context, item);
        if (!interval) {
            continue;
        }
        if (interval->last > highest) {
            context.error(*item.value, fmt::format("`{}` must be at most {} (0x{:x})", field.key, highest, highest));
            continue;
        }
        intervals.push_back(*interval);
    }
    return IntervalSet(std::move(intervals));
}

IntervalSet read_ranges(Context& context, const Field& field)
{
    return read_ranges(context, field, field.row->value.highest);
}

IntervalSet read_pkeys(Context& context, const Field& field)
{
    std::vector<Interval> intervals;
    for (const Field& item : read_items(context, field)) {
        const auto interval = read_interval(context, item);
        if (!interval) {
            continue;
        }
        const auto [masked, masking] = mask_pkeys(*interval);
        const auto meaning = fmt::format("only the lower 15 bits count, as in OpenSM: it is read as {}",
                                         to_string(IntervalSet({masked}), NumberBase::Hex));
        if (masking == PKeyMasking::InsideOut) {
            context.warning(*item.value,
                            fmt::format("the P_Key range `{}` crosses the membership bit", item.value->text), meaning);
        } else if (masking == PKeyMasking::TooWide) {
            context.warning(*item.value, fmt::format("the P_Key `{}` has more than 16 bits", item.value->text),
                            meaning);
        }
        intervals.push_back(masked);
    }
    return IntervalSet(std::move(intervals));
}

}    // namespace rdmaqos::reader
