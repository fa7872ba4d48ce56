// Calls of a program that has gone mad: any object, method and attributes, with commands that are nearly right. The
// emulator answers each with an errno, makes no mistake of its own, and holds nothing when the program is gone.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "tests/fuzz/support/mutator.h"
#include "tests/support/patience.h"
#include "tests/support/uverbs_client.h"
#include "tools/emulator/control.h"
#include "tools/emulator/netlink.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;

// Takes bytes off a text; zeroes when it is used up.
class Bytes {
public:
    explicit Bytes(const std::string& text) : text_(text) {}
    [[nodiscard]] bool empty() const { return at_ >= text_.size(); }
    std::uint8_t byte() { return empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(text_[at_++]); }
    std::uint64_t number(std::size_t width)
    {
        std::uint64_t value = 0;
        for (std::size_t each = 0; each < width; ++each) {
            value = value << 8 | byte();
        }
        return value;
    }

private:
    const std::string& text_;
    std::size_t at_ = 0;
};

constexpr std::array<std::uint16_t, 14> kObjects = {UVERBS_OBJECT_DEVICE,     UVERBS_OBJECT_PD,
                                                    UVERBS_OBJECT_CQ,         UVERBS_OBJECT_QP,
                                                    UVERBS_OBJECT_SRQ,        UVERBS_OBJECT_AH,
                                                    UVERBS_OBJECT_MR,         UVERBS_OBJECT_ASYNC_EVENT,
                                                    MLX5_IB_OBJECT_DEVX,      MLX5_IB_OBJECT_DEVX_OBJ,
                                                    MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_OBJECT_UAR,
                                                    UVERBS_OBJECT_FLOW,       0x4242};

// One call: object, method, number of attributes; of each id, kind and value. Pointers point into `memory`, or nowhere.
void call_once(Bytes& bytes, UverbsClient& client, std::array<std::uint8_t, 4096>& memory)
{
    const std::uint16_t object = kObjects.at(bytes.byte() % kObjects.size());
    const std::uint8_t method = bytes.byte();
    Ioctl ioctl(object, static_cast<std::uint16_t>((method & 0x80U) != 0 ? 0x1000U | (method & 7U) : method & 7U));
    for (int count = bytes.byte() % 16; count > 0; --count) {
        const std::uint8_t id = bytes.byte();
        const auto attribute = static_cast<std::uint16_t>((id & 0x80U) != 0 ? 0x1000U | (id & 7U) : id & 15U);
        const std::size_t size = bytes.number(2) % 600;
        auto* place = memory.data() + bytes.number(2) % (memory.size() - 600);
        switch (bytes.byte() % 5) {
        case 0:
            ioctl.handle(attribute, static_cast<std::uint32_t>(bytes.byte() % 8));
            break;
        case 1:
            ioctl.in(attribute, bytes.number(8));
            break;
        case 2:
            for (std::size_t each = 0; each < std::min<std::size_t>(size, 64); ++each) {
                place[each] = bytes.byte();
            }
            ioctl.in(attribute, place, size);
            break;
        case 3:
            ioctl.out(attribute, place, size);
            break;
        default:
            ioctl.out(attribute, reinterpret_cast<void*>(std::uintptr_t{8}), size);
            break;
        }
    }
    const int error = ioctl.run(client.fd());
    ASSERT_GE(error, 0);
    ASSERT_LT(error, 200);
}

bool becomes_empty(EmulatorInProcess& emulator)
{
    return eventually([&] { return emulator.device().files().empty(); }) &&
           emulator.firmware().usage() == FirmwareUsage{} && emulator.firmware().queue_pairs().empty();
}

