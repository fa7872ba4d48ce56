// The firmware of a kernel's device, command by command: the table of refusals, what a driver asks for while it comes,
// and what belongs to whom.
#include "tools/emulator/kernel_firmware.h"

#include <chrono>
#include <map>
#include <thread>

#include <gmock/gmock.h>

#include "tests/support/firmware_commands.h"
#include "tests/support/refusals.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using namespace emulator;
using namespace mlx5;

FirmwareOptions options_of(const Capabilities& capabilities)
{
    FirmwareOptions options;
    options.capabilities = capabilities;
    options.implicit_queue_pairs = false;
    return options;
}

// ---- the table ----

class MailboxDriver final : public RefusalDriver {
public:
    explicit MailboxDriver(const Capabilities& capabilities) : kernel_(options_of(capabilities))
    {
        sender_.probe();
        uid_ = sender_.open_context();
    }

    Verdict take(const Step& step) override
    {
        return std::visit([this](const auto& concrete) { return take_one(concrete); }, step);
    }

private:
    static Verdict verdict(std::uint64_t status)
    {
        Verdict result;
        result.refused = status != 0;
        result.status = static_cast<FirmwareStatus>(status);
        return result;
    }
    [[nodiscard]] std::uint32_t id(const std::string& name) const { return name.empty() ? 0 : ids_.at(name); }

    Verdict take_one(const Create& step)
    {
        const auto answer = sender_.create_element(uid_, step.kind == ElementKind::Leaf, id(step.parent),
                                                   {step.flags, step.share, step.max_rate_mbps});
        ids_[step.name] = static_cast<std::uint32_t>(get(answer, prm::kObjectId));
        return verdict(CommandSender::status(answer));
    }
    Verdict take_one(const Modify& step)
    {
        return verdict(CommandSender::status(sender_.send(CommandSender::element_command(
            prm::ModifyGeneralObject, uid_, id(step.name), {step.flags, step.share, step.max_rate_mbps}))));
    }
    Verdict take_one(const Expect& step)
    {
        const auto answer = sender_.send(CommandSender::element_command(prm::QueryGeneralObject, uid_, id(step.name)));
        Verdict result = verdict(CommandSender::status(answer));
        result.refused = result.refused ||
                         get(answer, at(prm::kObjectCommands.element, prm::element::kBwShare)) != step.share ||
                         get(answer, at(prm::kObjectCommands.element, prm::element::kMaxAverageBw)) !=
                             step.max_rate_mbps;
        return result;
    }
    Verdict take_one(const Destroy& step)
    {
        return verdict(CommandSender::status(
            sender_.send(CommandSender::element_command(prm::DestroyGeneralObject, uid_, id(step.name)))));
    }
    Verdict take_one(const MakeQueuePair& step)
    {
        if (step.type == QueuePairType::RawPacket) {
            numbers_[step.number] = sender_.make_send_queue(uid_);
            if (step.state == QueuePairState::Rts) {
                EXPECT_EQ(CommandSender::status(sender_.send(
                              sender_.modify_send_queue(uid_, numbers_[step.number], prm::kSqReset, prm::kSqReady))),
                          0U);
            }
        } else {
            numbers_[step.number] = sender_.make_queue_pair(uid_, step.type == QueuePairType::Uc   ? 1
                                                                  : step.type == QueuePairType::Ud ? 2
                                                                                                   : 0);
        }
        // Straight to the state: no command leads to SQE.
        kernel_.firmware().set_queue_pair_state(numbers_[step.number], step.state);
        return {};
    }
    Verdict take_one(const DestroyQueuePair& step)
    {
        return verdict(sender_.about(prm::DestroyQp, uid_, numbers_.at(step.number)));
    }
    Verdict take_one(const Attach& step)
    {
        const auto found = numbers_.find(step.number);
        const std::uint32_t number = found == numbers_.end() ? 77 : found->second;
        if (step.type == QueuePairType::RawPacket) {
            return verdict(sender_.attach_send_queue(uid_, number, id(step.requester)));
        }
        const auto record = kernel_.firmware().queue_pair(number);
        const bool in_init = record && record->state == QueuePairState::Init;
        return verdict(sender_.attach(uid_, number, id(step.requester), id(step.responder),
                                      in_init ? prm::Init2Init : prm::Rts2Rts));
    }
    Verdict take_one(const Pace& step) { return verdict(sender_.pace(uid_, numbers_.at(step.number), step.rate)); }

    KernelFirmware kernel_;
    CommandSender sender_{[this](const Mailbox& command) { return kernel_.answer(command).mailbox; }};
    std::uint64_t uid_ = 0;
    std::map<std::string, std::uint32_t> ids_;
    std::map<std::uint32_t, std::uint32_t> numbers_;
};

