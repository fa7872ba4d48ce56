#include "tools/docgen/schema.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/ulp_forms.h"

namespace rdmaqos::docgen {
namespace {

using json = nlohmann::ordered_json;
using namespace keys;

// ---- patterns ----

constexpr std::string_view kNumber = "0[xX][0-9a-fA-F]+|[0-9]+";
constexpr std::string_view kPositive = "0[xX]0*[1-9a-fA-F][0-9a-fA-F]*|0*[1-9][0-9]*";
constexpr std::string_view kDecimal = "[0-9]+(?:\\.[0-9]{1,9})?";
constexpr std::string_view kNotBlank = "(?=[\\s\\S]*[^ ])";
constexpr std::string_view kNamePattern = "[^\\x00-\\x20\\x7f](?:[^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f])?";
constexpr std::string_view kRate = "(?=[0-9.]*[1-9])[0-9]+(?:\\.[0-9]{1,9})? *[KkMmGgTt]?[Bb](?:[Pp]|[Ii][Tt]/)[Ss]";
constexpr std::string_view kPart = "(?=[0-9.]*[1-9])(?:0?[0-9]{1,2}(?:\\.[0-9]{1,2})?|100(?:\\.00?)?) *%";
constexpr std::string_view kSize =
    "0x[0-9a-fA-F]+|[0-9]+(?:\\.[0-9]{1,9})? *(?:[Bb](?:[Yy][Tt][Ee][Ss])?|[KkMmGg][Ii]?[Bb])?";
constexpr std::string_view kTimes = "(?:[0-9]+(?:\\.[0-9]{1,9})? *(?:[Mm][Ss]|[Ss]|[Mm](?:[Ii][Nn])?|[Hh]|[Dd]) *)+";
// 1 to 255, and 0 to 255.
constexpr std::string_view kPositiveByte =
    "(?:0*(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9][0-9]?)|0[xX]0*(?:[1-9a-fA-F][0-9a-fA-F]?))";
constexpr std::string_view kByte = "(?:0*(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[0-9]{1,2})|0[xX]0*[0-9a-fA-F]{1,2})";
constexpr std::string_view kVl = "(?:0*(?:1[0-5]|[0-9])|0[xX]0*[0-9a-fA-F])";
// What a name must not be that becomes a part of an element's path.
constexpr std::string_view kPathSegment =
    "^(?![Oo][Tt][Hh][Ee][Rr][Ss]$)(?![\\s\\S]*\\.[Rr][Ee][Ss][Pp][Oo][Nn][Dd][Ee][Rr]$)[^/]*$";

std::string range_pattern()
{
    return fmt::format("(?:{0}) *(?:- *(?:{0}) *)?", kNumber);
}

// "[Nn][Oo]"
std::string ignoring_case(std::string_view word)
{
    std::string pattern;
    for (const char c : word) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalpha(byte) != 0) {
            pattern += fmt::format("[{}{}]", static_cast<char>(std::toupper(byte)),
                                   static_cast<char>(std::tolower(byte)));
        } else {
            pattern += c;
        }
    }
    return pattern;
}

// One of these, and of the words, which ignore case.
json texts(std::vector<std::string> patterns, std::span<const std::string_view> words = {})
{
    for (const std::string_view word : words) {
        patterns.push_back(ignoring_case(word));
    }
    return {{"type", "string"}, {"pattern", fmt::format("^(?:{})$", fmt::join(patterns, "|"))}};
}

json text(std::string_view pattern)
{
    return texts({std::string(pattern)});
}

json numbers(std::uint64_t lowest, std::uint64_t highest, const char* type = "integer")
{
    json schema{{"type", type}, {"minimum", lowest}, {"maximum", highest}};
    if (highest == std::numeric_limits<std::uint64_t>::max()) {
        schema["maximum"] = static_cast<double>(highest);    // validators calculate with doubles
    }
    return schema;
}

// Also what reads as a number or a truth value is a text.
json or_plain(json schema)
{
    return json::array({std::move(schema), {{"type", "number"}}, {{"type", "boolean"}}});
}

