// A driver that has gone mad: any bytes as a command, in any order, to the firmware of a kernel's device. Each gets an
// answer with a status, or none because it is the module's; and nothing is left when the driver is gone.
#include <algorithm>

#include <gtest/gtest.h>

#include "lib/model/profile.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/support/firmware_commands.h"
#include "tools/emulator/kernel_firmware.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;

constexpr std::size_t kCommandBytes = 464;

// A command of 464 bytes after the other; the first two bytes choose an opcode if they are none that is played.
void run_all(KernelFirmware& kernel, const std::string& text)
{
    const auto opcodes = KernelFirmware::opcodes();
    for (std::size_t from = 0; from < text.size(); from += kCommandBytes) {
        const std::string part = text.substr(from, kCommandBytes);
        Mailbox command(part.begin(), part.end());
        const auto opcode = get(command, prm::kOpcode);
        if (std::find(opcodes.begin(), opcodes.end(), opcode) == opcodes.end() && opcode % 8 != 0) {
            set(command, prm::kOpcode, opcodes[opcode % opcodes.size()]);
        }
        const FirmwareAnswer answer = kernel.answer(command);
        const auto played = get(command, prm::kOpcode);
        const bool of_send_queue = played >= prm::CreateSq && played <= prm::QuerySq;
        ASSERT_TRUE(answer.mailbox.size() >= prm::kHeaderBytes || (answer.mailbox.empty() && of_send_queue));
        ASSERT_EQ(answer.refusal.has_value(), get(answer.mailbox, prm::kStatus) != 0);
        ASSERT_LE(get(answer.mailbox, prm::kStatus), 0x10U);
    }
}

TEST(Fuzz, KernelCommands)
{
    FirmwareOptions options;
    options.capabilities = default_capabilities();
    options.implicit_queue_pairs = false;
    // What a driver and a program do, to begin with: everything that is played, by the context that it makes.
    std::string life;
    const auto add = [&life](Mailbox command) {
        command.resize(kCommandBytes);
        life.append(command.begin(), command.end());
    };
    KernelFirmware recorded(options);
    const CommandSender sender([&](const Mailbox& command) {
        add(command);
        return recorded.answer(command).mailbox;
    });
    sender.probe();
    const auto uid = sender.open_context();
    const auto leaf = sender.make_element(uid, true, sender.make_element(uid, false));
    const auto pair = sender.make_queue_pair(uid);
    sender.bring_to_rts(uid, pair);
    ASSERT_EQ(sender.attach(uid, pair, leaf), 0U);
    const auto queue = sender.make_send_queue(uid);
    ASSERT_EQ(CommandSender::status(sender.send(sender.modify_send_queue(uid, queue, 0, 1))), 0U);
    ASSERT_EQ(sender.attach_send_queue(uid, queue, leaf), 0U);
    ASSERT_EQ(sender.pace(uid, queue, RateLimit{Bandwidth::from_mbps(100), {}, {}}), 0U);
    ASSERT_EQ(sender.about(prm::QueryQp, uid, pair), 0U);
    std::string every;
    for (const auto opcode : KernelFirmware::opcodes()) {
        Mailbox command = CommandSender::command(static_cast<prm::Opcode>(opcode), uid, kCommandBytes);
        every.append(command.begin(), command.end());
    }
    fuzz("kernel-commands", {life, every, life + every}, [&](const std::string& text) {
        KernelFirmware kernel(options);
        run_all(kernel, text);
        (void)kernel.answer(CommandSender::command(prm::TeardownHca));
        ASSERT_EQ(kernel.firmware().usage(), FirmwareUsage{});
        ASSERT_TRUE(kernel.firmware().queue_pairs().empty());
        ASSERT_EQ(kernel.files(), 0U);
    });
}

}    // namespace
}    // namespace rdmaqos::test
