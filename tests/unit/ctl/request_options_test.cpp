#include "tools/rdma-qosctl/request/request_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::ctl {
namespace {

using testing::HasSubstr;

Policy policy_with_class()
{
    Policy policy;
    policy.qos_class_names.push_back({"kv-cache", 7, {}});
    return policy;
}

TEST(RequestOptions, EveryKeyBecomesItsDbusType)
{
    RequestOptions options;
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"level", "rpc"},
                                                                                     {"qos-class", "7"},
                                                                                     {"tos", "104"},
                                                                                     {"service-id", "0x10064"},
                                                                                     {"port-space", "tcp"},
                                                                                     {"destination-port", "4420"},
                                                                                     {"pkey", "0x1234"},
                                                                                     {"source", "fd00::1"},
                                                                                     {"destination", "fd00::2"},
                                                                                     {"device", "mlx5_0"},
                                                                                     {"port", "1"},
                                                                                     {"sl", "3"},
                                                                                     {"mtu", ">1024"},
                                                                                     {"rate", "=40Gbps"},
                                                                                     {"packet-life", "<16"}}) {
        EXPECT_TRUE(set_option(options, key, value)) << key;
    }
    const auto dict = to_dict(options);
    ASSERT_TRUE(dict.has_value());
    const std::vector<std::pair<std::string, std::string>> signatures{{"level", "s"},
                                                                      {"qos-class", "u"},
                                                                      {"tos", "y"},
                                                                      {"service-id", "t"},
                                                                      {"port-space", "s"},
                                                                      {"destination-port", "q"},
                                                                      {"pkey", "q"},
                                                                      {"source", "s"},
                                                                      {"destination", "s"},
                                                                      {"device", "s"},
                                                                      {"port", "u"},
                                                                      {"sl", "y"},
                                                                      {"mtu", "u"},
                                                                      {"rate", "t"},
                                                                      {"packet-life", "y"},
                                                                      {"mtu-selector", "s"},
                                                                      {"packet-life-selector", "s"}};
    EXPECT_EQ(dict->entries().size(), signatures.size());
    for (const auto& [key, signature] : signatures) {
        const bus::Value* value = dict->find(key);
        ASSERT_NE(value, nullptr) << key;
        EXPECT_EQ(bus::signature(*value), signature) << key;
    }
    EXPECT_EQ(*dict->find("service-id")->as<std::uint64_t>(), 0x10064U);
}

TEST(RequestOptions, EmptyIsAnEmptyRequest)
{
    EXPECT_TRUE(to_dict({})->empty());
    const auto requests = to_requests({}, Policy{});
    ASSERT_TRUE(requests.has_value());
    EXPECT_EQ(*requests, std::vector{Request{}});
}

TEST(RequestOptions, NamesOfClassesAndSeveralEnds)
{
    RequestOptions options;
    options.qos_class = "kv-cache";
    options.source = {"fd00::1", "fd00::2"};
    options.destination = {"0x10", "10.1.0.7"};
    const auto dict = to_dict(options);
    ASSERT_TRUE(dict.has_value());
    EXPECT_EQ(bus::signature(*dict->find("qos-class")), "s");
    EXPECT_EQ(bus::signature(*dict->find("source")), "as");
    const auto requests = to_requests(options, policy_with_class());
    ASSERT_TRUE(requests.has_value());
    ASSERT_EQ(requests->size(), 4U);
    EXPECT_EQ((*requests)[0].qos_class, 7);
    EXPECT_EQ(to_string(*(*requests)[3].source), "fd00::2");
    EXPECT_TRUE(std::holds_alternative<Guid>(*(*requests)[2].destination));
}

TEST(RequestOptions, ComponentsWithSelectors)
{
    RequestOptions options;
    options.mtu = ">1024";
    options.rate = "<100Gbps";
    options.packet_life = "=16";
    options.sl = "3";
    const auto requests = to_requests(options, Policy{});
    ASSERT_TRUE(requests.has_value());
    const Request& request = requests->front();
    EXPECT_EQ(request.mtu, (Selected<IbMtu>{Selector::GreaterThan, IbMtu::Mtu1024}));
    EXPECT_EQ(request.rate, (Selected<IbRate>{Selector::LessThan, IbRate{16}}));
    EXPECT_EQ(request.packet_life, (Selected<std::uint8_t>{Selector::Exactly, 16}));
    EXPECT_EQ(request.sl, 3);
}

TEST(RequestOptions, TheLargestHasNoValue)
{
    RequestOptions options;
    options.mtu = options.rate = options.packet_life = "largest";
    const auto requests = to_requests(options, Policy{});
    ASSERT_TRUE(requests.has_value());
    EXPECT_EQ(requests->front().mtu, (Selected<IbMtu>{Selector::Largest, {}}));
    EXPECT_EQ(requests->front().rate, (Selected<IbRate>{Selector::Largest, {}}));
    EXPECT_EQ(requests->front().packet_life, (Selected<std::uint8_t>{Selector::Largest, 0}));
    const auto dict = to_dict(options);
    ASSERT_TRUE(dict.has_value());
    EXPECT_EQ(dict->find("mtu"), nullptr);
    EXPECT_EQ(*dict->find("mtu-selector")->as<std::string>(), "largest");
    EXPECT_EQ(dict->entries().size(), 3U);
}

