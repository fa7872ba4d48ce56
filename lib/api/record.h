// Records that cross a boundary: what the daemon answers on D-Bus, rdma-qosctl reads back, prints as JSON and the
// documents list. A record is a plain struct, and its keys are one table:
//
//     template <>
//     struct Table<CounterReading> {
//         static constexpr auto keys = std::tuple{
//             key<&CounterReading::transmit_bytes>("transmit-bytes", "bytes sent"),
//             key<&CounterReading::taken_at>("taken-at", "µs of the monotonic clock"),
//         };
//     };
//
// A key leads to its member by the members on the way, which may be optional: key<&Plan::after, &Attributes::share> is
// absent while `after` is empty. Everything that is done with a record is made of its table: write(), read(), to_json()
// (lib/api/json.h) and rows(). A new key is one row here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/units.h"
#include "lib/bus/message.h"
#include "lib/bus/value.h"
#include "lib/tree/element.h"

namespace rdmaqos::api {

template <typename Record>
struct Table;    // specialized for each record: `static constexpr auto keys`, a tuple of keys

template <typename T>
concept IsRecord = requires
{
    Table<T>::keys;
};

// ---- how a member travels ----

// Wire<T>::to() makes one of the types of D-Bus (lib/bus/value.h) of a T; from() is the way back, and empty where the
// value says nothing that this version knows.
template <typename T>
struct Wire {
    using Type = T;
    static const T& to(const T& value) { return value; }
    static std::optional<T> from(const T& value) { return value; }
};

// kbit/s
template <>
struct Wire<Bandwidth> {
    using Type = std::uint64_t;
    static std::uint64_t to(Bandwidth rate) { return rate.kbps(); }
    static std::optional<Bandwidth> from(std::uint64_t kbps) { return Bandwidth::from_kbps(kbps); }
};

template <>
struct Wire<ElementPath> {
    using Type = std::string;
    static const std::string& to(const ElementPath& path) { return path.text(); }
    static std::optional<ElementPath> from(const std::string& text) { return ElementPath(text); }
};

// The last value of an enumeration, for the way back; specialized where a record has one.
template <typename T>
inline constexpr T kLast = T{};

// The words of to_string(T).
template <typename T>
requires std::is_enum_v<T>
struct Wire<T> {
    using Type = std::string;
    static std::string to(T value) { return std::string(to_string(value)); }
    static std::optional<T> from(const std::string& word)
    {
        for (int value = 0; value <= static_cast<int>(kLast<T>); ++value) {
            if (to_string(static_cast<T>(value)) == word) {
                return static_cast<T>(value);
            }
        }
        return std::nullopt;
    }
};

template <typename T>
requires std::is_enum_v<T>
struct Wire<std::set<T>> {
    using Type = std::vector<std::string>;
    static Type to(const std::set<T>& values)
    {
        Type words;
        for (const T value : values) {
            words.push_back(Wire<T>::to(value));
        }
        return words;
    }
    static std::optional<std::set<T>> from(const Type& words)
    {
        std::set<T> values;
        for (const auto& word : words) {
            if (const auto value = Wire<T>::from(word)) {
                values.insert(*value);
            }
        }
        return values;
    }
};

// Lists of records: vectors, and maps as lists of what is a record as a std::pair<Key, Value>.
template <typename T>
struct ListOf {
    static constexpr bool is_list = false;
};
template <IsRecord T>
struct ListOf<std::vector<T>> {
    static constexpr bool is_list = true;
    using Record = T;
};
template <typename K, typename V>
requires IsRecord<std::pair<K, V>>
struct ListOf<std::map<K, V>> {
    static constexpr bool is_list = true;
    using Record = std::pair<K, V>;
};

template <typename T>
concept IsList = ListOf<T>::is_list;

template <typename T>
constexpr std::string_view signature_of()
{
    if constexpr (IsList<T>) {
        return "aa{sv}";
    } else if constexpr (IsRecord<T>) {
        return "a{sv}";
    } else {
        return bus::signature_of<typename Wire<T>::Type>();
    }
}

// ---- keys ----

template <typename T>
const T* engaged(const T& value)
{
    return &value;
}
template <typename T>
const T* engaged(const std::optional<T>& value)
{
    return value ? &*value : nullptr;
}
template <typename T>
T& engage(T& value)
{
    return value;
}
template <typename T>
T& engage(std::optional<T>& value)
{
    return value ? *value : value.emplace();
}

// From a record to the value of a key.
template <auto first, auto... rest>
struct Path {
    // Null: something on the way is empty.
    template <typename Record>
    static const auto* find(const Record& record)
    {
        const auto* here = engaged(record.*first);
        if constexpr (sizeof...(rest) == 0) {
            return here;
        } else {
            return here == nullptr ? nullptr : Path<rest...>::find(*here);
        }
    }
    // Makes what is on the way.
    template <typename Record, typename Value>
    static void set(Record& record, Value&& value)
    {
        if constexpr (sizeof...(rest) == 0) {
            record.*first = std::forward<Value>(value);
        } else {
            Path<rest...>::set(engage(record.*first), std::forward<Value>(value));
        }
    }
};

// Of a text or a list; 0 and false, too.
template <typename T>
bool is_empty(const T& value)
{
    if constexpr (requires { value.empty(); }) {
        return value.empty();
    } else {
        return value == T{};
    }
}

template <typename At, bool unless_empty = false, bool on_bus = true>
struct Key {
    static constexpr bool travels = on_bus;
    const char* name;
    const char* meaning;    // what a reader has to know besides the name, with the unit

