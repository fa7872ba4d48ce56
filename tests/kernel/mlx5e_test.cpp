// The traffic classes of the kernel's own mlx5e, on the device of module/ with eth=2: what the driver takes, what it
// refuses and how, what it tells everybody, and what it then writes to the firmware. lib/dcb builds on these facts.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/netlink/connection.h"
#include "tests/kernel/firmware.h"
#include "tests/support/patience.h"

namespace rdmaqos::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::size_t kClasses = IEEE_8021QAZ_MAX_TCS;
constexpr std::uint8_t kStrict = IEEE_8021QAZ_TSA_STRICT;
constexpr std::uint8_t kEts = IEEE_8021QAZ_TSA_ETS;
constexpr std::uint8_t kVendor = IEEE_8021QAZ_TSA_VENDOR;

// ---- DCB netlink, as small as it can be ----

using Message = std::vector<std::uint8_t>;

void append(Message& message, std::uint16_t type, const void* content, std::size_t length)
{
    const nlattr head{static_cast<std::uint16_t>(NLA_HDRLEN + length), type};
    const std::size_t begin = message.size();
    message.resize(begin + NLA_ALIGN(head.nla_len));
    std::memcpy(&message[begin], &head, sizeof(head));
    std::memcpy(&message[begin + NLA_HDRLEN], content, length);
}

Message request(std::uint8_t command, const std::string& interface)
{
    Message message(NLMSG_ALIGN(sizeof(dcbmsg)));
    const dcbmsg head{AF_UNSPEC, command, 0};
    std::memcpy(message.data(), &head, sizeof(head));
    append(message, DCB_ATTR_IFNAME, interface.c_str(), interface.size() + 1);
    return message;
}

// The attributes of the answer; empty, and an errno: the kernel refuses.
Message answer_to(std::uint16_t type, const Message& message, int* error)
{
    Message answer;
    netlink::Connection kernel;
    *error = kernel.open(NETLINK_ROUTE);
    if (*error == 0) {
        *error = kernel.ask(type, 0, message);
    }
    if (*error != 0) {
        return answer;
    }
    struct End {
        netlink::AnswerEnd end = netlink::AnswerEnd::More;
    };
    kernel.read([&](netlink::Bytes datagram) {
        return End{netlink::read_datagram(
            datagram, kernel.sequence(),
            [&](netlink::Bytes content) {
                const auto attributes = content.subspan(NLMSG_ALIGN(sizeof(dcbmsg)));
                answer.assign(attributes.begin(), attributes.end());
                return netlink::AnswerEnd::Found;
            },
            error)};
    });
    return answer;
}

// 0 or an errno: the kernel's, else the driver's, which the kernel answers as a number of one byte.
int change(std::uint8_t command, const std::string& interface, const Message& ieee)
{
    Message message = request(command, interface);
    append(message, DCB_ATTR_IEEE | NLA_F_NESTED, ieee.data(), ieee.size());
    int error = 0;
    const Message answer = answer_to(RTM_SETDCB, message, &error);
    if (error != 0 || answer.empty()) {
        return error != 0 ? error : ETIMEDOUT;
    }
    return -static_cast<std::int8_t>(netlink::byte_in(answer, DCB_ATTR_IEEE).value_or(1));
}

int set(const std::string& interface, const ieee_ets& ets)
{
    Message ieee;
    append(ieee, DCB_ATTR_IEEE_ETS, &ets, sizeof(ets));
    return change(DCB_CMD_IEEE_SET, interface, ieee);
}

