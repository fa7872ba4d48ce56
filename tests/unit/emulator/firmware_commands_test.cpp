// Mailbox in, mailbox out, on a firmware without a kernel.
#include "tools/emulator/firmware_commands.h"

#include <gmock/gmock.h>

#include "lib/model/profile.h"
#include "tests/support/firmware_commands.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;

struct FirmwareCommandsTest : testing::Test {
    FirmwareAnswer run(const Mailbox& mailbox, std::uint32_t queue_pair = 0)
    {
        return execute(firmware, 2, {context, queue_pair, mailbox});
    }

    Firmware firmware{[] {
        FirmwareOptions options;
        options.capabilities = default_capabilities();
        options.implicit_queue_pairs = false;
        return options;
    }()};
    ContextId context = *firmware.open_context();
    CommandSender sender{[this](const Mailbox& command) { return run(command).mailbox; }};
};

TEST_F(FirmwareCommandsTest, CapabilitiesAreTheModels)
{
    const auto ask = [&](std::uint64_t type) {
        Mailbox mailbox = CommandSender::command(prm::QueryHcaCap);
        set(mailbox, prm::kOpMod, type << 1 | prm::kCurrentCapabilities);
        return run(mailbox).mailbox;
    };
    const auto general = ask(prm::kGeneralCapabilities);
    ASSERT_EQ(general.size(), prm::kCapabilityBytes);
    EXPECT_EQ(get(general, at(prm::kCapability, prm::general::kNumPorts)), 2U);
    EXPECT_EQ(get(general, at(prm::kCapability, prm::general::kQos)), 1U);
    const auto qos = ask(prm::kQosCapabilities);
    EXPECT_EQ(get(qos, at(prm::kCapability, prm::qos::kLogNicMaxSchedDepth)), 2U);
    EXPECT_EQ(get(qos, at(prm::kCapability, prm::qos::kLogMaxNicQueueGroups)), 8U);
    EXPECT_EQ(get(qos, at(prm::kCapability, prm::qos::kMaxTsarBwShare)), 100U);
    EXPECT_EQ(get(qos, at(prm::kCapability, prm::qos::kPacketPacingTableSize)), 128U);
}

TEST_F(FirmwareCommandsTest, AnElementsLife)
{
    const auto root = sender.make_element(0, false);
    const auto made = run([&] {
        Mailbox mailbox = CommandSender::element_command(prm::CreateGeneralObject, 0, 0,
                                                         {kSchedulingShare | kSchedulingMaxRate, 7, 5000});
        set(mailbox, at(prm::kObjectCommands.element, prm::element::kType), prm::element::kQueueGroup);
        set(mailbox, at(prm::kObjectCommands.element, prm::element::kParent), root);
        return mailbox;
    }());
    ASSERT_FALSE(made.refusal);
    const auto leaf = static_cast<std::uint32_t>(get(made.mailbox, prm::kObjectId));
    std::vector<std::string> names;
    for (const auto& note : made.notes) {
        names.push_back(note.name);
    }
    EXPECT_THAT(names, testing::ElementsAre("parent", "element", "bw-share", "max-average-bw"));

    const auto query = CommandSender::element_command(prm::QueryGeneralObject, 0, leaf);
    auto answer = sender.send(query);
    EXPECT_EQ(get(answer, at(prm::kObjectCommands.element, prm::element::kType)), prm::element::kQueueGroup);
    EXPECT_EQ(get(answer, at(prm::kObjectCommands.element, prm::element::kParent)), root);
    EXPECT_EQ(get(answer, at(prm::kObjectCommands.element, prm::element::kBwShare)), 7U);
    EXPECT_EQ(get(answer, at(prm::kObjectCommands.element, prm::element::kMaxAverageBw)), 5000U);
    sender.send(CommandSender::element_command(prm::ModifyGeneralObject, 0, leaf, {kSchedulingShare, 9, 1}));
    answer = sender.send(query);
    EXPECT_EQ(get(answer, at(prm::kObjectCommands.element, prm::element::kBwShare)), 9U);
    EXPECT_EQ(get(answer, at(prm::kObjectCommands.element, prm::element::kMaxAverageBw)), 5000U) << "not selected";
    const auto busy = run(CommandSender::element_command(prm::DestroyGeneralObject, 0, root));
    ASSERT_TRUE(busy.refusal);
    EXPECT_EQ(busy.refusal->reason, RefusalReason::HasChildren);
    EXPECT_EQ(CommandSender::status(busy.mailbox), 6U);
    EXPECT_EQ(get(busy.mailbox, prm::kSyndrome), busy.refusal->syndrome);
    EXPECT_FALSE(run(CommandSender::element_command(prm::DestroyGeneralObject, 0, leaf)).refusal);
    EXPECT_FALSE(run(CommandSender::element_command(prm::DestroyGeneralObject, 0, root)).refusal);
    EXPECT_TRUE(firmware.elements().empty());
}

