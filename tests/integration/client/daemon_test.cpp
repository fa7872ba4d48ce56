// librdmaqos with the real rdma-qosd, which has simulated devices.
#include <array>
#include <iostream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <unistd.h>

#include "tests/integration/client/restartable.h"
#include "tests/unit/client/library.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPolicy = R"(version: 1
qos-class-names: {bulk-class: 7}
port-groups:
  - {name: storage-targets, port-guid: [0x21]}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, dscp: 26, sl-source: host, message-model: low-latency,
     schedule: {share: 60, max-rate: 40Gbps, fair-by: queue-pair}}
  - {name: bulk, sl: 1, schedule: {share: 40}}
  - {name: storage, schedule: {share: 20}}
  - {name: closed, schedule: {share: 1}, allow: {user: [nobody]}}
qos-match-rules:
  - {qos-class: bulk-class, qos-level-name: bulk}
  - {service-id: 0x1000, qos-level-name: rpc}
  - {destination: storage-targets, qos-level-name: storage}
)";
constexpr const char* kDevices = R"(version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, link-speed: 100Gbps, gids: ["fd00:20::1"]}
  - {name: mlx5_1, node-guid: 0x20, port-guid: 0x21, link-speed: 100Gbps, gids: ["fd00:21::1"]}
)";

Answer register_with(const Handle& handle, const rdmaqos_request* request)
{
    rdmaqos_answer* grant = nullptr;
    EXPECT_EQ(rdmaqos_register(handle.get(), request, &grant), 0) << rdmaqos_last_error();
    return Answer(grant);
}

Answer attach(const Handle& handle, std::uint32_t number, const rdmaqos_request* request = nullptr,
              const char* device = "mlx5_0")
{
    const auto queue_pair = numbered(number, device);
    rdmaqos_answer* place = nullptr;
    EXPECT_EQ(rdmaqos_attach_number(handle.get(), &queue_pair, request, &place), 0) << rdmaqos_last_error();
    return Answer(place);
}

std::string text_of(const Answer& answer, const char* key)
{
    const char* text = rdmaqos_answer_text(answer.get(), key);
    std::uint64_t number = 0;
    return text != nullptr                                          ? text
           : rdmaqos_answer_number(answer.get(), key, &number) == 0 ? std::to_string(number)
                                                                    : "absent";
}

class ClientDaemon : public ::testing::Test {
protected:
    RestartableDaemon daemon_{kPolicy, kDevices};
};

TEST_F(ClientDaemon, ALevelByName)
{
    const Handle handle = open_at(daemon_.socket());
    auto request = for_level("rpc");
    request.device = "mlx5_0";
    const Answer grant = register_with(handle, &request);
    EXPECT_STREQ(rdmaqos_answer_level(grant.get()), "rpc");
    EXPECT_EQ(rdmaqos_answer_sl(grant.get()), 3);
    EXPECT_EQ(rdmaqos_answer_traffic_class(grant.get()), 104);
    EXPECT_EQ(rdmaqos_answer_sl_source(grant.get()), RDMAQOS_SL_HOST);
    EXPECT_EQ(rdmaqos_answer_message_model(grant.get()), RDMAQOS_MESSAGE_LOW_LATENCY);
    EXPECT_EQ(text_of(grant, "max-rate"), "40000000");
    const Answer place = attach(handle, 17);
    EXPECT_STREQ(rdmaqos_answer_leaf(place.get()), "/rpc/qp:17");
    EXPECT_EQ(rdmaqos_answer_enforced(place.get()), 1);
    EXPECT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), -EALREADY);
    EXPECT_EQ(rdmaqos_release(handle.get()), 0);
    EXPECT_THAT(attached_queue_pairs(daemon_), ElementsAre());
    EXPECT_EQ(rdmaqos_release(handle.get()), -ENOENT);
    register_with(handle, nullptr);
}

