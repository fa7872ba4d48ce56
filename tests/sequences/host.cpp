#include "tests/sequences/host.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kRules = R"(
qos-match-rules:
  - {client: {command: [member-bulk]}, qos-level-name: bulk}
  - {client: {command: [member-rpc]}, qos-level-name: rpc}
)";
// What drifts is repaired soon, since that is waited for.
constexpr const char* kSettings = "version: 1\nunregistered: adopt\ndrift-interval: 1s\n";

const std::string kPlain = std::string(R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps, fair-by: process}}
  - {name: bulk, schedule: {share: 20}}
  - {name: storage, schedule: {share: 7, max-rate: 25Gbps}})") +
                           kRules;
const std::string kWithNodes = std::string(R"(version: 1
scheduling-nodes:
  - {name: apps, share: 5, max-rate: 60Gbps}
  - {name: jobs, share: 6}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {parent: apps, share: 61, max-rate: 30Gbps, fair-by: process}}
  - {name: bulk, schedule: {parent: jobs, share: 21}}
  - {name: archive, schedule: {parent: jobs, share: 3}})") +
                               kRules;
const std::string kSharedLeaves = std::string(R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 30, max-rate: 12Gbps}}
  - {name: bulk, schedule: {share: 9, max-rate: 8Gbps}})") +
                                  kRules;

const std::array kKinds{
    Kind{"named rpc", {"--level", "rpc"}, "member", Level::Rpc},
    Kind{"named bulk", {"--level", "bulk"}, "member", Level::Bulk},
    Kind{"matched rpc", {"--"}, "member-rpc", Level::Rpc},
    Kind{"adopted bulk", {}, "member-bulk", Level::Bulk},
    Kind{"adopted rpc", {}, "member-rpc", Level::Rpc},
};

std::string device_of(std::uint32_t choice)
{
    return kDevices.at(choice % kDevices.size());
}

// The ways up of the elements that a daemon says it has, as ways() has them of the firmware.
std::vector<std::string> ways_of(const nlohmann::json& elements)
{
    std::map<std::string, std::string> by_path;
    std::vector<std::string> all;
    for (const auto& element : elements) {    // parents first
        const auto path = element.at("path").get<std::string>();
        const std::string own = fmt::format("rate {} share {} < ", element.value("max-rate", 0U) / 1000,
                                            element.value("share", 0U));
        by_path[path] = element.contains("parent") ? own + by_path.at(element.at("parent").get<std::string>()) : "root";
        all.push_back(by_path[path]);
    }
    std::ranges::sort(all);
    return all;
}

}    // namespace

const std::array<KnownPolicy, 3> kPolicies{{
    {kPlain.c_str(), "rate 0 share 1 < rate 40000 share 60 < root", "rate 0 share 1 < rate 5000 share 60 < root",
     "rate 0 share 20 < root"},
    {kWithNodes.c_str(), "rate 0 share 1 < rate 30000 share 61 < rate 60000 share 5 < root",
     "rate 0 share 1 < rate 5000 share 61 < rate 60000 share 5 < root", "rate 0 share 21 < rate 0 share 6 < root"},
    {kSharedLeaves.c_str(), "rate 12000 share 30 < root", "rate 5000 share 30 < root", "rate 8000 share 9 < root"},
}};
const char* const kBrokenPolicy = "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n  - {name: rpc, schedul\n";

// ---- programs ----

Member::Member(const std::filesystem::path& root, const std::filesystem::path& programs, const Kind& kind) : kind_(kind)
{
    const std::string commands = dir_.path() / "commands";
    if (mkfifo(commands.c_str(), 0600) != 0) {
        throw std::runtime_error("mkfifo");
    }
    Words command;
    if (!kind.launcher.empty()) {
        command = {RDMAQOS_RUN, "--root", root.string()};
        command.insert(command.end(), kind.launcher.begin(), kind.launcher.end());
        if (kind.launcher.back() != "--") {
            command.emplace_back("--");
        }
    }
    command.insert(command.end(), {programs / kind.program, commands});
    running_ = std::make_unique<Running>(command);
    for (const char* device : kDevices) {
        join(device);
    }
}