json name_like(std::string_view before)
{
    return or_plain({{"type", "string"}, {"pattern", fmt::format("^{}{}$", before, kNamePattern)}, {"maxLength", 128}});
}

// ---- values ----

json mtu(const Value& value)
{
    const bool is_device = value.highest != 0;    // which has no numbers of OpenSM
    return json::array(
        {{{"enum", is_device ? json{256, 512, 1024, 2048, 4096} : json{1, 2, 3, 4, 5, 256, 512, 1024, 2048, 4096}}},
         texts({std::string(kSize)}, value.words)});
}

json classes(const Value& value)
{
    return json::array({numbers(0, value.highest), text(kNumber)});
}

// What one such value may be.
json alternatives(const Value& value)
{
    const auto positive_if = [&](std::uint64_t lowest) { return text(lowest == 1 ? kPositive : kNumber); };
    switch (value.kind) {
    case Kind::Text:
    case Kind::Pattern:
        return or_plain({{"type", "string"}, {"pattern", "[^ ]"}});
    case Kind::Account:
        return json::array({{{"type", "string"}, {"pattern", fmt::format("^{}[^*?\\[]*$", kNotBlank)}},
                            {{"type", "number"}, {"maximum", 4294967294U}},
                            {{"type", "boolean"}}});
    case Kind::Name:
        return name_like("");
    case Kind::PlainName:
        return name_like("(?![\\s\\S]*/)");
    case Kind::Description:
        return or_plain({{"type", "string"}, {"maxLength", 4096}});
    case Kind::Flag:
        return json::array(
            {{{"type", "boolean"}}, texts({}, std::array<std::string_view, 4>{"true", "false", "yes", "no"})});
    case Kind::Yes:
        return json::array({{{"const", true}}, texts({}, std::array<std::string_view, 2>{"true", "yes"})});
    case Kind::Integer:
        return json::array({numbers(value.lowest, value.highest), positive_if(value.lowest)});
    case Kind::Range:
        return json::array({numbers(0, value.highest), text(fmt::format(" *{}", range_pattern()))});
    case Kind::PKeyRange:
        return alternatives(between(Kind::Range, 0, ~std::uint64_t{0}));
    case Kind::PKey:
        return alternatives(integer(0, 0xFFFF));
    case Kind::Word:
        return json::array({{{"enum", value.words}}, texts({}, value.words)});
    case Kind::Guid:
        return alternatives(integer(1, ~std::uint64_t{0}));
    case Kind::Rate:
        return json::array({texts({std::string(kRate)}, value.words)});
    case Kind::Part:
        return json::array({texts({std::string(kRate), std::string(kPart)}, value.words)});
    case Kind::Share:
        return json::array(
            {numbers(1, 1'000'000), texts({std::string(kNumber)}, std::array<std::string_view, 1>{"device-default"})});
    case Kind::Speed:
        return json::array({text(fmt::format("(?:(?:<=?|>=?|=) *)?(?:{})", kRate))});
    case Kind::Size:
        return json::array({numbers(value.lowest, value.highest), texts({std::string(kSize)}, value.words)});
    case Kind::Duration:
        return json::array({numbers(value.lowest / 1000, value.highest / 1000, "number"),
                            texts({"0x[0-9a-fA-F]+", std::string(kDecimal), std::string(kTimes)})});
    case Kind::IbMtu:
        return mtu(value);
    case Kind::IbRate:
        return json::array({numbers(2, 24), texts({std::string(kNumber), std::string(kRate)}, value.words)});
    case Kind::PacketLife:
        return json::array(
            {numbers(0, 63), texts({std::string(kNumber), "(?:4\\.1|8\\.19|16\\.4|32\\.8|65\\.5|131|262|524) *[Uu][Ss]",
                                    std::string(kTimes)})});
    case Kind::Address:
        return json::array({text("[0-9A-Fa-f:.]+")});
    case Kind::AddressPrefix:
        return json::array({text("[0-9A-Fa-f:.]+(?:/[0-9]+)?")});
    case Kind::PortName:
        return json::array({text(fmt::format("{}[\\s\\S]+/[Pp]{}", kNotBlank, kPositiveByte))});
    case Kind::QosClass:
        return json::array({numbers(0, ~std::uint64_t{0}),
                            texts({range_pattern(), fmt::format("{}[^0-9][\\s\\S]*", kNotBlank)}),
                            {{"type", "boolean"}}});
    case Kind::QosClassNames: {
        json values = classes(value);
        values.push_back({{"type", "null"}});
        return json::array(
            {{{"type", "object"},
              {"propertyNames",
               {{"type", "string"}, {"maxLength", 128}, {"pattern", fmt::format("^(?![0-9]){}$", kNamePattern)}}},
              {"additionalProperties", {{"anyOf", std::move(values)}}}},
             {{"type", "null"}}});
    }
    case Kind::VlWeight:
        return json::array({text(fmt::format("{}:{}", kVl, kByte))});
    case Kind::Time:
        return json::array({text("[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt ](?:[01][0-9]|2[0-3]):[0-5]"
                                 "[0-9]:[0-5][0-9](?:[Zz]|[+-][0-9]{2}:[0-9]{2})")});
    case Kind::Cgroup:
        return json::array({text("(?:/(?!\\.{1,2}(?:/|$))[^/]+)+")});
    case Kind::MetricsFile:
        return json::array({text("/[\\s\\S]*\\.prom")});
    case Kind::SocketGroup: {
        // A number of 64 bits is that of a group; what is none is a name.
        const json too_large{{"minimum", 4294967295U}, {"exclusiveMaximum", 0x1p64}};
        return json::array({{{"type", "string"}, {"pattern", "[^ ]"}},
                            {{"type", "number"}, {"not", too_large}},
                            {{"type", "boolean"}}});
    }
    case Kind::Version:
        return json::array({{{"const", 1}}, text("0*1|0[xX]0*1")});
    case Kind::Mapping:
    case Kind::Refused:
        break;
    }
    return json::array();
}

