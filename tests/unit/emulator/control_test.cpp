#include "tools/emulator/control.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/uverbs_client.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;
using testing::HasSubstr;
using Json = nlohmann::json;

struct EmulatorControl : testing::Test {
    std::string ask(const std::vector<std::string>& words)
    {
        const auto answer = control(emulator.server(), words);
        return answer ? *answer : "refused: " + answer.error().message;
    }
    Json state() { return Json::parse(ask({"state", "--json"})); }

    EmulatorInProcess emulator;
    UverbsClient client{emulator.path()};
};

TEST_F(EmulatorControl, StateShowsElementsAndQueuePairs)
{
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id(), {kSchedulingShare | kSchedulingMaxRate, 7, 5000});
    const auto queue_pair = client.make_qp();
    emulator.firmware().set_queue_pair_state(queue_pair.number, QueuePairState::Rts);
    ASSERT_EQ(client.attach(queue_pair, leaf.id()).error, 0);
    const Json device = state().at("devices").at(0);
    EXPECT_EQ(device.at("name"), "mlx5_0");
    EXPECT_EQ(device.at("files"), 1);
    EXPECT_EQ(device.at("elements"), 2);
    EXPECT_EQ(device.at("tree").at(1).at("bw-share"), 7);
    EXPECT_EQ(device.at("tree").at(1).at("max-average-bw"), 5000);
    EXPECT_EQ(device.at("queue-pairs").at(0).at("requester"), leaf.id());
    EXPECT_THAT(ask({"state"}), HasSubstr("mlx5_0  uverbs0  1 open, 2 elements (1 leaves), 1 queue pairs"));
    const Json owner = Json::parse(ask({"resource", "qp"}));
    EXPECT_EQ(owner.at("qpn"), queue_pair.number);
    EXPECT_EQ(owner.at("pid"), getpid());
}

TEST_F(EmulatorControl, FaultsAreOrderedAndTakenBack)
{
    EXPECT_EQ(ask({"fail", "create", "2", "0x5"}), "");
    const auto root = client.make_element(false, 0);
    EXPECT_EQ(root.error, 0);
    const auto failed = client.make_element(true, root.id());
    EXPECT_EQ(failed.error, EREMOTEIO);
    EXPECT_EQ(failed.status(), 5U);
    EXPECT_EQ(ask({"fail", "any", "1", "errno-only", "times", "2"}), "");
    EXPECT_EQ(client.make_element(true, root.id()).error, EIO);
    EXPECT_EQ(client.make_element(true, root.id()).error, EIO);
    EXPECT_EQ(client.make_element(true, root.id()).error, 0);
    EXPECT_EQ(ask({"busy", "create", "9"}), "");
    EXPECT_EQ(client.make_element(true, root.id()).error, EBUSY);
    EXPECT_EQ(ask({"clear"}), "");
    EXPECT_EQ(client.make_element(true, root.id()).error, 0);
}

TEST_F(EmulatorControl, DriftAndLoss)
{
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id());
    const std::string id = std::to_string(leaf.id());
    EXPECT_EQ(ask({"drift", "mlx5_0", id, "9", "100"}), "");
    EXPECT_EQ(state().at("devices").at(0).at("tree").at(1).at("bw-share"), 9);
    EXPECT_EQ(ask({"lose", "mlx5_0", id}), "");
    auto query = UverbsClient::element_command(prm::QueryGeneralObject);
    set(query, prm::kObjectId, leaf.id());
    EXPECT_EQ(client.devx_query(leaf.handle, query).error, EREMOTEIO);
    EXPECT_EQ(ask({"lose", "mlx5_0", id}), "refused: mlx5_0 has no element " + id);
}

TEST_F(EmulatorControl, DevicesAndEvents)
{
    const UniqueFd events = client.open_events();
    const auto queue_pair = client.make_qp();
    EXPECT_EQ(ask({"qp-fatal", "mlx5_0", std::to_string(queue_pair.number)}), "");
    EXPECT_EQ(emulator.firmware().queue_pair(queue_pair.number)->state, QueuePairState::Error);
    EXPECT_EQ(ask({"event", "mlx5_0", "port-error"}), "");
    ib_uverbs_async_event_desc event[2]{};
    ASSERT_EQ(read(events.get(), event, sizeof(event)), static_cast<ssize_t>(sizeof(event)));
    EXPECT_EQ(event[0].element, 77U);
    EXPECT_EQ(event[1].event_type, static_cast<std::uint32_t>(AsyncEvent::PortError));
    EXPECT_EQ(ask({"unplug", "mlx5_0"}), "");
    EXPECT_EQ(state().at("devices").at(0).at("present"), false);
    EXPECT_EQ(ask({"plug", "mlx5_0"}), "");
    EXPECT_EQ(ask({"reset", "mlx5_0"}), "");
    EXPECT_EQ(state().at("devices").at(0).at("uverbs"), "uverbs3");
}