TEST_F(FirmwareCommandsTest, AQueuePairsStates)
{
    EXPECT_FALSE(run(CommandSender::command(prm::CreateQp, 0, 272), 5).refusal);
    const auto state = [&] {
        return get(run(CommandSender::command(prm::QueryQp), 5).mailbox, at(prm::kQpc, prm::qpc::kState));
    };
    EXPECT_EQ(state(), 0U);
    EXPECT_EQ(run(CommandSender::command(prm::Rtr2Rts), 5).refusal->status, FirmwareStatus::BadQueuePairState);
    for (const auto opcode : {prm::Rst2Init, prm::Init2Init, prm::Init2Rtr, prm::Rtr2Rts, prm::Rts2Rts}) {
        EXPECT_FALSE(run(CommandSender::command(opcode), 5).refusal);
    }
    EXPECT_EQ(state(), 3U);
    firmware.set_queue_pair_state(5, QueuePairState::Sqe);
    EXPECT_EQ(state(), 4U);
    EXPECT_FALSE(run(CommandSender::command(prm::Sqerr2Rts), 5).refusal);
    firmware.set_queue_pair_state(5, QueuePairState::Sqd);
    EXPECT_EQ(state(), 5U);
    EXPECT_FALSE(run(CommandSender::command(prm::Qp2Err), 5).refusal);
    EXPECT_EQ(state(), 6U);
    EXPECT_FALSE(run(CommandSender::command(prm::DestroyQp), 5).refusal);
    EXPECT_EQ(run(CommandSender::command(prm::QueryQp), 5).refusal->reason, RefusalReason::NoSuchQueuePair);
}

TEST_F(FirmwareCommandsTest, AQueryOfTheExtendedContextHasTheLeaves)
{
    ASSERT_FALSE(run(CommandSender::command(prm::CreateQp, 0, 272), 5).refusal);
    EXPECT_EQ(run(CommandSender::command(prm::QueryQp), 5).mailbox.size(), prm::kQueryQpBytes);
    Mailbox query = CommandSender::command(prm::QueryQp);
    set(query, prm::kQpcExt, 1);
    const auto extended = run(query, 5).mailbox;
    EXPECT_EQ(extended.size(), prm::kQueryQpExtBytes);
    EXPECT_EQ(get(extended, prm::kQueueGroupRequester), 0U);
}

TEST_F(FirmwareCommandsTest, WhatIsNotPlayedIsRefused)
{
    const auto unknown = run(CommandSender::command(prm::CreateUctx));
    ASSERT_TRUE(unknown.refusal);
    EXPECT_EQ(unknown.refusal->message, "the emulator does not play command 0xa04");
    EXPECT_EQ(CommandSender::status(unknown.mailbox), 2U);
    Mailbox other = CommandSender::element_command(prm::CreateGeneralObject, 0, 0);
    set(other, prm::kObjectType, 0x27);
    EXPECT_TRUE(run(other).refusal);
    EXPECT_TRUE(run({}).refusal);
}

}    // namespace
}    // namespace rdmaqos::test