// What a list of such values is.
std::string_view list_sentence(const Value& value)
{
    if (value.object != nullptr) {
        return "One device or a list of them; any of them counts.";
    }
    switch (value.kind) {
    case Kind::Text:
    case Kind::Name:
        return "One name or a list of names.";
    case Kind::Pattern:
        return "One shell glob or a list of them: `*` (also over `/`), `?`, `[...]`.";
    case Kind::Account:
        return "Names or numbers, not patterns.";
    case Kind::Range:
        return value.highest == 0xFFFF ? "Port numbers and ranges: 4420, 10000-20000."
                                       : "Numbers and ranges: 7, 0x7, 7-9.";
    case Kind::PKeyRange:
        return "P_Keys and ranges; the membership bit 0x8000 does not count.";
    default:
        return {};
    }
}

json any_of(json schemas)
{
    return schemas.size() == 1 ? std::move(schemas[0]) : json{{"anyOf", std::move(schemas)}};
}

json reference(const Object& object)
{
    return {{"$ref", fmt::format("#/definitions/{}", object.name)}};
}

// What the value may be, with how many there may be.
json with_count(const Value& value)
{
    json one = alternatives(value);
    if (value.object != nullptr) {
        one.push_back(reference(*value.object));
    }
    switch (value.count) {
    case Count::One:
        return one;
    case Count::OneOrSome:
    case Count::OneOrMany: {
        json list{{"type", "array"}, {"items", any_of(one)}};
        if (const auto sentence = list_sentence(value); !sentence.empty()) {
            list["description"] = sentence;
        }
        if (value.count == Count::OneOrSome) {
            list["minItems"] = 1;
        }
        if (value.kind == Kind::Range && !value.words.empty()) {
            one.push_back({{"const", value.words.front()}});    // stands alone
        }
        one.push_back(std::move(list));
        return one;
    }
    case Count::List:
        return json::array({{{"type", "array"}, {"items", any_of(one)}}, {{"type", "null"}}});
    case Count::ListInSetup:
        return json::array({{{"type", "array"}, {"items", any_of(one)}}});
    case Count::EachSl:
        return json::array({{{"type", "array"}, {"minItems", 16}, {"maxItems", 16}, {"items", any_of(one)}}});
    }
    return {};
}