void Member::join(const std::string& device)
{
    queue_pairs_.erase(device);
    const auto joins = [&] {
        std::ofstream(dir_.path() / "commands") << device << std::endl;
        std::string answer;
        if (!eventually([&] {
                std::istringstream lines(running_->output());
                std::size_t count = 0;
                for (std::string line; std::getline(lines, line) && !lines.eof();) {
                    if (line.starts_with("mlx5_") && ++count > answers_) {
                        answer = line;
                    }
                }
                return count > answers_;
            })) {
            throw std::runtime_error(fmt::format("{} does nothing: {}", kind_.name, running_->output()));
        }
        ++answers_;
        std::istringstream words(answer);
        std::string name;
        std::uint32_t number = 0;
        words >> name >> number;
        if (number != 0) {
            queue_pairs_[device] = number;
        }
        return number != 0;
    };
    if (!eventually(joins)) {    // the device may be coming back just now
        throw std::runtime_error(fmt::format("{} has no queue pair on {}: {}", kind_.name, device, running_->output()));
    }
}

// ---- the steps ----

Host::Host() : daemon_(kPolicies[0].text, kSettings)
{
    for (const char* name : {"member", "member-rpc", "member-bulk"}) {
        std::filesystem::create_symlink(RDMAQOS_MEMBER, programs_.path() / name);
    }
    for (const char* device : kDevices) {
        wishes_[device] = DeviceWish::Managed;
    }
    for (const auto& kind : kKinds) {
        members_.push_back(std::make_unique<Member>(daemon_.root(), programs_.path(), kind));
    }
}

const std::vector<Host::Step>& Host::steps()
{
    static const std::vector<Step> all{
        &Host::kill,          &Host::kill,
        &Host::stop,          &Host::reload,
        &Host::reload,        &Host::reload_broken,
        &Host::edit,          &Host::try_policy,
        &Host::revert,        &Host::confirm,
        &Host::override_rate, &Host::clear_override,
        &Host::disable,       &Host::release,
        &Host::enable,        &Host::enable,
        &Host::reset,         &Host::replug,
        &Host::move_port,     &Host::replace_program,
        &Host::fail_commands, &Host::kill_while_queries_fail,
    };
    return all;
}

void Host::must_do(const std::string& words) const
{
    const auto done = daemon_.ctl(words);
    if (done.status != 0) {
        throw std::runtime_error(
            fmt::format("rdma-qosctl {}: status {}: {}{}", words, done.status, done.output, done.error));
    }
}

// It has read the files, or if they are broken what it has kept.
void Host::has_started()
{
    trial_.reset();
    running_ = on_disk_.value_or(last_good_);
    last_good_ = running_;
}

std::string Host::kill(std::uint32_t /*choice*/)
{
    daemon_.kill();
    daemon_.start();
    has_started();
    return "kill -9";
}

std::string Host::stop(std::uint32_t /*choice*/)
{
    if (!daemon_.stop()) {
        throw std::runtime_error("the daemon does not end");
    }
    for (const char* device : kDevices) {
        const auto emulated = emulated_device(device);
        if (!emulated.at("tree").empty()) {
            throw std::runtime_error(
                fmt::format("the daemon has ended and left elements: {}", emulated.at("tree").dump()));
        }
    }
    daemon_.start();
    has_started();
    return "SIGTERM";
}

std::string Host::reload(std::uint32_t choice)
{
    on_disk_ = choice % kPolicies.size();
    daemon_.set_policy(kPolicies.at(*on_disk_).text);
    must_do("reload");
    has_started();    // the same files, and no trial
    return fmt::format("reload {}", *on_disk_);
}

std::string Host::reload_broken(std::uint32_t /*choice*/)
{
    on_disk_.reset();
    daemon_.set_policy(kBrokenPolicy);
    if (const auto done = daemon_.ctl("reload"); done.status == 0) {
        throw std::runtime_error("a broken policy was taken");
    }
    return "reload a broken file";
}

std::string Host::edit(std::uint32_t choice)
{
    on_disk_ = choice % kPolicies.size();
    daemon_.set_policy(kPolicies.at(*on_disk_).text);
    return fmt::format("edit {}", *on_disk_);
}

std::string Host::try_policy(std::uint32_t choice)
{
    const std::size_t tried = choice % kPolicies.size();
    std::ofstream(daemon_.root() / "tried.yaml") << kPolicies.at(tried).text;
    must_do("try tried.yaml --timeout 1h");
    trial_ = tried;
    return fmt::format("try {}", tried);
}