    // Null: the key is absent.
    template <typename Record>
    const auto* find(const Record& record) const
    {
        const auto* value = At::find(record);
        if constexpr (unless_empty) {
            return value != nullptr && is_empty(*value) ? nullptr : value;
        } else {
            return value;
        }
    }
    template <typename Record, typename Value>
    static void set(Record& record, Value&& value)
    {
        At::set(record, std::forward<Value>(value));
    }
};

// `At`, of the records for which `predicate(record)` holds.
template <auto predicate, typename At>
struct When {
    template <typename Record>
    static const auto* find(const Record& record)
    {
        const auto* found = At::find(record);
        return predicate(record) ? found : nullptr;
    }
    template <typename Record, typename Value>
    static void set(Record& record, Value&& value)
    {
        At::set(record, std::forward<Value>(value));
    }
};

template <auto function>
struct Computed {
    static constexpr bool travels = true;
    const char* name;
    const char* meaning;

    template <typename Record>
    std::optional<std::string> find(const Record& record) const
    {
        std::string text(function(record));
        return text.empty() ? std::nullopt : std::optional(std::move(text));
    }
};

// Where the members on the way are there.
template <auto... members>
constexpr auto key(const char* name, const char* meaning = "")
{
    return Key<Path<members...>>{name, meaning};
}

// Nor for an empty text or list, 0 and false.
template <auto... members>
constexpr auto key_unless_empty(const char* name, const char* meaning = "")
{
    return Key<Path<members...>, true>{name, meaning};
}

// What the command adds to a record that it has read: it is in JSON, and not on D-Bus.
template <auto... members>
constexpr auto added(const char* name)
{
    return Key<Path<members...>, true, false>{name, ""};
}

// Where `predicate(record)` holds, too.
template <auto predicate, auto... members>
constexpr auto key_when(const char* name, const char* meaning = "")
{
    return Key<When<predicate, Path<members...>>>{name, meaning};
}

// What `function(record)` says in words; absent if that is empty. It is written and not read.
template <auto function>
constexpr auto computed(const char* name, const char* meaning = "")
{
    return Computed<function>{name, meaning};
}

// ---- what is made of a table ----

template <typename Key, typename Record>
using ValueOf = std::remove_cvref_t<decltype(*std::declval<Key>().find(std::declval<const Record&>()))>;

// `visit(key, value)` for each key that the record has, in the order of the table.
template <IsRecord Record, typename Visit>
void for_each_value(const Record& record, Visit visit)
{
    const auto one = [&](const auto& key) {
        if (const auto value = key.find(record)) {
            visit(key, *value);
        }
    };
    std::apply([&](const auto&... keys) { (one(keys), ...); }, Table<Record>::keys);
}

template <IsList List>
void write(bus::Writer& writer, const List& records);

// As an a{sv}.
template <IsRecord Record>
void write(bus::Writer& writer, const Record& record)
{
    bus::DictWriter dict(writer);
    for_each_value(record, [&](const auto& key, const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (!std::remove_cvref_t<decltype(key)>::travels) {
            return;
        } else if constexpr (IsRecord<Value> || IsList<Value>) {
            dict.open(key.name, signature_of<Value>().data());
            api::write(dict.writer(), value);
            dict.close();
        } else {
            dict.set(key.name, Wire<Value>::to(value));
        }
    });
}

// Of a record that has numbers alone: as an a{st}.
template <IsRecord Record>
bus::Counts to_counts(const Record& record)
{
    bus::Counts counts;
    for_each_value(record, [&](const auto& key, std::uint64_t value) { counts.emplace_back(key.name, value); });
    return counts;
}

// As an aa{sv}.
template <IsList List>
void write(bus::Writer& writer, const List& records)
{
    writer.open('a', "a{sv}");
    for (const auto& record : records) {
        api::write<typename ListOf<List>::Record>(writer, record);
    }
    writer.close();
}

// What is missing, or of another type, stays as it is in a Record{}: an older or newer daemon is no error.
template <IsRecord Record>
Record read(const bus::Dict& dict);

template <IsList List>
List read_list(const std::vector<bus::Dict>& dicts)
{
    List records;
    for (const auto& dict : dicts) {
        records.insert(records.end(), read<typename ListOf<List>::Record>(dict));
    }
    return records;
}

// Empty: it says nothing that this version knows. A number that is too large is the largest there is.
template <typename T>
std::optional<T> from_value(const bus::Value& value)
{
    if constexpr (IsRecord<T>) {
        const auto* dict = value.as<bus::Dict>();
        return dict == nullptr ? std::nullopt : std::optional(read<T>(*dict));
    } else if constexpr (IsList<T>) {
        const auto* dicts = value.as<std::vector<bus::Dict>>();
        return dicts == nullptr ? std::nullopt : std::optional(read_list<T>(*dicts));
    } else {
        using Type = typename Wire<T>::Type;
        if constexpr (std::is_unsigned_v<Type> && !std::is_same_v<Type, bool>) {
            const auto number = value.as_unsigned();
            constexpr std::uint64_t kMost = std::numeric_limits<Type>::max();
            return number ? Wire<T>::from(static_cast<Type>(std::min(*number, kMost))) : std::nullopt;
        } else {
            const auto* typed = value.as<Type>();
            return typed == nullptr ? std::nullopt : Wire<T>::from(*typed);
        }
    }
}

template <IsRecord Record>
Record read(const bus::Dict& dict)
{
    Record record{};
    const auto one = [&](const auto& key) {
        using Value = ValueOf<decltype(key), Record>;
        if constexpr (std::remove_cvref_t<decltype(key)>::travels &&
                      requires(Value known) { key.set(record, known); }) {
            const bus::Value* value = dict.find(key.name);
            if (auto known = value == nullptr ? std::nullopt : from_value<Value>(*value)) {
                key.set(record, std::move(*known));
            }
        }
    };
    std::apply([&](const auto&... keys) { (one(keys), ...); }, Table<Record>::keys);
    return record;
}

// A row of a reference.
struct Row {
    std::string_view name;
    std::string_view type;    // D-Bus signature
    std::string_view meaning;
};

template <IsRecord Record>
std::vector<Row> rows()
{
    std::vector<Row> rows;
    const auto one = [&](const auto& key) {
        if constexpr (std::remove_cvref_t<decltype(key)>::travels) {
            rows.push_back({key.name, signature_of<ValueOf<decltype(key), Record>>(), key.meaning});
        }
    };
    std::apply([&](const auto&... keys) { (one(keys), ...); }, Table<Record>::keys);
    return rows;
}

}    // namespace rdmaqos::api
