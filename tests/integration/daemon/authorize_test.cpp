// Who may manage. Needs root to become somebody else.
#include <csignal>
#include <map>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/base/privileges.h"
#include "lib/bus/message.h"
#include "policy/model/identity.h"
#include "tests/support/contained.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
namespace names = bus::names;

constexpr uid_t kNobody = 65534;

// Of the values of a subject; a later one of the same type replaces the one before.
struct Subject {
    std::string kind;
    std::map<std::string, std::uint64_t> numbers;
    std::string name;
};

bool read_value(sd_bus_message* message, const std::string& key, const char* type, Subject& subject)
{
    std::uint64_t number = 0;
    const char* text = "";
    const bool is_text = std::string_view(type) == "s";
    void* into = is_text ? static_cast<void*>(&text) : &number;
    if (sd_bus_message_enter_container(message, 'v', type) <= 0 ||
        sd_bus_message_read_basic(message, *type, into) <= 0 || sd_bus_message_exit_container(message) <= 0) {
        return false;
    }
    if (is_text) {
        subject.name = text;
    } else {
        subject.numbers[key] = number;
    }
    return true;
}

std::optional<Subject> read_subject(sd_bus_message* message)
{
    Subject subject;
    const char* text = nullptr;
    if (sd_bus_message_enter_container(message, 'r', "sa{sv}") <= 0 || sd_bus_message_read(message, "s", &text) <= 0 ||
        sd_bus_message_enter_container(message, 'a', "{sv}") <= 0) {
        return std::nullopt;
    }
    subject.kind = text;
    while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
        const char* type = nullptr;
        char kind = 0;
        if (sd_bus_message_read(message, "s", &text) <= 0 || sd_bus_message_peek_type(message, &kind, &type) <= 0 ||
            !read_value(message, text, type, subject) || sd_bus_message_exit_container(message) <= 0) {
            return std::nullopt;
        }
    }
    const bool whole = sd_bus_message_exit_container(message) > 0 && sd_bus_message_exit_container(message) > 0;
    return whole ? std::optional(subject) : std::nullopt;
}

// The caller, as a client of the bus or as a process that runs, is this user's, who is not root.
bool is_understood(const Subject& subject)
{
    if (subject.kind == "system-bus-name") {
        return subject.name.starts_with(':');
    }
    const auto pid = static_cast<pid_t>(subject.numbers.contains("pid") ? subject.numbers.at("pid") : 0);
    const auto start_time = read_start_time("/proc", pid);
    return subject.kind == "unix-process" && start_time && *start_time == subject.numbers.at("start-time") &&
           subject.numbers.at("uid") == kNobody;
}

// What polkitd would be asked, answered: `reload` is allowed, `manage` needs a password, which is there if it may ask.
int on_check(sd_bus_message* message, void*, sd_bus_error*)
{
    const auto subject = read_subject(message);
    const char* action = nullptr;
    std::uint32_t flags = 0;
    if (!subject || sd_bus_message_read(message, "s", &action) <= 0 || sd_bus_message_skip(message, "a{ss}") <= 0 ||
        sd_bus_message_read(message, "u", &flags) <= 0) {
        return -EINVAL;
    }
    const bool understood = is_understood(*subject);
    const bool allowed = understood && (std::string_view(action) == "org.rdmaqos1.reload" || flags == 1);
    return sd_bus_reply_method_return(message, "(bba{ss})", allowed ? 1 : 0, understood ? 1 : 0, 0);
}

