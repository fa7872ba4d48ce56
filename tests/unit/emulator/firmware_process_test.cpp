// The firmware process, with a socket instead of the module's character device and a FIFO instead of its control file.
#include "tools/emulator/firmware_process.h"

#include <future>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/model/profile.h"
#include "tests/support/firmware_commands.h"
#include "tests/support/patience.h"
#include "tests/support/temp_dir.h"
#include "tools/emulator/control.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using namespace emulator;
using namespace mlx5;
using testing::HasSubstr;
using Json = nlohmann::json;

struct FirmwareProcessTest : testing::Test {
    FirmwareProcessTest()
    {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        module = UniqueFd(ends[0]);
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        EXPECT_EQ(mkfifo((dir.path() / "control").c_str(), 0600), 0);
        words = UniqueFd(open((dir.path() / "control").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
        std::vector<ModuleEnd> modules(1);
        modules[0].commands = UniqueFd(ends[1]);
        modules[0].options.control = dir.path() / "control";
        modules[0].options.description.name = "mlx5_7";
        modules[0].options.description.capabilities = default_capabilities();
        process = std::make_unique<FirmwareProcess>(dir.path(), std::move(modules), [this] { gone.set_value(); });
    }

    // As the module: gives a command.
    void give(const Mailbox& command, std::uint32_t slot, std::uint32_t out_bytes = 512)
    {
        const CommandHead head{slot, ++sequence, static_cast<std::uint32_t>(command.size()), out_bytes};
        Mailbox message(sizeof(head));
        std::memcpy(message.data(), &head, sizeof(head));
        message.insert(message.end(), command.begin(), command.end());
        ASSERT_EQ(send(module.get(), message.data(), message.size(), 0), static_cast<ssize_t>(message.size()));
    }
    // And takes an answer.
    std::pair<CommandHead, Mailbox> take()
    {
        pollfd ready{module.get(), POLLIN, 0};
        EXPECT_EQ(poll(&ready, 1, kHungMs), 1) << "no answer";
        Mailbox message(65536);
        const ssize_t length = recv(module.get(), message.data(), message.size(), MSG_DONTWAIT);
        CommandHead head;
        EXPECT_GE(length, static_cast<ssize_t>(sizeof(head)));
        std::memcpy(&head, message.data(), sizeof(head));
        return {head,
                Mailbox(message.begin() + sizeof(head), message.begin() + std::max<ssize_t>(length, sizeof(head)))};
    }
    // What the module was told.
    std::string told()
    {
        char text[8192];
        const ssize_t length = read(words.get(), text, sizeof(text));
        return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "";
    }
    std::string ask(const std::vector<std::string>& request)
    {
        const auto answer = control(*process, request);
        return answer ? *answer : "refused: " + answer.error().message;
    }
    Json device() { return Json::parse(ask({"state", "--json"})).at("devices").at(0); }

    TempDir dir;
    UniqueFd module;
    UniqueFd words;
    std::uint32_t sequence = 0;
    std::promise<void> gone;
    std::unique_ptr<FirmwareProcess> process;
    CommandSender sender{[this](const Mailbox& command) {
        give(command, 1);
        const auto [head, answer] = take();
        EXPECT_EQ(head.slot, 1U);
        EXPECT_EQ(head.sequence, sequence);
        return answer;
    }};
};

TEST_F(FirmwareProcessTest, AnswersAndShowsWhatItHolds)
{
    EXPECT_EQ(device().at("present"), false);
    sender.probe();
    const auto uid = sender.open_context();
    const auto root = sender.make_element(uid, false);
    const auto leaf = sender.make_element(uid, true, root);
    const auto number = sender.make_queue_pair(uid);
    sender.bring_to_rts(uid, number);
    EXPECT_EQ(sender.attach(uid, number, leaf), 0U);
    const Json now = device();
    EXPECT_EQ(now.at("name"), "mlx5_7");
    EXPECT_EQ(now.at("present"), true);
    EXPECT_EQ(now.at("files"), 1);
    EXPECT_EQ(now.at("elements"), 2);
    EXPECT_EQ(now.at("tree").at(1).at("queue-pairs"), 1);
    EXPECT_EQ(now.at("queue-pairs").at(0).at("qpn"), number);
    EXPECT_EQ(now.at("queue-pairs").at(0).at("requester"), leaf);
    EXPECT_FALSE(now.contains("objects")) << "the kernel's";
    EXPECT_THAT(ask({"state"}), HasSubstr("2 elements (1 leaves), 1 queue pairs"));
    EXPECT_EQ(process->internal_errors(), 0U);
}

TEST_F(FirmwareProcessTest, AnAnswerFitsTheOutbox)
{
    sender.probe();
    const auto number = sender.make_queue_pair(0);
    Mailbox query = CommandSender::command(prm::QueryQp);
    set(query, prm::kQpn, number);
    for (const std::uint32_t bytes : {8U, 16U, 272U, 4096U}) {
        give(query, 3, bytes);
        const auto [head, answer] = take();
        EXPECT_EQ(head.slot, 3U);
        EXPECT_EQ(answer.size(), bytes);
    }
    // One that is left to the module has none.
    give(CommandSender::command(prm::CreateSq, 0, 272), 3);
    EXPECT_TRUE(take().second.empty());
}

TEST_F(FirmwareProcessTest, ASlowCommandHoldsUpNoOther)
{
    sender.probe();
    const auto uid = sender.open_context();
    const auto root = sender.make_element(uid, false);
    EXPECT_EQ(ask({"delay", "destroy", "500"}), "");
    give(CommandSender::element_command(prm::DestroyGeneralObject, uid, root), 8);
    give(CommandSender::element_command(prm::QueryGeneralObject, uid, root), 9);
    EXPECT_EQ(take().first.slot, 9U);
    EXPECT_EQ(take().first.slot, 8U);
    EXPECT_EQ(device().at("elements"), 0);
}

TEST_F(FirmwareProcessTest, TheModuleIsTold)
{
    ASSERT_TRUE(process->kernel_devices().at(0)->take_over());
    const std::string delegated = told();
    EXPECT_THAT(delegated, HasSubstr("delegate 500 1\n"));
    EXPECT_THAT(delegated, HasSubstr("delegate a00 1\n"));
    EXPECT_EQ(std::count(delegated.begin(), delegated.end(), '\n'),
              static_cast<std::ptrdiff_t>(KernelFirmware::opcodes().size()));
    EXPECT_EQ(ask({"unplug", "mlx5_7"}), "");
    EXPECT_EQ(ask({"plug", "mlx5_7"}), "");
    EXPECT_EQ(told(), "unplug\nplug\n");
    EXPECT_EQ(ask({"event", "mlx5_7", "port-error"}), "");
    EXPECT_EQ(told(), "link down\n");
    EXPECT_EQ(ask({"link-speed", "mlx5_7", "40Gbps"}), "");
    EXPECT_EQ(told(), "speed 40\n");
    EXPECT_THAT(ask({"link-speed", "mlx5_7", "2500Mbps"}), HasSubstr("whole rates"));
    sender.probe();
    sender.make_element(sender.open_context(), false);
    EXPECT_EQ(ask({"reset", "mlx5_7"}), "");
    EXPECT_EQ(told(), "fatal\n");
    EXPECT_EQ(device().at("elements"), 0);
    EXPECT_EQ(device().at("present"), false);
}

TEST_F(FirmwareProcessTest, WhatOnlyTheKernelCanDoIsRefused)
{
    EXPECT_THAT(ask({"pkeys", "mlx5_7", "1", "0xffff"}), HasSubstr("refused: pkeys"));
    EXPECT_THAT(ask({"qp-fatal", "mlx5_7", "300"}), HasSubstr("refused: qp-fatal"));
    EXPECT_THAT(ask({"event", "mlx5_7", "device-fatal"}), HasSubstr("refused"));
    EXPECT_THAT(ask({"resource", "qp"}), HasSubstr("rdma resource show qp"));
    EXPECT_THAT(ask({"set", "modify-lock", "exclusive"}), HasSubstr("as the kernel has it"));
    EXPECT_EQ(ask({"set", "modify-lock", "shared"}), "");
    EXPECT_EQ(ask({"set", "mailbox-on-error", "yes"}), "");
    EXPECT_THAT(ask({"set", "mailbox-on-error", "no"}), HasSubstr("as the kernel has it"));
    EXPECT_EQ(ask({"set", "queue-groups", "isolated"}), "");
    EXPECT_EQ(process->kernel_devices().at(0)->firmware().options().isolation, Isolation::All);
    std::filesystem::remove(dir.path() / "control");
    EXPECT_THAT(ask({"plug", "mlx5_7"}), HasSubstr("is the module loaded?"));
}

TEST_F(FirmwareProcessTest, CtlReachesItByItsSocket)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (dir.path() / "control.sock").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string request = "[\"fail\",\"create\",\"1\"]\n";
    ASSERT_GT(send(client.get(), request.data(), request.size(), 0), 0);
    char answer[16] = {};
    EXPECT_EQ(recv(client.get(), answer, sizeof(answer), MSG_WAITALL), 2);
    EXPECT_STREQ(answer, "0\n");
    sender.probe();
    EXPECT_EQ(CommandSender::status(sender.create_element(sender.open_context(), false, 0)), 1U);
}

TEST(FirmwareProcess, SeveralModulesAreSeveralDevices)
{
    TempDir dir;
    std::vector<ModuleEnd> modules;
    std::vector<UniqueFd> ends;
    for (const char* name : {"mlx5_0", "mlx5_1"}) {
        int both[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both), 0);
        ends.emplace_back(both[0]);
        ModuleEnd& module = modules.emplace_back();
        module.commands = UniqueFd(both[1]);
        module.options.description.name = name;
        module.options.description.capabilities = default_capabilities();
    }
    FirmwareProcess process(dir.path(), std::move(modules), [] {});
    const Mailbox enable = CommandSender::command(prm::EnableHca);
    const CommandHead head{0, 1, static_cast<std::uint32_t>(enable.size()), 16};
    Mailbox message(sizeof(head));
    std::memcpy(message.data(), &head, sizeof(head));
    message.insert(message.end(), enable.begin(), enable.end());
    ASSERT_EQ(send(ends[1].get(), message.data(), message.size(), 0), static_cast<ssize_t>(message.size()));
    pollfd ready{ends[1].get(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, kHungMs), 1);
    const auto state = Json::parse(*control(process, {"state", "--json"})).at("devices");
    ASSERT_EQ(state.size(), 2U);
    EXPECT_EQ(state[0].at("name"), "mlx5_0");
    EXPECT_EQ(state[0].at("present"), false);
    EXPECT_EQ(state[1].at("name"), "mlx5_1");
    EXPECT_EQ(state[1].at("present"), true);
    EXPECT_EQ(process.calls(), 1U);
    // What is set holds for both.
    ASSERT_TRUE(control(process, {"set", "call-us", "7"}));
    for (const auto& device : process.kernel_devices()) {
        EXPECT_EQ(device->kernel_firmware().behaviour().call_microseconds, 7U);
    }
}

TEST_F(FirmwareProcessTest, ItSaysWhenTheModuleIsGone)
{
    module.reset();
    EXPECT_EQ(gone.get_future().wait_for(kHung), std::future_status::ready);
}

}    // namespace
}    // namespace rdmaqos::test