TEST_F(ClientDaemon, AClassOrCriteria)
{
    rdmaqos_request by_name;
    rdmaqos_request_init(&by_name);
    by_name.qos_class_name = "bulk-class";
    EXPECT_EQ(text_of(register_with(open_at(daemon_.socket()), &by_name), "level"), "bulk");
    rdmaqos_request by_number;
    rdmaqos_request_init(&by_number);
    by_number.qos_class = 7;
    by_number.mask = RDMAQOS_BY_QOS_CLASS;
    EXPECT_EQ(text_of(register_with(open_at(daemon_.socket()), &by_number), "level"), "bulk");
    rdmaqos_request by_service;
    rdmaqos_request_init(&by_service);
    by_service.service_id = 0x1000;
    by_service.mask = RDMAQOS_BY_SERVICE_ID;
    EXPECT_EQ(text_of(register_with(open_at(daemon_.socket()), &by_service), "level"), "rpc");

    // Each queue pair by its own.
    const Handle handle = open_at(daemon_.socket());
    rdmaqos_request by_destination;
    rdmaqos_request_init(&by_destination);
    by_destination.destination = "0x21";
    EXPECT_EQ(text_of(attach(handle, 1, &by_destination), "level"), "storage");
    // The other end as a program has it.
    const ibv_gid gid{{0xfd, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    std::array<char, RDMAQOS_GID_TEXT> text{};
    EXPECT_STREQ(rdmaqos_gid_text(&gid, text.data()), "fd00:0021:0000:0000:0000:0000:0000:0001");
    rdmaqos_request by_gid;
    rdmaqos_request_init(&by_gid);
    by_gid.destination = text.data();
    EXPECT_EQ(text_of(attach(handle, 1, &by_gid), "level"), "storage");
    EXPECT_EQ(text_of(attach(handle, 2, &by_service), "level"), "rpc");
    EXPECT_EQ(text_of(attach(handle, 3), "level"), "DEFAULT");
    EXPECT_THAT(attached_queue_pairs(daemon_), ElementsAre("DEFAULT 3", "rpc 2", "storage 1"));
    // The same again, elsewhere.
    EXPECT_EQ(text_of(attach(handle, 3, &by_number), "level"), "bulk");
    EXPECT_THAT(attached_queue_pairs(daemon_), ElementsAre("bulk 3", "rpc 2", "storage 1"));
}

TEST_F(ClientDaemon, WhatIsRefused)
{
    const Handle handle = open_at(daemon_.socket());
    const auto wrong = for_level("rcp");
    EXPECT_EQ(rdmaqos_register(handle.get(), &wrong, nullptr), -ENOENT);
    EXPECT_THAT(rdmaqos_last_error(), HasSubstr("did you mean \"rpc\"?"));
    EXPECT_STREQ(rdmaqos_last_error_name(), "org.rdmaqos1.Error.UnknownLevel");
    const auto queue_pair = numbered(17, "mlx5_9");
    EXPECT_EQ(rdmaqos_attach_number(handle.get(), &queue_pair, nullptr, nullptr), -ENOENT);
    EXPECT_STREQ(rdmaqos_last_error_name(), "org.rdmaqos1.Error.UnknownDevice");
    EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_9", 17), -ENOENT);
    rdmaqos_rate rate;
    rdmaqos_rate_init(&rate);
    EXPECT_EQ(rdmaqos_set_rate_number(handle.get(), "mlx5_0", 17, &rate), -ENOENT);
    // Another handle's.
    attach(handle, 18);
    const Handle other = open_at(daemon_.socket());
    const auto taken = numbered(18);
    EXPECT_EQ(rdmaqos_attach_number(other.get(), &taken, nullptr, nullptr), -EACCES);
}

TEST_F(ClientDaemon, APathIsAskedForWithoutASession)
{
    const Handle handle = open_at(daemon_.socket());
    rdmaqos_request request = for_level("rpc");
    rdmaqos_answer* raw = nullptr;
    ASSERT_EQ(rdmaqos_query_path(handle.get(), &request, &raw), 0) << rdmaqos_last_error();
    const Answer path(raw);
    EXPECT_EQ(rdmaqos_answer_sl(path.get()), 3);
    EXPECT_EQ(rdmaqos_answer_traffic_class(path.get()), 104);
    EXPECT_EQ(rdmaqos_answer_sl_source(path.get()), RDMAQOS_SL_HOST);
    request.mask = RDMAQOS_BY_SL;
    request.sl = 9;
    raw = reinterpret_cast<rdmaqos_answer*>(1);
    EXPECT_EQ(rdmaqos_query_path(handle.get(), &request, &raw), -ENOENT);
    EXPECT_EQ(raw, nullptr);
    EXPECT_STREQ(rdmaqos_last_error_name(), "org.rdmaqos1.Error.NoMatchingPath");
}

TEST_F(ClientDaemon, RatesAreKeptOverARestart)
{
    const Handle handle = open_at(daemon_.socket());
    Heard heard(handle);
    const auto request = for_level("rpc");
    register_with(handle, &request);
    attach(handle, 17);
    rdmaqos_rate rate;
    rdmaqos_rate_init(&rate);
    rate.rate = 5'000'000;
    ASSERT_EQ(rdmaqos_set_rate_number(handle.get(), "mlx5_0", 17, &rate), 0) << rdmaqos_last_error();
    const auto rate_now = [&] {
        auto client = daemon_.direct();
        const auto objects = client.managed_objects();
        for (const auto& [path, interfaces] : *objects) {
            if (interfaces.contains(bus::names::kSession)) {
                const auto reply = client.call(path, bus::names::kSession, "ListQueuePairs", {});
                const auto* all = reply->front().as<std::vector<bus::Dict>>();
                return all->at(0).find("max-rate-now")->as_unsigned().value_or(0);
            }
        }
        return std::uint64_t{0};
    };
    EXPECT_EQ(rate_now(), 5'000'000U);
    daemon_.kill();
    EXPECT_TRUE(heard.wait_for("gone"));
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("back"));
    EXPECT_EQ(rate_now(), 5'000'000U);
}

TEST_F(ClientDaemon, AReloadChangesTheGrant)
{
    const Handle handle = open_at(daemon_.socket());
    Heard heard(handle);
    const auto request = for_level("rpc");
    register_with(handle, &request);
    std::string policy = kPolicy;
    policy.replace(policy.find("sl: 3"), 5, "sl: 5");
    daemon_.set_policy(policy);
    auto client = daemon_.direct();
    ASSERT_TRUE(client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}));
    EXPECT_TRUE(heard.wait_for("grant rpc"));
    rdmaqos_answer* grant = nullptr;
    ASSERT_EQ(rdmaqos_get_grant(handle.get(), &grant), 0);
    EXPECT_EQ(rdmaqos_answer_sl(Answer(grant).get()), 5);
}