const sd_bus_vtable kPolkit[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", on_check, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

// A polkitd whose user never types a password. Writes a byte for each question, and for each that is cancelled.
int on_check_without_end(sd_bus_message*, void* userdata, sd_bus_error*)
{
    return write(*static_cast<int*>(userdata), "?", 1) == 1 ? 1 : -EIO;
}

int on_cancel(sd_bus_message* message, void* userdata, sd_bus_error*)
{
    const char* id = "";
    return sd_bus_message_read(message, "s", &id) > 0 && *id != 0 && write(*static_cast<int*>(userdata), "x", 1) == 1
               ? sd_bus_reply_method_return(message, nullptr)
               : -EIO;
}

const sd_bus_vtable kPatientPolkit[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", on_check_without_end,
                  SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("CancelCheckAuthorization", "s", "", on_cancel, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

// Serves until it is killed; closes `ready` when it has the name. `told`: one that tells, and never answers.
void be_polkit(const std::string& address, UniqueFd& ready, int told = -1)
{
    sd_bus* bus = nullptr;
    int result = sd_bus_new(&bus);
    if (result >= 0) {
        result = sd_bus_set_address(bus, address.c_str());
    }
    if (result >= 0) {
        result = sd_bus_set_bus_client(bus, 1);
    }
    if (result >= 0) {
        result = sd_bus_start(bus);
    }
    if (result >= 0) {
        result = sd_bus_add_object_vtable(bus, nullptr, "/org/freedesktop/PolicyKit1/Authority",
                                          "org.freedesktop.PolicyKit1.Authority", told < 0 ? kPolkit : kPatientPolkit,
                                          &told);
    }
    if (result >= 0) {
        result = sd_bus_request_name(bus, "org.freedesktop.PolicyKit1", 0);
    }
    ready.reset();
    while (result >= 0) {
        result = sd_bus_process(bus, nullptr);
        if (result == 0) {
            result = sd_bus_wait(bus, UINT64_MAX);
        }
    }
}

class Authorize : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root can become another user";
        }
        daemon = std::make_unique<Daemon>();
    }

    // The error's name and message of a call by somebody who is not root; "ok" if it went well.
    std::string as_nobody(bool by_bus, const std::string& method, const std::vector<bus::Value>& arguments)
    {
        return said_by_nobody(by_bus, [&](bus::Client& client) {
            const auto reply = client.call(names::kRoot, names::kManager, method, arguments);
            return reply ? "ok" : std::string(dbus_name(reply.error().code)) + " " + reply.error().message;
        });
    }

    // Until it goes out of scope.
    [[nodiscard]] std::unique_ptr<Child> start_polkit(int told = -1) const
    {
        int ends[2];
        if (pipe(ends) < 0) {
            throw std::runtime_error("pipe");
        }
        const UniqueFd reader(ends[0]);
        UniqueFd writer(ends[1]);
        auto polkit = std::make_unique<Child>([&] { be_polkit(daemon->bus_address(), writer, told); });
        writer.reset();
        char byte = 0;
        EXPECT_EQ(read(reader.get(), &byte, 1), 0) << "polkit is there";
        return polkit;
    }

    // What a process of somebody who is not root says.
    template <typename Say>
    std::string said_by_nobody(bool by_bus, Say say)
    {
        return said_by([] { return setgid(kNobody) == 0 && setuid(kNobody) == 0; }, by_bus, std::move(say));
    }

    // The same of a process that becomes somebody else first.
    template <typename Become, typename Say>
    std::string said_by(Become become, bool by_bus, Say say)
    {
        int ends[2];
        if (pipe(ends) < 0) {
            throw std::runtime_error("pipe");
        }
        const UniqueFd reader(ends[0]);
        UniqueFd writer(ends[1]);
        {
            Child child([&] {
                if (!become()) {
                    _exit(1);
                }
                std::string text;
                try {
                    auto client = daemon->by(by_bus);
                    text = say(client);
                } catch (const std::exception& error) {
                    text = error.what();
                }
                [[maybe_unused]] const auto written = write(writer.get(), text.data(), text.size());
            });
            child.wait();
        }
        writer.reset();
        std::string text(4096, '\0');
        const auto got = read(reader.get(), text.data(), text.size());
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }

    std::unique_ptr<Daemon> daemon;
};

// The host's files may be readable by root alone, and what a process runs is shown by the kernel to who may trace it.
TEST_F(Authorize, LinesOfFilesAndExecutablesAreShownToRootAlone)
{
    auto root = daemon->direct();
    const auto session = register_session(root, {});
    ASSERT_TRUE(session);
    daemon->dir().write("etc/rdma-qos/policy.yaml", "version: 1\nbogus: hidden\n");
    ASSERT_FALSE(root.call(names::kRoot, names::kManager, "Reload", {}));
    for (const bool by_bus : {false, true}) {
        const auto ask = [&](bus::Client& client) {
            const auto plan = client.call(names::kRoot, names::kManager, "Plan", {bus::Value(bus::Dict())});
            const auto manager = client.properties(names::kRoot, names::kManager);
            const auto of_session = client.properties(session->path, names::kSession);
            if (!plan || !manager || !of_session) {
                return std::string("no answer");
            }
            const auto* owner = of_session->find("Owner")->as<bus::Dict>();
            return fmt::format("{}\n{}\nexecutable: {}", diagnostics_of(*plan->front().as<bus::Dict>()),
                               diagnostics_of(*manager->find("LastReload")->as<bus::Dict>()),
                               text_of(*owner, "executable"));
        };
        auto mine = daemon->by(by_bus);
        const std::string to_root = ask(mine);
        const auto first = to_root.find("bogus: hidden");
        ASSERT_NE(first, std::string::npos) << to_root;
        EXPECT_NE(to_root.find("bogus: hidden", first + 1), std::string::npos) << "Plan and LastReload: " << to_root;
        EXPECT_NE(to_root.find("executable: /"), std::string::npos) << to_root;
        const std::string to_nobody = said_by_nobody(by_bus, ask);
        EXPECT_EQ(to_nobody.find("hidden"), std::string::npos) << to_nobody;
        EXPECT_NE(to_nobody.find("policy.yaml:2:1: error: unknown key"), std::string::npos) << to_nobody;
        EXPECT_TRUE(to_nobody.ends_with("executable: absent")) << to_nobody;
    }
}

