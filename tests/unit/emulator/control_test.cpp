#include "tools/emulator/control.h"

#include <chrono>
#include <ctime>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/patience.h"
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

TEST_F(EmulatorControl, QueuePairsGetOrderedNumbers)
{
    EXPECT_EQ(ask({"next-qp", "mlx5_0", "17", "0x900"}), "");
    EXPECT_EQ(client.make_qp().number, 17U);
    const std::string refusal =
        "refused: mlx5_0 cannot number queue pairs so: a number has 24 bits, is 2 or more, and nobody "
        "has it";
    for (const char* number : {"1", "17", "0x900", "0x1000000"}) {
        EXPECT_EQ(ask({"next-qp", "mlx5_0", "18", number}), refusal) << number;
    }
    EXPECT_EQ(client.make_qp().number, 0x900U);
    EXPECT_GE(client.make_qp().number, 0x100U) << "again by itself, and 18 was not ordered";
    EXPECT_EQ(ask({"next-qp", "mlx5_0", "x"}), "refused: `x` is no queue pair number");
}

TEST_F(EmulatorControl, PortClasses)
{
    EXPECT_FALSE(state().at("devices").at(0).contains("port-classes")) << "as it is made";
    EXPECT_EQ(ask({"port-classes", "mlx5_0", "tc1=70", "tc2=30,1Gbps", "tc6=strict", "dscp26=1"}), "");
    const Json device = state().at("devices").at(0);
    EXPECT_EQ(device.at("port-classes"), Json({"tc1=70", "tc2=30,1000000kbps", "tc6=strict", "dscp26=1"}));
    EXPECT_THAT(ask({"state"}), HasSubstr("tc2=30,1000000kbps"));
    EXPECT_EQ(ask({"port-classes", "mlx5_0", "tc1=200"}), "refused: tc1=200: a weight is 0 to 100, or `strict`");
    EXPECT_EQ(state().at("devices").at(0), device) << "what is refused changes nothing";
    EXPECT_EQ(ask({"port-classes", "mlx5_0", "none"}), "");
    EXPECT_FALSE(state().at("devices").at(0).contains("port-classes"));
    EXPECT_THAT(ask({"port-classes", "mlx9_0", "none"}), HasSubstr("there is no device mlx9_0"));
}

TEST_F(EmulatorControl, AResetLosesPortClasses)
{
    for (const std::string how : {"reset", "unplug"}) {
        EXPECT_EQ(ask({"port-classes", "mlx5_0", "tc1=70", "tc2=30"}), "");
        EXPECT_TRUE(state().at("devices").at(0).contains("port-classes"));
        EXPECT_EQ(ask({how, "mlx5_0"}), "");
        EXPECT_EQ(ask({"plug", "mlx5_0"}), "");
        EXPECT_FALSE(state().at("devices").at(0).contains("port-classes")) << how;
    }
}

TEST_F(EmulatorControl, FaultsOfDcb)
{
    EXPECT_EQ(state().at("devices").at(0).at("dcb-writes"), 0);
    EXPECT_EQ(ask({"dcb-fault", "mlx5_0", "2", "refuse", "16", "times", "3"}), "");
    Device& device = *emulator.server().devices().front();
    EXPECT_EQ(device.count_dcb_write(), std::nullopt);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(device.count_dcb_write(), (DcbFault{DcbFaultKind::Refuse, 16}));
    }
    EXPECT_EQ(device.count_dcb_write(), std::nullopt);
    EXPECT_EQ(state().at("devices").at(0).at("dcb-writes"), 5);
    EXPECT_THAT(ask({"state"}), HasSubstr("    dcb-writes=5\n"));
    EXPECT_EQ(ask({"dcb-fault", "mlx5_0", "1", "kill-after"}), "");
    EXPECT_EQ(ask({"clear"}), "");
    EXPECT_EQ(device.count_dcb_write(), std::nullopt);
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
    EXPECT_EQ(state().at("devices").at(0).at("uverbs"), "uverbs0") << "the lowest that is free";
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
    EXPECT_EQ(client.devx_destroy(leaf.handle), EBUSY);
    EXPECT_EQ(ask({"set", "busy-leaf", "released"}), "");
    EXPECT_EQ(client.devx_destroy(leaf.handle), 0);
    EXPECT_EQ(emulator.firmware().queue_pair(queue_pair.number)->requester, kNoObject);
}