TEST_F(EmulatorControl, FirmwareChangesItsMind)
{
    UverbsClient guest(emulator.path());
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id());
    const auto queue_pair = guest.make_qp();
    emulator.firmware().set_queue_pair_state(queue_pair.number, QueuePairState::Rts);
    EXPECT_EQ(ask({"set", "queue-groups", "isolated"}), "");
    EXPECT_EQ(guest.attach(queue_pair, leaf.id()).error, EREMOTEIO);
    EXPECT_EQ(ask({"set", "queue-groups", "shared"}), "");
    EXPECT_EQ(guest.attach(queue_pair, leaf.id()).error, 0);
    EXPECT_EQ(client.devx_destroy(leaf.handle), EREMOTEIO);
    EXPECT_EQ(ask({"set", "busy-leaf", "released"}), "");
    EXPECT_EQ(client.devx_destroy(leaf.handle), 0);
    EXPECT_EQ(emulator.firmware().queue_pair(queue_pair.number)->requester, kNoObject);
}

TEST_F(EmulatorControl, Mistakes)
{
    const struct {
        std::vector<std::string> words;
        const char* says;
    } cases[] = {
        {{}, "what is to be done?"},
        {{"frobnicate"}, "`frobnicate` is not known"},
        {{"fail", "create"}, "usage: fail KIND NTH"},
        {{"fail", "birth", "1"}, "`birth` is no kind of command: create,"},
        {{"fail", "create", "soon"}, "`soon` is no number of a command"},
        {{"fail", "create", "1", "maybe"}, "`maybe` is no status byte"},
        {{"busy", "any", "1"}, "busy KIND TIMES"},
        {{"delay", "create", "-1"}, "`-1` is no number of milliseconds"},
        {{"set", "modify-lock", "loose"}, "modify-lock is exclusive or shared, not `loose`"},
        {{"set", "weather", "fine"}, "there is no setting `weather`"},
        {{"reset", "mlx5_7"}, "there is no device mlx5_7; there are: mlx5_0, mlx5_1"},
        {{"event", "mlx5_0", "rain"}, "there is no event `rain`"},
        {{"event", "mlx5_0", "port-error", "3"}, "mlx5_0 has ports 1 to 1"},
        {{"qp-fatal", "mlx5_0", "5"}, "mlx5_0 has no queue pair 5"},
        {{"resource", "cq"}, "there is: resource qp"},
    };
    for (const auto& [words, says] : cases) {
        EXPECT_THAT(ask(words), HasSubstr(says));
    }
}

TEST_F(EmulatorControl, TheTraceSaysWhatWasAsked)
{
    int text[2];
    int json[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, text), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, json), 0);
    const UniqueFd text_end(text[0]);
    const UniqueFd json_end(json[0]);
    emulator.server().trace().watch(UniqueFd(text[1]), false);
    emulator.server().trace().watch(UniqueFd(json[1]), true);
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id(), {kSchedulingShare, 7, 0});
    EXPECT_EQ(client.make_element(true, leaf.id()).error, EREMOTEIO);
    char buffer[4096];
    const auto length = read(text_end.get(), buffer, sizeof(buffer));
    const std::string lines(buffer, static_cast<std::size_t>(std::max<ssize_t>(0, length)));
    EXPECT_THAT(lines, HasSubstr("devx-object.create command=create-general-object element=tsar new-handle=0 id=1 -> ok"));
    EXPECT_THAT(lines, HasSubstr("parent=1 element=queue-group bw-share=7"));
    EXPECT_THAT(lines, HasSubstr("-> EREMOTEIO: element 2 is a leaf and cannot be a parent"));
    const auto json_length = read(json_end.get(), buffer, sizeof(buffer));
    std::istringstream all(std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(0, json_length))));
    std::string line;
    std::getline(all, line);
    const Json first = Json::parse(line);
    EXPECT_EQ(first.at("method"), "devx-object.create");
    EXPECT_EQ(first.at("pid"), getpid());
    EXPECT_EQ(first.at("fields").at("element"), "tsar");
    EXPECT_EQ(first.at("result"), "ok");
}

TEST(EmulatorControlSocket, WhoSaysNothingDoesNotKeepTheEmulator)
{
    UniqueFd silent(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto started = std::chrono::steady_clock::now();
    {
        const EmulatorInProcess emulator;
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (emulator.path() / "control.sock").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        ASSERT_EQ(connect(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
}

}    // namespace
}    // namespace rdmaqos::test
