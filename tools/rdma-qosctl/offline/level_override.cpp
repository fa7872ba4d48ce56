#include "tools/rdma-qosctl/offline/level_override.h"

#include <string_view>

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "policy/text/yaml_text.h"
#include "policy/yaml/level_overrides.h"
#include "tools/rdma-qosctl/offline/transient_text.h"

namespace rdmaqos::ctl {

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