int set(const std::string& interface, const ieee_pfc& pfc)
{
    Message ieee;
    append(ieee, DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
    return change(DCB_CMD_IEEE_SET, interface, ieee);
}

using Rates = std::array<std::uint64_t, kClasses>;    // in kbit/s
int set(const std::string& interface, const Rates& rates)
{
    Message ieee;
    append(ieee, DCB_ATTR_IEEE_MAXRATE, rates.data(), sizeof(rates));
    return change(DCB_CMD_IEEE_SET, interface, ieee);
}

int change_app(std::uint8_t command, const std::string& interface, const dcb_app& app)
{
    Message table;
    append(table, DCB_ATTR_IEEE_APP, &app, sizeof(app));
    Message ieee;
    append(ieee, DCB_ATTR_IEEE_APP_TABLE | NLA_F_NESTED, table.data(), table.size());
    return change(command, interface, ieee);
}

int add(const std::string& interface, const dcb_app& app)
{
    return change_app(DCB_CMD_IEEE_SET, interface, app);
}

int remove(const std::string& interface, const dcb_app& app)
{
    return change_app(DCB_CMD_IEEE_DEL, interface, app);
}

dcb_app dscp(std::uint16_t number, std::uint8_t priority)
{
    return {IEEE_8021QAZ_APP_SEL_DSCP, priority, number};
}

struct Settings {
    ieee_ets ets{};
    Rates rates{};
    ieee_pfc pfc{};
    dcbnl_buffer buffer{};
    std::vector<std::string> apps;    // "5.26:3": selector, protocol, priority
};

template <typename Structure>
void read_into(Structure& to, netlink::Bytes attributes, std::uint16_t type)
{
    const auto content = netlink::content_of(attributes, type);
    ASSERT_GE(content.size(), sizeof(to)) << "attribute " << type;
    std::memcpy(&to, content.data(), sizeof(to));
}

Settings settings_of(const std::string& interface)
{
    int error = 0;
    const Message answer = answer_to(RTM_GETDCB, request(DCB_CMD_IEEE_GET, interface), &error);
    EXPECT_EQ(error, 0);
    const auto ieee = netlink::content_of(answer, DCB_ATTR_IEEE);
    Settings read;
    read_into(read.ets, ieee, DCB_ATTR_IEEE_ETS);
    read_into(read.rates, ieee, DCB_ATTR_IEEE_MAXRATE);
    read_into(read.pfc, ieee, DCB_ATTR_IEEE_PFC);
    read_into(read.buffer, ieee, DCB_ATTR_DCB_BUFFER);
    const auto table = netlink::content_of(ieee, DCB_ATTR_IEEE_APP_TABLE);
    for (auto next = netlink::first_of(table); next; next = netlink::first_of(next->rest)) {
        dcb_app app{};
        if (next->type == DCB_ATTR_IEEE_APP && next->content.size() >= sizeof(app)) {
            std::memcpy(&app, next->content.data(), sizeof(app));
            read.apps.push_back(fmt::format("{}.{}:{}", app.selector, app.protocol, app.priority));
        }
    }
    std::ranges::sort(read.apps);
    return read;
}

// Notifications of the group that everybody may listen to.
class Listener {
public:
    Listener() : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE))
    {
        sockaddr_nl any{};
        any.nl_family = AF_NETLINK;
        const int group = RTNLGRP_DCB;
        EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)), 0);
        EXPECT_EQ(setsockopt(socket_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)), 0);
    }
    // The commands of those that have come; the kernel has sent them when it answers who asked for the change.
    [[nodiscard]] std::vector<int> heard() const
    {
        std::vector<int> commands;
        Message datagram(32768);
        for (ssize_t length = 0; (length = recv(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT)) > 0;) {
            nlmsghdr head{};
            dcbmsg content{};
            std::memcpy(&head, datagram.data(), sizeof(head));
            std::memcpy(&content, &datagram[NLMSG_HDRLEN], sizeof(content));
            EXPECT_EQ(head.nlmsg_type, RTM_SETDCB);
            commands.push_back(content.cmd);
        }
        return commands;
    }

private:
    UniqueFd socket_;
};

// ---- the firmware ----

// What was written to registers of the port since the log was cleared: "0x4002 trust=dscp".
std::vector<std::string> register_writes()
{
    std::vector<std::string> writes;
    std::ifstream log("/proc/fake_mlx5");
    for (std::string line; std::getline(log, line);) {
        const auto at = line.find("register=");
        if (line.find(" 805.0 ") != std::string::npos && at != std::string::npos) {
            writes.push_back(line.substr(at + std::strlen("register=")));
        }
    }
    return writes;
}

std::vector<std::string> writes_of(const std::function<void()>& what)
{
    tell_firmware("clear");
    what();
    return register_writes();
}

// The one network interface of the function; "": none.
std::string interface_of_nic()
{
    std::error_code none;
    for (const auto& each : std::filesystem::directory_iterator("/sys/bus/pci/devices/1f00:00:00.0/net", none)) {
        return each.path().filename();
    }
    return "";
}

