// One allocation of the daemon fails, and each in turn: whoever asked is answered as always.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/failing_new.h"

namespace rdmaqos::test {
namespace {

namespace names = bus::names;

using Refusal = std::optional<Error>;

Refusal refusal_of(const Result<std::vector<bus::Value>>& reply)
{
    return reply ? Refusal() : Refusal(reply.error());
}

Refusal call(bus::Client& client, const char* method, const std::vector<bus::Value>& arguments = {})
{
    return refusal_of(client.call(names::kRoot, names::kManager, method, arguments));
}

Refusal register_and_release(bus::Client& client)
{
    bus::Dict request;
    request.set("level", std::string("rpc"));
    request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_0", 300)});
    const auto session = register_session(client, request);
    return session ? refusal_of(client.call(session->path, names::kSession, "Release", {})) : Refusal(session.error());
}

Refusal explain(bus::Client& client)
{
    bus::Dict request;
    request.set("level", std::string("bulk"));
    return call(client, "Explain", {bus::Value(request)});
}

Refusal list_objects(bus::Client& client)
{
    const auto objects = client.managed_objects();
    return objects ? Refusal() : Refusal(objects.error());
}

struct Request {
    const char* name;
    std::function<Refusal(bus::Client&)> ask;
};

const std::vector<Request> kRequests{
    {"Register and Release", register_and_release},
    {"Explain", explain},
    {"GetManagedObjects", list_objects},
    {"Metrics", [](bus::Client& client) { return call(client, "Metrics"); }},
    {"Reload", [](bus::Client& client) { return call(client, "Reload"); }},
};

class FailingAllocation : public ::testing::Test {
protected:
    FailingAllocation()
    {
        dir.write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
        dir.write("devices.yaml", kTwoDevices);
        const std::string file = dir.path() / "failing";
        const UniqueFd fd(open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
        if (ftruncate(fd.get(), sizeof(FailingNew)) != 0) {
            throw std::runtime_error("ftruncate");
        }
        void* memory = mmap(nullptr, sizeof(FailingNew), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
        if (memory == MAP_FAILED) {
            throw std::runtime_error("mmap");
        }
        failing = new (memory) FailingNew;
        process.emplace(
            std::vector<std::string>{RDMAQOS_DAEMON, "--root", dir.path(), "--simulate", dir.path() / "devices.yaml"},
            std::vector<std::string>{"LD_PRELOAD=" RDMAQOS_FAILING_NEW_LIBRARY,
                                     fmt::format("{}={}", kFailingNewFile, file)},
            dir.path() / "log");
        if (!eventually([&] { return process->has_ended() || log().find("ready: ") != std::string::npos; }) ||
            process->has_ended()) {
            throw std::runtime_error("rdma-qosd does not become ready: " + log());
        }
        failing->process = process->pid();
    }
    ~FailingAllocation() override { munmap(failing, sizeof(FailingNew)); }

    [[nodiscard]] std::string log() const
    {
        std::ifstream file(dir.path() / "log");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // False: the request needs fewer allocations.
    bool fails_at(std::int64_t nth, const Request& request)
    {
        const std::uint64_t before = failing->failed;
        failing->left = nth;
        auto client = bus::Client::connect_direct(dir.path() / "run/rdma-qos/bus");
        EXPECT_TRUE(client) << to_string(client.error());
        if (client) {
            const Refusal refusal = request.ask(*client);
            EXPECT_FALSE(refusal) << to_string(*refusal);
        }
        failing->left = 0;
        return failing->failed != before;
    }

    TempDir dir;
    FailingNew* failing = nullptr;
    std::optional<Child> process;
};

TEST_F(FailingAllocation, IsNoticedByNobody)
{
    for (const Request& request : kRequests) {
        SCOPED_TRACE(request.name);
        // Each of the first ones, then fewer.
        std::int64_t nth = 1;
        std::size_t failed = 0;
        for (; fails_at(nth, request); nth += 1 + nth / 20) {
            ++failed;
            ASSERT_FALSE(HasFailure()) << "allocation " << nth << ":\n" << log();
        }
        std::cout << fmt::format("{}: {} of about {} allocations failed\n", request.name, failed, nth);
        EXPECT_GT(failed, 20U);
    }
    process->signal(SIGTERM);
    const auto status = process->wait();
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << log();
    EXPECT_NE(log().find("there is no memory"), std::string::npos);
}

}    // namespace
}    // namespace rdmaqos::test