// ---- a daemon that is killed under a hundred programs ----

constexpr std::uint32_t kPrograms = 100;
constexpr std::uint32_t kOfEach = 4;

// A process with a handle; writes a byte whenever it is ready, also after it has come back.
void run_member(const std::filesystem::path& socket, std::uint32_t program, int say)
{
    const Handle handle = open_at(socket, RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD);
    struct Told {
        int say;
        bool is_well;
    } told{say, true};
    rdmaqos_set_handler(
        handle.get(),
        [](rdmaqos_handle*, const rdmaqos_event* event, void* data) {
            auto& to = *static_cast<Told*>(data);
            to.is_well = to.is_well && event->type != RDMAQOS_EVENT_QUEUE_PAIR_LOST;
            if (event->type == RDMAQOS_EVENT_DAEMON_BACK && to.is_well && write(to.say, "", 1) != 1) {
                _exit(1);
            }
        },
        &told);
    const auto request = for_level("bulk");
    bool is_well = rdmaqos_register(handle.get(), &request, nullptr) == 0;
    for (std::uint32_t i = 0; i < kOfEach; ++i) {
        const auto queue_pair = numbered(1 + program * kOfEach + i);
        is_well = rdmaqos_attach_number(handle.get(), &queue_pair, nullptr, nullptr) == 0 && is_well;
    }
    if (!is_well || write(say, "", 1) != 1) {
        _exit(1);
    }
    while (true) {
        pause();
    }
}

