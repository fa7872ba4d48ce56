// The rows of policy/keys and the tables of docs/policy-reference.md say the same of each key. (The readers and the
// schemas are made of the rows; schema_test compares what they accept.)
#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "policy/keys/objects.h"
#include "policy/yaml/level_options.h"
#include "policy/yaml/settings_reader.h"
#include "tests/support/golden.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

using keys::Key;
using keys::Kind;
using keys::Object;
using Keys = std::set<std::string>;

struct Described {
    const Object* object;
    const char* section;    // its heading in the reference
};

const Described kDescribed[] = {
    {&keys::kPolicy, "Files and merging"},
    {&keys::kPortGroup, "port-groups"},
    {&keys::kPartition, "partitions"},
    {&keys::kSchedulingNode, "scheduling-nodes"},
    {&keys::kQosLevel, "qos-levels"},
    {&keys::kSchedule, "schedule"},
    {&keys::kResponder, "responder"},
    {&keys::kPerQueuePair, "per-queue-pair"},
    {&keys::kAllow, "allow"},
    {&keys::kMatchRule, "qos-match-rules"},
    {&keys::kClient, "client"},
    {&keys::kUlpPort, "ulp-port"},
    {&keys::kUlp, "qos-ulps"},
    {&keys::kQosSetup, "qos-setup"},
    {&keys::kTransient, "transient"},
    {&keys::kLevelOverride, "qos-level-overrides"},
    {&keys::kVlarbTable, "vlarb-tables"},
    {&keys::kSl2vlTable, "sl2vl-tables"},
    {&keys::kSettings, "Settings file"},
    {&keys::kLimits, "limits"},
    {&keys::kMetrics, "metrics"},
    {&keys::kFabric, "Fabric file"},
    {&keys::kFabricPort, "ports"},
    {&keys::kFabricPartition, "Partitions of the fabric"},
    {&keys::kIpoib, "ipoib"},
    {&keys::kDevices, "Simulated devices"},
    {&keys::kDevice, "devices"},
    {&keys::kTraffic, "traffic"},
    {&keys::kCapabilities, "capabilities"},
    {&keys::kPacing, "pacing"},
};