TEST(Fuzz, Calls)
{
    EmulatorInProcess emulator;
    std::array<std::uint8_t, 4096> memory{};
    // Objects, methods and attributes in many mixtures to begin with.
    std::vector<std::string> seeds;
    for (unsigned object = 0; object < kObjects.size(); ++object) {
        std::string seed;
        for (unsigned at = 0; at < 400; ++at) {
            seed.push_back(static_cast<char>(at % 50 == 0 ? object : (at * 37 + object * 11) % 256));
        }
        seeds.push_back(seed);
    }
    fuzz("calls", seeds, [&](const std::string& text) {
        UverbsClient client(emulator.path());
        (void)client.make_qp();
        Bytes bytes(text);
        for (int calls = 0; calls < 50 && !bytes.empty(); ++calls) {
            call_once(bytes, client, memory);
        }
        client.close();
        ASSERT_EQ(emulator.server().internal_errors(), 0U);
        ASSERT_TRUE(becomes_empty(emulator));
    });
}

// Mailboxes that are nearly right, to objects that exist.
TEST(Fuzz, Commands)
{
    EmulatorInProcess emulator;
    const auto text_of = [](const Mailbox& mailbox) { return std::string(mailbox.begin(), mailbox.end()); };
    std::vector<std::string> seeds;
    for (const auto opcode : {prm::CreateGeneralObject, prm::ModifyGeneralObject, prm::QueryGeneralObject,
                              prm::CreateSchedulingElement, prm::ModifySchedulingElement, prm::QuerySchedulingElement,
                              prm::CreateQp, prm::Rts2Rts, prm::Init2Init, prm::QueryQp, prm::ModifySq}) {
        auto command = UverbsClient::element_command(opcode, {3, 7, 1000});
        set(command, at(prm::kObjectCommands.element, prm::element::kParent), 1);
        command.resize(464);
        seeds.push_back(text_of(command));
    }
    fuzz("commands", seeds, [&](const std::string& text) {
        UverbsClient client(emulator.path());
        const auto root = client.make_element(false, 0);
        const auto leaf = client.make_element(true, root.id());
        const auto queue_pair = client.make_qp();
        emulator.firmware().set_queue_pair_state(queue_pair.number, QueuePairState::Rts);
        Mailbox command(text.begin(), text.end());
        command.resize(std::clamp<std::size_t>(command.size(), 16, 4000));
        (void)client.devx_create(command);
        set(command, prm::kObjectId, leaf.id());
        for (const std::uint32_t handle : {leaf.handle, queue_pair.handle}) {
            (void)client.devx_modify(handle, command);
            (void)client.devx_query(handle, command);
            set(command, prm::kQpn, queue_pair.number);
        }
        client.close();
        ASSERT_EQ(emulator.server().internal_errors(), 0U);
        ASSERT_TRUE(becomes_empty(emulator));
        ASSERT_EQ(emulator.device().leaked(), 0U);
    });
}

TEST(Fuzz, NetlinkAndControl)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    (void)client.make_qp();
    std::string request(
        "\x18\x00\x00\x00\x0a\x14\x01\x03\x07\x00\x00\x00\x00\x00\x00\x00\x08\x00\x01\x00\x00\x00\x00\x00", 24);
    const std::vector<std::string> seeds = {request,
                                            "fail create 1 0x5 errno-only times 3",
                                            "set modify-lock exclusive",
                                            "delay any 0",
                                            "drift mlx5_0 1 2 3",
                                            "lose mlx5_0 1",
                                            "event mlx5_0 port-error 1",
                                            "qp-fatal mlx5_0 256",
                                            "state --json"};
    fuzz("netlink-and-control", seeds, [&](const std::string& text) {
        (void)netlink_answer({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                             emulator.server().devices());
        std::vector<std::string> words;
        std::istringstream in(text);
        for (std::string word; in >> word;) {
            words.push_back(word);
        }
        if (words.empty() || words.front() != "delay") {    // it may wait as long as it is told
            const auto answer = control(emulator.server(), words);
            ASSERT_TRUE(answer || !answer.error().message.empty());
        }
    });
}

}    // namespace
}    // namespace rdmaqos::test
