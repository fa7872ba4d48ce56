// The table of refusals through the ioctl: the same rules as the model's, as a program meets them.
#include <map>

#include <gtest/gtest.h>

#include "tests/support/refusals.h"
#include "tests/support/uverbs_client.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;

class UverbsDriver final : public RefusalDriver {
public:
    explicit UverbsDriver(const Capabilities& capabilities) : emulator_(capabilities) {}

    Verdict take(const Step& step) override
    {
        return std::visit([this](const auto& concrete) { return take_one(concrete); }, step);
    }

private:
    struct Known {
        std::uint32_t handle = 0;
        std::uint32_t id = 0;
    };

    // With a mailbox the errno of the ioctl says nothing; without one, only that it failed.
    static Verdict verdict(const DevxAnswer& answer)
    {
        Verdict result;
        result.refused = answer.error != 0;
        if (answer.error == EREMOTEIO) {
            result.status = static_cast<FirmwareStatus>(answer.status());
        }
        return result;
    }

    Verdict take_one(const Create& step)
    {
        const std::uint32_t parent = step.parent.empty() ? 0 : known_.at(step.parent).id;
        const DevxAnswer answer = client_.make_element(step.kind == ElementKind::Leaf, parent,
                                                       {step.flags, step.share, step.max_rate_mbps});
        if (answer.error == 0) {
            known_[step.name] = {answer.handle, answer.id()};
        }
        return verdict(answer);
    }
    Verdict take_one(const Modify& step)
    {
        auto command = UverbsClient::element_command(prm::ModifyGeneralObject,
                                                     {step.flags, step.share, step.max_rate_mbps});
        set(command, prm::kObjectId, known_.at(step.name).id);
        return verdict(client_.devx_modify(known_.at(step.name).handle, command));
    }
    Verdict take_one(const Expect& step)
    {
        auto command = UverbsClient::element_command(prm::QueryGeneralObject);
        set(command, prm::kObjectId, known_.at(step.name).id);
        const DevxAnswer answer = client_.devx_query(known_.at(step.name).handle, command);
        Verdict result = verdict(answer);
        result.refused = result.refused ||
                         get(answer.mailbox, at(prm::kObjectCommands.element, prm::element::kBwShare)) != step.share ||
                         get(answer.mailbox, at(prm::kObjectCommands.element, prm::element::kMaxAverageBw)) !=
                             step.max_rate_mbps;
        return result;
    }
    Verdict take_one(const Destroy& step)
    {
        Verdict result;
        result.refused = client_.devx_destroy(known_.at(step.name).handle) != 0;
        return result;
    }
    Verdict take_one(const MakeQueuePair& step)
    {
        if (step.type == QueuePairType::Devx) {
            Mailbox command(272);
            set(command, prm::kOpcode, prm::CreateQp);
            const DevxAnswer answer = client_.devx_create(command);
            EXPECT_EQ(answer.error, 0);
            made_[step.number] = {answer.handle, static_cast<std::uint32_t>(get(answer.mailbox, prm::kQpn)), 0};
        } else {
            made_[step.number] = client_.make_qp(verbs_type(step.type));
        }
        // Straight to the state: SQE cannot be asked for.
        emulator_.firmware().set_queue_pair_state(made_[step.number].number, step.state);
        return {};
    }
    Verdict take_one(const DestroyQueuePair& step)
    {
        Verdict result;
        result.refused = client_.destroy_qp(made_.at(step.number).handle) != 0;
        return result;
    }
    Verdict take_one(const Attach& step)
    {
        const auto found = made_.find(step.number);
        if (found == made_.end()) {
            return {true, {}, {}, {}, {}};    // there is no handle to give
        }
        const std::uint32_t requester = step.requester.empty() ? 0 : known_.at(step.requester).id;
        const std::uint32_t responder = step.responder.empty() ? 0 : known_.at(step.responder).id;
        if (step.type == QueuePairType::RawPacket) {
            return verdict(attach_raw(found->second, requester));
        }
        const auto state = emulator_.firmware().queue_pair(found->second.number)->state;
        return verdict(client_.attach(found->second, requester, responder,
                                      state == QueuePairState::Init ? prm::Init2Init : prm::Rts2Rts));
    }
    Verdict take_one(const Pace& step)
    {
        ib_uverbs_ex_modify_qp request{};
        request.base.qp_handle = made_.at(step.number).handle;
        request.base.attr_mask = 1U << 25;    // IBV_QP_RATE_LIMIT
        mlx5_ib_modify_qp vendor{};
        if (step.rate) {
            request.rate_limit = static_cast<std::uint32_t>(step.rate->rate.kbps());
            vendor.burst_info.max_burst_sz = static_cast<std::uint32_t>(step.rate->max_burst.value_or(0));
            vendor.burst_info.typical_pkt_sz = static_cast<std::uint16_t>(step.rate->typical_packet.value_or(0));
        }
        ib_uverbs_ex_modify_qp_resp answer{};
        Verdict result;
        result.sys_errno = Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
                               .in(UVERBS_ATTR_WRITE_CMD, static_cast<std::uint32_t>(IB_USER_VERBS_CMD_FLAG_EXTENDED |
                                                                                     IB_USER_VERBS_EX_CMD_MODIFY_QP))
                               .in(UVERBS_ATTR_CORE_IN, request)
                               .out(UVERBS_ATTR_CORE_OUT, answer)
                               .in(UVERBS_ATTR_UHW_IN, vendor)
                               .run(client_.fd());
        result.refused = *result.sys_errno != 0;
        // The kernel looks at type and state before the device is asked, and has one errno for both.
        if (*result.sys_errno == EINVAL) {
            result.sys_errno.reset();
        }
        return result;
    }