int number_in_file(const std::string& path)
{
    std::ifstream file(path);
    int number = -1;
    file >> number;
    return number;
}

// All strict.
const ieee_ets kOneToOne = [] {
    ieee_ets ets{};
    ets.ets_cap = kClasses;
    std::iota(std::begin(ets.prio_tc), std::end(ets.prio_tc), std::uint8_t{0});
    return ets;
}();

ieee_ets with(std::array<std::uint8_t, kClasses> selections, std::array<std::uint8_t, kClasses> weights)
{
    ieee_ets ets = kOneToOne;
    std::copy(selections.begin(), selections.end(), ets.tc_tsa);
    std::copy(weights.begin(), weights.end(), ets.tc_tx_bw);
    return ets;
}

template <typename Array>
std::vector<int> numbers(const Array& array)
{
    return {std::begin(array), std::end(array)};
}

// One device for all tests; each begins with what the driver had at first, except for priorities and classes.
class Mlx5e : public ::testing::Test {
protected:
    static void SetUpTestSuite() { nic = std::make_unique<LoadedNic>("eth=2"); }
    static void TearDownTestSuite() { nic.reset(); }

    void SetUp() override
    {
        interface = interface_of_nic();
        ASSERT_NE(interface, "") << "mlx5e made no network interface";
        ASSERT_EQ(system(fmt::format("/usr/bin/ip link set {} up", interface).c_str()), 0);
    }
    void TearDown() override
    {
        for (const auto& app : settings_of(interface).apps) {
            unsigned selector = 0;
            unsigned protocol = 0;
            unsigned priority = 0;
            ASSERT_EQ(std::sscanf(app.c_str(), "%u.%u:%u", &selector, &protocol, &priority), 3);
            EXPECT_EQ(remove(interface, {static_cast<std::uint8_t>(selector), static_cast<std::uint8_t>(priority),
                                         static_cast<std::uint16_t>(protocol)}),
                      0);
        }
        EXPECT_EQ(set(interface, kOneToOne), 0);
        EXPECT_EQ(set(interface, Rates{}), 0);
        EXPECT_EQ(set(interface, ieee_pfc{}), 0);
    }

    [[nodiscard]] Settings settings() const { return settings_of(interface); }
    [[nodiscard]] std::string attribute(const char* name) const
    {
        return fmt::format("/sys/class/net/{}/{}", interface, name);
    }

    static inline std::unique_ptr<LoadedNic> nic;
    std::string interface;
};

// ---- ETS ----