Keys in_backticks(const std::string& text)
{
    static const std::regex word("`([^`]+)`");
    Keys keys;
    for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
        keys.insert((*at)[1]);
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

Keys known_to_rows(const Object& object)
{
    Keys keys;
    for (const Key& key : object.keys) {
        if (key.value.kind != Kind::Refused) {
            keys.emplace(key.name);
        }
    }
    return keys;
}

TEST(Keys, AreThoseOfTheReference)
{
    for (const Described& object : kDescribed) {
        EXPECT_EQ(known_to_reference(object), known_to_rows(*object.object)) << object.section;
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

void expect_compared(const Object& object, const std::set<const Object*>& compared)
{
    EXPECT_TRUE(compared.contains(&object)) << object.name;
    for (const Key& key : object.keys) {
        if (key.value.object != nullptr) {
            expect_compared(*key.value.object, compared);
        }
    }
}

// Nor is there an object in a file.
TEST(Keys, OfEveryObjectAreCompared)
{
    // These are described in sentences.
    std::set<const Object*> compared{&keys::kFairByCgroup, &keys::kDeviceConditions};
    for (const Described& object : kDescribed) {
        compared.insert(object.object);
    }
    for (const keys::Format& format : keys::kFormats) {
        expect_compared(*format.document, compared);
    }
}

// Bounds that stand in figures in the reference.
std::optional<std::pair<std::uint64_t, std::uint64_t>> bounds_of(const keys::Value& value)
{
    constexpr std::uint64_t kSmall = 10'000'000;
    switch (value.kind) {
    case Kind::Integer:
    case Kind::Range:
        return value.highest <= kSmall ? std::optional(std::pair(value.lowest, value.highest)) : std::nullopt;
    case Kind::Share:
        return std::pair(1, 1'000'000);
    case Kind::IbRate:
        return std::pair(2, 24);
    case Kind::PacketLife:
        return std::pair(0, 63);
    default:
        return std::nullopt;
    }
}

// What the row says of a key stands in the reference: the words it may be, small bounds, the default.
void compare(const Described& object, const Key& key, const Row& row)
{
    const auto cell = [&](const char* title) { return row.contains(title) ? row.at(title) : std::string(); };
    const std::string range = cell("range") + " " + cell("type, unit");
    for (const std::string_view word : key.value.words) {
        const bool found = range.find(fmt::format("`{}`", word)) != std::string::npos ||
                           range.find(fmt::format("`\"{}\"`", word)) != std::string::npos;
        EXPECT_TRUE(found) << object.section << ' ' << key.name << ": " << word;
    }
    // P_Keys are described in words: the membership bit.
    if (const auto bounds = bounds_of(key.value); bounds && !key.name.starts_with("pkey")) {
        const std::string text = fmt::format("{} to {}", bounds->first, bounds->second);
        EXPECT_NE(range.find(text), std::string::npos) << object.section << ' ' << key.name << ": " << text;
    }
    const bool is_flag = key.value.kind == Kind::Flag;
    const std::string_view without = !is_flag ? key.without : key.without == "yes" ? "true" : "false";
    if (!key.without.empty()) {
        EXPECT_NE(cell("default").find(without), std::string::npos)
            << object.section << ' ' << key.name << ": " << without;
    }
    EXPECT_NE(range, " ") << object.section << ' ' << key.name << " has no type";
}

TEST(Keys, HaveTheirWordsBoundsAndDefaultsInTheReference)
{
    std::size_t count = 0;
    for (const Described& object : kDescribed) {
        if (object.object == &keys::kPolicy) {
            continue;    // sections, not values
        }
        for (const auto& [key, row] : reference().at(object.section)) {
            const bool as_elsewhere = row.at("meaning").starts_with("as of ") ||
                                      row.at("type, unit").starts_with("as of ") ||
                                      row.at("range").starts_with("as of ");
            const Key* known = object.object->find(key);
            if (!as_elsewhere && known != nullptr && key != "version") {
                compare(object, *known, row);
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
        for (const Key& key : object.object->keys) {
            if (key.required) {
                required.emplace(key.name);
            }
        }
        Keys documented;
        for (const auto& [key, row] : reference().at(object.section)) {
            if (row.at("default") == "required") {
                documented.insert(key);
            }
        }
        if (object.object == &keys::kPartition) {
            EXPECT_EQ(documented.erase("pkey"), 1U);
        }
        EXPECT_EQ(documented, required) << object.section;
    }
}

// A file that states every default of the rows says nothing.
TEST(Keys, HaveTheDefaultsOfTheSettings)
{
    std::string text;
    for (const Key& key : keys::kSettings.keys) {
        if (!key.without.empty()) {
            text += fmt::format("{}: {}\n", key.name, key.without);
        }
    }
    for (const Object* object : {&keys::kLimits, &keys::kMetrics}) {
        text += fmt::format("{}:\n", object->name);
        for (const Key& key : object->keys) {
            if (!key.without.empty()) {
                text += fmt::format("  {}: {}\n", key.name, key.without);
            }
        }
    }
    const auto result = read_settings(with_version(text));
    ASSERT_TRUE(result.value) << shown(result);
    EXPECT_EQ(*result.value, Settings{});
}

// An option of a level has a row in policy/keys and one in policy/yaml.
TEST(Keys, OfALevelAreRead)
{
    Keys read{"name", "use", "remove"};
    for (const reader::LevelOption& option : reader::level_options()) {
        read.emplace(option.key);
    }
    EXPECT_EQ(read, known_to_rows(keys::kQosLevel));
}

}    // namespace
}    // namespace rdmaqos::test