    DevxAnswer attach_raw(const UverbsClient::QueuePair& queue_pair, std::uint32_t leaf)
    {
        Mailbox command(272);
        set(command, prm::kOpcode, prm::ModifySq);
        set(command, prm::kSqState, prm::kSqReady);
        set(command, prm::kSqn, queue_pair.sq_number);
        set(command, prm::kSqModifyBitmask, prm::kSqSelectQueueGroup);
        set(command, at(prm::kSqc, prm::kSqcState), prm::kSqReady);
        set(command, at(prm::kSqc, prm::kSqcQueueGroup), leaf);
        return client_.devx_modify(queue_pair.handle, command);
    }

    static std::uint32_t verbs_type(QueuePairType type)
    {
        switch (type) {
        case QueuePairType::Uc:
            return IB_UVERBS_QPT_UC;
        case QueuePairType::Ud:
            return IB_UVERBS_QPT_UD;
        case QueuePairType::RawPacket:
            return IB_UVERBS_QPT_RAW_PACKET;
        default:
            return IB_UVERBS_QPT_RC;
        }
    }

    EmulatorInProcess emulator_;
    UverbsClient client_{emulator_.path()};
    std::map<std::string, Known> known_;
    std::map<std::uint32_t, UverbsClient::QueuePair> made_;
};

// What cannot be asked for by this way: a rate of zero means "lift it", a command does not say which type it takes the
// queue pair for, and MODIFY_SQ has no responder.
bool can_be_asked(const RefusalRow& row)
{
    for (const char* name : {"PaceZero", "WrongType", "ResponderOfRaw"}) {
        if (row.name == name) {
            return false;
        }
    }
    return true;
}

std::vector<RefusalRow> refused_calls()
{
    auto all = refusal_table();
    std::erase_if(all, [](const RefusalRow& row) { return !can_be_asked(row); });
    return all;
}

class UverbsRefusalTest : public testing::TestWithParam<RefusalRow> {
protected:
    static bool makes_raw_packets(const RefusalRow& row)
    {
        return std::any_of(row.steps.begin(), row.steps.end(), [](const Step& step) {
            const auto* made = std::get_if<MakeQueuePair>(&step);
            return made != nullptr && made->type == QueuePairType::RawPacket;
        });
    }
};

TEST_P(UverbsRefusalTest, IsAsTheTableSays)
{
    if (geteuid() != 0 && makes_raw_packets(GetParam())) {
        GTEST_SKIP() << "raw packet queue pairs need CAP_NET_RAW";
    }
    UverbsDriver driver(GetParam().capabilities);
    run_row(GetParam(), driver);
}

INSTANTIATE_TEST_SUITE_P(Table, UverbsRefusalTest, testing::ValuesIn(refused_calls()), row_name);

}    // namespace
}    // namespace rdmaqos::test
