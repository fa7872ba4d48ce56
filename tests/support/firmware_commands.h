// Commands of an mlx5 command queue as a kernel's driver sends them, mailbox by mailbox, to whatever answers mailboxes.
#pragma once

#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "lib/mlx5/prm.h"
#include "lib/model/firmware.h"

namespace rdmaqos::test {

class CommandSender {
public:
    using Send = std::function<mlx5::Mailbox(const mlx5::Mailbox&)>;
    explicit CommandSender(Send send) : send_(std::move(send)) {}

    static mlx5::Mailbox command(mlx5::prm::Opcode opcode, std::uint64_t uid = 0, std::size_t bytes = 16)
    {
        mlx5::Mailbox mailbox(bytes);
        set(mailbox, mlx5::prm::kOpcode, opcode);
        set(mailbox, mlx5::prm::kUid, uid);
        return mailbox;
    }
    static std::uint64_t status(const mlx5::Mailbox& answer) { return get(answer, mlx5::prm::kStatus); }

    mlx5::Mailbox send(const mlx5::Mailbox& mailbox) const { return send_(mailbox); }
    // Of a command without anything but a number, the status.
    std::uint64_t about(mlx5::prm::Opcode opcode, std::uint64_t uid, std::uint32_t number) const
    {
        mlx5::Mailbox mailbox = command(opcode, uid);
        set(mailbox, mlx5::prm::kQpn, number);
        return status(send(mailbox));
    }

    // As the driver begins: enables the device, makes the context that is its own.
    void probe() const
    {
        EXPECT_EQ(status(send(command(mlx5::prm::EnableHca))), 0U);
        open_context();
    }
    std::uint64_t open_context() const
    {
        const auto answer = send(command(mlx5::prm::CreateUctx, 0, 64));
        EXPECT_EQ(status(answer), 0U);
        return get(answer, mlx5::prm::kUctxUid);
    }
    void close_context(std::uint64_t uid) const
    {
        mlx5::Mailbox mailbox = command(mlx5::prm::DestroyUctx);
        set(mailbox, mlx5::prm::kUctxUid, uid);
        EXPECT_EQ(status(send(mailbox)), 0U);
    }

    // ---- scheduling elements ----

    static mlx5::Mailbox element_command(mlx5::prm::Opcode opcode, std::uint64_t uid, std::uint32_t id,
                                         const SchedulingFields& fields = {})
    {
        using namespace mlx5;
        Mailbox mailbox = command(opcode, uid, prm::kObjectBytes);
        set(mailbox, prm::kObjectType, prm::kSchedulingElement);
        set(mailbox, prm::kObjectId, id);
        set(mailbox, prm::kObjectCommands.hierarchy, prm::element::kHierarchyNic);
        set(mailbox, prm::kObjectCommands.select, fields.flags);
        set(mailbox, at(prm::kObjectCommands.element, prm::element::kBwShare), fields.share);
        set(mailbox, at(prm::kObjectCommands.element, prm::element::kMaxAverageBw), fields.max_rate_mbps);
        return mailbox;
    }
    mlx5::Mailbox create_element(std::uint64_t uid, bool leaf, std::uint32_t parent,
                                 const SchedulingFields& fields = {}) const
    {
        using namespace mlx5;
        Mailbox mailbox = element_command(prm::CreateGeneralObject, uid, 0, fields);
        set(mailbox, at(prm::kObjectCommands.element, prm::element::kType),
            leaf ? prm::element::kQueueGroup : prm::element::kTsar);
        set(mailbox, at(prm::kObjectCommands.element, prm::element::kParent), parent);
        return send(mailbox);
    }
    // Its id; must work.
    std::uint32_t make_element(std::uint64_t uid, bool leaf, std::uint32_t parent = 0) const
    {
        const auto answer = create_element(uid, leaf, parent);
        EXPECT_EQ(status(answer), 0U);
        return static_cast<std::uint32_t>(get(answer, mlx5::prm::kObjectId));
    }

    // ---- queue pairs ----

