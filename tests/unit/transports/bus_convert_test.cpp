#include "daemon/bus/convert_in.h"

#include <functional>

#include <gtest/gtest.h>

#include "daemon/bus/convert_out.h"
#include "tests/support/bus_pair.h"

namespace rdmaqos {
namespace {

using bus::Dict;
using bus::Value;

Policy some_policy()
{
    Policy policy;
    policy.qos_class_names.push_back({"kv-cache", 7, {}});
    return policy;
}

const Policy kPolicy = some_policy();

Names names()
{
    return {&kPolicy,
            [](const std::string& name) -> Result<DeviceNames> {
                if (name == "mlx5_0" || name == "mlx5_0/1" || name == "ens1") {
                    return DeviceNames{"mlx5_0", 1, "ens1", "0000:3b:00.0"};
                }
                if (name == "mlx5_0/2") {
                    return DeviceNames{"mlx5_0", 2, "ens2", "0000:3b:00.0"};
                }
                return fail(ErrorCode::UnknownDevice, "there is no " + name);
            },
            nullptr};
}

Dict dict_of(std::initializer_list<std::pair<const char*, Value>> entries)
{
    Dict dict;
    for (const auto& [key, value] : entries) {
        dict.set(key, value);
    }
    return dict;
}

TEST(RegisterArguments, TakesEveryKey)
{
    const auto arguments = to_register_arguments(dict_of({{"level", "rpc"},
                                                          {"qos-class", "kv-cache"},
                                                          {"port-space", "tcp"},
                                                          {"destination-port", std::uint16_t{4420}},
                                                          {"pkey", std::uint16_t{0x8001}},
                                                          {"source", "0x11"},
                                                          {"destination", "fd00::1"},
                                                          {"device", "mlx5_0"},
                                                          {"port", std::uint32_t{2}},
                                                          {"x-comment", Value(bus::Unsupported{"(ii)"})}}),
                                                 names());
    ASSERT_TRUE(arguments) << to_string(arguments.error());
    Request expected;
    expected.level = "rpc";
    expected.qos_class = 7;
    expected.service_id = 0x0000000001060000U + 4420;
    expected.pkey = 0x8001;
    expected.source = Guid{0x11};
    expected.destination = *parse_gid("fd00::1");
    expected.device = DeviceNames{"mlx5_0", 2, "ens2", "0000:3b:00.0"};
    EXPECT_EQ(arguments->request.request, expected);
    EXPECT_EQ(arguments->request.device, "mlx5_0/2");
}

TEST(RegisterArguments, ATypeOfServiceIsTheClassThatRdmaCmSends)
{
    const auto arguments = to_register_arguments(dict_of({{"tos", std::uint8_t{0x68}}}), names());
    ASSERT_TRUE(arguments) << to_string(arguments.error());
    EXPECT_EQ(arguments->request.request.qos_class, 0x68);
    const auto none = to_path_requests(dict_of({{"tos", std::uint8_t{0}}}), names());
    ASSERT_TRUE(none) << to_string(none.error());
    EXPECT_EQ((*none)[0].qos_class, 0) << "rdma_cm sends 0, which is not the same as nothing";
}

TEST(RegisterArguments, EveryPortSpaceFormsItsServiceIds)
{
    const std::pair<const char*, std::uint64_t> spaces[] = {
        {"tcp", 0x1061144}, {"udp", 0x1111144}, {"ipoib", 0x21144}, {"ib", 0x13f1144}};
    for (const auto& [space, id] : spaces) {
        const auto requests = to_path_requests(
            dict_of({{"port-space", space}, {"destination-port", std::uint16_t{4420}}}), names());
        ASSERT_TRUE(requests) << to_string(requests.error());
        EXPECT_EQ((*requests)[0].service_id, id) << space;
    }
}

TEST(RegisterArguments, AnEmptyRequestAsksNothing)
{
    const auto arguments = to_register_arguments({}, names());
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->request.request, Request());
    EXPECT_TRUE(arguments->request.queue_pairs.empty());
}

struct Mistake {
    std::string what;
    Dict dict;
    ErrorCode code;
    std::string message;
};

TEST(RegisterArguments, MistakesAreExplained)
{
    const std::vector<Mistake> mistakes{
        {"unknown key", dict_of({{"levl", "rpc"}}), ErrorCode::InvalidArgument,
         "Register has no key `levl`; did you mean `level`?"},
        {"key of another call", dict_of({{"mtu", std::uint32_t{2048}}}), ErrorCode::InvalidArgument,
         "the key `mtu` does not belong in Register"},
        {"type", dict_of({{"service-id", std::uint32_t{1}}}), ErrorCode::InvalidArgument,
         "`service-id` must have the D-Bus type t, not u"},
        {"one of two types", dict_of({{"qos-class", std::uint16_t{1}}}), ErrorCode::InvalidArgument,
         "`qos-class` must have the D-Bus type u|s, not q"},
        {"range", dict_of({{"qos-class", std::uint32_t{0x1000}}}), ErrorCode::InvalidArgument,
         "`qos-class` 4096 is above 4095: it has 12 bits"},
        {"name", dict_of({{"qos-class", "kvcache"}}), ErrorCode::InvalidArgument,
         "the policy has no QoS class `kvcache`; did you mean `kv-cache`?"},
        {"class twice", dict_of({{"qos-class", std::uint32_t{7}}, {"tos", std::uint8_t{7}}}),
         ErrorCode::InvalidArgument, "`qos-class` and `tos` exclude each other; give one of them"},
        {"half a service", dict_of({{"destination-port", std::uint16_t{1}}}), ErrorCode::InvalidArgument,
         "`port-space` and `destination-port` must be given together"},
        {"list", dict_of({{"source", std::vector<std::string>{"0x1"}}}), ErrorCode::InvalidArgument,
         "`source` must have the D-Bus type s, not as"},
        {"control characters", dict_of({{"source", "\x1b[31m"}}), ErrorCode::InvalidArgument,
         "`source` must be a GUID (0x0010000000000001), a GID (fd00::1, 10.1.0.1) or a LID (lid:17), not `\\x1b[31m`"},
        {"device", dict_of({{"device", "mlx9"}}), ErrorCode::UnknownDevice, "there is no mlx9"},
        {"port of a netdev", dict_of({{"device", "ens1"}, {"port", std::uint32_t{2}}}), ErrorCode::UnknownDevice,
         "ens1 is port 1, not 2"},
        {"port alone", dict_of({{"port", std::uint32_t{2}}}), ErrorCode::InvalidArgument, "`port` needs `device`"},
    };
    for (const auto& [what, dict, code, message] : mistakes) {
        const auto arguments = to_register_arguments(dict, names());
        ASSERT_FALSE(arguments) << what;
        EXPECT_EQ(arguments.error(), (Error{code, 0, message})) << what;
    }
}

TEST(RegisterArguments, WithoutAPolicyNoClassHasAName)
{
    auto without = names();
    without.policy = nullptr;
    const auto arguments = to_register_arguments(dict_of({{"qos-class", "kv-cache"}}), without);
    ASSERT_FALSE(arguments);
    EXPECT_EQ(arguments.error().code, ErrorCode::InvalidPolicy);
    EXPECT_TRUE(to_register_arguments(dict_of({{"qos-class", std::uint32_t{7}}}), without));
}

TEST(QueuePairs, EachIsTakenOnItsOwn)
{
    const auto arguments = to_queue_pairs(
        {
            dict_of({{"device", "mlx5_0"}, {"number", std::uint32_t{1}}}),
            dict_of({{"device", "mlx5_0"}, {"number", std::uint32_t{0x1000000}}}),
            dict_of({{"device", "mlx5_0"}}),
            dict_of({{"number", std::uint32_t{3}}}),
            dict_of({{"device", "mlx5_0"},
                     {"number", std::uint32_t{4}},
                     {"type", "raw-packet"},
                     {"handle", std::uint32_t{9}},
                     {"sq-number", std::uint32_t{8}},
                     {"service-id", std::uint64_t{5}}}),
            dict_of({{"device", "mlx5_0"}, {"number", std::uint32_t{5}}, {"type", "xrc"}}),
        },
        names());
    ASSERT_EQ(arguments.requests.size(), 2U);
    EXPECT_EQ(arguments.requests[0].ref.number, 1U);
    EXPECT_EQ(arguments.requests[0].ref.type, QueuePairType::Rc);
    EXPECT_FALSE(arguments.requests[0].has_path);
    EXPECT_EQ(arguments.requests[1].ref.type, QueuePairType::RawPacket);
    EXPECT_EQ(arguments.requests[1].ref.handle, 9U);
    EXPECT_EQ(arguments.requests[1].ref.sq_number, 8U);
    EXPECT_TRUE(arguments.requests[1].has_path);
    EXPECT_EQ(arguments.requests[1].path.service_id, 5U);

    const std::vector<std::pair<std::size_t, std::string>> expected{
        {1, "`number` 16777216 is above 16777215: it has 24 bits"},
        {2, "a queue pair needs `number`"},
        {3, "a queue pair needs `device`"},
        {5, "`type` must be rc, uc, ud, raw-packet or devx, not `xrc`"},
    };
    ASSERT_EQ(arguments.refused.size(), expected.size());
    for (const auto& [place, message] : expected) {
        ASSERT_TRUE(arguments.refused.contains(place)) << place;
        EXPECT_EQ(arguments.refused.at(place).error->message, message);
    }
}

TEST(QueuePairs, AnswersComeInTheOrderOfTheCall)
{
    const auto result = [](std::uint32_t number) {
        QueuePairResult one;
        one.number = number;
        return one;
    };
    const auto merged = merge({result(1), result(3), result(4)}, {{0, result(0)}, {2, result(2)}, {5, result(5)}});
    ASSERT_EQ(merged.size(), 6U);
    for (std::uint32_t number = 0; number < 6; ++number) {
        EXPECT_EQ(merged[number].number, number);
    }
}

TEST(PathRequests, EveryPairOfEndsIsOne)
{
    const auto requests = to_path_requests(dict_of({{"source", std::vector<std::string>{"0x1", "0x2"}},
                                                    {"destination", std::vector<std::string>{"0x3", "0x4", "0x5"}},
                                                    {"mtu", std::uint32_t{1024}},
                                                    {"mtu-selector", "greater-than"},
                                                    {"rate", std::uint64_t{40'000'000}},
                                                    {"packet-life-selector", "less-than"},
                                                    {"packet-life", std::uint8_t{16}},
                                                    {"sl", std::uint8_t{3}}}),
                                           names());
    ASSERT_TRUE(requests) << to_string(requests.error());
    ASSERT_EQ(requests->size(), 6U);
    EXPECT_EQ((*requests)[0].source, Endpoint(Guid{1}));
    EXPECT_EQ((*requests)[0].destination, Endpoint(Guid{3}));
    EXPECT_EQ((*requests)[requests->size() - 1].source, Endpoint(Guid{2}));
    EXPECT_EQ((*requests)[requests->size() - 1].destination, Endpoint(Guid{5}));
    EXPECT_EQ((*requests)[0].mtu, (Selected<IbMtu>{Selector::GreaterThan, IbMtu::Mtu1024}));
    EXPECT_EQ((*requests)[0].rate, (Selected<IbRate>{Selector::Exactly, *ib_rate_from_number(7)}));
    EXPECT_EQ((*requests)[0].packet_life, (Selected<std::uint8_t>{Selector::LessThan, 16}));
    const auto largest = to_path_requests(dict_of({{"mtu-selector", "largest"}}), names());
    ASSERT_TRUE(largest) << to_string(largest.error());
    EXPECT_EQ((*largest)[0].mtu, (Selected<IbMtu>{Selector::Largest, {}}));
    EXPECT_EQ((*requests)[0].sl, 3);

    const std::vector<std::pair<bus::Dict, const char*>> mistakes{
        {dict_of({{"mtu", std::uint32_t{1500}}}), "`mtu` must be 256, 512, 1024, 2048 or 4096 bytes, not 1500"},
        {dict_of({{"mtu", "2048"}}), "`mtu` must have the D-Bus type u, not s"},
        {dict_of({{"rate", std::uint64_t{41'000'000}}}),
         "`rate` must be an InfiniBand rate in kbit/s, such as 40000000, not 41000000"},
        {dict_of({{"packet-life", std::uint8_t{64}}}), "`packet-life` must be 0 to 63, not 64"},
        {dict_of({{"mtu-selector", "exactly"}}), "`mtu-selector` needs `mtu`"},
        {dict_of({{"rate", std::uint64_t{40'000'000}}, {"rate-selector", ">"}}),
         "`rate-selector` must be `exactly`, `greater-than`, `less-than` or `largest`, not `>`"},
    };
    for (const auto& [dict, message] : mistakes) {
        const auto refused = to_path_requests(dict, names());
        ASSERT_FALSE(refused) << message;
        EXPECT_EQ(refused.error().message, message);
    }
    EXPECT_FALSE(to_path_requests(dict_of({{"sl", std::uint8_t{16}}}), names()));
    EXPECT_FALSE(to_path_requests(dict_of({{"source", std::vector<std::string>{}}}), names()));
}

TEST(PathRequests, AreBounded)
{
    const std::vector<std::string> many(300, "0x1");
    const auto requests = to_path_requests(dict_of({{"source", many}, {"destination", many}}), names());
    ASSERT_FALSE(requests);
    EXPECT_EQ(requests.error().code, ErrorCode::LimitReached);
}

TEST(RateLimits, ZeroRestoresTheClass)
{
    const auto limit = to_rate_limit(dict_of(
        {{"rate", std::uint64_t{5000}}, {"max-burst", std::uint64_t{64}}, {"typical-packet", std::uint32_t{1024}}}));
    ASSERT_TRUE(limit);
    EXPECT_EQ(*limit, (RateLimit{Bandwidth::from_mbps(5), 64, 1024}));
    const auto restored = to_rate_limit(dict_of({{"rate", std::uint64_t{0}}}));
    ASSERT_TRUE(restored);
    EXPECT_EQ(*restored, std::nullopt);
    EXPECT_FALSE(to_rate_limit({}));
    EXPECT_FALSE(to_rate_limit(dict_of({{"rate", "5Gbps"}})));
    EXPECT_FALSE(to_rate_limit(dict_of({{"rat", std::uint64_t{5}}})));
}

TEST(Rates, WhatADeviceCannotBeToldIsRefusedWithTheRange)
{
    const auto refusal = [](std::uint64_t rate, std::uint64_t burst, std::uint32_t packet) {
        const auto limit = to_rate_limit(dict_of({{"rate", rate}, {"max-burst", burst}, {"typical-packet", packet}}));
        EXPECT_TRUE(limit || limit.error().code == ErrorCode::InvalidArgument);
        return limit ? std::string() : limit.error().message;
    };
    EXPECT_EQ(refusal(4'294'967'295, 4'294'967'295, 65'535), "");
    EXPECT_NE(refusal(5'000'000'000, 0, 0).find("at most 4294967295 kbit/s"), std::string::npos);
    EXPECT_NE(refusal(1000, 5'000'000'000, 0).find("`max-burst` 5000000000 is out of range"), std::string::npos);
    EXPECT_NE(refusal(1000, 0, 70'000).find("`typical-packet` 70000 is out of range"), std::string::npos);
    EXPECT_EQ(refusal(0, 0, 0), "") << "sizes of 0 are no sizes";
}

TEST(Answers, AGrantHasOnlyTheKeysThatApply)
{
    const test::LoneBus lone;
    const auto keys_of = [&](const Grant& grant) {
        const auto message = lone.written([&](bus::Writer& writer) { write(writer, grant); });
        const auto dict = bus::read_dict(message.get());
        std::vector<std::string> keys;
        for (const auto& [key, value] : dict->entries()) {
            keys.push_back(key + " " + signature(value));
        }
        return keys;
    };
    Grant grant;
    grant.level = "DEFAULT";
    EXPECT_EQ(keys_of(grant), (std::vector<std::string>{"level s", "rule s", "verified b", "enforced b"}));

    grant.sl = 3;
    grant.mtu = 4096;
    grant.rate = Bandwidth::from_gbps(40);
    grant.packet_life = 16;
    grant.pkey = 1;
    grant.traffic_class = 104;
    grant.sl_of_host = true;
    grant.share = 60;
    grant.max_rate = Bandwidth::from_gbps(40);
    grant.max_rate_now = Bandwidth::from_gbps(20);
    grant.per_queue_pair.max_rate = Bandwidth::from_gbps(5);
    grant.per_queue_pair.max_burst = 65536;
    grant.per_queue_pair.typical_packet = 1024;
    grant.message_model = MessageModel::ForceLowLatency;
    grant.leaf = "/rpc";
    grant.reason = "shared";
    EXPECT_EQ(keys_of(grant), (std::vector<std::string>{"level s",
                                                        "rule s",
                                                        "verified b",
                                                        "sl y",
                                                        "mtu u",
                                                        "rate t",
                                                        "packet-life y",
                                                        "pkey q",
                                                        "traffic-class y",
                                                        "dscp y",
                                                        "sl-source s",
                                                        "share u",
                                                        "max-rate t",
                                                        "max-rate-now t",
                                                        "per-queue-pair-max-rate t",
                                                        "per-queue-pair-max-burst t",
                                                        "per-queue-pair-typical-packet u",
                                                        "message-model s",
                                                        "leaf s",
                                                        "enforced b",
                                                        "reason s"}));
}

TEST(Answers, AStepOfTheSelfTestHasOnlyWhatWasSet)
{
    const test::LoneBus lone;
    const std::vector<SelfTestStep> steps{{"create a leaf", true, 0, 0, 0, ""},
                                          {"attach in INIT", false, 121, 3, 0x51c00a, "the leaf is not ours"}};
    const auto message = lone.written([&](bus::Writer& writer) { write(writer, steps); });
    const auto dicts = bus::read_dicts(message.get());
    ASSERT_TRUE(dicts);
    const std::vector<Dict> expected{dict_of({{"name", "create a leaf"}, {"passed", true}}),
                                     dict_of({{"name", "attach in INIT"},
                                              {"passed", false},
                                              {"errno", std::uint32_t{121}},
                                              {"status", std::uint8_t{3}},
                                              {"syndrome", std::uint32_t{0x51c00a}},
                                              {"remark", "the leaf is not ours"}})};
    EXPECT_EQ(*dicts, expected);
}

TEST(Answers, AttributesAreTriples)
{
    const test::LoneBus lone;
    const std::vector<DeviceAttribute> attributes{{"max_qp", "131072", "many"}, {"max_ee", "unsupported", ""}};
    const auto message = lone.written([&](bus::Writer& writer) { write(writer, attributes); });
    const auto read = bus::read_value(message.get());
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, Value(bus::Triples{{"max_qp", "131072", "many"}, {"max_ee", "unsupported", ""}}));
}

TEST(Answers, ARefusedQueuePairSaysWhy)
{
    const test::LoneBus lone;
    QueuePairResult result;
    result.device = "mlx5_0/1";
    result.number = 5;
    result.error = Error{ErrorCode::BadState, 0, "it is in RESET"};
    const auto message = lone.written([&](bus::Writer& writer) { write(writer, std::vector{result}); });
    const auto dicts = bus::read_dicts(message.get());
    ASSERT_TRUE(dicts);
    EXPECT_EQ(*dicts->front().find("error"), Value("org.rdmaqos1.Error.BadState"));
    EXPECT_EQ(*dicts->front().find("message"), Value("it is in RESET"));
    EXPECT_EQ(*dicts->front().find("enforced"), Value(false));
}

}    // namespace
}    // namespace rdmaqos