std::string Host::revert(std::uint32_t /*choice*/)
{
    if (!trial_) {
        return "";
    }
    const auto done = daemon_.ctl("revert");
    if (done.status != 0 && on_disk_) {
        throw std::runtime_error("revert: " + done.output + done.error);
    }
    trial_.reset();
    running_ = on_disk_.value_or(running_);
    last_good_ = on_disk_.value_or(last_good_);
    return "revert";
}

std::string Host::confirm(std::uint32_t /*choice*/)
{
    if (!trial_) {
        return "";
    }
    must_do("confirm --force");
    on_disk_ = running_ = last_good_ = *trial_;
    trial_.reset();
    return "confirm";
}

std::string Host::override_rate(std::uint32_t /*choice*/)
{
    must_do(kOverride);
    overridden_ = true;
    return "override";
}

std::string Host::clear_override(std::uint32_t /*choice*/)
{
    if (!overridden_) {
        return "";
    }
    must_do("override clear rpc");
    overridden_ = false;
    return "override clear";
}

std::string Host::disable(std::uint32_t choice)
{
    const std::string device = device_of(choice);
    if (wishes_[device] != DeviceWish::Managed) {
        return "";
    }
    must_do("disable " + device);
    wishes_[device] = DeviceWish::Disabled;
    return "disable " + device;
}

std::string Host::release(std::uint32_t choice)
{
    const std::string device = device_of(choice);
    if (wishes_[device] != DeviceWish::Managed) {
        return "";
    }
    must_do("release " + device);
    const auto has_it_open = [&](const auto& member) { return member->queue_pairs().contains(device); };
    if (const auto emulated = emulated_device(device);
        emulated.at("files") != std::ranges::count_if(members_, has_it_open)) {
        throw std::runtime_error(
            fmt::format("{} was released, and {} files of it are open", device, emulated.at("files").dump()));
    }
    wishes_[device] = DeviceWish::Released;
    return "release " + device;
}

std::string Host::enable(std::uint32_t choice)
{
    const std::string device = device_of(choice);
    if (wishes_[device] == DeviceWish::Managed) {
        return "";
    }
    must_do("enable " + device);
    wishes_[device] = DeviceWish::Managed;
    return "enable " + device;
}

void Host::device_has_gone(const std::string& device)
{
    for (const auto& member : members_) {
        member->device_has_gone(device);
    }
}

// Half of the programs at once, the others later (replace_program()): they go on with their other device.
void Host::join_again(const std::string& device)
{
    for (std::size_t i = 0; i < members_.size(); i += 2) {
        members_[i]->join(device);
    }
}

std::string Host::reset(std::uint32_t choice)
{
    const std::string device = device_of(choice);
    if (wishes_[device] != DeviceWish::Managed) {
        return "";
    }
    emulator("reset " + device);
    device_has_gone(device);
    join_again(device);
    return "reset " + device;
}

std::string Host::replug(std::uint32_t choice)
{
    const std::string device = device_of(choice);
    if (wishes_[device] != DeviceWish::Managed) {
        return "";
    }
    emulator("unplug " + device);
    device_has_gone(device);
    std::this_thread::sleep_for(std::chrono::milliseconds(choice % 64));
    emulator("plug " + device);
    join_again(device);
    return "replug " + device;
}

std::string Host::move_port(std::uint32_t choice)
{
    const std::string device = device_of(choice);
    emulator("event " + device + " port-error");
    std::this_thread::sleep_for(std::chrono::milliseconds(choice % 64));
    emulator("event " + device + " port-active");
    return "port down and up, " + device;
}

std::string Host::replace_program(std::uint32_t choice)
{
    const std::size_t at = choice % members_.size();
    const Kind& kind = members_[at]->kind();
    members_[at].reset();
    members_[at] = std::make_unique<Member>(daemon_.root(), programs_.path(), kind);
    return std::string("kill and start ") + kind.name;
}

// A few commands fail, with one of the answers of a firmware: an internal error, a bad parameter, a bad resource.
std::string Host::fail_commands(std::uint32_t choice)
{
    constexpr std::array kStatuses{"0x1", "0x3", "0x5"};
    constexpr std::array kCommands{"query", "modify", "create", "attach"};
    const std::string order = fmt::format("fail {} {} {} times {}", kCommands.at(choice % kCommands.size()),
                                          1 + choice / 8 % 12, kStatuses.at(choice / 128 % kStatuses.size()),
                                          1 + choice / 512 % 3);
    emulator(order);
    return order;
}

