#include "policy/yaml/settings_reader.h"

#include <array>

#include <fmt/format.h>

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/yaml/file_reader.h"

namespace rdmaqos {
namespace {

using namespace reader;

constexpr std::uint32_t kHighestGid = 0xFFFFFFFE;

// One key of a mapping and the member of T it is read into, which holds the default.
template <typename T>
struct Setting {
    std::string_view key;
    void (*read)(Context& context, const Field& field, T& values);
};

template <auto Member, const auto& Choices>
constexpr Setting<Settings> choice(std::string_view key)
{
    return {key, [](Context& context, const Field& field, Settings& values) {
                values.*Member = read_choice(context, field, Choices).value_or(values.*Member);
            }};
}

template <typename T, std::uint32_t T::*Member>
constexpr Setting<T> number(std::string_view key)
{
    return {key, [](Context& context, const Field& field, T& values) {
                values.*Member = read_integer<std::uint32_t>(context, field).value_or(values.*Member);
            }};
}

template <typename T, std::chrono::milliseconds T::*Member>
constexpr Setting<T> duration(std::string_view key)
{
    return {key, [](Context& context, const Field& field, T& values) {
                const keys::Value& value = field.row->value;
                const auto time = read_duration(context, field, std::chrono::milliseconds(value.lowest),
                                                std::chrono::milliseconds(value.highest));
                values.*Member = time.value_or(values.*Member);
            }};
}

void read_textfile(Context& context, const Field& field, MetricsSettings& metrics)
{
    const auto path = read_text(context, field);
    if (!path) {
        return;
    }
    if (!path->starts_with('/')) {
        context.error(*field.value, "`textfile` must be an absolute path");
    } else if (!path->ends_with(".prom")) {
        context.error(*field.value, "`textfile` must end with `.prom`", "node_exporter reads only such files");
    }
    metrics.textfile = *path;
}

void read_cnp_dscp(Context& context, const Field& field, Settings& settings)
{
    settings.cnp_dscp = read_integer<std::uint8_t>(context, field);
}

void read_socket_group(Context& context, const Field& field, Settings& settings)
{
    settings.socket_group = read_text(context, field).value_or("");
}

// By its number, or as this host names it.
void find_socket_group(Context& context, const Field& field, const NameService& names, Settings& settings)
{
    const std::string& group = settings.socket_group;
    if (const auto number = parse_number(group)) {
        if (*number > kHighestGid) {
            context.error(*field.value, fmt::format("group {} is out of range", group));
        }
        settings.socket_gid = static_cast<std::uint32_t>(*number);
        return;
    }
    settings.socket_gid = names.gid_of(group);
    if (!group.empty() && !settings.socket_gid) {
        context.warning(*field.value,
                        fmt::format("there is no group `{}` on this host: only root may use the direct socket", group),
                        "create the group, then reload");
    }
}

constexpr std::array kSettings{
    choice<&Settings::mode, keys::kModes>("mode"),
    choice<&Settings::on_unsupported, keys::kOnUnsupported>("on-unsupported"),
    choice<&Settings::attach_mode, keys::kAttachModes>("attach-mode"),
    choice<&Settings::cap_mode, keys::kCapModes>("cap-mode"),
    choice<&Settings::unregistered, keys::kUnregistered>("unregistered"),
    choice<&Settings::port_classes, keys::kPortClasses>("port-classes"),
    Setting<Settings>{"cnp-dscp", read_cnp_dscp},
    choice<&Settings::queue_pair_counters, keys::kQueuePairCounters>("queue-pair-counters"),
    duration<Settings, &Settings::drift_interval>("drift-interval"),
    number<Settings, &Settings::leaf_reserve>("leaf-reserve"),
    Setting<Settings>{"socket-group", read_socket_group},
};
constexpr std::array kLimits{
    number<Limits, &Limits::sessions_per_uid>("sessions-per-uid"),
    number<Limits, &Limits::queue_pairs_per_uid>("queue-pairs-per-uid"),
    number<Limits, &Limits::queue_pairs_per_session>("queue-pairs-per-session"),
    number<Limits, &Limits::connections_per_uid>("connections-per-uid"),
    number<Limits, &Limits::requests_per_second_per_uid>("requests-per-second-per-uid"),
    number<Limits, &Limits::device_queue>("device-queue"),
};
constexpr std::array kMetrics{
    Setting<MetricsSettings>{"textfile", read_textfile},
    duration<MetricsSettings, &MetricsSettings::interval>("interval"),
};

template <typename T, std::size_t N>
void read(Context& context, const Mapping& mapping, const std::array<Setting<T>, N>& settings, T& values)
{
    for (const auto& setting : settings) {
        if (const auto field = mapping.find(setting.key)) {
            setting.read(context, *field, values);
        }
    }
}

Settings read_settings_document(Context& context, const Node& document, const NameService& names)
{
    Settings settings;
    const Mapping mapping(context, document, keys::kSettings);
    read(context, mapping, kSettings, settings);
    if (const auto field = mapping.find("port-classes")) {
        settings.port_classes_at.at = context.locate(*field->value);
    }
    if (const auto field = mapping.find("socket-group")) {
        find_socket_group(context, *field, names, settings);
    }
    if (const auto field = mapping.find("limits")) {
        read(context, Mapping(context, *field->value, keys::kLimits), kLimits, settings.limits);
    }
    if (const auto field = mapping.find("metrics")) {
        read(context, Mapping(context, *field->value, keys::kMetrics), kMetrics, settings.metrics);
    }
    return settings;
}

}    // namespace

ReadResult<Settings> read_settings(std::shared_ptr<const SourceFile> source, const NameService& names)
{
    return read_single<Settings>(std::move(source), [&names](Context& context, const Node& document) {
        return read_settings_document(context, document, names);
    });
}

ReadResult<Settings> read_settings(const std::filesystem::path& path, const NameService& names)
{
    return read_optional_file<Settings>(path, [&names](Context& context, const Node& document) {
        return read_settings_document(context, document, names);
    });
}

}    // namespace rdmaqos