// The first test: nobody has set anything.
TEST_F(Mlx5e, StartsWithClassesOfTheVendorAndTheFirstTwoPrioritiesSwapped)
{
    const Settings now = settings();
    EXPECT_EQ(now.ets.ets_cap, 8);
    EXPECT_THAT(numbers(now.ets.tc_tsa), ::testing::Each(kVendor));
    EXPECT_THAT(numbers(now.ets.prio_tc), ElementsAre(1, 0, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(now.rates, Rates{});
    EXPECT_THAT(now.apps, IsEmpty());
    EXPECT_EQ(now.pfc.pfc_en, 0);
    EXPECT_EQ(now.buffer.total_size, 2047U * 128);
}

TEST_F(Mlx5e, EtsWritesClassesOfPrioritiesThenGroupsThenWeights)
{
    const auto ets = with({kEts, kEts, kEts, kStrict, kStrict, kEts, kStrict, kStrict}, {50, 30, 15, 0, 0, 5, 0, 0});
    const auto written = writes_of([&] { EXPECT_EQ(set(interface, ets), 0); });
    EXPECT_THAT(written,
                ElementsAre("0x400a priority=0 class=0", "0x400a priority=1 class=1", "0x400a priority=2 class=2",
                            "0x400a priority=3 class=3", "0x400a priority=4 class=4", "0x400a priority=5 class=5",
                            "0x400a priority=6 class=6", "0x400a priority=7 class=7",
                            "0x4005 group0=0 group1=0 group2=0 group3=1 group4=2 group5=0 group6=3 group7=4",
                            "0x4005 weight0=50 weight1=30 weight2=15 weight3=100 weight4=100 weight5=5 weight6=100 "
                            "weight7=100"))
        << "strict classes are groups of their own, above the one of ETS";
    const Settings now = settings();
    EXPECT_EQ(numbers(now.ets.tc_tsa), numbers(ets.tc_tsa));
    EXPECT_EQ(numbers(now.ets.tc_tx_bw), numbers(ets.tc_tx_bw));
    EXPECT_EQ(numbers(now.ets.prio_tc), numbers(ets.prio_tc));
}

TEST_F(Mlx5e, ClassesWithoutAWeightShareTheLowestGroup)
{
    const auto ets = with({kEts, kEts, kEts, kEts, kEts, kEts, kEts, kEts}, {100, 0, 0, 0, 0, 0, 0, 0});
    const auto written = writes_of([&] { EXPECT_EQ(set(interface, ets), 0); });
    ASSERT_THAT(written, SizeIs(10));
    EXPECT_EQ(written[8], "0x4005 group0=1 group1=0 group2=0 group3=0 group4=0 group5=0 group6=0 group7=0");
    EXPECT_EQ(written[9],
              "0x4005 weight0=100 weight1=14 weight2=14 weight3=14 weight4=14 weight5=14 weight6=14 weight7=16");
}

TEST_F(Mlx5e, AWeightOfAStrictClassIsTakenAndSaidAgainWithoutEffect)
{
    const auto ets = with({kEts, kEts, kStrict, 0, 0, 0, 0, 0}, {60, 40, 50, 0, 0, 0, 0, 0});
    const auto written = writes_of([&] { EXPECT_EQ(set(interface, ets), 0); });
    ASSERT_THAT(written, SizeIs(10));
    EXPECT_THAT(written[9], StartsWith("0x4005 weight0=60 weight1=40 weight2=100 "));
    const int said = settings().ets.tc_tx_bw[2];
    EXPECT_TRUE(said == 50 || said == 0) << said << ": newer kernels say 0";
}

// Refused before anything is written. The kernel itself has no objection.
TEST_F(Mlx5e, EtsIsRefusedAsAWhole)
{
    const auto before = with({kEts, kEts, 0, 0, 0, 0, 0, 0}, {70, 30, 0, 0, 0, 0, 0, 0});
    ASSERT_EQ(set(interface, before), 0);
    const struct {
        const char* what;
        ieee_ets ets;
        int error;
    } refused[] = {
        {"99 %", with({kEts, kEts, 0, 0, 0, 0, 0, 0}, {59, 40, 0, 0, 0, 0, 0, 0}), EINVAL},
        {"101 %", with({kEts, kEts, 0, 0, 0, 0, 0, 0}, {61, 40, 0, 0, 0, 0, 0, 0}), EINVAL},
        {"0 %", with({kEts, kEts, kEts, kEts, kEts, kEts, kEts, kEts}, {}), EINVAL},
        {"credit-based shaper", with({IEEE_8021QAZ_TSA_CB_SHAPER, 0, 0, 0, 0, 0, 0, 0}, {}), EOPNOTSUPP},
    };
    for (const auto& each : refused) {
        SCOPED_TRACE(each.what);
        EXPECT_THAT(writes_of([&] { EXPECT_EQ(set(interface, each.ets), each.error); }), IsEmpty());
        EXPECT_EQ(numbers(settings().ets.tc_tx_bw), numbers(before.tc_tx_bw));
    }
}

TEST_F(Mlx5e, AClassThatNoPortHasIsRefusedAsAWhole)
{
    ieee_ets ets = kOneToOne;
    ets.prio_tc[4] = kClasses;
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(set(interface, ets), EINVAL); }), IsEmpty());
}

TEST_F(Mlx5e, EtsThatTheFirmwareRefusesIsAnErrorOfItsOwn)
{
    tell_firmware("fail 805 3 abc001 1");    // bad parameter
    EXPECT_EQ(set(interface, kOneToOne), EINVAL);
    tell_firmware("fail 805 1 abc002 1");    // internal error
    EXPECT_EQ(set(interface, kOneToOne), EIO);
    EXPECT_EQ(set(interface, kOneToOne), 0);
}

// ---- maximum rates ----

