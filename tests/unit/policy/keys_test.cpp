// The readers, the JSON schemas and the reference know the same keys, with the same words, bounds and defaults.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "tests/support/golden.h"
#include "tests/unit/policy/reader_support.h"
#include "tests/unit/policy/schema_support.h"

namespace rdmaqos::test {
namespace {

using nlohmann::json;
using Keys = std::set<std::string>;

struct Described {
    Format format;
    const char* body;       // a file in which it has an unknown key
    const char* schema;     // where it is in the schema
    const char* section;    // its heading in the reference
};

constexpr Format P = Format::Policy;

const Described kDescribed[] = {
    {P, "unknown-key-here: 1", "", "Files and merging"},
    {P, "port-groups: [{name: a, unknown-key-here: 1}]", "/definitions/port-group", "port-groups"},
    {P, "partitions: [{name: a, unknown-key-here: 1}]", "/definitions/partition", "partitions"},
    {P, "scheduling-nodes: [{name: a, unknown-key-here: 1}]", "/definitions/scheduling-node", "scheduling-nodes"},
    {P, "qos-levels: [{name: a, unknown-key-here: 1}]", "/definitions/qos-level", "qos-levels"},
    {P, "qos-levels: [{name: a, schedule: {unknown-key-here: 1}}]", "/definitions/schedule", "schedule"},
    {P, "qos-levels: [{name: a, schedule: {responder: {unknown-key-here: 1}}}]", "/definitions/responder", "responder"},
    {P, "qos-levels: [{name: a, per-queue-pair: {unknown-key-here: 1}}]", "/definitions/per-queue-pair",
     "per-queue-pair"},
    {P, "qos-levels: [{name: a, allow: {unknown-key-here: 1}}]", "/definitions/allow", "allow"},
    {P, "qos-match-rules: [{unknown-key-here: 1}]", "/definitions/match-rule", "qos-match-rules"},
    {P, "qos-match-rules: [{client: {unknown-key-here: 1}}]", "/definitions/client", "client"},
    {P, "qos-match-rules: [{ulp-port: {unknown-key-here: 1}}]", "/definitions/ulp-port", "ulp-port"},
    {P, "qos-ulps: [{unknown-key-here: 1}]", "/definitions/ulp", "qos-ulps"},
    {P, "qos-setup: {unknown-key-here: 1}", "/definitions/qos-setup", "qos-setup"},
    {P, "transient: {unknown-key-here: 1}", "/definitions/transient", "transient"},
    {P, "transient: {}\nqos-level-overrides: [{name: a, unknown-key-here: 1}]", "/definitions/level-override",
     "qos-level-overrides"},
    {P, "qos-setup: {vlarb-tables: [{unknown-key-here: 1}]}", "/definitions/vlarb-table", "vlarb-tables"},
    {P, "qos-setup: {sl2vl-tables: [{unknown-key-here: 1}]}", "/definitions/sl2vl-table", "sl2vl-tables"},
    {Format::Settings, "unknown-key-here: 1", "", "Settings file"},
    {Format::Settings, "limits: {unknown-key-here: 1}", "/definitions/limits", "limits"},
    {Format::Settings, "metrics: {unknown-key-here: 1}", "/definitions/metrics", "metrics"},
    {Format::Fabric, "unknown-key-here: 1", "", "Fabric file"},
    {Format::Fabric, "ports: [{unknown-key-here: 1}]", "/definitions/port", "ports"},
    {Format::Fabric, "partitions: [{unknown-key-here: 1}]", "/definitions/partition", "Partitions of the fabric"},
    {Format::Fabric, "partitions: [{name: a, pkey: 1, ipoib: {unknown-key-here: 1}}]",
     "/definitions/ipoib", "ipoib"},
    {Format::Devices, "unknown-key-here: 1", "", "Simulated devices"},
    {Format::Devices, "devices: [{unknown-key-here: 1}]", "/definitions/device", "devices"},
    {Format::Devices, "devices: [{traffic: {unknown-key-here: 1}}]", "/definitions/traffic", "traffic"},
    {Format::Devices, "devices: [{capabilities: {unknown-key-here: 1}}]", "/definitions/capabilities", "capabilities"},
    {Format::Devices, "devices: [{capabilities: {pacing: {unknown-key-here: 1}}}]", "/definitions/pacing", "pacing"},
};

std::string said_of(const Described& object)
{
    const auto file = with_version(object.body);
    switch (object.format) {
    case Format::Policy:
        return shown(read_policy({file}, fake_names()));
    case Format::Settings:
        return shown(read_settings(file));
    case Format::Fabric:
        return shown(read_fabric(file));
    case Format::Devices:
        return shown(read_simulation(file, Capabilities{}));
    }
    return {};
}

Keys in_backticks(const std::string& text)
{
    static const std::regex word("`([^`]+)`");
    Keys keys;
    for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
        keys.insert((*at)[1]);
    }
    return keys;
}

// As the reader lists them when a key is unknown.
Keys known_to_reader(const Described& object)
{
    const std::string text = said_of(object);
    const std::string hint = "known keys: ";
    const auto at = text.find(hint);
    return at == std::string::npos ? Keys{} : in_backticks(text.substr(at, text.find('\n', at) - at));
}

const json& schema_of(const Described& object)
{
    return schema_json(object.format).at(json::json_pointer(object.schema));
}

Keys known_to_schema(const Described& object)
{
    Keys keys;
    for (const auto& [key, schema] : schema_of(object).at("properties").items()) {
        keys.insert(key);
    }
    return keys;
}

// Cells of a row, by the titles of its table.
using Row = std::map<std::string, std::string>;

std::vector<std::string> cells_of(const std::string& line)
{
    std::vector<std::string> cells;
    std::istringstream text(line.substr(1));
    for (std::string cell; std::getline(text, cell, '|');) {
        const auto first = cell.find_first_not_of(' ');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    }
    return cells;
}

// By heading and key: the rows of the tables whose first column is "key".
const std::map<std::string, std::map<std::string, Row>>& reference()
{
    static const auto kReference = [] {
        std::map<std::string, std::map<std::string, Row>> sections;
        std::istringstream text(read_text(source_dir() + "/docs/policy-reference.md"));
        std::string section;
        std::vector<std::string> titles;
        for (std::string line; std::getline(text, line);) {
            if (line.starts_with("#")) {
                section = line.substr(line.find(' ') + 1);
            }
            if (!line.starts_with("|")) {
                titles.clear();
                continue;
            }
            const auto cells = cells_of(line);
            if (titles.empty()) {
                titles = cells;
            } else if (titles.front() == "key" && !cells.front().starts_with("-")) {
                Row row;
                for (std::size_t i = 0; i < std::min(cells.size(), titles.size()); ++i) {
                    row[titles[i]] = cells[i];
                }
                for (const auto& key : in_backticks(cells.front())) {
                    sections[section][key] = row;
                }
            }
        }
        return sections;
    }();
    return kReference;
}

Keys known_to_reference(const Described& object)
{
    Keys keys;
    if (const auto section = reference().find(object.section); section != reference().end()) {
        for (const auto& [key, row] : section->second) {
            keys.insert(key);
        }
    }
    return keys;
}

TEST(Keys, AreThoseOfTheReaderInTheSchema)
{
    for (const Described& object : kDescribed) {
        const Keys reader = known_to_reader(object);
        EXPECT_FALSE(reader.empty()) << object.body << '\n' << said_of(object);
        EXPECT_EQ(known_to_schema(object), reader) << object.body;
    }
}

TEST(Keys, AreThoseOfTheReaderInTheReference)
{
    for (const Described& object : kDescribed) {
        Keys reader = known_to_reader(object);
        if (std::string_view(object.section) == "allow") {
            EXPECT_EQ(reader.erase("executable"), 1U);    // known to be refused
            EXPECT_EQ(reader.erase("command"), 1U);
        }
        EXPECT_EQ(known_to_reference(object), reader) << object.section;
    }
}

// No table of keys is about an object that this test does not know.
TEST(Keys, OfEverySectionOfTheReferenceAreCompared)
{
    Keys compared;
    for (const Described& object : kDescribed) {
        compared.insert(object.section);
    }
    for (const auto& [section, rows] : reference()) {
        EXPECT_TRUE(compared.contains(section)) << section;
    }
}

// Nor is there an object in a schema.
TEST(Keys, OfEveryObjectOfASchemaAreCompared)
{
    std::set<std::pair<Format, std::string>> compared;
    for (const Described& object : kDescribed) {
        compared.emplace(object.format, object.schema);
    }
    for (const Format format : {Format::Policy, Format::Settings, Format::Fabric, Format::Devices}) {
        const json& schema = schema_json(format);
        const json definitions = schema.value("definitions", json::object());
        for (const auto& [name, definition] : definitions.items()) {
            const bool in_words = name == "fair-by" || name == "device-conditions";    // described in sentences
            if (definition.contains("properties") && !in_words) {
                EXPECT_TRUE(compared.contains({format, "/definitions/" + name})) << name;
                EXPECT_EQ(definition.at("additionalProperties"), false) << name;
            }
        }
        EXPECT_EQ(schema.at("additionalProperties"), false) << schema_name(format);
    }
}

// The schema of a key with what it refers to in its place.
json resolved(const Described& object, json schema)
{
    json all = json::array({schema});
    const auto follow = [&](const json& part) {
        if (part.contains("$ref")) {
            const auto pointer = part.at("$ref").get<std::string>().substr(1);
            all.push_back(schema_json(object.format).at(json::json_pointer(pointer)));
        } else {
            all.push_back(part);
        }
    };
    for (const char* list : {"anyOf", "allOf"}) {
        if (schema.contains(list)) {
            std::for_each(schema.at(list).begin(), schema.at(list).end(), follow);
        }
    }
    return all;
}

// What the schema says of a key stands in its row: the words it may be, small bounds, the default.
void compare(const Described& object, const std::string& key, const Row& row)
{
    const auto cell = [&](const char* title) { return row.contains(title) ? row.at(title) : std::string(); };
    const std::string range = cell("range") + " " + cell("type, unit");
    const json schema = resolved(object, schema_of(object).at("properties").at(key));
    for (const json& part : schema) {
        for (const json& word : part.value("enum", json::array())) {
            const std::string text = word.is_string() ? "`" + word.get<std::string>() + "`" : word.dump();
            // OpenSM's numbers for an MTU stand there as a range.
            if (word.is_string() || word.get<int>() >= 256) {
                EXPECT_NE(range.find(text), std::string::npos) << object.section << ' ' << key << ": " << text;
            }
        }
        constexpr double kSmall = 1e7;
        const bool is_pkey = key == "pkey" || key == "pkeys";    // in words: the membership bit
        const bool is_bytes = range.find("size") != std::string::npos;
        if (part.contains("minimum") && part.at("maximum").get<double>() <= kSmall && !is_pkey && !is_bytes) {
            const std::string bounds = fmt::format("{} to {}", part.at("minimum").dump(), part.at("maximum").dump());
            EXPECT_NE(range.find(bounds), std::string::npos) << object.section << ' ' << key << ": " << bounds;
        }
    }
    if (schema.front().contains("default")) {
        const json& value = schema.front().at("default");
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        EXPECT_NE(cell("default").find(text), std::string::npos) << object.section << ' ' << key << ": " << text;
    }
    EXPECT_NE(range, " ") << object.section << ' ' << key << " has no type";
}

TEST(Keys, HaveTheirWordsBoundsAndDefaultsInTheReference)
{
    std::size_t count = 0;
    for (const Described& object : kDescribed) {
        if (std::string_view(object.section) == "Files and merging") {
            continue;    // sections, not values
        }
        for (const auto& [key, row] : reference().at(object.section)) {
            const bool as_elsewhere = row.at("meaning").starts_with("as of ") ||
                                      row.at("type, unit").starts_with("as of ") ||
                                      row.at("range").starts_with("as of ");
            if (!as_elsewhere && key != "version") {
                compare(object, key, row);
                ++count;
            }
        }
    }
    EXPECT_GE(count, 100U);
}

// A key that is required in the reference is required by the schema, unless an earlier file may state it.
TEST(Keys, AreRequiredInBoth)
{
    for (const Described& object : kDescribed) {
        Keys required;
        for (const json& key : schema_of(object).value("required", json::array())) {
            required.insert(key.get<std::string>());
        }
        Keys documented;
        for (const auto& [key, row] : reference().at(object.section)) {
            if (row.at("default") == "required") {
                documented.insert(key);
            }
        }
        if (std::string_view(object.schema) == "/definitions/partition" && object.format == Format::Policy) {
            EXPECT_EQ(documented.erase("pkey"), 1U);
        }
        EXPECT_EQ(documented, required) << object.section;
    }
}

}    // namespace
}    // namespace rdmaqos::test