    std::uint32_t make_queue_pair(std::uint64_t uid, std::uint64_t service = mlx5::prm::qpc::kReliableConnection) const
    {
        using namespace mlx5;
        Mailbox mailbox = command(prm::CreateQp, uid, 272);
        set(mailbox, at(prm::kQpc, prm::qpc::kServiceType), service);
        const auto answer = send(mailbox);
        EXPECT_EQ(status(answer), 0U);
        return static_cast<std::uint32_t>(get(answer, prm::kQpn));
    }
    // From RESET.
    void bring_to_rts(std::uint64_t uid, std::uint32_t number) const
    {
        for (const auto opcode : {mlx5::prm::Rst2Init, mlx5::prm::Init2Rtr, mlx5::prm::Rtr2Rts}) {
            EXPECT_EQ(about(opcode, uid, number), 0U);
        }
    }
    std::uint64_t attach(std::uint64_t uid, std::uint32_t number, std::uint32_t requester, std::uint32_t responder = 0,
                         mlx5::prm::Opcode opcode = mlx5::prm::Rts2Rts) const
    {
        using namespace mlx5;
        Mailbox mailbox = command(opcode, uid, 464);
        set(mailbox, prm::kQpn, number);
        set(mailbox, prm::kQpcExt, 1);
        set(mailbox, prm::kOptParamMaskHigh, prm::kOptQueueGroup);
        set(mailbox, prm::kQueueGroupRequester, requester);
        set(mailbox, prm::kQueueGroupResponder, responder);
        return status(send(mailbox));
    }

    // ---- send queues ----

    std::uint32_t make_send_queue(std::uint64_t uid) const
    {
        const auto answer = send(command(mlx5::prm::CreateSq, uid, 272));
        EXPECT_EQ(status(answer), 0U);
        return static_cast<std::uint32_t>(get(answer, mlx5::prm::kSqn));
    }
    mlx5::Mailbox modify_send_queue(std::uint64_t uid, std::uint32_t number, std::uint64_t from, std::uint64_t to) const
    {
        using namespace mlx5;
        Mailbox mailbox = command(prm::ModifySq, uid, 272);
        set(mailbox, prm::kSqn, number);
        set(mailbox, prm::kSqState, from);
        set(mailbox, at(prm::kSqc, prm::kSqcState), to);
        return mailbox;
    }
    std::uint64_t attach_send_queue(std::uint64_t uid, std::uint32_t number, std::uint32_t leaf) const
    {
        using namespace mlx5;
        Mailbox mailbox = modify_send_queue(uid, number, prm::kSqReady, prm::kSqReady);
        set(mailbox, prm::kSqModifyBitmask, prm::kSqSelectQueueGroup);
        set(mailbox, at(prm::kSqc, prm::kSqcQueueGroup), leaf);
        return status(send(mailbox));
    }
    // Row 1 of the rates, and the send queue to it; without a rate, to none.
    std::uint64_t pace(std::uint64_t uid, std::uint32_t number, const std::optional<RateLimit>& rate) const
    {
        using namespace mlx5;
        if (rate) {
            Mailbox row = command(prm::SetPpRateLimit, prm::kSharedUid, 64);
            set(row, prm::kRateLimitIndex, 1);
            set(row, prm::kRateLimit, rate->rate.kbps());
            set(row, prm::kRateLimitBurst, rate->max_burst.value_or(0));
            set(row, prm::kRateLimitPacket, rate->typical_packet.value_or(0));
            EXPECT_EQ(status(send(row)), 0U);
        }
        const auto state = get(query_send_queue(number), at(prm::kSqc, prm::kSqcState));
        Mailbox mailbox = modify_send_queue(uid, number, state, state);
        set(mailbox, prm::kSqModifyBitmask, prm::kSqSelectRateLimit);
        set(mailbox, at(prm::kSqc, prm::kSqcRateLimitIndex), rate ? 1 : 0);
        return status(send(mailbox));
    }
    mlx5::Mailbox query_send_queue(std::uint32_t number) const
    {
        mlx5::Mailbox mailbox = command(mlx5::prm::QuerySq);
        set(mailbox, mlx5::prm::kSqn, number);
        return send(mailbox);
    }

private:
    Send send_;
};

}    // namespace rdmaqos::test
