// The JSON schemas that docgen draws are as a strict validator wants them (ajv with `strict: true`): each has an `$id`,
// and nothing in them could be a mistake of whoever wrote them.
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace rdmaqos::test {
namespace {

using nlohmann::json;
using Types = std::set<std::string>;

// Keywords, and the type of what they are about; "" for any.
const std::map<std::string, std::string> kKeywords{{"$schema", ""},
                                                   {"$id", ""},
                                                   {"$ref", ""},
                                                   {"title", ""},
                                                   {"description", ""},
                                                   {"default", ""},
                                                   {"examples", ""},
                                                   {"definitions", ""},
                                                   {"type", ""},
                                                   {"enum", ""},
                                                   {"const", ""},
                                                   {"anyOf", ""},
                                                   {"allOf", ""},
                                                   {"oneOf", ""},
                                                   {"not", ""},
                                                   {"if", ""},
                                                   {"then", ""},
                                                   {"else", ""},
                                                   {"minimum", "number"},
                                                   {"maximum", "number"},
                                                   {"exclusiveMinimum", "number"},
                                                   {"exclusiveMaximum", "number"},
                                                   {"pattern", "string"},
                                                   {"minLength", "string"},
                                                   {"maxLength", "string"},
                                                   {"items", "array"},
                                                   {"minItems", "array"},
                                                   {"maxItems", "array"},
                                                   {"uniqueItems", "array"},
                                                   {"contains", "array"},
                                                   {"properties", "object"},
                                                   {"required", "object"},
                                                   {"additionalProperties", "object"},
                                                   {"patternProperties", "object"},
                                                   {"propertyNames", "object"},
                                                   {"minProperties", "object"},
                                                   {"maxProperties", "object"},
                                                   {"dependencies", "object"}};

Types types_of(const json& type)
{
    return type.is_array() ? type.get<Types>() : Types{type.get<std::string>()};
}

// `types`: what a schema around this one says of the same value.
void expect_strict(const json& schema, const std::string& at, Types types)
{
    if (!schema.is_object()) {
        return;
    }
    if (schema.contains("type")) {
        types = types_of(schema.at("type"));
        EXPECT_LE(types.size() - types.count("null"), 1U) << at << ": a union of types";
    }
    const json defined = schema.value("properties", json::object());
    for (const auto& name : schema.value("required", json::array())) {
        EXPECT_TRUE(defined.contains(name.get<std::string>()))
            << at << ": " << name << " is required, and not described";
    }
    for (const auto& [keyword, value] : schema.items()) {
        const auto known = kKeywords.find(keyword);
        ASSERT_NE(known, kKeywords.end()) << at << ": " << keyword;
        const bool fits = known->second.empty() || types.contains(known->second) ||
                          (known->second == "number" && types.contains("integer"));
        EXPECT_TRUE(fits) << at << ": " << keyword << " without the type";
    }
    for (const char* list : {"anyOf", "allOf", "oneOf"}) {
        for (std::size_t i = 0; i < schema.value(list, json::array()).size(); ++i) {
            expect_strict(schema.at(list).at(i), at + '/' + list + '/' + std::to_string(i), types);
        }
    }
    for (const char* one : {"not", "if", "then", "else"}) {
        expect_strict(schema.value(one, json()), at + '/' + one, types);
    }
    for (const char* one : {"items", "contains", "additionalProperties"}) {
        expect_strict(schema.value(one, json()), at + '/' + one, {});
    }
    expect_strict(schema.value("propertyNames", json()), at + "/propertyNames", {"string"});
    for (const char* map : {"properties", "patternProperties", "definitions"}) {
        const json all = schema.value(map, json::object());
        for (const auto& [name, each] : all.items()) {
            expect_strict(each, at + '/' + map + '/' + name, {});
        }
    }
}

TEST(SchemaStrict, NothingIsLeftToGuess)
{
    std::set<std::string> ids;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(RDMAQOS_BINARY_DIR "/config")) {
        const std::string name = entry.path().filename();
        if (!name.ends_with(".schema.json")) {
            continue;
        }
        SCOPED_TRACE(name);
        ++count;
        std::ifstream file(entry.path());
        const json schema = json::parse(file);
        EXPECT_TRUE(ids.insert(schema.value("$id", "")).second);
        EXPECT_NE(schema.value("$id", ""), "");
        expect_strict(schema, "#", {});
    }
    EXPECT_EQ(count, 4U);
}

}    // namespace
}    // namespace rdmaqos::test
