#include "daemon/service/port_records.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "daemon/service/state_file.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/port_classes/record.h"

namespace rdmaqos {
namespace {

using Json = nlohmann::json;

constexpr StateFile kFile{kPortRecordsFile, "ports", "a list of what ports were set to", std::size_t{16} * 1024 * 1024};

// Empty: it cannot be told.
std::string boot_of(const std::filesystem::path& root)
{
    const auto text = read_kernel_file(below_root(root, "/proc/sys/kernel/random/boot_id"));
    return text ? std::string(without_blanks(*text)) : std::string();
}

}    // namespace

std::string port_id(const DeviceId& id)
{
    return fmt::format("{}/{}", to_string(id.node_guid), id.port);
}

Result<void> save_port_records(const std::filesystem::path& root, const PortRecords& records)
{
    const std::string boot = boot_of(root);
    auto ports = Json::array();
    for (const auto& [id, record] : records) {
        ports.push_back({{"port", id}, {"boot", boot}, {"before", port_classes::to_text(record)}});
    }
    return save_state(root, kFile, ports);
}

Result<PortRecords> load_port_records(const std::filesystem::path& root)
{
    const auto ports = TRY(load_state(root, kFile));
    const std::string boot = boot_of(root);
    PortRecords records;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (!ports[i].is_object() || text_of(ports[i], "port").empty()) {
            return fail(damaged_state(root, kFile, i, "`port` is missing"));
        }
        const std::string id = text_of(ports[i], "port");
        if (text_of(ports[i], "boot") != boot) {
            log(LogLevel::Info, "what port {} was set to at an earlier boot is not used", shortened(id, 40));
            continue;
        }
        auto record = port_classes::parse_record(text_of(ports[i], "before"));
        if (!record) {
            return fail(damaged_state(root, kFile, i, to_string(record.error())));
        }
        records.emplace(id, std::move(*record));
    }
    return records;
}

Result<std::string> keep_port_records_aside(const std::filesystem::path& root)
{
    return keep_aside(root, kFile);
}

std::vector<std::string> port_records_kept_aside(const std::filesystem::path& root)
{
    return kept_aside(root, kFile);
}

}    // namespace rdmaqos