TEST_F(EmulatorControl, OneDeviceIsSlowAndTheOthersAreNot)
{
    std::vector<std::chrono::milliseconds> slept;    // of mlx5_0
    emulator.firmware().faults().set_sleeper([&](std::chrono::milliseconds time) { slept.push_back(time); });
    EXPECT_EQ(ask({"delay", "create", "200", "mlx5_1"}), "");
    static_cast<void>(client.make_element(false, 0));
    EXPECT_THAT(slept, testing::IsEmpty());
    EXPECT_EQ(ask({"delay", "create", "200", "mlx5_0"}), "");
    static_cast<void>(client.make_element(false, 0));
    EXPECT_THAT(slept, testing::ElementsAre(std::chrono::milliseconds(200)));
    EXPECT_EQ(ask({"clear"}), "");
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
        {{"delay", "create", "1", "mlx5_7"}, "there is no device mlx5_7; there are: mlx5_0, mlx5_1"},
        {{"set", "modify-lock", "loose"}, "modify-lock is exclusive or shared, not `loose`"},
        {{"set", "weather", "fine"}, "there is no setting `weather`"},
        {{"reset", "mlx5_7"}, "there is no device mlx5_7; there are: mlx5_0, mlx5_1"},
        {{"event", "mlx5_0", "rain"}, "there is no event `rain`"},
        {{"event", "mlx5_0", "port-error", "3"}, "mlx5_0 has ports 1 to 1"},
        {{"qp-fatal", "mlx5_0", "5"}, "mlx5_0 has no queue pair 5"},
        {{"dcb-fault", "mlx5_0", "0", "refuse"}, "with NTH from 1"},
        {{"dcb-fault", "mlx5_0", "1", "explode"}, "refuse|half|kill-before|kill-after|silent"},
        {{"dcb-fault", "mlx5_0", "1", "refuse", "128"}, "an errno here is 1 to 127, not 128"},
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
    EXPECT_EQ(ask({"mark", "here"}), "");
    char buffer[4096];
    const auto length = read(text_end.get(), buffer, sizeof(buffer));
    const std::string lines(buffer, static_cast<std::size_t>(std::max<ssize_t>(0, length)));
    EXPECT_THAT(lines,
                HasSubstr("devx-object.create command=create-general-object element=tsar new-handle=0 id=1 -> ok"));
    EXPECT_THAT(lines, HasSubstr("parent=1 element=queue-group bw-share=7"));
    EXPECT_THAT(lines, HasSubstr("-> EREMOTEIO: element 2 is a leaf and cannot be a parent"));
    EXPECT_THAT(lines, HasSubstr("Z mark text=here -> ok"));
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

// In microseconds since the epoch.
std::int64_t microseconds_of(const std::string& time)
{
    std::tm parts{};
    int fraction = 0;
    const char* rest = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S.", &parts);
    if (rest == nullptr || std::sscanf(rest, "%6dZ", &fraction) != 1) {
        return -1;
    }
    return timegm(&parts) * 1'000'000 + fraction;
}

TEST_F(EmulatorControl, TheTraceSaysWhenAndWhatALastCloseDestroyed)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const UniqueFd end(ends[0]);
    emulator.server().trace().watch(UniqueFd(ends[1]), true);
    emulator.server().behaviour().close_milliseconds = 30;
    const auto now = [](auto clock) {
        return std::chrono::duration<double>(decltype(clock)::now().time_since_epoch()).count();
    };
    const double before = now(std::chrono::steady_clock());
    double last_day = now(std::chrono::system_clock()) - 1e-6;    // lines have microseconds
    (void)client.make_element(true, client.make_element(false, 0).id());
    (void)client.make_qp();
    UverbsClient copy = client.again();
    copy.close_and_wait();
    client.close_and_wait();
    const double after = now(std::chrono::steady_clock());
    const double day_after = now(std::chrono::system_clock());
    char buffer[8192];
    const auto length = read(end.get(), buffer, sizeof(buffer));
    std::istringstream all(std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(0, length))));
    std::vector<Json> lines;
    for (std::string line; std::getline(all, line);) {
        lines.push_back(Json::parse(line));
    }
    ASSERT_EQ(lines.size(), 6U) << "two elements, what a queue pair needs, itself, one close";
    double last = before;
    for (const auto& line : lines) {
        EXPECT_GE(line.at("monotonic"), last);
        last = line.at("monotonic");
        const double day = static_cast<double>(microseconds_of(line.at("time"))) / 1e6;
        EXPECT_GE(day, last_day);
        last_day = day;
    }
    EXPECT_LE(last, after);
    EXPECT_LE(last_day, day_after);
    const Json& close = lines.back();
    EXPECT_EQ(close.at("method"), "last-close");
    EXPECT_EQ(close.at("device"), "mlx5_0");
    EXPECT_EQ(close.at("pid"), getpid());
    EXPECT_GE(close.at("microseconds"), 30'000);
    EXPECT_EQ(close.at("fields"), (Json{{"objects", 5},
                                        {"protection-domain", 1},
                                        {"completion-queue", 1},
                                        {"queue-pair", 1},
                                        {"devx-object", 2},
                                        {"leaked", 0}}));
}

TEST(EmulatorTrace, ALineOfText)
{
    CallRecord record;
    record.device = "mlx5_0";
    record.file = 3;
    record.caller.pid = 4711;
    record.method = "last-close";
    record.notes = {{"objects", std::int64_t{7}}};
    record.time = std::chrono::system_clock::time_point(std::chrono::microseconds(1'000'000'000'000'042));
    record.microseconds = 41;
    EXPECT_EQ(to_text(record), "2001-09-09T01:46:40.000042Z mlx5_0 file 3 pid 4711 last-close objects=7 -> ok, 41 us");
    record.caller.thread = 4712;
    EXPECT_THAT(to_text(record), HasSubstr("pid 4711/4712 "));
}

TEST(EmulatorControlSocket, WhoSaysNothingDoesNotKeepTheEmulator)
{
    UniqueFd silent(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    {
        const EmulatorInProcess emulator;
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (emulator.path() / "control.sock").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        ASSERT_EQ(connect(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        std::this_thread::sleep_for(kMoment);
    }    // ends
}

}    // namespace
}    // namespace rdmaqos::test