// What cannot be asked for by commands: they do not name a type, so that one cannot be wrong; only send queues are
// paced; and those of raw packets have one leaf, and neither INIT nor RTR.
std::vector<RefusalRow> refused_commands()
{
    auto all = refusal_table([](const Step& step) {
        const auto* pace = std::get_if<Pace>(&step);
        const auto* made = std::get_if<MakeQueuePair>(&step);
        const bool raw = made != nullptr && made->type == QueuePairType::RawPacket;
        return (pace == nullptr ||
                (pace->type == QueuePairType::RawPacket && (!pace->rate || pace->rate->rate.kbps() != 0))) &&
               (!raw || made->state == QueuePairState::Rts || made->state == QueuePairState::Reset);
    });
    std::erase_if(all, [](const RefusalRow& row) { return row.name == "WrongType" || row.name == "ResponderOfRaw"; });
    return all;
}

class KernelRefusalTest : public testing::TestWithParam<RefusalRow> {};

TEST_P(KernelRefusalTest, IsAsTheTableSays)
{
    MailboxDriver driver(GetParam().capabilities);
    run_row(GetParam(), driver);
}

INSTANTIATE_TEST_SUITE_P(Table, KernelRefusalTest, testing::ValuesIn(refused_commands()), row_name);

// ---- what a driver and its users do ----

struct KernelFirmwareTest : testing::Test {
    KernelFirmwareTest() { sender.probe(); }

    KernelFirmware kernel{options_of(default_capabilities())};
    CommandSender sender{[this](const Mailbox& command) { return kernel.answer(command).mailbox; }};
};

TEST_F(KernelFirmwareTest, IsThereBetweenEnableAndTeardown)
{
    EXPECT_EQ(kernel.firmware().presence(), DevicePresence::Present);
    const auto uid = sender.open_context();
    sender.make_element(uid, false);
    EXPECT_EQ(CommandSender::status(sender.send(CommandSender::command(prm::TeardownHca))), 0U);
    EXPECT_EQ(kernel.firmware().presence(), DevicePresence::Removed);
    EXPECT_EQ(CommandSender::status(sender.create_element(uid, false, 0)), 4U) << "bad system state";
    sender.probe();
    EXPECT_TRUE(kernel.firmware().elements().empty());
    EXPECT_EQ(CommandSender::status(sender.create_element(uid, false, 0)), 5U) << "contexts from before are gone";

    KernelFirmware unbound(options_of(default_capabilities()));
    EXPECT_NE(CommandSender::status(unbound.answer(CommandSender::command(prm::CreateUctx)).mailbox), 0U);
}

TEST_F(KernelFirmwareTest, AFailedDeviceRefusesUntilItIsEnabled)
{
    const auto uid = sender.open_context();
    const auto number = sender.make_queue_pair(uid);
    kernel.lose_everything();
    EXPECT_EQ(sender.about(prm::QueryQp, uid, number), 5U);
    EXPECT_EQ(CommandSender::status(sender.send(CommandSender::command(prm::CreateUctx))), 4U);
    EXPECT_EQ(kernel.files(), 0U);
    sender.probe();
    sender.make_queue_pair(sender.open_context());
}

TEST_F(KernelFirmwareTest, FilesAreUserContextsButTheDriversOwn)
{
    EXPECT_EQ(kernel.files(), 0U);
    const auto one = sender.open_context();
    const auto two = sender.open_context();
    EXPECT_NE(one, two);
    EXPECT_EQ(kernel.files(), 2U);
    const auto root = sender.make_element(one, false);
    kernel.firmware().set_isolation(Isolation::All);
    EXPECT_EQ(CommandSender::status(sender.create_element(two, true, root)), 5U) << "another's";
    sender.close_context(two);
    EXPECT_EQ(kernel.files(), 1U);
    EXPECT_EQ(kernel.leaked(), 0U);
    sender.close_context(one);
    EXPECT_EQ(kernel.leaked(), 1U) << "the kernel did not destroy it";
    Mailbox again = CommandSender::command(prm::DestroyUctx);
    set(again, prm::kUctxUid, one);
    EXPECT_EQ(CommandSender::status(sender.send(again)), 5U);
}

