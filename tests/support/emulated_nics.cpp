#include "tests/support/emulated_nics.h"

#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/golden.h"
#include "tools/emulator/control_socket.h"

namespace rdmaqos::test {
namespace {

// What the firmware does with queue pairs and leaves of different user contexts: "shared" or "isolated".
constexpr const char* kVariable = "RDMAQOS_TEST_EMULATED";

std::filesystem::path directory()
{
    const char* value = std::getenv("RDMA_QOS_EMULATOR");    // NOLINT(concurrency-mt-unsafe): nobody sets it
    return value == nullptr ? "" : value;
}

ibv_qp_type type_of(const std::string& name)
{
    return name == "uc"           ? IBV_QPT_UC
           : name == "ud"         ? IBV_QPT_UD
           : name == "raw-packet" ? IBV_QPT_RAW_PACKET
                                  : IBV_QPT_RC;
}

// What this process has open. A forked copy has its own: the queue pairs of its parent are not its.
class OpenDevices {
public:
    static OpenDevices& of_this_process()
    {
        static std::unique_ptr<OpenDevices> instance;
        static pid_t owner = 0;
        if (instance == nullptr || owner != getpid()) {
            (void)instance.release();    // the parent's, of which nothing may be destroyed here
            instance.reset(new OpenDevices);
            owner = getpid();
        }
        return *instance;
    }

    // Null: no such device.
    world* open(const std::string& name)
    {
        const auto found = worlds_.find(name);
        if (found != worlds_.end()) {
            return &found->second;
        }
        world made{};
        ibv_device** devices = ibv_get_device_list(nullptr);
        for (ibv_device** each = devices; each != nullptr && *each != nullptr; ++each) {
            if (name == ibv_get_device_name(*each)) {
                made.context = ibv_open_device(*each);
            }
        }
        ibv_free_device_list(devices);
        if (made.context == nullptr) {
            return nullptr;
        }
        made.pd = ibv_alloc_pd(made.context);
        made.cq = ibv_create_cq(made.context, 64, nullptr, nullptr, 0);
        return &worlds_.emplace(name, made).first->second;
    }
    ibv_qp*& queue_pair(const std::string& device, std::uint32_t number) { return queue_pairs_[{device, number}]; }
    void close()
    {
        for (const auto& [name, queue_pair] : std::exchange(queue_pairs_, {})) {
            if (queue_pair != nullptr) {
                EXPECT_EQ(ibv_destroy_qp(queue_pair), 0) << name.first << " " << name.second;
            }
        }
        for (auto& [name, each] : std::exchange(worlds_, {})) {
            close_world(&each);
        }
    }

private:
    std::map<std::string, world> worlds_;
    std::map<std::pair<std::string, std::uint32_t>, ibv_qp*> queue_pairs_;
};

}    // namespace

bool order(const std::vector<std::string>& words)
{
    try {
        return emulator::ask(directory(), words, [](std::string_view) {}).has_value();
    } catch (const std::runtime_error&) {
        return false;    // there is no emulator
    }
}

bool EmulatedNics::wanted()
{
    return std::getenv(kVariable) != nullptr;    // NOLINT(concurrency-mt-unsafe)
}

bool EmulatedNics::isolated()
{
    return wanted() && std::getenv(kVariable) == std::string_view("isolated");    // NOLINT(concurrency-mt-unsafe)
}

EmulatedNics::EmulatedNics(const std::filesystem::path& devices, const std::filesystem::path& log) : log_(log)
{
    std::filesystem::remove_all(directory());
    // The emulator is not below an emulator.
    std::vector<std::string> command{
        "/usr/bin/env", "-u",          "LD_PRELOAD",         "-u",        "RDMA_QOS_EMULATOR", RDMAQOS_EMULATOR,
        "serve",        "--directory", directory().string(), "--devices", devices.string()};
    if (isolated()) {
        command.emplace_back("--isolate-queue-groups");
    }
    process_ = std::make_unique<Child>(command, std::vector<std::string>{}, log_);
    if (!eventually([&] { return read_text(log_).find("LD_PRELOAD") != std::string::npos; })) {
        throw std::runtime_error("the emulator does not start: " + read_text(log_));
    }
}

EmulatedNics::~EmulatedNics()
{
    OpenDevices::of_this_process().close();
    process_->signal(SIGTERM);
    const auto status = process_->wait();
    if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
        ADD_FAILURE() << "the emulator ended with wait status " << status.value_or(-1) << ":\n" << read_text(log_);
    }
}

bus::Dict emulated_queue_pair(const std::string& device, std::uint32_t number, const std::string& type)
{
    auto& here = OpenDevices::of_this_process();
    if (world* world = here.open(device); world != nullptr) {
        ibv_qp*& queue_pair = here.queue_pair(device, number);
        if (queue_pair == nullptr && order({"next-qp", device, std::to_string(number)})) {
            queue_pair = qp_in_state(world, type_of(type), IBV_QPS_RTS);
        }
        if (queue_pair != nullptr) {
            return request_for(*world, queue_pair, device);
        }
    }
    bus::Dict dict;
    dict.set("device", device);
    dict.set("number", number);
    dict.set("type", type);
    return dict;
}

}    // namespace rdmaqos::test