TEST_F(Mlx5e, RatesAreRoundedDownTo100MbitOr1Gbit)
{
    const Rates asked{10'000'000, 25'500'000, 25'600'000, 26'900'000, 50'000, 155'000, 255'000'000, 0};
    const auto written = writes_of([&] { EXPECT_EQ(set(interface, asked), 0); });
    EXPECT_THAT(written, ElementsAre("0x4005 rate0=100x3 rate1=255x3 rate2=25x4 rate3=26x4 rate4=1x3 rate5=1x3 "
                                     "rate6=255x4 rate7=0x0"))
        << "unit 3 is 100 Mbit/s, unit 4 is 1 Gbit/s";
    EXPECT_EQ(settings().rates,
              (Rates{10'000'000, 25'500'000, 25'000'000, 26'000'000, 100'000, 100'000, 255'000'000, 0}))
        << "less than a step is one step";
}

TEST_F(Mlx5e, ARateAbove255GbitIsRefused)
{
    ASSERT_EQ(set(interface, Rates{20'000'000}), 0);
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(set(interface, Rates{1'000'000, 255'000'001}), EINVAL); }), IsEmpty());
    EXPECT_EQ(settings().rates, Rates{20'000'000});
}

// ---- DSCP ----

TEST_F(Mlx5e, TrustTurnsWithTheFirstAndTheLastDscp)
{
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(add(interface, dscp(26, 5)), 0); }),
                ElementsAre("0x4002 trust=dscp", "0x4013 dscp=26 priority=5"));
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(add(interface, dscp(48, 2)), 0); }),
                ElementsAre("0x4013 dscp=48 priority=2"));
    EXPECT_THAT(settings().apps, ElementsAre("5.26:5", "5.48:2"));
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(remove(interface, dscp(26, 5)), 0); }),
                ElementsAre("0x4013 dscp=26 priority=0"))
        << "without an entry, a DSCP has priority 0";
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(remove(interface, dscp(48, 2)), 0); }),
                ElementsAre("0x4013 dscp=48 priority=0", "0x4002 trust=priority"));
    EXPECT_THAT(settings().apps, IsEmpty());
}

TEST_F(Mlx5e, AnotherPriorityReplacesTheOneOfADscp)
{
    ASSERT_EQ(add(interface, dscp(46, 5)), 0);
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(add(interface, dscp(46, 2)), 0); }),
                ElementsAre("0x4013 dscp=46 priority=2"));
    EXPECT_THAT(settings().apps, ElementsAre("5.46:2"));
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(add(interface, dscp(46, 2)), 0); }), IsEmpty()) << "it is there already";
    EXPECT_EQ(remove(interface, dscp(46, 5)), ENOENT);
}

TEST_F(Mlx5e, NoOtherSelectorIsTaken)
{
    constexpr std::uint8_t kPriority = 3;
    const struct {
        const char* what;
        dcb_app app;
    } refused[] = {
        {"the UDP port of RoCE", {IEEE_8021QAZ_APP_SEL_DGRAM, kPriority, 4791}},
        {"a TCP port", {IEEE_8021QAZ_APP_SEL_STREAM, kPriority, 4791}},
        {"any port", {IEEE_8021QAZ_APP_SEL_ANY, kPriority, 4791}},
        {"the Ethertype of RoCE", {IEEE_8021QAZ_APP_SEL_ETHERTYPE, kPriority, 0x8915}},
        {"the default priority", {IEEE_8021QAZ_APP_SEL_ETHERTYPE, kPriority, 0}},
        {"no DSCP", dscp(64, kPriority)},
    };
    for (const auto& each : refused) {
        SCOPED_TRACE(each.what);
        EXPECT_THAT(writes_of([&] { EXPECT_EQ(add(interface, each.app), EINVAL); }), IsEmpty());
    }
    EXPECT_THAT(settings().apps, IsEmpty());
}

// ---- PFC, buffers, DCBX ----

TEST_F(Mlx5e, PfcTakesTheLinkDownAndUp)
{
    ASSERT_TRUE(eventually([&] { return number_in_file(attribute("carrier")) == 1; }));
    const int downs = number_in_file(attribute("carrier_down_count"));
    ieee_pfc pfc{};
    pfc.pfc_en = 1U << 3;
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(set(interface, pfc), 0); }),
                ElementsAre("0x5007 pfctx=0x8 pfcrx=0x8", "0x5006 admin=2", "0x5006 admin=1"));
    EXPECT_EQ(settings().pfc.pfc_en, 1U << 3);
    EXPECT_TRUE(eventually([&] { return number_in_file(attribute("carrier_down_count")) > downs; }));
    EXPECT_TRUE(eventually([&] { return number_in_file(attribute("carrier")) == 1; }));
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(set(interface, pfc), 0); }), IsEmpty()) << "the same again changes nothing";
}