std::string Host::kill_while_queries_fail(std::uint32_t choice)
{
    daemon_.kill();
    std::string order = fail_commands(choice / 4 * 4);    // a query
    daemon_.start();
    has_started();
    return "kill -9, " + order;
}

// ---- what must be so ----

std::string Host::place(Level level) const
{
    const KnownPolicy& policy = kPolicies.at(trial_.value_or(running_));
    if (level == Level::Bulk) {
        return policy.bulk;
    }
    return overridden_ ? policy.rpc_overridden : policy.rpc;
}

std::string Host::wrong_on(const std::string& device, DeviceWish wish, const nlohmann::json& trees) const
{
    const auto emulated = emulated_device(device);
    const auto where = places(emulated);
    for (const auto& member : members_) {
        const auto number = member->queue_pairs().find(device);
        if (number == member->queue_pairs().end()) {
            continue;
        }
        const auto found = where.find(number->second);
        const std::string is = found == where.end() ? "absent" : found->second;
        const std::string expected = wish == DeviceWish::Managed ? place(member->kind().level) : "";
        if (is != expected) {
            return fmt::format("{}: queue pair {} of {} is in `{}`, not in `{}`", device, number->second,
                               member->kind().name, is, expected);
        }
    }
    if (wish != DeviceWish::Managed) {
        return emulated.at("tree").empty() ? "" : device + " has elements: " + emulated.at("tree").dump();
    }
    if (firmware_isolates()) {
        return "";    // each program has a tree of what it needs
    }
    for (const auto& tree : trees) {
        if (tree.at("device").get<std::string>().starts_with(device)) {
            const auto said = ways_of(tree.at("elements"));
            const auto real = ways(emulated);
            return said == real ? ""
                                : fmt::format("{} has {}; the daemon says {}", device, fmt::join(real, "; "),
                                              fmt::join(said, "; "));
        }
    }
    return device + " is not in `tree`";
}

std::string Host::not_known() const
{
    const auto reply = daemon_.direct().call(bus::names::kRoot, bus::names::kManager, "ListQueuePairs", {bus::Dict()});
    if (!reply) {
        return "ListQueuePairs: " + to_string(reply.error());
    }
    std::set<std::pair<std::string, std::string>> known;
    for (const auto& each : *reply->front().as<std::vector<bus::Dict>>()) {
        if (text_of(each, "leaf") != "absent") {
            known.emplace(text_of(each, "device").substr(0, std::strlen(kDevices[0])), text_of(each, "number"));
        }
    }
    for (const auto& member : members_) {
        for (const auto& [device, number] : member->queue_pairs()) {
            if (wishes_.at(device) == DeviceWish::Managed && !known.contains({device, std::to_string(number)})) {
                return fmt::format("{}: queue pair {} of {} is not known", device, number, member->kind().name);
            }
        }
    }
    return "";
}

std::string Host::wrong() const
{
    const auto tree = daemon_.ctl("tree --json");
    const auto trees = nlohmann::json::parse(tree.output, nullptr, false);
    if (tree.status != 0 || trees.is_discarded()) {
        return "rdma-qosctl tree: " + tree.output + tree.error;
    }
    for (const auto& [device, wish] : wishes_) {
        if (auto what = wrong_on(device, wish, trees.at("trees")); !what.empty()) {
            return what;
        }
    }
    if (auto what = not_known(); !what.empty()) {
        return what;
    }
    const auto verified = daemon_.ctl("verify");
    return verified.status == 0 ? "" : "rdma-qosctl verify: " + verified.output + verified.error;
}

void Host::expect_all()
{
    std::string what;
    if (!eventually([&] {
            what = wrong();
            return what.empty();
        })) {
        throw std::runtime_error(what + "\n" + daemon_.ctl("qps").output + daemon_.ctl("status").output);
    }
    emulator("clear");
}

void Host::end()
{
    members_.clear();
    expect_all();
    if (!daemon_.stop()) {
        throw std::runtime_error("the daemon does not end");
    }
    for (const char* device : kDevices) {
        const auto emulated = emulated_device(device);
        if (!emulated.at("tree").empty() || emulated.at("files") != 0) {
            throw std::runtime_error(fmt::format("{} is not as before: {} files, {}", device,
                                                 emulated.at("files").dump(), emulated.at("tree").dump()));
        }
    }
}

}    // namespace rdmaqos::test
