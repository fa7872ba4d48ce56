// An a{sv} of an answer, with the keys of a table (answer_keys.h) and no others: a key that is not in it, or of another
// type, does not compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "daemon/bus/answer_keys.h"
#include "lib/base/percentage.h"
#include "lib/base/units.h"
#include "lib/bus/message.h"

namespace rdmaqos {

// As a key of a rate has it; a key that does not apply is absent.
inline std::optional<std::uint64_t> kbps(const std::optional<Bandwidth>& bandwidth)
{
    return bandwidth ? std::optional(bandwidth->kbps()) : std::nullopt;
}

inline std::optional<std::uint32_t> hundredths(const std::optional<Percentage>& part)
{
    return part ? std::optional(part->hundredths()) : std::nullopt;
}

struct ListOfDicts {};    // aa{sv}

template <typename T>
constexpr std::string_view type_of_key()
{
    if constexpr (std::is_same_v<T, ListOfDicts>) {
        return "aa{sv}";
    } else {
        return bus::signature_of<T>();
    }
}

// The name of a key of `keys` that has the type of a T.
template <const auto& keys, typename T>
struct KeyFor {
    consteval KeyFor(const char* text) : name(text)    // NOLINT(google-explicit-constructor): reads as a literal
    {
        for (const AnswerKey& key : keys) {
            if (key.name == text && key.type == type_of_key<T>()) {
                return;
            }
        }
        throw "no such key of this type";    // which the compiler cannot evaluate
    }
    const char* name;
};

// An aa{sv}.
template <typename List, typename WriteOne>
void write_dicts(bus::Writer& writer, const List& list, WriteOne write_one)
{
    writer.open('a', "a{sv}");
    for (const auto& entry : list) {
        write_one(writer, entry);
    }
    writer.close();
}

template <const auto& keys>
class Answer {
public:
    explicit Answer(bus::Writer& writer) : dict_(writer) {}

    template <typename T>
    void set(std::type_identity_t<KeyFor<keys, T>> key, const T& value)
    {
        dict_.set(key.name, value);
    }
    // Nothing for an empty optional: a key that does not apply is absent.
    template <typename T>
    void set(std::type_identity_t<KeyFor<keys, T>> key, const std::optional<T>& value)
    {
        dict_.set(key.name, value);
    }
    // Not for an empty text.
    void set_text(KeyFor<keys, std::string> key, const std::string& text) { dict_.set_text(key.name, text); }
    // `write_one(writer, entry)` writes each.
    template <typename List, typename WriteOne>
    void set_list(KeyFor<keys, ListOfDicts> key, const List& list, WriteOne write_one)
    {
        dict_.open(key.name, "aa{sv}");
        write_dicts(dict_.writer(), list, write_one);
        dict_.close();
    }

private:
    bus::DictWriter dict_;
};

}    // namespace rdmaqos
