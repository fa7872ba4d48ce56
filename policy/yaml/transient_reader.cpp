#include "policy/yaml/transient_reader.h"

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/objects.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/yaml_reader.h"

namespace rdmaqos::reader {
namespace {

std::optional<std::chrono::sys_seconds> read_until(Context& context, const Field& field, std::chrono::sys_seconds now)
{
    const auto text = read_text(context, field);
    if (!text) {
        return std::nullopt;
    }
    const auto until = parse_time(*text);
    if (!until) {
        context.error(
            *field.value, fmt::format("`until`: `{}` is not a time", shortened(*text)),
            "write date, time and UTC: `2026-11-23T22:00:00Z`, or with an offset: `2026-11-23T23:00:00+01:00`");
    } else if (*until <= now) {
        context.warning(*field.value, "`until` has passed: in /run/rdma-qos the file is not used, and removed");
    }
    return until;
}

std::string read_cgroup(Context& context, const Field& field)
{
    auto text = read_text(context, field);
    if (!text) {
        return {};
    }
    const std::filesystem::path path(*text);
    if (text->size() < 2 || !path.is_absolute() || path.lexically_normal() != path || text->ends_with("/")) {
        context.error(*field.value, fmt::format("`cgroup`: `{}` is not the path of a cgroup", shortened(*text)),
                      "write it as /proc/PID/cgroup has it: `/system.slice/job.scope`");
        return {};
    }
    return std::move(*text);
}

}    // namespace

Transient read_transient(Context& context, const Node& node, std::chrono::sys_seconds now)
{
    Transient transient;
    const Mapping mapping(context, node, keys::kTransient);
    if (!mapping.is_valid()) {
        return transient;
    }
    if (const auto until = mapping.find("until")) {
        transient.until = read_until(context, *until, now);
    }
    if (const auto owner = mapping.find("owner")) {
        transient.owner = read_name(context, *owner).value_or(std::string());
    }
    if (const auto cgroup = mapping.find("cgroup")) {
        transient.cgroup = read_cgroup(context, *cgroup);
    }
    return transient;
}

std::optional<Transient> transient_of(const std::shared_ptr<const SourceFile>& source)
{
    if (source->text.find("transient") == std::string::npos) {
        return std::nullopt;
    }
    Diagnostics unused;
    Context context({source}, unused);
    const auto document = read_yaml(context, 0);
    const Node* node = document && document->is_mapping() ? find_value(*document, "transient") : nullptr;
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto transient = read_transient(context, *node, std::chrono::sys_seconds::min());
    return unused.has_errors() ? std::nullopt : std::optional(transient);
}

}    // namespace rdmaqos::reader
