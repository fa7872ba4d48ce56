// What is known of each key of a file: one row. The readers go by these rows for the names, words and bounds, and
// tools/docgen for the JSON schemas and the fuzzer's dictionary; a test compares docs/policy-reference.md with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rdmaqos::keys {

enum class Kind : std::uint8_t {
    Text,           // not empty
    Pattern,        // the same, as a shell glob
    Account,        // the name of a user or group, or its number
    Name,           // of an object: no blanks at its ends, no control characters
    PlainName,      // the same without '/'
    Description,    // for people
    Flag,
    Yes,        // a flag that can only be set
    Integer,    // from `lowest` to `highest`
    Range,      // "7", "7-9", up to `highest`
    PKeyRange,
    PKey,
    Word,    // one of `words`
    Guid,
    Rate,    // "25Gbps"
    Part,    // a rate, or a part of the link: "25%"
    Share,
    Speed,       // a rate behind an operator: ">=200Gbps"
    Size,        // in bytes: "64KiB"
    Duration,    // in milliseconds: "60s"
    IbMtu,
    IbRate,
    PacketLife,
    Address,
    AddressPrefix,
    PortName,    // "vs1 HCA-1/P1"
    QosClass,    // a number, a range or a name
    QosClassNames,
    VlWeight,    // "0:64"
    Time,
    Cgroup,
    MetricsFile,
    SocketGroup,
    Mapping,    // only `object`
    Version,
    Refused,    // with an error that says why
};

// How many there may be.
enum class Count : std::uint8_t {
    One,
    OneOrSome,      // a value, or a list that is not empty
    OneOrMany,      // a value, or a list
    List,           // of mappings; a file may also leave it empty
    ListInSetup,    // the same, not empty
    EachSl,         // 16
};

struct Object;

struct Value {
    Kind kind = Kind::Text;
    Count count = Count::One;
    std::uint64_t lowest = 0;
    std::uint64_t highest = 0;
    std::span<const std::string_view> words = {};    // also of a value that is not a Word: "unlimited", "*"
    const Object* object = nullptr;                  // what a mapping in its place has
};

struct Key {
    std::string_view name;
    Value value = {};
    std::string_view sentence = {};
    std::string_view without = {};    // what holds without it, as a file would state it
    bool required = false;
    std::string_view example = {};    // of a value, as a file would state it; example_of() knows one of most kinds
};

// A good value as a file would state it: the row's own, or one of its kind. The schemas show it, and tests try it.
[[nodiscard]] std::string example_of(const Key& key);

// Null: none of them has this name.
[[nodiscard]] constexpr const Key* find_key(std::span<const Key> keys, std::string_view name)
{
    for (const Key& each : keys) {
        if (each.name == name) {
            return &each;
        }
    }
    return nullptr;
}

// How what two files say of it is put together, and whether a later one can take a key back with null.
enum class Merge : std::uint8_t { Whole, ByName, KeyByKey };

// A mapping with its keys, in the order of the reference.
struct Object {
    std::string_view name;    // "qos-level"
    std::string_view what;    // in messages: "a match rule"
    std::span<const Key> keys;
    Merge merge = Merge::Whole;
    std::string_view sentence = {};

    [[nodiscard]] constexpr const Key* find(std::string_view key) const { return find_key(keys, key); }
};

// A kind of file.
struct Format {
    std::string_view name;      // "policy"
    std::string_view schema;    // its file: "rdma-qos-policy"
    std::string_view title;
    std::string_view sentence;
    const Object* document;
};

// A word and what it stands for.
template <typename T>
using Choice = std::pair<std::string_view, T>;

// ---- values ----

// The words of a table of choices.
template <const auto& Choices>
inline constexpr auto kWordsOf = [] {
    std::array<std::string_view, Choices.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = Choices[i].first;
    }
    return words;
}();

constexpr Value of(Kind kind, Count count = Count::One)
{
    return {kind, count, 0, 0, {}, nullptr};
}

constexpr Value between(Kind kind, std::uint64_t lowest, std::uint64_t highest, Count count = Count::One)
{
    return {kind, count, lowest, highest, {}, nullptr};
}

constexpr Value integer(std::uint64_t lowest, std::uint64_t highest, Count count = Count::One)
{
    return between(Kind::Integer, lowest, highest, count);
}

constexpr Value ranges(std::uint64_t highest = ~std::uint64_t{0})
{
    return between(Kind::Range, 0, highest, Count::OneOrSome);
}

constexpr Value one_of(std::span<const std::string_view> words, Count count = Count::One)
{
    return {Kind::Word, count, 0, 0, words, nullptr};
}

constexpr Value or_word(Value value, std::span<const std::string_view> words)
{
    value.words = words;
    return value;
}

constexpr Value or_mapping(Value value, const Object& object)
{
    value.object = &object;
    return value;
}

constexpr Value mapping(const Object& object, Count count = Count::One)
{
    return {Kind::Mapping, count, 0, 0, {}, &object};
}

constexpr Value list(const Object& object)
{
    return mapping(object, Count::List);
}

}    // namespace rdmaqos::keys