TEST_F(Authorize, RootManagesOverEitherTransport)
{
    for (const bool by_bus : {false, true}) {
        auto client = daemon->by(by_bus);
        EXPECT_TRUE(client.call(names::kRoot, names::kManager, "Reload", {}));
        EXPECT_TRUE(client.call(names::kRoot, names::kManager, "VerifyAll", {}));
    }
}

// A trial as an ordinary user, below --root, is managed by that user.
TEST_F(Authorize, WhoeverRunsTheDaemonManagesIt)
{
    EXPECT_TRUE(is_administrator(getpid(), 0));
    EXPECT_FALSE(is_administrator(getpid(), kNobody)) << "root runs this";
    Child child([] {
        const bool changed = setgid(kNobody) == 0 && setuid(kNobody) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
        _exit(changed && is_administrator(getpid(), kNobody) && !is_administrator(getpid(), kNobody - 1) ? 0 : 1);
    });
    EXPECT_EQ(child.wait(), 0);
}

// More than the 8 that one user may have open.
TEST_F(Authorize, WhoHasLeftKeepsNobodyFromAskingPolkit)
{
    int told[2];
    ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
    const UniqueFd reader(told[0]);
    const UniqueFd writer(told[1]);
    const auto polkit = start_polkit(writer.get());
    const auto next_word = [&] {
        pollfd look{reader.get(), POLLIN, 0};
        char word = 0;
        return poll(&look, 1, static_cast<int>(std::chrono::milliseconds(kHung).count())) == 1 &&
                       read(reader.get(), &word, 1) == 1
                   ? word
                   : ' ';
    };
    for (int round = 0; round < 10; ++round) {
        Child asks([&] {
            if (setgid(kNobody) == 0 && setuid(kNobody) == 0) {
                auto client = daemon->direct();
                client.allow_interaction();
                (void)client.call(names::kRoot, names::kManager, "VerifyAll", {});
                _exit(write(writer.get(), "!", 1) == 1 ? 0 : 1);    // it was answered
            }
        });
        ASSERT_EQ(next_word(), '?') << round;
        asks.signal(SIGKILL);
        ASSERT_EQ(next_word(), 'x') << round;
    }
}

TEST_F(Authorize, NobodyIsToldTheMachinesId)
{
    for (const bool by_bus : {false, true}) {
        auto client = daemon->by(by_bus);
        const auto id = client.call(names::kRoot, "org.freedesktop.DBus.Peer", "GetMachineId", {});
        ASSERT_FALSE(id);
        EXPECT_NE(id.error().message.find("does not tell"), std::string::npos) << id.error().message;
    }
}

TEST_F(Authorize, AnErrorShowsNoControlCharacters)
{
    auto client = daemon->direct();
    const auto found = client.call(names::kRoot, names::kManager, "GetDevice",
                                   {bus::Value(std::string("a\x1b[2J\nb"))});
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("`a\\x1b[2J\\x0ab`"), std::string::npos) << found.error().message;
}

// polkit, which allows uid 0 everything, is not asked.
TEST_F(Authorize, TheRootOfAContainerIsAUser)
{
    const auto polkit = start_polkit();
    daemon->dir().write("etc/rdma-qos/policy.yaml", "version: 1\nbogus: hidden\n");
    for (const bool by_bus : {false, true}) {
        for (const auto& [method, arguments] : std::vector<std::pair<std::string, std::vector<bus::Value>>>{
                 {"Reload", {}}, {"Revert", {}}, {"DisableAll", {}}, {"EnableDevice", {bus::Value("mlx5_0")}}}) {
            const auto answer = said_by(become_contained_root, by_bus, [&](bus::Client& client) {
                const auto reply = client.call(names::kRoot, names::kManager, method, arguments);
                return reply ? "ok" : std::string(dbus_name(reply.error().code)) + " " + reply.error().message;
            });
            EXPECT_TRUE(answer.starts_with("org.freedesktop.DBus.Error.AccessDenied")) << method << ": " << answer;
            EXPECT_NE(answer.find("you are not the root of this host"), std::string::npos) << answer;
        }
        const std::string plan = said_by(become_contained_root, by_bus, [](bus::Client& client) {
            const auto reply = client.call(names::kRoot, names::kManager, "Plan", {bus::Value(bus::Dict())});
            return reply ? diagnostics_of(*reply->front().as<bus::Dict>()) : reply.error().message;
        });
        EXPECT_NE(plan.find("policy.yaml:2:1: error: unknown key"), std::string::npos) << plan;
        EXPECT_EQ(plan.find("hidden"), std::string::npos) << "lines of the host's files: " << plan;
        EXPECT_EQ(said_by(become_contained_root, by_bus,
                          [](bus::Client& client) { return register_session(client, {}) ? "ok" : "refused"; }),
                  "ok");
    }
}

