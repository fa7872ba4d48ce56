// Typed values out of a Node. Every function reports what is wrong, in the words of the policy reference, and then
// returns nothing; the caller goes on, so that one run shows every mistake. Bounds are those of the key's row.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/interval_set.h"
#include "lib/base/net.h"
#include "lib/base/units.h"
#include "policy/keys/key.h"
#include "policy/text/context.h"

namespace rdmaqos::reader {

using keys::Choice;

// A value and the key it belongs to; for an item of a list the key is the list's.
struct Field {
    std::string_view key;
    const Node* value = nullptr;
    const keys::Key* row = nullptr;    // if it was found by Mapping::find
};

// A mapping whose keys are known. Refers to the node.
class Mapping {
public:
    // Reports a node that is not a mapping, and unknown keys.
    Mapping(Context& context, const Node& node, const keys::Object& object)
        : Mapping(context, node, object.what, object.keys)
    {
    }
    // `what` names the object in messages: "`schedule`". `also`: a key that is not listed, and has a message of its
    // own.
    Mapping(Context& context, const Node& node, std::string_view what, std::span<const keys::Key> known,
            std::string_view also = {});

    [[nodiscard]] bool is_valid() const { return valid_; }
    // What the mapping lacks may then be a typing mistake: no need to say more.
    [[nodiscard]] bool has_unknown_keys() const { return has_unknown_keys_; }
    [[nodiscard]] const Node& node() const { return node_; }
    [[nodiscard]] std::optional<Field> find(std::string_view key) const;
    [[nodiscard]] bool has(std::string_view key) const { return find(key).has_value(); }

private:
    const Node& node_;
    std::span<const keys::Key> known_;
    bool valid_;
    bool has_unknown_keys_ = false;
};

// The key node of `key` in a mapping node, and its value; nullptr if it is not there.
[[nodiscard]] const Node* find_key(const Node& mapping, std::string_view key);
[[nodiscard]] const Node* find_value(const Node& mapping, std::string_view key);

[[nodiscard]] std::optional<std::string> read_text(Context& context, const Field& field);
constexpr std::size_t kLongestDescription = 4096;
// A text for people, at most kLongestDescription bytes.
[[nodiscard]] std::string read_description(Context& context, const Field& field);

constexpr std::size_t kLongestName = 128;
// A name: not empty, no blanks at its ends, no control characters, at most kLongestName bytes.
[[nodiscard]] std::optional<std::string> read_name(Context& context, const Field& field);
// A name that becomes a part of an element's path: also no '/', not `others`, not `*.responder`.
bool check_path_segment(Context& context, const Field& field, std::string_view name);

[[nodiscard]] std::optional<bool> read_bool(Context& context, const Field& field);
[[nodiscard]] std::optional<std::uint64_t> read_number(Context& context, const Field& field, std::uint64_t lowest,
                                                       std::uint64_t highest);
template <typename T>
[[nodiscard]] std::optional<T> read_integer(Context& context, const Field& field, T lowest, T highest)
{
    const auto number = read_number(context, field, lowest, highest);
    return number ? std::optional<T>(static_cast<T>(*number)) : std::nullopt;
}
template <typename T>
[[nodiscard]] std::optional<T> read_integer(Context& context, const Field& field)
{
    const keys::Value& value = field.row->value;
    return read_integer<T>(context, field, static_cast<T>(value.lowest), static_cast<T>(value.highest));
}

// The index of the word, ignoring case.
[[nodiscard]] std::optional<std::size_t> read_word(Context& context, const Field& field,
                                                   std::span<const std::string_view> words);
template <typename T, std::size_t N>
[[nodiscard]] std::optional<T> read_choice(Context& context, const Field& field,
                                           const std::array<Choice<T>, N>& choices)
{
    std::array<std::string_view, N> words;
    for (std::size_t i = 0; i < N; ++i) {
        words[i] = choices[i].first;
    }
    const auto index = read_word(context, field, words);
    return index ? std::optional<T>(choices[*index].second) : std::nullopt;
}

// Whether `unlimited` is one of the words of the field; it gives nothing, as an absent key does.
[[nodiscard]] bool may_be_unlimited(const Field& field);
// A rate of at least `lowest`.
constexpr Bandwidth kLowestElementRate = Bandwidth::from_mbps(1);
[[nodiscard]] std::optional<Bandwidth> read_rate(Context& context, const Field& field,
                                                 Bandwidth lowest = kLowestElementRate);
[[nodiscard]] std::optional<std::uint64_t> read_size(Context& context, const Field& field, std::uint64_t lowest,
                                                     std::uint64_t highest);
[[nodiscard]] inline std::optional<std::uint64_t> read_size(Context& context, const Field& field)
{
    return read_size(context, field, field.row->value.lowest, field.row->value.highest);
}
[[nodiscard]] std::optional<std::chrono::milliseconds> read_duration(Context& context, const Field& field,
                                                                     std::chrono::milliseconds lowest,
                                                                     std::chrono::milliseconds highest);
[[nodiscard]] std::optional<Guid> read_guid(Context& context, const Field& field);

// The items of a list; a single value counts as a list of one. An empty list is an error: it could mean everything or
// nothing.
enum class Items : bool { Scalars, AlsoMappings };
[[nodiscard]] std::vector<Field> read_items(Context& context, const Field& field, Items items = Items::Scalars);
// Reports what is no list.
[[nodiscard]] bool check_list(Context& context, const Field& field);
[[nodiscard]] std::vector<std::string> read_texts(Context& context, const Field& field);

// "7" or "7-9". Reversed bounds are swapped, with a warning.
[[nodiscard]] std::optional<Interval> read_interval(Context& context, const Field& item);
// A list of numbers and ranges up to `highest`, or up to that of the row.
[[nodiscard]] IntervalSet read_ranges(Context& context, const Field& field, std::uint64_t highest);
[[nodiscard]] IntervalSet read_ranges(Context& context, const Field& field);
// P_Keys as OpenSM reads them: both bounds without the membership bit, then in order.
[[nodiscard]] IntervalSet read_pkeys(Context& context, const Field& field);

}    // namespace rdmaqos::reader
