#include "tools/rdma-qosctl/offline/transient.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "policy/text/yaml_text.h"
#include "policy/yaml/level_overrides.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::uint64_t kLongestMs = 10ULL * 365 * 24 * 3600 * 1000;

constexpr std::string_view kBeforePolicy = "10-";
constexpr std::size_t kLongestRuleName = 100;

// "70-late"
bool has_place(std::string_view name)
{
    return name.size() > 3 && is_digit(name[0]) && is_digit(name[1]) && name[2] == '-';
}

void add_values(YamlLines& lines, std::size_t indent, const std::string& key, const std::vector<std::string>& values)
{
    std::vector<std::string> scalars;
    std::ranges::transform(values, std::back_inserter(scalars), [](const auto& value) { return yaml_scalar(value); });
    lines.list(indent, key, scalars);
}

}    // namespace

Result<std::optional<std::chrono::sys_seconds>> end_after(const std::string& time,
                                                          std::chrono::system_clock::time_point now)
{
    if (time.empty()) {
        return std::optional<std::chrono::sys_seconds>();
    }
    const auto lasts = parse_milliseconds(time);
    if (!lasts.value) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("--for: `{}` is not a time: {}", printable(time), kTimeHint));
    }
    if (*lasts.value == 0 || *lasts.value > kLongestMs) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("--for: `{}` is not above 0 and at most ten years", printable(time)));
    }
    return std::optional(std::chrono::ceil<std::chrono::seconds>(now + std::chrono::milliseconds(*lasts.value)));
}

void add_transient(YamlLines& lines, const Transient& transient)
{
    const bool ends = transient.until || !transient.owner.empty() || !transient.cgroup.empty();
    lines.line(0, ends ? "transient:" : "transient: {}");
    if (transient.until) {
        lines.line(2, "until: " + yaml_quoted(utc_text(*transient.until)));
    }
    if (!transient.owner.empty()) {
        lines.line(2, "owner: " + yaml_scalar(transient.owner));
    }
    if (!transient.cgroup.empty()) {
        lines.line(2, "cgroup: " + yaml_scalar(transient.cgroup));
    }
}

bool may_be_in_file_name(char c)
{
    return is_letter(c) || is_digit(c) || std::string_view("_.@:+-").find(c) != std::string_view::npos;
}

Result<Transient> transient_from(const RuleOptions& options, std::chrono::system_clock::time_point now)
{
    const auto until = TRY(end_after(options.lasts, now));
    return Transient{until, options.owner, options.cgroup};
}

Result<std::string> rule_text(const RuleOptions& options, const Transient& transient)
{
    if (options.criteria.empty() && options.client.empty() && options.ulp_port.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    "the rule has no criterion and would match everything; name whom it is for, as with `--unit`");
    }
    YamlLines lines;
    lines.comment(0, "Written by `rdma-qosctl rule add`; `rdma-qosctl rule remove` takes it away.");
    lines.line(0, "version: 1");
    add_transient(lines, transient);
    lines.line(0, "qos-match-rules:");
    lines.line(2, "- qos-level-name: " + yaml_scalar(options.level));
    if (!options.use.empty()) {
        lines.line(4, "use: " + yaml_scalar(options.use));
    }
    for (const auto& [key, values] : options.criteria) {
        add_values(lines, 4, key, values);
    }
    if (!options.ulp_port.empty()) {
        const auto colon = options.ulp_port.find(':');
        if (colon == std::string::npos) {
            return fail(ErrorCode::InvalidArgument, fmt::format("--ulp-port: `{}` is not SPACE:PORT, as in `tcp:4420`",
                                                                printable(options.ulp_port)));
        }
        lines.line(4, "ulp-port:");
        lines.line(6, "space: " + yaml_scalar(options.ulp_port.substr(0, colon)));
        lines.line(6, "port: " + yaml_scalar(options.ulp_port.substr(colon + 1)));
    }
    if (!options.client.empty()) {
        lines.line(4, "client:");
        for (const auto& [key, values] : options.client) {
            add_values(lines, 6, key, values);
        }
    }
    return lines.take();
}

std::string rule_file(const std::string& name)
{
    return fmt::format("{}{}.yaml", has_place(name) ? "" : kBeforePolicy, name);
}

std::string rule_name(const std::string& file)
{
    std::string name = file.substr(0, file.size() - std::string_view(".yaml").size());
    return name.starts_with(kBeforePolicy) && !has_place(name.substr(kBeforePolicy.size()))
               ? name.substr(kBeforePolicy.size())
               : name;
}

Result<void> check_rule_name(const std::string& name)
{
    if (name.empty() || name.size() > kLongestRuleName || name.starts_with(".") ||
        !std::ranges::all_of(name, may_be_in_file_name)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`{}` is not a name of a rule: use up to {} letters, digits and `_.@:+-`",
                                printable(name), kLongestRuleName));
    }
    return {};
}

std::string default_rule_name(const std::string& owner)
{
    std::string name = owner.substr(0, kLongestRuleName - 5);    // room for "-999"
    std::ranges::replace_if(
        name, [](char c) { return !may_be_in_file_name(c); }, '-');
    return name.empty() || name.starts_with(".") ? "rule" + name : name;
}

Result<std::string> override_text(const OverrideOptions& options, const Transient& transient)
{
    if (options.values.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    "say what to override, as with `--max-rate 10Gbps`; `rdma-qosctl override --help` lists it all");
    }
    YamlLines lines;
    lines.comment(0, "Written by `rdma-qosctl override`; `rdma-qosctl override clear` takes it away.");
    lines.line(0, "version: 1");
    add_transient(lines, transient);
    lines.line(0, "qos-level-overrides:");
    lines.line(2, "- name: " + yaml_scalar(options.level));
    for (const auto property : reader::override_properties()) {
        if (const auto value = options.values.find(std::string(property)); value != options.values.end()) {
            lines.line(4, fmt::format("{}: {}", property, yaml_scalar(value->second)));
        }
    }
    return lines.take();
}

std::string override_file(const std::string& level)
{
    constexpr std::size_t kLongest = 150;    // a file's name has 255 bytes
    const std::string name = to_lower(level);
    std::string written;
    for (const char c : name) {
        written += may_be_in_file_name(c)
                       ? std::string(1, c)
                       : fmt::format("%{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    if (written.size() > kLongest) {
        written = fmt::format("{}-{:016x}", written.substr(0, kLongest), fnv1a(name));
    }
    return fmt::format("90-override-{}.yaml", written);
}

}    // namespace rdmaqos::ctl
