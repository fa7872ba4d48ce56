#include "tests/unit/policy/schema_exceptions.h"

#include <algorithm>
#include <map>
#include <regex>

#include "lib/base/units.h"

namespace rdmaqos::test {
namespace {

using reader::Node;

// Compiled once for each text.
const std::regex& compiled(const char* pattern)
{
    static std::map<const char*, std::regex> patterns;
    const auto found = patterns.find(pattern);
    return found != patterns.end() ? found->second : patterns.emplace(pattern, pattern).first->second;
}

bool says(const Diagnostic& diagnostic, const char* pattern)
{
    return std::regex_match(diagnostic.message, compiled(pattern));
}

// A message of this form, whatever stands there.
SchemaException message(std::string reason, const char* pattern)
{
    return {std::move(reason),
            [pattern](const Diagnostic& diagnostic, const Node*, const Unit&) { return says(diagnostic, pattern); }};
}

bool is_text(const Node* node)
{
    return node != nullptr && node->is_scalar() && to_json(*node).is_string();
}

bool has_form(const Node* node, const char* pattern)
{
    constexpr std::size_t kLongest = 200;
    return is_text(node) && node->text.size() <= kLongest && std::regex_match(node->text, compiled(pattern));
}

bool is_long_but_few_characters(const Node* node, std::size_t limit)
{
    return is_text(node) && node->text.size() > limit &&
           std::count_if(node->text.begin(), node->text.end(), [](char c) {
               return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
           }) <= static_cast<std::ptrdiff_t>(limit);
}

bool is_of_named_object(const Unit& unit)
{
    for (const char* section : {"port-groups", "partitions", "scheduling-nodes", "qos-levels", "qos-class-names"}) {
        if (unit.document.is_object() && unit.document.contains(section)) {
            return true;
        }
    }
    return false;
}

std::vector<SchemaException> about_other_objects()
{
    return {
        message("what is named stands in another object, perhaps of another file",
                "there is no (port-group|qos-level|scheduling-node|qos-class-name) `[^]*`( any longer)?"),
        message("what is named stands in another object", "`.*` is a qos-level; a parent is a scheduling-node"),
        message("the names of other levels", "there is a qos-level `.*`: it was not renamed"),
        message("the names of other levels", "two levels are renamed from `.*`"),
        message("two items of one list", "`renamed-from` has `.*` twice"),
        message("two keys of one object", "`.*` is the name that the level has now"),
        message("another file may define the default level", "there is no default level"),
        message("an earlier file may state it", "partition `.*` needs a `pkey`"),
        message("two objects of one list",
                "(port-group|partition|scheduling-node|qos-level|qos-class-name) `.*` is defined "
                "twice in one file"),
        message("two objects of one list", "qos-level `.*` is overridden twice in one file"),
        message("two objects of one list", "partitions `.*` and `.*` have the same P_Key .*"),
        message("two objects of one list", "(port .*|partition `.*`) is listed twice"),
        message("two objects of one list", "(LIDs? .*: )?port .* already has LIDs? .*"),
        message("keys that need one another", "`lid` .* is no multiple of .*, as `lmc` .* asks"),
        message("keys that need one another", "`.*` without `max-rate` in `per-queue-pair` limits nothing"),
        message("siblings in the tree", "(scheduling-node|qos-level) `.*` has the name of a .* with the same parent"),
        message("siblings in the tree", "`share: device-default` of `.*` cannot be combined with the min-rate of `.*`"),
        message("the chain of parents", "scheduling-node `.*` is its own ancestor"),
        message("the chain of parents", "scheduling-node `.*` is nested more than 32 deep"),
        message("a sum over the objects below", "the min-rates below .* add up to .*"),
        message("two values compared, each with a unit", "`min-rate` .* is above `max-rate` .*"),
        message("two values compared, each with a unit", "`(traffic|transmit|receive)` is more than the link's .*"),
    };
}

std::vector<SchemaException> about_texts()
{
    return {
        {"a schema does not compare numbers inside texts (quoted, or with a unit)",
         [](const Diagnostic& diagnostic, const Node* at, const Unit&) {
             return is_text(at) &&
                    says(diagnostic,
                         "`.*` must be (from .* to|at least|at most) .*|`speed: .*` is not a speed of a "
                         "link|InfiniBand has no rate of "
                         ".*|`.*` cannot be [0-9].*|`.*` is not one of OpenSM's rate numbers|`.*`: `.*` "
                         "(exceeds the supported precision|is too large)|.* is out of range|`pkey` is 0 without "
                         "the membership bit.*|version .* is not supported");
         }},
        {"nor does it know that a number inside a text has more than 64 bits",
         [](const Diagnostic& diagnostic, const Node* at, const Unit&) {
             return has_form(at, "(0[xX][0-9a-fA-F]+|[0-9]+)( *- *(0[xX][0-9a-fA-F]+|[0-9]+))?") &&
                    says(diagnostic, "`.*` must be a number, not .*|`.*`: `.*` is not a number or range");
         }},
        {"the spelling of a plain number (1e1, 1.0, +5, 0o17) is gone when a schema sees it",
         [](const Diagnostic&, const Node* at, const Unit&) {
             return at != nullptr && at->is_scalar() && to_json(*at).is_number() && !parse_number(at->text);
         }},
        message("a schema does not count the days of a month",
                "`until`: `[0-9]{4}-[0-9]{2}-(29|30|31)[^`]*` is not a time"),
        {"an address is more than the characters it may have",
         [](const Diagnostic& diagnostic, const Node* at, const Unit&) {
             return has_form(at, "[0-9A-Fa-f:.]+(/[0-9]+)?") && says(diagnostic, "`.*` is not a GID.*");
         }},
        {"a schema counts characters, the reader bytes",
         [](const Diagnostic& diagnostic, const Node* at, const Unit&) {
             constexpr std::size_t kName = 128;
             constexpr std::size_t kDescription = 4096;
             return (says(diagnostic, "the name is longer than 128 bytes") && is_long_but_few_characters(at, kName)) ||
                    (says(diagnostic, "`.*` is longer than 4096 bytes") &&
                     is_long_but_few_characters(at, kDescription));
         }},
    };
}

std::vector<SchemaException> about_yaml()
{
    return {
        {"null takes back what an earlier file says",
         [](const Diagnostic& diagnostic, const Node*, const Unit& unit) {
             return is_of_named_object(unit) &&
                    says(diagnostic,
                         "`(?!(name|remove|user|group|unit|cgroup|executable|command)`).*` has no value|"
                         "`(schedule|responder|per-queue-pair|allow)` must be a mapping of keys and values, "
                         "not nothing");
         }},
        message("JSON has each key once", "duplicate key `.*`"),
        message("JSON has no such keys", "a key is missing|a key must be a plain word, not .*|merge keys .*"),
        message("JSON has no anchors and tags", "anchors .*|tags .*"),
        message("not Unicode, so no JSON either", "the text contains a NUL character or is not valid Unicode"),
    };
}

}    // namespace

const std::vector<SchemaException>& schema_exceptions()
{
    static const std::vector<SchemaException> kExceptions = [] {
        std::vector<SchemaException> all = about_other_objects();
        for (auto&& more : {about_texts(), about_yaml()}) {
            all.insert(all.end(), more.begin(), more.end());
        }
        return all;
    }();
    return kExceptions;
}

}    // namespace rdmaqos::test