TEST_F(Authorize, WithoutPolkitOnlyRootManages)
{
    for (const auto& [method, arguments] :
         std::vector<std::pair<std::string, std::vector<bus::Value>>>{{"Reload", {}},
                                                                      {"Refresh", {}},
                                                                      {"TriedText", {}},
                                                                      {"RunningFiles", {}},
                                                                      {"Confirm", {bus::Value("0123")}},
                                                                      {"Revert", {}},
                                                                      {"ReconcileAll", {}},
                                                                      {"VerifyAll", {}},
                                                                      {"DisableAll", {}},
                                                                      {"EnableAll", {}},
                                                                      {"EnableDevice", {bus::Value("mlx5_0")}}}) {
        for (const bool by_bus : {false, true}) {
            const auto answer = as_nobody(by_bus, method, arguments);
            EXPECT_TRUE(answer.starts_with("org.freedesktop.DBus.Error.AccessDenied")) << method << ": " << answer;
            EXPECT_NE(answer.find("without it only root"), std::string::npos) << answer;
        }
    }
}

TEST_F(Authorize, PolkitDecidesForOthers)
{
    const auto polkit = start_polkit();
    for (const bool by_bus : {false, true}) {
        EXPECT_EQ(as_nobody(by_bus, "Reload", {}), "ok");
        const auto trial = as_nobody(by_bus, "Revert", {});
        EXPECT_NE(trial.find("org.rdmaqos1.try"), std::string::npos) << "more than a reload: " << trial;
        const auto refused = as_nobody(by_bus, "VerifyAll", {});
        EXPECT_TRUE(refused.starts_with("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired")) << refused;
        EXPECT_NE(refused.find("needs authentication"), std::string::npos) << refused;
    }
}

TEST_F(Authorize, WhoLetsPolkitAskTheUserMayDoMore)
{
    const auto polkit = start_polkit();
    for (const bool by_bus : {false, true}) {
        EXPECT_EQ(said_by_nobody(by_bus,
                                 [](bus::Client& client) {
                                     client.allow_interaction();
                                     const auto reply = client.call(names::kRoot, names::kManager, "VerifyAll", {});
                                     return std::string(reply ? "ok" : reply.error().message);
                                 }),
                  "ok");
    }
}

TEST_F(Authorize, TheSocketIsForTheGroupOfTheSettings)
{
    auto root = daemon->direct();
    const auto let = [&](std::uint32_t group) {
        daemon->dir().write("etc/rdma-qos/rdma-qosd.yaml", fmt::format("version: 1\nsocket-group: {}\n", group));
        ASSERT_TRUE(root.call(names::kRoot, names::kManager, "Reload", {}));
    };
    let(kNobody - 1);
    const auto refused = as_nobody(false, "Register", {bus::Value(bus::Dict())});
    EXPECT_TRUE(refused.starts_with("only root and the group `65533` may use this socket")) << refused;
    EXPECT_EQ(as_nobody(true, "Register", {bus::Value(bus::Dict())}), "ok") << "on the system bus nothing is attached";
    EXPECT_TRUE(root.call(names::kRoot, names::kManager, "Explain", {bus::Value(bus::Dict())})) << "root may";
    const auto contained = said_by(become_contained_root, false, [](bus::Client& client) {
        return std::string(register_session(client, {}) ? "ok" : "refused");
    });
    EXPECT_TRUE(contained.starts_with("only root and the group `65533` may use this socket")) << contained;

    let(kNobody);
    EXPECT_EQ(as_nobody(false, "Register", {bus::Value(bus::Dict())}), "ok");
}

TEST_F(Authorize, EverybodyMayRegisterAndAsk)
{
    for (const bool by_bus : {false, true}) {
        EXPECT_EQ(as_nobody(by_bus, "Register", {bus::Value(bus::Dict())}), "ok");
        EXPECT_EQ(as_nobody(by_bus, "Explain", {bus::Value(bus::Dict())}), "ok");
    }
}

}    // namespace
}    // namespace rdmaqos::test
