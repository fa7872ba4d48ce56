// For tests that run below an emulator: what it says of itself, and queue pairs made through libibverbs.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "lib/bus/value.h"
#include "tests/emulator/clients/world.h"

namespace rdmaqos::test {

// What `rdma-qos-emulator ctl WORDS` prints; throws if it refuses.
std::string emulator(const std::string& words);

// One device as the emulator has it.
inline nlohmann::json emulated_device(const std::string& name = "mlx5_0")
{
    const auto all = nlohmann::json::parse(emulator("state --json"));
    for (const auto& device : all.at("devices")) {
        if (device.at("name") == name) {
            return device;
        }
    }
    throw std::runtime_error("the emulator has no " + name);
}

// Whether this program runs on a real kernel, whose device's firmware the emulator plays (tests/kernel).
inline bool on_kernel()
{
    return getenv("RDMAQOS_TEST_KERNEL") != nullptr;    // NOLINT(concurrency-mt-unsafe): nobody sets it
}

// What the firmware keeps apart between contexts, as the emulator was started: "shared", "isolated", ...
inline const std::string& firmware_isolation()
{
    static const std::string isolation = emulated_device().at("queue-groups");
    return isolation;
}

// Whether each process needs a tree of its own.
inline bool firmware_isolates()
{
    return firmware_isolation() == "isolated";
}

// Whether a queue pair can be only in leaves of its own process's file.
inline bool leaves_are_in_programs()
{
    return firmware_isolates() || firmware_isolation() == "isolated-attach";
}

// What a test changes is so again when it ends; on a kernel that is not played only what is the firmware's.
inline void make_as_it_was()
{
    emulator("clear");
    emulator("set queue-groups " + firmware_isolation());
    emulator("set busy-leaf refused");
    emulator("set default-share 0");
    emulator("set close-ms 0");
    emulator("set call-us 0");
    emulator("set modify-lock shared");
    emulator("set mailbox-on-error yes");
}

// Elements that were left in the firmware when their file closed, of all devices.
inline std::size_t leaked_elements()
{
    std::size_t leaked = 0;
    const auto all = nlohmann::json::parse(emulator("state --json"));
    for (const auto& device : all.at("devices")) {
        leaked += device.at("leaked").get<std::size_t>();
    }
    return leaked;
}

// On a real kernel, from its construction to its end: the kernel's complaints are known, and do not fail the run
// (tests/kernel/run.sh); elements may be left in the firmware. `why` goes into the kernel's log.
class KnownComplaints {
public:
    explicit KnownComplaints(const std::string& why)
    {
        if (on_kernel()) {
            before_ = leaked_elements();
            say("complaints are known from here on: " + why);
        }
    }
    ~KnownComplaints()
    {
        if (on_kernel()) {
            say("no complaint is known from here on");
            known_leaks() += leaked_elements() - before_;
        }
    }
    KnownComplaints(const KnownComplaints&) = delete;
    KnownComplaints& operator=(const KnownComplaints&) = delete;

    [[nodiscard]] static std::size_t& known_leaks()
    {
        static std::size_t leaks = 0;
        return leaks;
    }

private:
    static void say(const std::string& what) { std::ofstream("/dev/kmsg") << "kernel suite: " << what << std::flush; }

    std::size_t before_ = 0;
};

constexpr const char* kLostElement = "an element that the firmware has lost cannot be destroyed when its file closes";

// On a real kernel, each test begins with both devices there, whatever the one before has done to them, and a program
// whose tests leave elements in the firmware fails. (Below the emulator, `rdma-qos-emulator run` sees to that.)
class KernelGuard : public ::testing::Environment {
public:
    void SetUp() override
    {
        if (on_kernel()) {
            ::testing::UnitTest::GetInstance()->listeners().Append(new DevicesAreThere);
        }
    }
    void TearDown() override
    {
        if (on_kernel()) {
            EXPECT_EQ(leaked_elements(), KnownComplaints::known_leaks());
        }
    }

private:
    class DevicesAreThere : public ::testing::EmptyTestEventListener {
        void OnTestStart(const ::testing::TestInfo& /*test*/) override
        {
            const auto is_there = [](const char* device) {
                return access(fmt::format("/sys/class/infiniband/{}/ports/1/state", device).c_str(), F_OK) == 0;
            };
            for (int tries = 0; tries < 6000 && !(is_there("mlx5_0") && is_there("mlx5_1")); ++tries) {
                usleep(10'000);
            }
        }
    };
};
inline const ::testing::Environment* const kernel_guard = ::testing::AddGlobalTestEnvironment(new KernelGuard);

// The element with this id, or an empty one.
inline nlohmann::json element_of(const nlohmann::json& device, std::uint32_t id)
{
    for (const auto& each : device.at("tree")) {
        if (each.at("id") == id) {
            return each;
        }
    }
    return nlohmann::json::object();
}

// "rate 40000 share 0 < rate 0 share 7 < root": the way from an element up, told apart by what the policy gives it. A
// leaf in a file of its own, below a node of another one, is not in the policy.
inline std::string way_up(const nlohmann::json& device, std::uint32_t element)
{
    std::string text;
    const auto leaf = element_of(device, element);
    const auto above = element_of(device, leaf.value("parent", 0U));
    if (!above.empty() && above.at("context") != leaf.at("context")) {
        element = above.at("id");
    }
    while (element != 0) {
        const auto each = element_of(device, element);
        if (each.empty()) {
            return text + "(nothing)";
        }
        element = each.value("parent", 0U);
        text += element == 0
                    ? std::string("root")
                    : fmt::format("rate {} share {} < ", each.at("max-average-bw").dump(), each.at("bw-share").dump());
    }
    return text;
}

// Where each queue pair of a device is, requester side.
inline std::map<std::uint32_t, std::string> places(const nlohmann::json& device)
{
    std::map<std::uint32_t, std::string> result;
    for (const auto& each : device.at("queue-pairs")) {
        result[each.at("qpn").get<std::uint32_t>()] = way_up(device, each.at("requester").get<std::uint32_t>());
    }
    return result;
}

// Where one of them is; "absent".
inline std::string place_of(std::uint32_t queue_pair, const char* device = "mlx5_0")
{
    const auto all = places(emulated_device(device));
    const auto found = all.find(queue_pair);
    return found == all.end() ? "absent" : found->second;
}

inline const char* name_of(ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_RC:
        return "rc";
    case IBV_QPT_UC:
        return "uc";
    case IBV_QPT_UD:
        return "ud";
    default:
        return "raw-packet";
    }
}

// What Attach wants to know of a queue pair.
inline bus::Dict request_for(const world& world, ibv_qp* queue_pair, const std::string& device = "mlx5_0")
{
    bus::Dict dict;
    dict.set("device", device);
    dict.set("number", queue_pair->qp_num);
    dict.set("handle", queue_pair->handle);
    dict.set("type", name_of(queue_pair->qp_type));
    // The other end of the call closes what it gets; this one keeps its own.
    dict.set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(dup(world.context->cmd_fd))});
    if (queue_pair->qp_type == IBV_QPT_RAW_PACKET) {
        mlx5dv_qp details{};
        details.comp_mask = MLX5DV_QP_MASK_RAW_QP_HANDLES;
        mlx5dv_obj object{};
        object.qp = {queue_pair, &details};
        mlx5dv_init_obj(&object, MLX5DV_OBJ_QP);
        dict.set("sq-number", details.sqn);
    }
    return dict;
}

}    // namespace rdmaqos::test