TEST_F(ClientDaemon, AHundredProgramsRegisterAgain)
{
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    std::vector<std::unique_ptr<Child>> members;
    std::multiset<std::string> expected;
    for (std::uint32_t program = 0; program < kPrograms; ++program) {
        members.push_back(std::make_unique<Child>([&] { run_member(daemon_.socket(), program, ends[1]); }));
        for (std::uint32_t i = 0; i < kOfEach; ++i) {
            expected.insert("bulk " + std::to_string(1 + program * kOfEach + i));
        }
    }
    const auto all_say_so = [&] {
        std::uint32_t said = 0;
        pollfd ready{ends[0], POLLIN, 0};
        for (char byte = 0; said < kPrograms && poll(&ready, 1, kHungMs) == 1 && read(ends[0], &byte, 1) == 1; ++said) {
        }
        return said == kPrograms;
    };
    ASSERT_TRUE(all_say_so());
    EXPECT_EQ(attached_queue_pairs(daemon_), expected);
    for (int time = 0; time < 3; ++time) {
        daemon_.kill();
        daemon_.start();
        const auto since = std::chrono::steady_clock::now();
        EXPECT_TRUE(all_say_so());
        const auto took = std::chrono::steady_clock::now() - since;
        std::cout << kPrograms << " programs are back " << took / 1ms << " ms after the daemon\n";
        EXPECT_EQ(attached_queue_pairs(daemon_), expected) << "none is lost, and none is there twice";
    }
    close(ends[0]);
    close(ends[1]);
}

// ---- the other transport ----

// All but descriptors.
TEST_F(ClientDaemon, TheSystemBus)
{
    daemon_.kill();
    daemon_.use_system_bus();
    daemon_.start();
    setenv("DBUS_SYSTEM_BUS_ADDRESS", daemon_.bus_address().c_str(), 1);    // NOLINT(concurrency-mt-unsafe): one thread
    rdmaqos_open_attr attr;
    rdmaqos_open_attr_init(&attr);
    // After the direct socket, if this host has none.
    attr.flags = std::filesystem::exists(RDMAQOS_SOCKET) ? RDMAQOS_OPEN_SYSTEM_BUS : 0;
    rdmaqos_handle* raw = nullptr;
    ASSERT_EQ(rdmaqos_open(&raw, &attr), 0) << rdmaqos_last_error();
    const Handle handle(raw);
    Heard heard(handle);
    EXPECT_EQ(rdmaqos_get_transport(raw), RDMAQOS_TRANSPORT_SYSTEM_BUS);
    const auto request = for_level("rpc");
    EXPECT_EQ(text_of(register_with(handle, &request), "level"), "rpc");
    EXPECT_STREQ(rdmaqos_answer_leaf(attach(handle, 17).get()), "/rpc/qp:17");
    auto real = numbered(18);
    real.fd = 0;
    EXPECT_EQ(rdmaqos_attach_number(raw, &real, nullptr, nullptr), -EOPNOTSUPP);
    EXPECT_THAT(rdmaqos_last_error(), HasSubstr("only over the direct socket"));
    // The bus stays when the daemon goes.
    daemon_.kill();
    EXPECT_TRUE(heard.wait_for("gone"));
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("back"));
    EXPECT_THAT(attached_queue_pairs(daemon_), ElementsAre("rpc 17"));
}

}    // namespace
}    // namespace rdmaqos::test
