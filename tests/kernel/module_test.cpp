// What module/ promises to the tests that build on it: delegation to a process, and faults on request.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/nic_mlx5/commands.h"
#include "lib/nic_mlx5/uverbs.h"
#include "tests/emulator/clients/world.h"
#include "tests/kernel/firmware.h"
#include "tests/kernel/module/fake_mlx5_abi.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAllocatePd = "800";
constexpr const char* kCreateElement = "a00";
constexpr const char* kDestroyElement = "a03";
constexpr const char* kCreateUserContext = "a04";

// A context for raw commands.
class World {
public:
    World()
    {
        if (!open_world(&world_)) {
            throw std::runtime_error("no world");
        }
    }
    ~World() { close_world(&world_); }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    [[nodiscard]] int fd() const { return world_.context->cmd_fd; }
    [[nodiscard]] mlx5::Answer<mlx5::Created> create_root() const
    {
        return mlx5::devx_create(fd(), mlx5::create_element(ElementKind::Node, mlx5::kNoObject, {}));
    }

    [[nodiscard]] bool allocates_pd() const
    {
        ibv_pd* domain = ibv_alloc_pd(world_.context);
        return domain != nullptr && ibv_dealloc_pd(domain) == 0;
    }

private:
    world world_{};
};

// The process that answers delegated commands.
class Delegate {
public:
    struct Asked {
        fake_mlx5_ask head{};
        std::vector<std::uint8_t> inbox;
    };

    Delegate() : file_(open(FAKE_MLX5_DEVICE, O_RDWR | O_CLOEXEC)) { EXPECT_TRUE(file_); }

    [[nodiscard]] Asked next() const
    {
        std::vector<std::uint8_t> buffer(sizeof(fake_mlx5_ask) + FAKE_MLX5_MAX_MAILBOX);
        const auto length = read(file_.get(), buffer.data(), buffer.size());
        Asked asked;
        EXPECT_GE(length, static_cast<ssize_t>(sizeof(asked.head)));
        std::memcpy(&asked.head, buffer.data(), sizeof(asked.head));
        asked.inbox.assign(buffer.begin() + sizeof(asked.head), buffer.begin() + length);
        return asked;
    }
    [[nodiscard]] bool answer(const Asked& asked, const std::vector<std::uint8_t>& outbox) const
    {
        std::vector<std::uint8_t> buffer(sizeof(asked.head) + outbox.size());
        std::memcpy(buffer.data(), &asked.head, sizeof(asked.head));
        std::copy(outbox.begin(), outbox.end(), buffer.begin() + sizeof(asked.head));
        return write(file_.get(), buffer.data(), buffer.size()) == static_cast<ssize_t>(buffer.size());
    }
    void close() { file_.reset(); }

private:
    UniqueFd file_;
};

void delegate(const char* opcode)
{
    tell_firmware(std::string("delegate ") + opcode + " 1");
}

using Outbox = std::vector<std::uint8_t>;
const Outbox kDone(16);

TEST(KernelModule, AProcessAnswersForTheFirmware)
{
    const LoadedNic nic;
    const World world;
    const Delegate process;
    delegate(kCreateElement);
    delegate(kDestroyElement);
    const Outbox refusal{0x05, 0, 0, 0, 0x00, 0xc0, 0xff, 0xee, 0, 0, 0, 0, 0, 0, 0, 0};
    const Outbox element{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 0};
    std::vector<unsigned> opcodes;
    std::thread firmware([&] {
        for (const auto& outbox : {refusal, element, kDone}) {
            const auto asked = process.next();
            EXPECT_EQ(asked.inbox.size(), asked.head.inlen);
            opcodes.push_back(static_cast<unsigned>(asked.inbox.at(0)) << 8 | asked.inbox.at(1));
            EXPECT_TRUE(process.answer(asked, outbox));
            EXPECT_FALSE(process.answer(asked, outbox)) << "nobody waits for it any more";
        }
    });
    const auto refused = world.create_root();
    const auto created = world.create_root();
    const auto destroyed = mlx5::devx_destroy(world.fd(), created ? created->handle : 0);
    firmware.join();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().status, 0x05);
    EXPECT_EQ(refused.error().syndrome, 0xc0ffeeU);
    ASSERT_TRUE(created.has_value()) << mlx5::to_string(created.error());
    EXPECT_EQ(created->id, 0x1234U);
    EXPECT_TRUE(destroyed.has_value());
    EXPECT_EQ(opcodes, (std::vector<unsigned>{0xa00, 0xa00, 0xa03}));
}

TEST(KernelModule, ACommandThatTheProcessReturnsIsTheModules)
{
    const LoadedNic nic;
    const World world;
    const Delegate process;
    delegate(kAllocatePd);
    std::thread firmware([&] { EXPECT_TRUE(process.answer(process.next(), {})); });
    EXPECT_TRUE(world.allocates_pd());
    firmware.join();
}

TEST(KernelModule, CommandsOfAProcessThatEndsFail)
{
    const LoadedNic nic;
    const World world;
    Delegate process;
    delegate(kCreateElement);
    delegate(kAllocatePd);
    std::thread firmware([&] {
        static_cast<void>(process.next());
        process.close();
    });
    const auto failed = world.create_root();
    firmware.join();
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().status, 0x01) << "internal error";
    EXPECT_TRUE(world.allocates_pd()) << "the module answers itself again";
    EXPECT_EQ(world.create_root().error().status, 0x02) << "but has no elements: bad opcode";
}

TEST(KernelModule, AProcessIsThereBeforeTheFunction)
{
    const LoadedNic nic("plugged=0");
    const Delegate process;
    EXPECT_FALSE(nic_is_present());
    delegate(kCreateUserContext);
    std::thread firmware([&] {
        const auto asked = process.next();
        Outbox outbox(16);
        outbox[11] = 0x77;    // the number of the user context
        EXPECT_TRUE(process.answer(asked, outbox));
        tell_firmware(std::string("delegate ") + kCreateUserContext + " 0");
    });
    tell_firmware("plug");
    EXPECT_TRUE(wait_for_nic(true));
    firmware.join();
}

TEST(KernelModule, ACommandFailsOrTakesLongOnRequest)
{
    const LoadedNic nic;
    const World world;
    tell_firmware("fail a00 8 abc123 1");
    const auto failed = world.create_root();
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error(), (mlx5::Failure{EREMOTEIO, 0x08, 0xabc123}));
    tell_firmware("delay 800 300");
    const auto started = std::chrono::steady_clock::now();
    EXPECT_TRUE(world.allocates_pd());
    EXPECT_GE(std::chrono::steady_clock::now() - started, 300ms);
}

}    // namespace
}    // namespace rdmaqos::test
