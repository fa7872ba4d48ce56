#include "policy/yaml/settings_reader.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "policy/yaml/file_reader.h"
#include "policy/yaml/mode_choice.h"

namespace rdmaqos {
namespace {

using namespace reader;

constexpr std::array<Choice<OnUnsupported>, 2> kOnUnsupported{
    {{"error", OnUnsupported::Error}, {"degrade", OnUnsupported::Degrade}}};
constexpr std::array<Choice<AttachModeSetting>, 4> kAttachModes{{{"auto", AttachModeSetting::Automatic},
                                                                 {"shared", AttachModeSetting::Shared},
                                                                 {"per-process", AttachModeSetting::PerProcess},
                                                                 {"none", AttachModeSetting::None}}};
constexpr std::array<Choice<CapMode>, 2> kCapModes{{{"whole", CapMode::Whole}, {"divide", CapMode::Divide}}};
constexpr std::array<Choice<Unregistered>, 3> kUnregistered{
    {{"ignore", Unregistered::Ignore}, {"count", Unregistered::Count}, {"adopt", Unregistered::Adopt}}};
constexpr std::uint32_t kHighestLimit = 10'000'000;
constexpr std::uint32_t kHighestReserve = 65'535;
constexpr std::uint32_t kHighestGid = 0xFFFFFFFE;

// One key of a mapping and the member of T it is read into, which holds the default.
template <typename T>
struct Setting {
    std::string_view key;
    void (*read)(Context& context, const Field& field, T& values);
    std::string (*text)(const T& values);    // as a file states it; empty: it states nothing
};

template <auto Member, const auto& Choices>
constexpr Setting<Settings> choice(std::string_view key)
{
    return {key,
            [](Context& context, const Field& field, Settings& values) {
                values.*Member = read_choice(context, field, Choices).value_or(values.*Member);
            },
            [](const Settings& values) {
                const auto found = std::ranges::find(Choices, values.*Member,
                                                     [](const auto& one) { return one.second; });
                return std::string(found->first);
            }};
}

template <typename T, std::uint32_t T::*Member, std::uint32_t Lowest, std::uint32_t Highest>
constexpr Setting<T> number(std::string_view key)
{
    return {key,
            [](Context& context, const Field& field, T& values) {
                values.*Member = read_integer<std::uint32_t>(context, field, Lowest, Highest).value_or(values.*Member);
            },
            [](const T& values) { return std::to_string(values.*Member); }};
}

template <std::uint32_t Limits::*Member>
constexpr Setting<Limits> limit(std::string_view key)
{
    return number<Limits, Member, 1, kHighestLimit>(key);
}

template <typename T, std::chrono::milliseconds T::*Member, int HighestHours>
constexpr Setting<T> duration(std::string_view key)
{
    return {key,
            [](Context& context, const Field& field, T& values) {
                const auto time = read_duration(context, field, std::chrono::seconds(1),
                                                std::chrono::hours(HighestHours));
                values.*Member = time.value_or(values.*Member);
            },
            [](const T& values) { return fmt::format("{}s", values.*Member / std::chrono::seconds(1)); }};
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
    choice<&Settings::mode, kModes>("mode"),
    choice<&Settings::on_unsupported, kOnUnsupported>("on-unsupported"),
    choice<&Settings::attach_mode, kAttachModes>("attach-mode"),
    choice<&Settings::cap_mode, kCapModes>("cap-mode"),
    choice<&Settings::unregistered, kUnregistered>("unregistered"),
    duration<Settings, &Settings::drift_interval, 24>("drift-interval"),
    number<Settings, &Settings::leaf_reserve, 0, kHighestReserve>("leaf-reserve"),
    Setting<Settings>{"socket-group", read_socket_group,
                      [](const Settings& settings) { return settings.socket_group; }},
};
constexpr std::array kLimits{
    limit<&Limits::sessions_per_uid>("sessions-per-uid"),
    limit<&Limits::queue_pairs_per_uid>("queue-pairs-per-uid"),
    limit<&Limits::queue_pairs_per_session>("queue-pairs-per-session"),
    limit<&Limits::connections_per_uid>("connections-per-uid"),
    limit<&Limits::requests_per_second_per_uid>("requests-per-second-per-uid"),
    limit<&Limits::device_queue>("device-queue"),
};
constexpr std::array kMetrics{
    Setting<MetricsSettings>{"textfile", read_textfile,
                             [](const MetricsSettings& metrics) { return metrics.textfile; }},
    duration<MetricsSettings, &MetricsSettings::interval, 1>("interval"),
};

template <typename T, std::size_t N>
std::vector<std::string_view> keys_of(const std::array<Setting<T>, N>& settings)
{
    std::vector<std::string_view> keys;
    keys.reserve(N);
    for (const auto& setting : settings) {
        keys.push_back(setting.key);
    }
    return keys;
}

template <typename T, std::size_t N>
void read(Context& context, const Mapping& mapping, const std::array<Setting<T>, N>& settings, T& values)
{
    for (const auto& setting : settings) {
        if (const auto field = mapping.find(setting.key)) {
            setting.read(context, *field, values);
        }
    }
}

template <typename T, std::size_t N>
void add_texts(std::string_view section, const std::array<Setting<T>, N>& settings, const T& values,
               std::vector<SettingText>& texts)
{
    for (const auto& setting : settings) {
        if (std::string text = setting.text(values); !text.empty()) {
            texts.push_back({section, setting.key, std::move(text)});
        }
    }
}

Settings read_settings_document(Context& context, const Node& document, const NameService& names)
{
    Settings settings;
    auto keys = keys_of(kSettings);
    keys.insert(keys.begin(), "version");
    keys.insert(keys.end(), {"limits", "metrics"});
    const Mapping mapping(context, document, "the settings", keys);
    read(context, mapping, kSettings, settings);
    if (const auto field = mapping.find("socket-group")) {
        find_socket_group(context, *field, names, settings);
    }
    if (const auto field = mapping.find("limits")) {
        read(context, Mapping(context, *field->value, "`limits`", keys_of(kLimits)), kLimits, settings.limits);
    }
    if (const auto field = mapping.find("metrics")) {
        read(context, Mapping(context, *field->value, "`metrics`", keys_of(kMetrics)), kMetrics, settings.metrics);
    }
    return settings;
}

}    // namespace

std::vector<SettingText> texts_of(const Settings& settings)
{
    std::vector<SettingText> texts;
    add_texts({}, kSettings, settings, texts);
    add_texts("limits", kLimits, settings.limits, texts);
    add_texts("metrics", kMetrics, settings.metrics, texts);
    return texts;
}

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
