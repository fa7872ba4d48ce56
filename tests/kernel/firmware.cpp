#include "tests/kernel/firmware.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/process.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kModule = "/modules/fake_mlx5.ko";
constexpr const char* kControl = "/proc/fake_mlx5";
constexpr auto kPatience = 60s;    // of a driver that probes, recovers or removes, on an emulated processor

[[noreturn]] void give_up(const std::string& what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

std::string next_name()
{
    static int last = 0;
    return std::to_string(++last);
}

// "key=value key=value"
std::map<std::string, std::string> pairs_of(std::istringstream& words)
{
    std::map<std::string, std::string> pairs;
    for (std::string word; words >> word;) {
        if (const auto equals = word.find('='); equals != std::string::npos) {
            pairs[word.substr(0, equals)] = word.substr(equals + 1);
        }
    }
    return pairs;
}

std::int64_t number_in(const std::map<std::string, std::string>& pairs, const std::string& key)
{
    const auto found = pairs.find(key);
    return found == pairs.end() ? -1 : std::strtoll(found->second.c_str(), nullptr, 0);
}

std::uint32_t id_in(const std::map<std::string, std::string>& pairs, const std::string& key)
{
    return static_cast<std::uint32_t>(number_in(pairs, key));
}

// The lines of the log between these two, without their times.
std::vector<std::string> lines_between(const std::string& begin, const std::string& end)
{
    std::ifstream log(kControl);
    std::vector<std::string> lines;
    bool inside = begin.empty();
    for (std::string line; std::getline(log, line);) {
        const std::string text = line.substr(line.find(' ') + 1);
        if (text == end) {
            return lines;
        }
        if (inside) {
            lines.push_back(line);
        }
        inside = inside || text == begin;
    }
    throw std::runtime_error("the firmware's log has no line \"" + end + "\"");
}

// Everything that happened before is in the log, and the state after it. Its lines' name.
std::string settle()
{
    const std::string name = next_name();
    tell_firmware("state " + name);
    const bool told = eventually([&] {
        std::ifstream log(kControl);
        for (std::string line; std::getline(log, line);) {
            if (line.ends_with(" end of state " + name)) {
                return true;
            }
        }
        return false;
    });
    if (!told) {
        throw std::runtime_error("the firmware does not tell its state");
    }
    return name;
}

FirmwareCommand command_of(const std::string& line)
{
    FirmwareCommand command;
    command.time = std::strtod(line.c_str(), nullptr);
    std::istringstream words(line.substr(line.find(']') + 1));
    std::string word;
    words >> command.name;
    while (words >> word && word != "->") {
    }
    words >> word;
    command.status = static_cast<std::uint32_t>(std::strtoul(word.c_str(), nullptr, 16));
    command.about = pairs_of(words);
    return command;
}

}    // namespace

LoadedNic::LoadedNic(const std::string& parameters)
{
    const UniqueFd file(open(kModule, O_RDONLY | O_CLOEXEC));
    if (!file) {
        give_up(kModule);
    }
    if (syscall(SYS_finit_module, file.get(), parameters.c_str(), 0) != 0) {
        give_up("loading fake_mlx5 " + parameters);
    }
    if (parameters.find("plugged=0") == std::string::npos && !wait_for_nic(true)) {
        throw std::runtime_error("the driver makes no uverbs device; see the kernel's messages");
    }
}

LoadedNic::~LoadedNic()
{
    // Somebody may still have the log open.
    static_cast<void>(
        eventually([] { return syscall(SYS_delete_module, "fake_mlx5", O_NONBLOCK) == 0 || errno == ENOENT; }));
}

bool nic_is_present()
{
    std::error_code ignored;
    return std::filesystem::exists("/dev/infiniband/uverbs0", ignored) &&
           std::filesystem::exists("/sys/class/infiniband/mlx5_0/ports/1/state", ignored);
}

bool wait_for_nic(bool present)
{
    return eventually([present] { return nic_is_present() == present; }, kPatience);
}

void tell_firmware(std::string_view line)
{
    const UniqueFd file(open(kControl, O_WRONLY | O_CLOEXEC));
    if (!file || write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        give_up(fmt::format("the firmware refuses \"{}\"", line));
    }
}

std::string FirmwareState::way_up(std::uint32_t element) const
{
    std::string text;
    while (element != 0) {
        const auto found = elements.find(element);
        if (found == elements.end()) {
            return text + "(nothing)";
        }
        const FirmwareElement& at = found->second;
        text += at.parent == 0 ? std::string("root") : fmt::format("rate {} share {} < ", at.cap, at.share);
        element = at.parent;
    }
    return text;
}

std::string FirmwareState::place_of(std::uint32_t queue_pair) const
{
    const auto found = queue_pairs.find(queue_pair);
    return found == queue_pairs.end() ? "absent" : way_up(found->second);
}

FirmwareState firmware_state()
{
    const std::string name = settle();
    FirmwareState state;
    for (const auto& line : lines_between("state " + name, "end of state " + name)) {
        std::istringstream words(line);
        std::string time;
        std::string kind;
        words >> time >> kind;
        const auto pairs = pairs_of(words);
        if (kind == "element") {
            state.elements[id_in(pairs, "id")] = {id_in(pairs, "parent"), id_in(pairs, "share"), id_in(pairs, "cap"),
                                                  id_in(pairs, "owner")};
        } else if (kind == "queue-pair") {
            state.queue_pairs[id_in(pairs, "qpn")] = id_in(pairs, "requester");
        } else if (kind == "send-queue") {
            state.send_queues[id_in(pairs, "sqn")] = id_in(pairs, "leaf");
        }
    }
    return state;
}

std::int64_t FirmwareCommand::number(const std::string& key) const
{
    return number_in(about, key);
}

bool FirmwareCommand::writes() const
{
    if (name.ends_with("_GENERAL_OBJECT")) {
        return !name.starts_with("QUERY_");
    }
    return name == "MODIFY_SQ" || about.contains("requester");
}

FirmwareLog::FirmwareLog() : mark_("mark " + next_name())
{
    tell_firmware(mark_);
}

std::vector<FirmwareCommand> FirmwareLog::commands() const
{
    std::vector<FirmwareCommand> all;
    for (const auto& line : lines_between(mark_, "state " + settle())) {
        if (line.find(" [") != std::string::npos && line.find("->") != std::string::npos) {
            all.push_back(command_of(line));
        }
    }
    return all;
}

std::vector<FirmwareCommand> FirmwareLog::writes() const
{
    auto all = commands();
    std::erase_if(all, [](const FirmwareCommand& command) { return !command.writes(); });
    return all;
}

KnownComplaints::KnownComplaints(const std::string& why)
{
    std::ofstream("/dev/kmsg") << "kernel suite: complaints are known from here on: " << why << std::flush;
}

KnownComplaints::~KnownComplaints()
{
    std::ofstream("/dev/kmsg") << "kernel suite: no complaint is known from here on" << std::flush;
}

std::string spelled(const std::vector<FirmwareCommand>& commands)
{
    std::string text;
    for (const auto& command : commands) {
        text += fmt::format("{:.6f} {} -> {:02x}", command.time, command.name, command.status);
        for (const auto& [key, value] : command.about) {
            text += fmt::format(" {}={}", key, value);
        }
        text += "\n";
    }
    return text;
}

}    // namespace rdmaqos::test