TEST_F(Mlx5e, NothingElseTakesTheLinkDown)
{
    ASSERT_TRUE(eventually([&] { return number_in_file(attribute("carrier")) == 1; }));
    const int downs = number_in_file(attribute("carrier_down_count"));
    ASSERT_EQ(set(interface, with({kEts, kEts, 0, 0, 0, 0, 0, 0}, {50, 50, 0, 0, 0, 0, 0, 0})), 0);
    ASSERT_EQ(set(interface, Rates{1'000'000}), 0);
    ASSERT_EQ(add(interface, dscp(10, 1)), 0);
    ASSERT_EQ(remove(interface, dscp(10, 1)), 0);
    std::this_thread::sleep_for(kMoment);
    EXPECT_EQ(number_in_file(attribute("carrier_down_count")), downs);
}

TEST_F(Mlx5e, NegotiationIsTheHosts)
{
    int error = 0;
    Message message = request(DCB_CMD_GDCBX, interface);
    const auto mode = netlink::byte_in(answer_to(RTM_GETDCB, message, &error), DCB_ATTR_DCBX).value_or(0);
    EXPECT_EQ(mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE);
    message = request(DCB_CMD_SDCBX, interface);
    const std::uint8_t managed = DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_IEEE;
    append(message, DCB_ATTR_DCBX, &managed, sizeof(managed));
    EXPECT_EQ(netlink::byte_in(answer_to(RTM_SETDCB, message, &error), DCB_ATTR_DCBX), 1) << "refused";
    EXPECT_EQ(error, 0);
}

// ---- who is told, and who may ----