TEST_F(KernelFirmwareTest, IsolationConcernsLeavesOfOthers)
{
    const auto one = sender.open_context();
    const auto two = sender.open_context();
    const auto leaf = sender.make_element(one, true, sender.make_element(one, false));
    const auto number = sender.make_queue_pair(two);
    sender.bring_to_rts(two, number);
    EXPECT_EQ(sender.attach(two, number, leaf), 0U);
    Mailbox query = CommandSender::command(prm::QueryQp, two);
    set(query, prm::kQpn, number);
    set(query, prm::kQpcExt, 1);
    EXPECT_EQ(get(sender.send(query), prm::kQueueGroupRequester), leaf);
    EXPECT_EQ(sender.attach(two, number, 0), 0U);
    kernel.firmware().set_isolation(Isolation::All);
    EXPECT_EQ(sender.attach(two, number, leaf), 5U);
    EXPECT_EQ(kernel.firmware().queue_pair(number)->requester, kNoObject);
}

TEST_F(KernelFirmwareTest, WhatVerbsSetCanBeQueried)
{
    const auto uid = sender.open_context();
    const auto number = sender.make_queue_pair(uid, prm::qpc::kUnreliableConnection);
    const auto step = [&](prm::Opcode opcode, std::vector<std::pair<Field, std::uint64_t>> values, std::uint64_t mask) {
        Mailbox mailbox = CommandSender::command(opcode, uid, 272);
        set(mailbox, prm::kQpn, number);
        set(mailbox, prm::kOptParamMask, mask);
        for (const auto& [field, value] : values) {
            set(mailbox, at(prm::kQpc, field), value);
        }
        EXPECT_EQ(CommandSender::status(sender.send(mailbox)), 0U);
    };
    const auto queried = [&](Field field) {
        Mailbox mailbox = CommandSender::command(prm::QueryQp);
        set(mailbox, prm::kQpn, number);
        return get(sender.send(mailbox), at(prm::kQpc, field));
    };
    step(prm::Rst2Init, {{prm::qpc::kPkeyIndex, 3}, {prm::qpc::kPort, 1}, {prm::qpc::kRemoteWrite, 1}}, 0);
    EXPECT_EQ(queried(prm::qpc::kState), 1U);
    // The P_Key is the path's, but this command does not set it.
    step(prm::Init2Rtr,
         {{prm::qpc::kPkeyIndex, 9}, {prm::qpc::kPort, 1}, {prm::qpc::kRemoteQpn, 0x123}, {prm::qpc::kMtu, 5}}, 0);
    EXPECT_EQ(queried(prm::qpc::kPkeyIndex), 3U);
    EXPECT_EQ(queried(prm::qpc::kRemoteQpn), 0x123U);
    step(prm::Rtr2Rts, {{prm::qpc::kAckTimeout, 14}, {prm::qpc::kNextSendPsn, 0x1234}, {prm::qpc::kRemoteQpn, 7}}, 0);
    step(prm::Rts2Rts, {{prm::qpc::kRemoteWrite, 0}, {prm::qpc::kQkey, 5}}, 1U << 5);
    EXPECT_EQ(queried(prm::qpc::kState), 3U);
    EXPECT_EQ(queried(prm::qpc::kServiceType), prm::qpc::kUnreliableConnection);
    EXPECT_EQ(queried(prm::qpc::kAckTimeout), 14U);
    EXPECT_EQ(queried(prm::qpc::kNextSendPsn), 0x1234U);
    EXPECT_EQ(queried(prm::qpc::kRemoteQpn), 0x123U);
    EXPECT_EQ(queried(prm::qpc::kRemoteWrite), 1U) << "its bit was not in the mask";
    EXPECT_EQ(queried(prm::qpc::kQkey), 5U);
    EXPECT_EQ(sender.about(prm::Qp2Err, uid, number), 0U);
    EXPECT_EQ(queried(prm::qpc::kState), 6U);
    EXPECT_EQ(kernel.firmware().queue_pair(number)->state, QueuePairState::Error);
}

TEST_F(KernelFirmwareTest, TheKernelsOwnAreNotShown)
{
    constexpr std::uint64_t kGsi = 8;
    const auto number = sender.make_queue_pair(0, kGsi);
    EXPECT_TRUE(kernel.firmware().queue_pairs().empty());
    EXPECT_EQ(sender.about(prm::Rst2Init, 0, number), 0U);
    EXPECT_EQ(sender.about(prm::QueryQp, 0, number), 0U);
    EXPECT_EQ(sender.about(prm::DestroyQp, 0, number), 0U);
    EXPECT_EQ(sender.about(prm::QueryQp, 0, number), 5U);
    // Its send queues are somebody else's: no answer.
    EXPECT_TRUE(sender.send(CommandSender::command(prm::CreateSq, 0, 272)).empty());
    EXPECT_TRUE(sender.query_send_queue(0x1001).empty());
    EXPECT_FALSE(sender.query_send_queue(sender.make_send_queue(sender.open_context())).empty());
}