// What holds without the key.
json default_of(const Key& key)
{
    if (key.value.kind == Kind::Flag) {
        return key.without == "yes";
    }
    std::uint64_t number = 0;
    const char* end = key.without.data() + key.without.size();
    const auto [at, error] = std::from_chars(key.without.data(), end, number);
    return error == std::errc{} && at == end ? json(number) : json(key.without);
}

// As an editor shows it; empty: its mapping says it.
json examples_of(const Key& key)
{
    std::string text = example_of(key);
    if (key.value.kind == Kind::Mapping || text.starts_with('[') || text.starts_with('{')) {
        return {};
    }
    std::erase(text, '\'');
    const Key plain{"", key.value, "", text};
    return json::array(
        {key.value.kind == Kind::Flag || key.value.kind == Kind::Yes ? json(text == "true") : default_of(plain)});
}

json schema_of(const Object& object, const Key& key)
{
    json schema = json::object();
    if (key.value.kind == Kind::Refused) {
        schema["description"] = fmt::format("Cannot stand here: {}. Go by user, group, unit or cgroup.", key.sentence);
        schema["not"] = json::object();
        return schema;
    }
    if (!key.sentence.empty()) {
        schema["description"] = key.sentence;
    }
    json all = with_count(key.value);
    const bool stays = object.merge == Merge::Whole ||
                       (object.merge == Merge::ByName && (key.name == "name" || key.name == "remove"));
    if (!stays) {
        all.push_back({{"type", "null"}});    // takes back what an earlier file says
    }
    if (all.size() == 1 && !all[0].contains("$ref")) {
        schema.update(all[0]);
    } else {
        schema["anyOf"] = std::move(all);
    }
    if (key.value.kind == Kind::PKey) {
        schema["not"] = {{"enum", {0, 32768}}};
    }
    if (!key.without.empty()) {
        schema["default"] = default_of(key);
    }
    if (json examples = examples_of(key); !examples.empty()) {
        schema["examples"] = std::move(examples);
    }
    return schema;
}

// ---- objects ----

json requires_key(std::string_view key)
{
    return {{"required", {key}}, {"properties", {{std::string(key), json::object()}}}};
}

json only_keys(json keys)
{
    return {{"propertyNames", {{"enum", std::move(keys)}}}};
}

json named_as_path_segment()
{
    json names = or_plain({{"type", "string"}, {"pattern", kPathSegment}});
    names.push_back({{"type", "null"}});
    return {{"properties", {{"name", {{"anyOf", std::move(names)}}}}}};
}

// Of `qos-ulps`: which criteria belong to which protocol.
json ulp_conditions()
{
    json all = json::array();
    for (const UlpForm& form : ulp_forms()) {
        json known{"ulp", "use", "sl", "qos-level-name"};
        json criteria = json::array();
        for (const UlpCriterion criterion : form.criteria) {
            known.push_back(to_string(criterion));
            criteria.push_back(requires_key(to_string(criterion)));
        }
        json then = only_keys(std::move(known));
        if (form.needs_one) {
            then.update(criteria.size() == 1 ? criteria[0] : json{{"oneOf", std::move(criteria)}});
        }
        all.push_back({{"if", {{"properties", {{"ulp", text(ignoring_case(form.name))}}}}}, {"then", std::move(then)}});
    }
    return all;
}

json some_of(std::initializer_list<std::string_view> keys)
{
    json all = json::array();
    for (const std::string_view key : keys) {
        all.push_back(requires_key(key));
    }
    return all;
}

