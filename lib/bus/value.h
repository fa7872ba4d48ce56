// D-Bus values as C++ values: what goes into and comes out of messages, so that nobody above lib/bus touches a message.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/file.h"

namespace rdmaqos::bus {

struct Value;

struct ObjectPath {
    std::string text;

    friend bool operator==(const ObjectPath&, const ObjectPath&) = default;
};

// A descriptor that travels; shared so that a Value can be copied.
struct FileDescriptor {
    std::shared_ptr<UniqueFd> fd;    // null: it was not accepted
    std::string name = {};           // of a text, as its sender knows it
    std::string refusal = {};        // why it was not accepted: "the descriptor is …"
    bool over_limit = false;         // because its sender has too many

    friend bool operator==(const FileDescriptor&, const FileDescriptor&) = default;
};

// a{sv}, in the order of insertion; keys are unique.
class Dict {
public:
    using Entry = std::pair<std::string, Value>;

    void set(std::string_view key, Value value);
    // For a key that is known to be new.
    void append(std::string key, Value value);
    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
    [[nodiscard]] bool empty() const;

    friend bool operator==(const Dict&, const Dict&);

private:
    std::vector<Entry> entries_;
};

// a{st}
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

// a(sss)
using Triple = std::array<std::string, 3>;
using Triples = std::vector<Triple>;

// The types of our API: b y q u t i x d s o h as aa{sv} a{sv} a{st} a(sss). A received value of another type is
// Unsupported (it keeps its signature, for the error message).
struct Unsupported {
    std::string signature;

    friend bool operator==(const Unsupported&, const Unsupported&) = default;
};

struct Value {
    using Variant = std::variant<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int32_t,
                                 std::int64_t, double, std::string, ObjectPath, FileDescriptor,
                                 std::vector<std::string>, Dict, std::vector<Dict>, Counts, Triples, Unsupported>;
    Variant data;

    Value() = default;
    template <typename T>
    requires(!std::same_as<std::remove_cvref_t<T>, Value>) && std::constructible_from<Variant, T>
        // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint keeps it off copies and moves
        Value(T&& value) : data(std::forward<T>(value))    // NOLINT(google-explicit-constructor): reads as a literal
    {
    }
    Value(const char* text) : data(std::string(text)) {}         // NOLINT(google-explicit-constructor)
    Value(std::string_view text) : data(std::string(text)) {}    // NOLINT(google-explicit-constructor)

    // The value if it is exactly this type.
    template <typename T>
    [[nodiscard]] const T* as() const
    {
        return std::get_if<T>(&data);
    }
    // Any unsigned or non-negative signed integer; nothing for other types.
    [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;

    friend bool operator==(const Value&, const Value&) = default;
};

inline bool Dict::empty() const    // here, where Value is complete
{
    return entries_.empty();
}

// The D-Bus signature of a value: "t", "aa{sv}".
[[nodiscard]] std::string signature(const Value& value);

}    // namespace rdmaqos::bus
