// Positions of fields as literal bytes, from the programmer's reference manual: where tests/nic_mlx5/bytes_test.cpp has
// no function of libmlx5 to compare with, and what the answers say.
#include "lib/nic_mlx5/commands.h"

#include <cstdint>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::mlx5 {
namespace {

using ::testing::ElementsAre;

// The bytes that are not 0, by position.
using Sparse = std::map<std::size_t, unsigned>;

Sparse sparse(const Mailbox& mailbox)
{
    Sparse bytes;
    for (std::size_t i = 0; i < mailbox.size(); ++i) {
        if (mailbox[i] != 0) {
            bytes[i] = mailbox[i];
        }
    }
    return bytes;
}

Mailbox mailbox_of(std::size_t size, const Sparse& bytes)
{
    Mailbox mailbox(size);
    for (const auto& [at, byte] : bytes) {
        mailbox.at(at) = static_cast<std::uint8_t>(byte);
    }
    return mailbox;
}

TEST(Commands, QueryElement)
{
    const Mailbox command = query_element(ObjectId{0x01020304});
    EXPECT_EQ(command.size(), 16U);
    EXPECT_EQ(sparse(command), (Sparse{{0, 0x0a}, {1, 0x02}, {7, 0x26}, {8, 0x01}, {9, 0x02}, {10, 0x03}, {11, 0x04}}));
}

TEST(Commands, QueryQueuePair)
{
    const Mailbox command = query_queue_pair(0xabcdef);
    EXPECT_EQ(command.size(), 16U);
    EXPECT_EQ(sparse(command), (Sparse{{0, 0x05}, {1, 0x0b}, {9, 0xab}, {10, 0xcd}, {11, 0xef}}));
    EXPECT_EQ(sparse(query_queue_pair(1, true)), (Sparse{{0, 0x05}, {1, 0x0b}, {8, 0x80}, {11, 0x01}}));
}

TEST(Commands, QueryCapabilitiesInForceNow)
{
    // op_mod: type << 1, and 1 for what is in force rather than the most that is possible.
    EXPECT_EQ(sparse(query_capabilities(prm::kGeneralCapabilities)), (Sparse{{0, 0x01}, {7, 0x01}}));
    EXPECT_EQ(sparse(query_capabilities(prm::kQosCapabilities)), (Sparse{{0, 0x01}, {7, 0x19}}));
}

// Group 0 takes a queue pair out; the field is still selected.
TEST(Commands, DetachIsAnAttachToGroupZero)
{
    const Mailbox rts = place_queue_pair(QueuePairState::Rts, 0x123456, kNoObject, kNoObject);
    EXPECT_EQ(rts.size(), 464U);
    EXPECT_EQ(sparse(rts), (Sparse{{0, 0x05}, {1, 0x05}, {8, 0x80}, {9, 0x12}, {10, 0x34}, {11, 0x56}, {271, 0x02}}));
    const Mailbox init = place_queue_pair(QueuePairState::Init, 0x123456, kNoObject, kNoObject);
    EXPECT_EQ(sparse(init), (Sparse{{0, 0x05}, {1, 0x0e}, {8, 0x80}, {9, 0x12}, {10, 0x34}, {11, 0x56}, {271, 0x02}}));
}

TEST(Commands, DetachOfASendQueue)
{
    const Mailbox command = place_send_queue(0x123456, kNoObject);
    EXPECT_EQ(command.size(), 272U);
    EXPECT_EQ(sparse(command),
              (Sparse{{0, 0x09}, {1, 0x05}, {8, 0x10}, {9, 0x12}, {10, 0x34}, {11, 0x56}, {23, 0x04}, {33, 0x10}}));
}

TEST(Commands, AttachNamesBothSides)
{
    const Sparse bytes = sparse(place_queue_pair(QueuePairState::Rts, 1, ObjectId{0x11223344}, ObjectId{0x55667788}));
    EXPECT_EQ(bytes, (Sparse{{0, 0x05},
                             {1, 0x05},
                             {8, 0x80},
                             {11, 0x01},
                             {271, 0x02},
                             {276, 0x11},
                             {277, 0x22},
                             {278, 0x33},
                             {279, 0x44},
                             {280, 0x55},
                             {281, 0x66},
                             {282, 0x77},
                             {283, 0x88}}));
}

TEST(Commands, AttachOfASendQueue)
{
    EXPECT_EQ(sparse(place_send_queue(1, ObjectId{0x1122})),
              (Sparse{{0, 0x09}, {1, 0x05}, {8, 0x10}, {11, 0x01}, {23, 0x04}, {33, 0x10}, {66, 0x11}, {67, 0x22}}));
}

TEST(Commands, CreateElement)
{
    const ElementAttributes attributes{0x12, Bandwidth::from_mbps(0x345678)};
    const Mailbox command = create_element(ElementKind::Leaf, ObjectId{0x01020304}, attributes);
    EXPECT_EQ(command.size(), 144U);
    EXPECT_EQ(sparse(command), (Sparse{{0, 0x0a},
                                       {7, 0x26},
                                       {23, 0x03},
                                       {24, 0x03},
                                       {48, 0x04},
                                       {56, 0x01},
                                       {57, 0x02},
                                       {58, 0x03},
                                       {59, 0x04},
                                       {71, 0x12},
                                       {73, 0x34},
                                       {74, 0x56},
                                       {75, 0x78}}));
}

TEST(Commands, ModifyElementSelectsWhatItCarries)
{
    const auto change = [](const ElementChange& what) {
        return sparse(modify_element(ElementKind::Node, ObjectId{0x0102}, what));
    };
    const Sparse frame{{0, 0x0a}, {1, 0x01}, {7, 0x26}, {10, 0x01}, {11, 0x02}, {24, 0x03}};
    const auto with = [&](Sparse more) {
        more.insert(frame.begin(), frame.end());
        return more;
    };
    EXPECT_EQ(change({7, std::nullopt}), with({{23, 0x01}, {71, 0x07}}));
    EXPECT_EQ(change({std::nullopt, Bandwidth::from_mbps(5)}), with({{23, 0x02}, {75, 0x05}}));
    EXPECT_EQ(change({std::nullopt, std::optional<Bandwidth>()}), with({{23, 0x02}}));    // lifted: selected, and 0
    EXPECT_EQ(change({0, std::nullopt}), with({{23, 0x01}}));                             // the device's default
}

// CREATE_SCHEDULING_ELEMENT and so on: hierarchy at byte 8, id at 12, context at 32.
TEST(Commands, OlderCommandsForTheSame)
{
    const auto& older = prm::kLegacyCommands;
    const Mailbox created = create_element(ElementKind::Leaf, ObjectId{0x01020304},
                                           {0x12, Bandwidth::from_mbps(0x345678)}, older);
    EXPECT_EQ(created.size(), 128U);
    EXPECT_EQ(sparse(created), (Sparse{{0, 0x07},
                                       {1, 0x82},
                                       {8, 0x03},
                                       {32, 0x04},
                                       {40, 0x01},
                                       {41, 0x02},
                                       {42, 0x03},
                                       {43, 0x04},
                                       {55, 0x12},
                                       {57, 0x34},
                                       {58, 0x56},
                                       {59, 0x78}}));
    EXPECT_EQ(sparse(modify_element(ElementKind::Node, ObjectId{0x0102}, {7, Bandwidth::from_mbps(5)}, older)),
              (Sparse{{0, 0x07}, {1, 0x85}, {8, 0x03}, {14, 0x01}, {15, 0x02}, {23, 0x03}, {55, 0x07}, {59, 0x05}}));
    const Mailbox query = query_element(ObjectId{0x0102}, older);
    EXPECT_EQ(query.size(), 64U);
    EXPECT_EQ(sparse(query), (Sparse{{0, 0x07}, {1, 0x84}, {8, 0x03}, {14, 0x01}, {15, 0x02}}));
    const Mailbox answer = mailbox_of(128, {{32, 0x04}, {42, 0x01}, {43, 0x02}, {55, 0x2a}, {58, 0x9c}, {59, 0x40}});
    EXPECT_EQ(decode_element(answer, older),
              (ElementAnswer{ElementKind::Leaf, ObjectId{0x102}, {42, Bandwidth::from_mbps(40000)}}));
}

TEST(Commands, RatesAreWholeMegabitsAndNeverUnlimitedByAccident)
{
    const auto rate_of = [](Bandwidth rate) {
        const Mailbox command = modify_element(ElementKind::Leaf, ObjectId{1}, {std::nullopt, std::optional(rate)});
        return get(command, {128 + 448, 32});
    };
    EXPECT_EQ(rate_of(Bandwidth::from_kbps(999)), 1U);
    EXPECT_EQ(rate_of(Bandwidth::from_kbps(1999)), 1U);
    EXPECT_EQ(rate_of(Bandwidth::from_mbps(400000)), 400000U);
    EXPECT_EQ(rate_of(Bandwidth::from_mbps(1ULL << 33)), 0xffffffffU);
}

// ---- answers ----

TEST(Answers, Element)
{
    const Mailbox answer = mailbox_of(
        144, {{11, 0x09}, {24, 0x03}, {48, 0x04}, {58, 0x01}, {59, 0x02}, {71, 0x2a}, {74, 0x9c}, {75, 0x40}});
    EXPECT_EQ(decode_element(answer),
              (ElementAnswer{ElementKind::Leaf, ObjectId{0x102}, {42, Bandwidth::from_mbps(40000)}}));
    EXPECT_EQ(decode_element(mailbox_of(144, {{24, 0x03}})), ElementAnswer{});
}

TEST(Answers, ElementCutShort)
{
    EXPECT_EQ(decode_element(Mailbox(16)), ElementAnswer{});
    EXPECT_EQ(decode_element({}), ElementAnswer{});
}

// Its context begins at byte 24: the state in the upper half of the first byte, the service type in the second.
TEST(Answers, QueuePairStates)
{
    using State = QueuePairState;
    const std::pair<unsigned, std::optional<State>> kStates[] = {
        {0x00, State::Reset}, {0x10, State::Init},  {0x20, State::Rtr},   {0x30, State::Rts},
        {0x40, State::Sqe},   {0x50, State::Sqd},   {0x60, State::Error}, {0x70, State::Sqd},
        {0x80, std::nullopt}, {0x90, std::nullopt}, {0xf0, std::nullopt}, {0x3f, State::Rts}};
    for (const auto& [byte, state] : kStates) {
        EXPECT_EQ(decode_queue_pair(mailbox_of(272, {{24, byte}})).state, state) << byte;
    }
}

TEST(Answers, QueuePairTypes)
{
    using Type = QueuePairType;
    const std::pair<unsigned, std::optional<Type>> kTypes[] = {
        {0x00, Type::Rc},     {0x01, Type::Uc},     {0x02, Type::Ud},    {0x03, std::nullopt},
        {0x05, std::nullopt}, {0x09, std::nullopt}, {0xff, std::nullopt}};
    for (const auto& [byte, type] : kTypes) {
        EXPECT_EQ(decode_queue_pair(mailbox_of(272, {{25, byte}})).type, type) << byte;
    }
}

// Where an attach has them, too.
TEST(Answers, LeavesOfAQueuePair)
{
    EXPECT_EQ(decode_queue_pair(Mailbox(query_queue_pair_bytes(false))).leaves, std::nullopt);
    EXPECT_EQ(decode_queue_pair(Mailbox(query_queue_pair_bytes(true))).leaves, LeafIds{});
    const Mailbox answer = mailbox_of(464, {{276, 0x11}, {279, 0x44}, {280, 0x55}, {283, 0x88}});
    EXPECT_EQ(decode_queue_pair(answer).leaves, (LeafIds{ObjectId{0x11000044}, ObjectId{0x55000088}}));
}

// The context begins at byte 24, the number of the peer at byte 45, the address path at byte 48.
TEST(Answers, AQueuePairAsVerbsHaveIt)
{
    Sparse bytes{{24, 0x30}, {45, 0x01}, {46, 0x02}, {47, 0x03}, {51, 0x07}, {54, 0x12},
                 {55, 0x34}, {57, 0x05}, {60, 0x0a}, {61, 0x00}, {64, 0xfe}, {79, 0x09}};
    bytes[48 + 36] = 0x06;    // SL
    bytes[48 + 37] = 0x01;    // port
    VerbsQueuePair expected;
    expected.state = QueuePairState::Rts;
    expected.remote = 0x010203;
    expected.port = 1;
    expected.pkey_index = 7;
    expected.destination_lid = 0x1234;
    expected.sl = 6;
    EXPECT_EQ(decode_as_verbs(mailbox_of(272, bytes), LinkLayer::InfiniBand), expected) << "by LID alone";
    expected.is_global = true;
    expected.source_index = 5;
    expected.traffic_class = 0xa0;
    expected.destination.bytes.front() = 0xfe;
    expected.destination.bytes.back() = 0x09;
    EXPECT_EQ(decode_as_verbs(mailbox_of(272, bytes), LinkLayer::Ethernet), expected) << "always by GID";
    bytes[48 + 5] = 0x80;
    EXPECT_EQ(decode_as_verbs(mailbox_of(272, bytes), LinkLayer::InfiniBand), expected);
    bytes[24] = 0x80;
    EXPECT_EQ(decode_as_verbs(mailbox_of(272, bytes), LinkLayer::Ethernet), std::nullopt) << "suspended";
    EXPECT_EQ(decode_as_verbs(mailbox_of(272, {{24, 0x10}}), LinkLayer::Ethernet)->is_global, false) << "no path yet";
}

// ---- capabilities ----

// Capabilities begin at byte 16. Of general ones: qos is bit 539, the extended queue pair context 290, the kinds of
// general objects a mask at 1024, of which scheduling elements are bit 0x26.
struct Device {
    Sparse general{{16 + 67, 0x10}, {16 + 36, 0x20}, {16 + 131, 0x40}};
    // As of the ConnectX-6 Dx: raw packet scheduling, shares and caps (bits 8..10), scheduling of queue pairs (33),
    // depth 1 << 2 (36..39), leaves 1 << 8 (43..47), 128 rows of rates, the first of which is none (144..159), shares
    // to 100 (224..255), TSAR and queue group (256..271), DWRR (272..287), elements 1 << 13 (323..327).
    Sparse qos{{16 + 1, 0xe0}, {16 + 4, 0x42},  {16 + 5, 0x08},  {16 + 19, 128},
               {16 + 31, 100}, {16 + 33, 0x11}, {16 + 35, 0x01}, {16 + 40, 13}};

