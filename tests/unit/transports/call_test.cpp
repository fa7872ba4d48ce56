// Calls that are answered later, and those that an exception keeps from it.
#include <optional>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "daemon/bus/call.h"

namespace rdmaqos {
namespace {

class EndOfAPair final : public bus::Connection {
public:
    explicit EndOfAPair(UniqueFd socket) : Connection(bus::open_server_bus(std::move(socket)).value()) {}
    [[nodiscard]] bool is_ready() const override { return true; }
    void flush() override {}
    void close() override { open_ = false; }
};

class CallTest : public ::testing::Test {
protected:
    CallTest()
    {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
            throw std::runtime_error("socketpair");
        }
        server = std::make_shared<EndOfAPair>(UniqueFd(ends[0]));
        sd_bus* raw = nullptr;
        if (sd_bus_new(&raw) < 0 || sd_bus_set_fd(raw, ends[1], ends[1]) < 0 || sd_bus_start(raw) < 0 ||
            sd_bus_add_filter(server->bus(), nullptr, &on_message, this) < 0 ||
            sd_bus_call_method_async(raw, nullptr, nullptr, "/", "org.rdmaqos1.Test", "Test", &on_answer, this, "") <
                0) {
            throw std::runtime_error("sd_bus");
        }
        client.reset(raw);
        exchange([this] { return call.has_value(); });
    }

    template <typename Until>
    void exchange(const Until& until)
    {
        for (int rounds = 0; rounds < 1000 && !until(); ++rounds) {
            while (sd_bus_process(server->bus(), nullptr) > 0 || sd_bus_process(client.get(), nullptr) > 0) {
            }
        }
    }
    // The name of the error that the client got, or "reply"; nothing until one has come.
    std::optional<std::string> answer_after(const std::function<void()>& done)
    {
        done();
        exchange([this] { return answer.has_value(); });
        return answer;
    }

    static int on_message(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/)
    {
        auto& test = *static_cast<CallTest*>(userdata);
        test.call.emplace(message, test.server, test.counters);
        return 1;
    }
    static int on_answer(sd_bus_message* message, void* userdata, sd_bus_error* /*error*/)
    {
        auto& test = *static_cast<CallTest*>(userdata);
        EXPECT_EQ(test.answer, std::nullopt) << "a second answer";
        const sd_bus_error* error = sd_bus_message_get_error(message);
        test.answer = error == nullptr ? "reply" : error->name;
        return 1;
    }

    TransportCounters counters;
    std::shared_ptr<EndOfAPair> server;
    bus::BusPtr client;
    std::optional<Call> call;
    std::optional<std::string> answer;
};

TEST_F(CallTest, IsAnsweredOnce)
{
    EXPECT_EQ(answer_after([this] {
                  const Call copy = *call;
                  copy.reply();
                  copy.refuse({ErrorCode::Internal, 0, "too late"});
                  call.reset();
              }),
              "reply");
    exchange([] { return false; });
}

TEST_F(CallTest, IsRefusedWhenTheLastCopyGoes)
{
    std::optional<Call> copy = call;
    EXPECT_EQ(answer_after([this] { call.reset(); }), std::nullopt) << "the copy may answer yet";
    EXPECT_EQ(answer_after([&] { copy.reset(); }), "org.freedesktop.DBus.Error.Failed");
    EXPECT_EQ(counters.refusals.at(ErrorCode::Internal), 1U);
}

TEST_F(CallTest, IsNotAnsweredOnAConnectionThatHasEnded)
{
    server->close();
    EXPECT_EQ(answer_after([this] { call.reset(); }), std::nullopt);
    EXPECT_TRUE(counters.refusals.empty());
}

}    // namespace
}    // namespace rdmaqos