// What the keys of an object demand of one another.
void add_conditions(const Object& object, json& schema)
{
    const json set{{"not", {{"type", "null"}}}};
    if (object.merge == Merge::ByName) {
        json removal{{"if", requires_key("remove")}, {"then", only_keys({"name", "remove"})}};
        if (&object == &kSchedulingNode) {
            removal["else"] = named_as_path_segment();
        }
        schema["allOf"] = json::array({std::move(removal)});
    }
    if (&object == &kQosLevel) {
        schema["allOf"].push_back(
            {{"if", {{"required", {"schedule"}}, {"properties", {{"schedule", {{"type", "object"}}}}}}},
             {"then", named_as_path_segment()}});
        schema["allOf"].push_back(
            {{"description", "dscp and traffic-class state the same bits."},
             {"not",
              {{"required", {"dscp", "traffic-class"}}, {"properties", {{"dscp", set}, {"traffic-class", set}}}}}});
    } else if (&object == &kMatchRule) {
        schema["not"] = {{"required", {"device", "devices"}},
                         {"properties", {{"device", json::object()}, {"devices", json::object()}}}};
    } else if (&object == &kUlp) {
        schema["oneOf"] = some_of({"sl", "qos-level-name"});
        schema["allOf"] = ulp_conditions();
    } else if (&object == &kVlarbTable) {
        schema["anyOf"] = some_of({"group", "across"});
    } else if (&object == &kSl2vlTable) {
        schema["anyOf"] = some_of({"group", "across", "across-from", "across-to"});
    } else if (&object == &kClient || &object == &kAllow || &object == &kDeviceConditions) {
        schema["minProperties"] = 1;
    } else if (&object == &kPolicy) {
        schema["dependencies"] = {{"qos-level-overrides", {"transient"}}};
    } else if (&object == &kFabricPort) {
        schema["dependencies"] = {{"lmc", {"lid"}}};
    } else if (&object == &kDevice) {
        schema["dependencies"] = {{"bond", {"netdev"}}};
    }
    if (&object == &kSchedulingNode || &object == &kSchedule) {
        schema["allOf"].push_back(
            {{"description", "Only what has no parent has a traffic class, and so can be strict."},
             {"not",
              {{"required", {"parent", "strict"}}, {"properties", {{"parent", set}, {"strict", {{"const", true}}}}}}}});
    }
}

json schema_of(const Object& object)
{
    json schema = json::object();
    if (!object.sentence.empty()) {
        schema["description"] = object.sentence;
    }
    schema["type"] = &object == &kQosSetup ? json{"object", "null"} : json("object");
    schema["additionalProperties"] = false;
    json properties = json::object();
    json required = json::array();
    for (const Key& key : object.keys) {
        properties[std::string(key.name)] = schema_of(object, key);
        if (key.required) {
            required.push_back(key.name);
        }
    }
    if (!required.empty()) {
        schema["required"] = std::move(required);
    }
    schema["properties"] = std::move(properties);
    add_conditions(object, schema);
    return schema;
}

// This one and all below it, each once.
void add_objects(const Object& object, std::vector<const Object*>& objects)
{
    if (std::find(objects.begin(), objects.end(), &object) != objects.end()) {
        return;
    }
    objects.push_back(&object);
    for (const Key& key : object.keys) {
        if (key.value.object != nullptr) {
            add_objects(*key.value.object, objects);
        }
    }
}

}    // namespace

json schema_of(const Format& format)
{
    json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"$id", fmt::format("urn:x-rdma-qosd:schema:{}:1", format.name)},
                {"title", format.title},
                {"description", format.sentence}};
    std::vector<const Object*> objects;
    add_objects(*format.document, objects);
    schema.update(schema_of(*format.document));
    for (const Object* object : std::span(objects).subspan(1)) {
        schema["definitions"][std::string(object->name)] = schema_of(*object);
    }
    return schema;
}

std::string dictionary_of(const Format& format)
{
    std::vector<const Object*> objects;
    add_objects(*format.document, objects);
    std::set<std::string> entries;
    for (const Object* object : objects) {
        for (const Key& key : object->keys) {
            entries.insert(fmt::format("\"{}: \"\n", key.name));
            for (const std::string_view word : key.value.words) {
                entries.insert(fmt::format("\"{}\"\n", word));
            }
        }
    }
    return fmt::format("{}", fmt::join(entries, ""));
}

}    // namespace rdmaqos::docgen
