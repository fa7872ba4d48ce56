#include "policy/yaml/settings_reader.h"

#include <array>

#include "policy/yaml/file_reader.h"

namespace rdmaqos {
namespace {

using namespace reader;
using namespace std::string_view_literals;

constexpr std::array kKeys{"version"sv,        "mode"sv,         "on-unsupported"sv, "attach-mode"sv, "cap-mode"sv,
                           "drift-interval"sv, "leaf-reserve"sv, "limits"sv,         "metrics"sv};
constexpr std::array kMetricsKeys{"textfile"sv, "interval"sv};
constexpr std::array kLimitKeys{"sessions-per-uid"sv,    "queue-pairs-per-uid"sv,
                                "queue-pairs-per-session"sv, "connections-per-uid"sv,
                                "requests-per-second-per-uid"sv, "device-queue"sv};
constexpr std::array<Choice<Mode>, 2> kModes{{{"enforce", Mode::Enforce}, {"monitor", Mode::Monitor}}};
constexpr std::array<Choice<OnUnsupported>, 2> kOnUnsupported{
    {{"error", OnUnsupported::Error}, {"degrade", OnUnsupported::Degrade}}};
constexpr std::array<Choice<AttachModeSetting>, 4> kAttachModes{{{"auto", AttachModeSetting::Automatic},
                                                                 {"shared", AttachModeSetting::Shared},
                                                                 {"per-process", AttachModeSetting::PerProcess},
                                                                 {"none", AttachModeSetting::None}}};
constexpr std::array<Choice<CapMode>, 2> kCapModes{{{"whole", CapMode::Whole}, {"divide", CapMode::Divide}}};
constexpr std::uint32_t kHighestLimit = 10'000'000;
constexpr std::uint32_t kHighestReserve = 65'535;

void read_limits(Context& context, const Field& field, Limits& limits)
{
    const Mapping mapping(context, *field.value, "`limits`", kLimitKeys);
    const std::array<std::uint32_t*, kLimitKeys.size()> values{
        &limits.sessions_per_uid,    &limits.queue_pairs_per_uid,         &limits.queue_pairs_per_session,
        &limits.connections_per_uid, &limits.requests_per_second_per_uid, &limits.device_queue};
    for (std::size_t i = 0; i < kLimitKeys.size(); ++i) {
        if (const auto limit = mapping.find(kLimitKeys.at(i))) {
            *values.at(i) = read_integer<std::uint32_t>(context, *limit, 1, kHighestLimit).value_or(1);
        }
    }
}

std::string read_textfile(Context& context, const Field& field)
{
    const auto path = read_text(context, field);
    if (!path) {
        return {};
    }
    if (!path->starts_with('/')) {
        context.error(*field.value, "`textfile` must be an absolute path");
    } else if (!path->ends_with(".prom")) {
        context.error(*field.value, "`textfile` must end with `.prom`",
                      "node_exporter reads no other files of its directory");
    }
    return *path;
}

void read_metrics(Context& context, const Field& field, MetricsSettings& metrics)
{
    const Mapping mapping(context, *field.value, "`metrics`", kMetricsKeys);
    if (const auto path = mapping.find("textfile")) {
        metrics.textfile = read_textfile(context, *path);
    }
    if (const auto interval = mapping.find("interval")) {
        metrics.interval = read_duration(context, *interval, std::chrono::seconds(1), std::chrono::hours(1))
                               .value_or(metrics.interval);
    }
}

Settings read_settings_document(Context& context, const Node& document)
{
    Settings settings;
    const Mapping mapping(context, document, "the settings", kKeys);
    if (const auto field = mapping.find("mode")) {
        settings.mode = read_choice(context, *field, kModes).value_or(settings.mode);
    }
    if (const auto field = mapping.find("on-unsupported")) {
        settings.on_unsupported = read_choice(context, *field, kOnUnsupported).value_or(settings.on_unsupported);
    }
    if (const auto field = mapping.find("attach-mode")) {
        settings.attach_mode = read_choice(context, *field, kAttachModes).value_or(settings.attach_mode);
    }
    if (const auto field = mapping.find("cap-mode")) {
        settings.cap_mode = read_choice(context, *field, kCapModes).value_or(settings.cap_mode);
    }
    if (const auto field = mapping.find("drift-interval")) {
        settings.drift_interval = read_duration(context, *field, std::chrono::seconds(1), std::chrono::hours(24))
                                      .value_or(settings.drift_interval);
    }
    if (const auto field = mapping.find("leaf-reserve")) {
        settings.leaf_reserve = read_integer<std::uint32_t>(context, *field, 0, kHighestReserve).value_or(0);
    }
    if (const auto field = mapping.find("limits")) {
        read_limits(context, *field, settings.limits);
    }
    if (const auto field = mapping.find("metrics")) {
        read_metrics(context, *field, settings.metrics);
    }
    return settings;
}

}    // namespace

ReadResult<Settings> read_settings(std::shared_ptr<const SourceFile> source)
{
    return read_single<Settings>(std::move(source), read_settings_document);
}

ReadResult<Settings> read_settings(const std::filesystem::path& path)
{
    return read_optional_file<Settings>(path, read_settings_document);
}

}    // namespace rdmaqos