    [[nodiscard]] Capabilities decode() const
    {
        return decode_capabilities(mailbox_of(prm::kCapabilityBytes, general), mailbox_of(prm::kCapabilityBytes, qos));
    }
};

TEST(CapabilityAnswers, OfAConnectX6Dx)
{
    const Capabilities can = Device().decode();
    EXPECT_TRUE(can.scheduling);
    EXPECT_TRUE(can.shares);
    EXPECT_TRUE(can.rate_caps);
    EXPECT_EQ(can.max_depth, 4U);
    EXPECT_EQ(can.max_leaves, 256U);
    EXPECT_EQ(can.max_elements, 8192U);
    EXPECT_EQ(can.max_share, 100U);
    EXPECT_TRUE(can.responder_leaf);
    EXPECT_THAT(can.attachable, ElementsAre(QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud,
                                            QueuePairType::RawPacket, QueuePairType::Devx));
    EXPECT_EQ(can.pacing.table_size, 127U);
    EXPECT_FALSE(can.pacing.burst);
    EXPECT_FALSE(can.pacing.typical_packet);
}

// libmlx5 does not ask for the bit of the object either.
TEST(CapabilityAnswers, TheKindOfObjectNeedNotBeAdvertised)
{
    Device device;
    device.general.erase(16 + 131);
    EXPECT_EQ(device.decode(), Device().decode());
}

// A logarithm of 0 does not say that there is one.
TEST(CapabilityAnswers, SizesThatAreNotTold)
{
    Device device;
    device.qos[16 + 4] = 0x40;
    device.qos.erase(16 + 5);
    device.qos.erase(16 + 40);
    const Capabilities can = device.decode();
    EXPECT_TRUE(can.scheduling);
    EXPECT_EQ(can.max_depth, kDepthNotTold);
    EXPECT_EQ(can.max_leaves, kLeavesNotTold);
    EXPECT_EQ(can.max_elements, kElementsNotTold);
}

TEST(CapabilityAnswers, WithoutQos)
{
    Device device;
    device.general.erase(16 + 67);
    EXPECT_EQ(device.decode(), Capabilities{});    // whatever the second mailbox holds
}

// What each bit is needed for: without it there is no scheduling at all, and pacing stays.
TEST(CapabilityAnswers, WithoutScheduling)
{
    const auto expect_pacing_only = [](const Device& device) {
        Capabilities pacing_only;
        pacing_only.pacing.table_size = 127;
        EXPECT_EQ(device.decode(), pacing_only);
    };
    for (const unsigned types : {0x00U, 0x01U, 0x10U}) {    // neither, nodes only, leaves only
        Device device;
        device.qos[16 + 33] = types;
        expect_pacing_only(device);
    }
    Device no_dwrr;
    no_dwrr.qos.erase(16 + 35);
    expect_pacing_only(no_dwrr);
}

TEST(CapabilityAnswers, PacingOnly)
{
    Device device;
    device.general.erase(16 + 36);
    device.qos = {{16 + 0, 0x86}, {16 + 18, 0x01}, {16 + 19, 0x00}};
    const Capabilities can = device.decode();
    EXPECT_FALSE(can.scheduling);
    EXPECT_TRUE(can.attachable.empty());
    EXPECT_EQ(can.pacing.table_size, 255U);
    EXPECT_TRUE(can.pacing.burst);
    EXPECT_TRUE(can.pacing.typical_packet);
}

// libmlx5 reads shares and caps only beside it; the bits have a meaning of their own.
TEST(CapabilityAnswers, WithoutSchedulingOfSendQueues)
{
    Device device;
    device.qos[16 + 1] = 0x60;
    const Capabilities can = device.decode();
    EXPECT_TRUE(can.scheduling);
    EXPECT_TRUE(can.shares);
    EXPECT_TRUE(can.rate_caps);
    EXPECT_FALSE(can.attachable.contains(QueuePairType::RawPacket));
    EXPECT_TRUE(can.attachable.contains(QueuePairType::Rc));
}

TEST(CapabilityAnswers, QueuePairsNeedBothBits)
{
    Device no_extension;
    no_extension.general.erase(16 + 36);
    Device no_scheduling;
    no_scheduling.qos[16 + 4] = 0x02;
    for (const Device& device : {no_extension, no_scheduling}) {
        const Capabilities can = device.decode();
        EXPECT_TRUE(can.scheduling);
        EXPECT_FALSE(can.responder_leaf);
        EXPECT_THAT(can.attachable, ElementsAre(QueuePairType::RawPacket));
    }
}

TEST(CapabilityAnswers, SharesAndCapsAreApart)
{
    Device shares;
    shares.qos[16 + 1] = 0xc0;
    EXPECT_TRUE(shares.decode().shares);
    EXPECT_FALSE(shares.decode().rate_caps);
    Device caps;
    caps.qos[16 + 1] = 0xa0;
    EXPECT_FALSE(caps.decode().shares);
    EXPECT_TRUE(caps.decode().rate_caps);
}

TEST(CapabilityAnswers, CutShort)
{
    EXPECT_EQ(decode_capabilities({}, {}), Capabilities{});
    EXPECT_EQ(decode_capabilities(Mailbox(16), Mailbox(16)), Capabilities{});
}

// Byte 24 begins the context: state at bit 0, service at bit 8, the address path at byte 48, in it DSCP at bit 266 and
// the priority at bit 289.
TEST(Answers, AQueuePairWithAPeerHasAMark)
{
    struct Case {
        const char* name;
        unsigned state;
        unsigned service;
        std::optional<QueuePairMark> mark;
    };
    const QueuePairMark mark{26, 3};
    for (const Case& each :
         {Case{"reset", 0, 0, {}}, Case{"INIT", 1, 0, {}}, Case{"RTR", 2, 0, mark}, Case{"RTS", 3, 0, mark},
          Case{"RTS, UC", 3, 1, mark}, Case{"SQE", 4, 1, mark}, Case{"SQD", 5, 0, mark}, Case{"error", 6, 0, {}},
          Case{"RTS, UD", 3, 2, {}}, Case{"RTS, DC", 3, 5, {}}}) {
        SCOPED_TRACE(each.name);
        const Mailbox answer = mailbox_of(
            prm::kQueryQpBytes, {{24, each.state << 4U}, {25, each.service}, {48 + 33, 26}, {48 + 36, 3 << 4U}});
        EXPECT_EQ(decode_queue_pair(answer).mark, each.mark);
    }
}

}    // namespace
}    // namespace rdmaqos::mlx5
