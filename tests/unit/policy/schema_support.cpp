#include "tests/unit/policy/schema_support.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "policy/load/policy_reader.h"
#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "policy/yaml/yaml_reader.h"
#include "tests/support/golden.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

using nlohmann::json;
using reader::Node;
using reader::NodeKind;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

struct Loaded {
    json text;
    valijson::Schema schema;
    valijson::Validator validator{valijson::Validator::kStrongTypes};
};

Loaded& loaded(Format format)
{
    static std::map<Format, std::unique_ptr<Loaded>> schemas;
    auto& entry = schemas[format];
    if (!entry) {
        entry = std::make_unique<Loaded>();
        entry->text = json::parse(read_text(RDMAQOS_BINARY_DIR "/config/" + schema_name(format)));
        valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(entry->text), entry->schema);
    }
    return *entry;
}

json number_of(const std::string& text)
{
    const bool negative = text[0] == '-';
    const std::string digits = text.substr(text[0] == '-' || text[0] == '+' ? 1 : 0);
    const int base = digits.starts_with("0x") ? 16 : digits.starts_with("0o") ? 8 : 10;
    errno = 0;
    const auto value = std::strtoull(digits.c_str() + (base == 10 ? 0 : 2), nullptr, base);
    // valijson knows integers of 63 bits; where there are more, only a GUID's 64 bits bound them.
    constexpr auto kHighest = static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max());
    if (errno == ERANGE) {
        return std::strtod(digits.c_str(), nullptr);
    }
    const auto kept = static_cast<std::int64_t>(std::min(value, kHighest));
    return negative ? -kept : kept;
}

json scalar_of(const Node& node)
{
    static const std::regex null("~|null|Null|NULL|");
    static const std::regex truth("true|True|TRUE");
    static const std::regex falsehood("false|False|FALSE");
    static const std::regex integer("[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+");
    static const std::regex real("[-+]?(?:\\.[0-9]+|[0-9]+(?:\\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?");
    // A long text is no number, and std::regex recurses over it.
    if (node.quoted || node.text.size() > 64) {
        return node.text;
    }
    if (std::regex_match(node.text, null)) {
        return nullptr;
    }
    if (std::regex_match(node.text, truth) || std::regex_match(node.text, falsehood)) {
        return std::regex_match(node.text, truth);
    }
    if (std::string_view("+-.0123456789").find(node.text[0]) == std::string_view::npos) {
        return node.text;
    }
    if (std::regex_match(node.text, integer)) {
        return number_of(node.text);
    }
    if (std::regex_match(node.text, real)) {
        const double value = std::strtod(node.text.c_str(), nullptr);
        constexpr double kExact = 1e15;
        return std::floor(value) == value && std::fabs(value) < kExact ? json(static_cast<std::int64_t>(value))
                                                                       : json(value);
    }
    return node.text;
}

struct Sections {
    std::vector<std::string_view> lists;
    std::vector<std::string_view> mappings;
};

const Sections& sections_of(Format format)
{
    static const std::map<Format, Sections> kSections{{Format::Policy,
                                                       {{"port-groups", "partitions", "scheduling-nodes", "qos-levels",
                                                         "qos-match-rules", "qos-ulps", "qos-level-overrides"},
                                                        {"qos-class-names", "qos-setup", "transient"}}},
                                                      {Format::Settings, {{}, {"limits", "metrics"}}},
                                                      {Format::Fabric, {{"ports", "partitions"}, {}}},
                                                      {Format::Devices, {{"devices"}, {}}}};
    return kSections.at(format);
}