TEST_F(Mlx5e, EverySetIsToldAlsoOneThatFails)
{
    const Listener listener;
    const auto good = with({kEts, kEts, 0, 0, 0, 0, 0, 0}, {60, 40, 0, 0, 0, 0, 0, 0});
    const auto bad = with({kEts, kEts, 0, 0, 0, 0, 0, 0}, {60, 41, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(set(interface, good), 0);
    EXPECT_THAT(listener.heard(), ElementsAre(DCB_CMD_IEEE_SET));
    EXPECT_EQ(set(interface, good), 0);
    EXPECT_THAT(listener.heard(), ElementsAre(DCB_CMD_IEEE_SET)) << "also one that changes nothing";
    EXPECT_EQ(set(interface, bad), EINVAL);
    EXPECT_THAT(listener.heard(), ElementsAre(DCB_CMD_IEEE_SET));
    EXPECT_EQ(set(interface, Rates{1'000'000}), 0);
    EXPECT_EQ(add(interface, dscp(26, 5)), 0);
    EXPECT_EQ(remove(interface, dscp(26, 5)), 0);
    EXPECT_EQ(remove(interface, dscp(26, 5)), ENOENT);
    EXPECT_THAT(listener.heard(), ElementsAre(DCB_CMD_IEEE_SET, DCB_CMD_IEEE_SET, DCB_CMD_IEEE_DEL, DCB_CMD_IEEE_DEL));
    static_cast<void>(settings());
    EXPECT_THAT(listener.heard(), IsEmpty()) << "a question is not told";
}

// The errno of set() in a process of its own, after `enter` there and then `meanwhile` here; -1: it could not enter.
int set_elsewhere(
    const std::string& interface, const std::function<bool()>& enter,
    const std::function<void(pid_t)>& meanwhile = [](pid_t) {})
{
    int entered[2];
    int go[2];
    if (pipe(entered) != 0 || pipe(go) != 0) {
        return -1;
    }
    char byte = 0;
    const pid_t child = fork();
    if (child == 0) {
        const bool ready = enter() && write(entered[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1;
        _exit(ready ? set(interface, kOneToOne) : 255);
    }
    close(entered[1]);
    if (read(entered[0], &byte, 1) == 1) {
        meanwhile(child);
    }
    EXPECT_EQ(write(go[1], &byte, 1), 1);
    for (const int end : {entered[0], go[0], go[1]}) {
        close(end);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? WEXITSTATUS(status) : -1;
}

TEST_F(Mlx5e, WhoIsNotAnAdministratorOfTheFirstUserNamespaceIsRefused)
{
    EXPECT_EQ(set_elsewhere(interface, [] { return true; }), 0);
    EXPECT_EQ(
        set_elsewhere(interface, [] { return setgroups(0, nullptr) == 0 && setresuid(65534, 65534, 65534) == 0; }),
        EPERM);
    EXPECT_EQ(set_elsewhere(interface, [] { return unshare(CLONE_NEWUSER) == 0; }), EPERM)
        << "it has all capabilities there";
}

// ---- the device fails ----

TEST_F(Mlx5e, ARecoveredDeviceHasLostEverythingAndHasAnotherInterface)
{
    ASSERT_EQ(set(interface, with({kEts, kEts, 0, 0, 0, 0, 0, 0}, {60, 40, 0, 0, 0, 0, 0, 0})), 0);
    ASSERT_EQ(set(interface, Rates{10'000'000}), 0);
    ASSERT_EQ(add(interface, dscp(26, 5)), 0);
    ieee_pfc pfc{};
    pfc.pfc_en = 1U << 3;
    ASSERT_EQ(set(interface, pfc), 0);
    const Listener listener;
    const auto number = if_nametoindex(interface.c_str());
    tell_firmware("fatal");
    ASSERT_TRUE(eventually([&] {
        interface = interface_of_nic();
        return !interface.empty() && if_nametoindex(interface.c_str()) != number && nic_is_present();
    })) << "it is still the same interface";
    const Settings now = settings();
    EXPECT_THAT(numbers(now.ets.tc_tsa), ::testing::Each(kVendor));
    EXPECT_THAT(numbers(now.ets.prio_tc), ElementsAre(1, 0, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(now.rates, Rates{});
    EXPECT_THAT(now.apps, IsEmpty());
    EXPECT_EQ(now.pfc.pfc_en, 0);
    EXPECT_THAT(listener.heard(), IsEmpty()) << "and nobody is told by this group";
}

// The last test: a network namespace that ends gives the interface back, perhaps with another name.
TEST_F(Mlx5e, InAnotherNetworkNamespaceOfTheSameUserItIsTaken)
{
    const auto move = [&](pid_t to) {
        EXPECT_EQ(system(fmt::format("/usr/bin/ip link set {} netns {}", interface, to).c_str()), 0);
        EXPECT_EQ(interface_of_nic(), "");
    };
    EXPECT_EQ(set_elsewhere(
                  interface, [] { return unshare(CLONE_NEWNET) == 0; }, move),
              0);
    ASSERT_TRUE(eventually([&] {
        interface = interface_of_nic();
        return !interface.empty();
    }));
}

// ---- a port with fewer classes ----

// What it does not have is noticed when a priority is written: those before it have moved by then.
TEST(Mlx5eFewClasses, EtsThatIsRefusedMayBeHalfWritten)
{
    const LoadedNic nic("eth=2 classes=4");
    const std::string interface = interface_of_nic();
    ASSERT_EQ(set(interface, kOneToOne), EINVAL) << "it has no class 5";
    ieee_ets ets = kOneToOne;
    std::ranges::fill(ets.prio_tc, 0);
    ASSERT_EQ(set(interface, ets), 0);
    EXPECT_EQ(settings_of(interface).ets.ets_cap, 4);
    std::ranges::copy(std::array<std::uint8_t, kClasses>{3, 3, 3, 3, 7, 3, 3, 3}, ets.prio_tc);
    EXPECT_THAT(writes_of([&] { EXPECT_EQ(set(interface, ets), EINVAL); }),
                ElementsAre("0x400a priority=0 class=3", "0x400a priority=1 class=3", "0x400a priority=2 class=3",
                            "0x400a priority=3 class=3"));
    EXPECT_THAT(numbers(settings_of(interface).ets.prio_tc), ElementsAre(3, 3, 3, 3, 0, 0, 0, 0)) << "and is read so";
}

}    // namespace
}    // namespace rdmaqos::test
