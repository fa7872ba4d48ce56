// A host with two devices, a daemon and programs of every kind, of which a model knows what must be so.
#pragma once

#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/nic_mlx5/restarted_daemon.h"
#include "tests/support/running.h"

namespace rdmaqos::test {

enum class DeviceWish : std::uint8_t { Managed, Disabled, Released };

constexpr std::array kDevices{"mlx5_0", "mlx5_1"};

// ---- what a policy says ----

struct KnownPolicy {
    const char* text;
    const char* rpc;               // where queue pairs of this level are
    const char* rpc_overridden;    // with kOverride
    const char* bulk;
};

extern const std::array<KnownPolicy, 3> kPolicies;
constexpr const char* kOverride = "override rpc --max-rate 5Gbps --for 1h";
extern const char* const kBrokenPolicy;

// ---- programs ----

enum class Level : std::uint8_t { Rpc, Bulk };

struct Kind {
    const char* name;
    std::vector<std::string> launcher;    // of rdma-qos-run, behind --root; empty: it is adopted
    const char* program;                  // by which rules tell it
    Level level;
};

// A process with a queue pair on each device.
class Member {
public:
    // Throws if it does not come to its queue pairs.
    Member(const std::filesystem::path& root, const std::filesystem::path& programs, const Kind& kind);

    // Opens the device once more, which is another one now.
    void join(const std::string& device);
    [[nodiscard]] const Kind& kind() const { return kind_; }
    // Those that have not gone with their device.
    [[nodiscard]] const std::map<std::string, std::uint32_t>& queue_pairs() const { return queue_pairs_; }
    void device_has_gone(const std::string& device) { queue_pairs_.erase(device); }
    [[nodiscard]] std::string said() const { return running_->output(); }

private:
    const Kind& kind_;
    TempDir dir_;
    std::unique_ptr<Running> running_;
    std::size_t answers_ = 0;
    std::map<std::string, std::uint32_t> queue_pairs_;
};

// ---- all of it ----

class Host {
public:
    Host();

    // What a sequence consists of; each says what it has done ("reload 2"), or nothing if it makes no sense now.
    // `choice`: a number that decides what is left open.
    using Step = std::string (Host::*)(std::uint32_t choice);
    [[nodiscard]] static const std::vector<Step>& steps();

    // Waits until everything is as the model says; throws what is not.
    void expect_all();
    // All programs end; nothing of them is left. The daemon ends; nothing at all is left.
    void end();
    [[nodiscard]] std::string said() const { return daemon_.said(); }

private:
    std::string kill(std::uint32_t choice);
    std::string stop(std::uint32_t choice);
    std::string reload(std::uint32_t choice);
    std::string reload_broken(std::uint32_t choice);
    std::string edit(std::uint32_t choice);
    std::string try_policy(std::uint32_t choice);
    std::string revert(std::uint32_t choice);
    std::string confirm(std::uint32_t choice);
    std::string override_rate(std::uint32_t choice);
    std::string clear_override(std::uint32_t choice);
    std::string disable(std::uint32_t choice);
    std::string release(std::uint32_t choice);
    std::string enable(std::uint32_t choice);
    std::string reset(std::uint32_t choice);
    std::string replug(std::uint32_t choice);
    std::string move_port(std::uint32_t choice);
    std::string replace_program(std::uint32_t choice);
    std::string kill_while_queries_fail(std::uint32_t choice);
    std::string fail_commands(std::uint32_t choice);

    void has_started();
    // "" or what is wrong.
    [[nodiscard]] std::string wrong() const;
    // After a restart queue pairs are in their leaves before their programs have named them again.
    [[nodiscard]] std::string not_known() const;
    [[nodiscard]] std::string wrong_on(const std::string& device, DeviceWish wish, const nlohmann::json& trees) const;
    [[nodiscard]] std::string place(Level level) const;
    // Throws if it is refused.
    void must_do(const std::string& words) const;
    void device_has_gone(const std::string& device);
    void join_again(const std::string& device);

    TempDir programs_;
    RestartedDaemon daemon_;
    std::vector<std::unique_ptr<Member>> members_;

    // ---- the model: indices of kPolicies ----
    std::optional<std::size_t> on_disk_ = 0;    // nothing: a broken one
    std::size_t last_good_ = 0;
    std::size_t running_ = 0;    // without a trial
    std::optional<std::size_t> trial_;
    bool overridden_ = false;
    std::map<std::string, DeviceWish> wishes_;
};

}    // namespace rdmaqos::test