bool holds(const std::vector<std::string_view>& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

using Place = std::pair<std::uint32_t, std::uint32_t>;

struct Division {
    std::vector<Unit> units;
    std::map<Place, std::size_t> starts;    // of units, by line and column

    std::size_t add(const std::string& file, const Node& at, json document)
    {
        starts[{at.at.line, at.at.column}] = units.size();
        units.push_back({file + ":" + std::to_string(at.at.line), std::move(document), {}});
        return units.size() - 1;
    }
};

Division divide(Format format, const std::string& file, const Node& root)
{
    Division division;
    division.units.push_back({file, to_json(root), {}});
    division.starts[{0, 0}] = 0;
    if (!root.is_mapping()) {
        return division;
    }
    const Sections& sections = sections_of(format);
    for (std::size_t i = 0; i + 1 < root.children.size(); i += 2) {
        const Node& key = root.children[i];
        const Node& value = root.children[i + 1];
        division.starts[{key.at.line, key.at.column}] = 0;
        if (value.is_sequence() && holds(sections.lists, key.text)) {
            division.units[0].document[key.text] = json::array();
            for (const Node& entry : value.children) {
                json unit{{"version", 1}, {key.text, json::array({to_json(entry)})}};
                if (key.text == "qos-level-overrides") {
                    unit["transient"] = json::object();    // whether it is there is a matter of the whole file
                }
                division.add(file, entry, std::move(unit));
            }
        } else if (value.is_mapping() && holds(sections.mappings, key.text)) {
            division.units[0].document[key.text] = json::object();
            division.add(file, key, {{"version", 1}, {key.text, to_json(value)}});
        }
    }
    return division;
}

Diagnostics read(Format format, const std::shared_ptr<const SourceFile>& file,
                 const std::shared_ptr<const SourceFile>& context)
{
    switch (format) {
    case Format::Policy:
        return context ? read_policy({context, file}, fake_names()).diagnostics
                       : read_policy({file}, fake_names()).diagnostics;
    case Format::Settings:
        return read_settings(file).diagnostics;
    case Format::Fabric:
        return read_fabric(file).diagnostics;
    case Format::Devices:
        return read_simulation(file, Capabilities{}).diagnostics;
    }
    return {};
}

}    // namespace

std::string schema_name(Format format)
{
    static constexpr std::array kNames{"rdma-qos-policy", "rdma-qosd-settings", "rdma-qos-fabric", "rdma-qos-devices"};
    return std::string(kNames.at(static_cast<std::size_t>(format))) + ".schema.json";
}

const json& schema_json(Format format)
{
    return loaded(format).text;
}

bool schema_accepts(Format format, const json& document)
{
    Loaded& schema = loaded(format);
    return schema.validator.validate(schema.schema, Adapter(document), nullptr);
}

json to_json(const Node& node)
{
    switch (node.kind) {
    case NodeKind::Missing:
    case NodeKind::Null:
        return nullptr;
    case NodeKind::Scalar:
        return scalar_of(node);
    case NodeKind::Sequence: {
        json list = json::array();
        for (const Node& item : node.children) {
            list.push_back(to_json(item));
        }
        return list;
    }
    case NodeKind::Mapping:
        break;
    }
    json object = json::object();
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
        object[node.children[i].text] = to_json(node.children[i + 1]);
    }
    return object;
}

std::optional<Node> yaml_of(const std::shared_ptr<const SourceFile>& file)
{
    Diagnostics ignored;
    reader::Context context({file}, ignored);
    return reader::read_yaml(context, 0);
}

const Node* node_at(const Node& root, const Location& at)
{
    if (root.at.line == at.line && root.at.column == at.column) {
        return &root;
    }
    for (const Node& child : root.children) {
        if (const Node* found = node_at(child, at)) {
            return found;
        }
    }
    return nullptr;
}

std::vector<Unit> units_of(Format format, const std::shared_ptr<const SourceFile>& file, const Node& root,
                           const std::shared_ptr<const SourceFile>& context)
{
    Division division = divide(format, file->name, root);
    const Diagnostics diagnostics = read(format, file, context);
    for (const Diagnostic& diagnostic : diagnostics.all()) {
        if (diagnostic.severity == Severity::Error && diagnostic.location.file == file) {
            const auto behind = division.starts.upper_bound({diagnostic.location.line, diagnostic.location.column});
            division.units[std::prev(behind)->second].errors.push_back(diagnostic);
        }
    }
    return std::move(division.units);
}

}    // namespace rdmaqos::test