TEST(RequestOptions, ComponentsAsTheyArePrinted)
{
    RequestOptions options;
    options.mtu = "<4096 bytes";
    options.rate = ">100 Gbit/s";
    const auto requests = to_requests(options, Policy{});
    ASSERT_TRUE(requests.has_value());
    EXPECT_EQ(requests->front().mtu, (Selected<IbMtu>{Selector::LessThan, IbMtu::Mtu4096}));
    EXPECT_EQ(requests->front().rate, (Selected<IbRate>{Selector::GreaterThan, IbRate{16}}));
}

TEST(RequestOptions, PortSpaceFormsAServiceId)
{
    RequestOptions options;
    options.port_space = "tcp";
    options.destination_port = "4420";
    EXPECT_EQ(to_requests(options, Policy{})->front().service_id, 0x1000000ULL | 0x06ULL << 16U | 4420U);
}

TEST(RequestOptions, ATypeOfServiceIsAClass)
{
    RequestOptions options;
    options.tos = "0x68";
    EXPECT_EQ(to_requests(options, Policy{})->front().qos_class, 0x68);
    options.tos = "0";
    EXPECT_EQ(to_requests(options, Policy{})->front().qos_class, 0);
    options.qos_class = "7";
    EXPECT_THAT(to_requests(options, Policy{}).error().message, HasSubstr("either a qos-class or a tos"));
}

struct BadRequest {
    const char* key;
    const char* value;
    const char* message;
};

TEST(RequestOptions, MistakesAreNamed)
{
    const BadRequest cases[] = {
        {"qos-class", "5000", "qos-class: `5000`"},
        {"qos-class", "nobody", "qos-class-names"},
        {"tos", "256", "tos: `256`"},
        {"service-id", "12x", "service-id: `12x`"},
        {"destination-port", "70000", "destination-port"},
        {"pkey", "0x10000", "pkey"},
        {"sl", "16", "sl: `16`"},
        {"mtu", "1500", "mtu: `1500`"},
        {"mtu", ">", "mtu"},
        {"rate", "41Gbps", "rate: `41Gbps`"},
        {"rate", "40", "rate: `40`"},
        {"packet-life", "64", "packet-life"},
        {"source", "nonsense", "source: `nonsense`"},
        {"destination", "\x1b", "\\x1b"},
        {"port-space", "tcp", "must be given together"},
        {"destination-port", "4420", "must be given together"},
    };
    for (const auto& [key, value, message] : cases) {
        RequestOptions options;
        ASSERT_TRUE(set_option(options, key, value));
        const auto requests = to_requests(options, policy_with_class());
        ASSERT_FALSE(requests.has_value()) << key << " " << value;
        EXPECT_EQ(requests.error().code, ErrorCode::InvalidArgument);
        EXPECT_THAT(requests.error().message, HasSubstr(message)) << key;
    }
    RequestOptions both;
    both.service_id = "1";
    both.port_space = "tcp";
    both.destination_port = "1";
    EXPECT_THAT(to_requests(both, Policy{}).error().message, HasSubstr("either"));
}

TEST(RequestOptions, NumbersThatDoNotFitTheirDbusType)
{
    for (const char* key : {"qos-class", "tos", "service-id", "destination-port", "pkey", "port", "sl"}) {
        RequestOptions options;
        ASSERT_TRUE(set_option(options, key, "99999999999999999999"));
        // A class may be a name; the daemon says whether it knows it.
        EXPECT_EQ(to_dict(options).has_value(), std::string_view(key) == "qos-class") << key;
    }
}

TEST(RequestOptions, QueuePair)
{
    const auto plain = parse_queue_pair_option("17");
    ASSERT_TRUE(plain.has_value());
    EXPECT_EQ(plain->number, 17U);
    EXPECT_TRUE(to_dict(plain->path)->empty());

    const auto full = parse_queue_pair_option("auto:destination=fd00::7,level=bulk,type=ud,device=mlx5_1");
    ASSERT_TRUE(full.has_value());
    EXPECT_FALSE(full->number.has_value());
    EXPECT_EQ(full->type, "ud");
    EXPECT_EQ(full->path.destination, std::vector<std::string>{"fd00::7"});
    EXPECT_EQ(full->path.level, "bulk");
    EXPECT_EQ(full->path.device, "mlx5_1");
}

TEST(RequestOptions, QueuePairMistakes)
{
    EXPECT_THAT(parse_queue_pair_option("x").error().message, HasSubstr("NUMBER"));
    EXPECT_THAT(parse_queue_pair_option("4294967296").error().message, HasSubstr("NUMBER"));
    EXPECT_THAT(parse_queue_pair_option("").error().message, HasSubstr("NUMBER"));
    EXPECT_THAT(parse_queue_pair_option("1:level").error().message, HasSubstr("key=value"));
    EXPECT_THAT(parse_queue_pair_option("1:dest=x").error().message, HasSubstr("unknown key `dest`"));
}

}    // namespace
}    // namespace rdmaqos::ctl
