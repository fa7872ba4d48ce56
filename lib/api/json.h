// Records as JSON, by the keys that they have on D-Bus.
#pragma once

#include <nlohmann/json.hpp>

#include "lib/api/record.h"

namespace rdmaqos::api {

template <IsList List>
nlohmann::ordered_json to_json(const List& records);

template <IsRecord Record>
nlohmann::ordered_json to_json(const Record& record)
{
    auto json = nlohmann::ordered_json::object();
    for_each_value(record, [&](const auto& key, const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (IsRecord<Value> || IsList<Value>) {
            json[key.name] = to_json(value);
        } else {
            json[key.name] = Wire<Value>::to(value);
        }
    });
    return json;
}

template <IsList List>
nlohmann::ordered_json to_json(const List& records)
{
    auto json = nlohmann::ordered_json::array();
    for (const auto& record : records) {
        json.push_back(to_json<typename ListOf<List>::Record>(record));
    }
    return json;
}

}    // namespace rdmaqos::api