TEST_F(KernelFirmwareTest, ReceiveQueuesHaveStates)
{
    const auto uid = sender.open_context();
    const auto made = sender.send(CommandSender::command(prm::CreateRq, uid, 272));
    const auto number = static_cast<std::uint32_t>(get(made, prm::kSqn));
    Mailbox ready = sender.modify_send_queue(uid, number, 0, 1);
    set(ready, prm::kOpcode, prm::ModifyRq);
    EXPECT_EQ(CommandSender::status(sender.send(ready)), 0U);
    EXPECT_EQ(CommandSender::status(sender.send(ready)), 9U) << "bad resource state: it is ready";
    EXPECT_EQ(sender.about(prm::QuerySq, uid, number), 5U) << "no send queue";
    EXPECT_EQ(sender.about(prm::DestroyRq, uid, number), 0U);
}

TEST_F(KernelFirmwareTest, FaultsAreForProgramsNotForTheKernelsQueries)
{
    const auto uid = sender.open_context();
    const auto number = sender.make_queue_pair(uid);
    kernel.firmware().faults().fail(CommandKind::QueryQueuePair, 1);
    EXPECT_EQ(sender.about(prm::QueryQp, 0, number), 0U);
    EXPECT_EQ(sender.about(prm::QueryQp, uid, number), 1U);
    EXPECT_EQ(sender.about(prm::QueryQp, uid, number), 0U);
}

TEST_F(KernelFirmwareTest, NumbersCanBeOrdered)
{
    const auto uid = sender.open_context();
    EXPECT_TRUE(kernel.order_queue_pairs({17, 300}));
    EXPECT_FALSE(kernel.order_queue_pairs({17})) << "ordered already";
    EXPECT_FALSE(kernel.order_queue_pairs({1})) << "of the subnet manager";
    EXPECT_NE(sender.make_queue_pair(0), 17U) << "the kernel's own";
    EXPECT_EQ(sender.make_queue_pair(uid), 17U);
    EXPECT_EQ(sender.make_queue_pair(uid), 300U);
    EXPECT_FALSE(kernel.order_queue_pairs({300})) << "taken";
}

TEST_F(KernelFirmwareTest, ARowOfRatesIsNamedByIndex)
{
    const auto uid = sender.open_context();
    const auto number = sender.make_send_queue(uid);
    ASSERT_EQ(CommandSender::status(sender.send(sender.modify_send_queue(uid, number, 0, 1))), 0U);
    EXPECT_EQ(sender.pace(uid, number, RateLimit{Bandwidth::from_mbps(700), 4096, 256}), 0U);
    const auto rate = kernel.firmware().queue_pair(number)->rate;
    ASSERT_TRUE(rate);
    EXPECT_EQ(*rate, (RateLimit{Bandwidth::from_mbps(700), 4096, 256}));
    EXPECT_EQ(sender.pace(uid, number, std::nullopt), 0U);
    EXPECT_FALSE(kernel.firmware().queue_pair(number)->rate);
    Mailbox empty_row = sender.modify_send_queue(uid, number, 1, 1);
    set(empty_row, prm::kSqModifyBitmask, prm::kSqSelectRateLimit);
    set(empty_row, at(prm::kSqc, prm::kSqcRateLimitIndex), 9);
    EXPECT_EQ(CommandSender::status(sender.send(empty_row)), 3U);
}

TEST_F(KernelFirmwareTest, EveryOpcodeAnswersWhateverIsMissing)
{
    for (const auto opcode : KernelFirmware::opcodes()) {
        Mailbox short_one(2);
        set(short_one, prm::kOpcode, opcode);
        const auto answer = kernel.answer(short_one);
        EXPECT_TRUE(answer.mailbox.empty() || answer.mailbox.size() >= prm::kHeaderBytes) << std::hex << opcode;
    }
    EXPECT_EQ(CommandSender::status(kernel.answer({}).mailbox), 2U);
    EXPECT_EQ(CommandSender::status(sender.send(CommandSender::command(prm::QueryHcaCap))), 2U) << "not played here";
}

TEST_F(KernelFirmwareTest, SlowClosesAndCalls)
{
    const auto uid = sender.open_context();
    kernel.behaviour().close_milliseconds = 50;
    kernel.behaviour().call_microseconds = 1000;
    const auto before = std::chrono::steady_clock::now();
    sender.close_context(uid);
    EXPECT_GE(std::chrono::steady_clock::now() - before, 51ms);
}

}    // namespace
}    // namespace rdmaqos::test
