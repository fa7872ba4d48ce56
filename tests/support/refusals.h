// What a device refuses, and what it accepts that one might not expect, as one table for every implementation of the
// device: the firmware model, the backend over it, and whatever plays a device elsewhere. Each brings a RefusalDriver.
//
// A row is a list of steps on a fresh device. All of them must work but the last, which must be refused as the row
// says; in a row without a refusal all must work.
#pragma once

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/error.h"
#include "lib/model/profile.h"
#include "lib/model/refusal.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos::test {

// In the flags of a step; any other bit is unknown to a device.
constexpr std::uint32_t kShare = 1;
constexpr std::uint32_t kMaxRate = 2;

// Elements are known by a name the row gives them; "" is none.
struct Create {
    std::string name;
    ElementKind kind = ElementKind::Node;
    std::string parent = {};
    std::uint32_t flags = 0;
    std::uint32_t share = 0;
    std::uint32_t max_rate_mbps = 0;
};
struct Modify {
    std::string name;
    std::uint32_t flags = 0;
    std::uint32_t share = 0;
    std::uint32_t max_rate_mbps = 0;
};
struct Expect {
    std::string name;
    std::uint32_t share = 0;
    std::uint32_t max_rate_mbps = 0;
};
struct Destroy {
    std::string name;
};
struct MakeQueuePair {
    std::uint32_t number = 0;
    QueuePairType type = QueuePairType::Rc;
    QueuePairState state = QueuePairState::Rts;
};
struct DestroyQueuePair {
    std::uint32_t number = 0;
};
struct Attach {
    std::uint32_t number = 0;
    QueuePairType type = QueuePairType::Rc;
    std::string requester = {};
    std::string responder = {};
};
struct Pace {
    std::uint32_t number = 0;
    QueuePairType type = QueuePairType::RawPacket;
    std::optional<RateLimit> rate = {};
};

using Step = std::variant<Create, Modify, Expect, Destroy, MakeQueuePair, DestroyQueuePair, Attach, Pace>;

// How an implementation answered a step; what it cannot see stays empty and is not compared.
struct Verdict {
    bool refused = false;
    std::optional<FirmwareStatus> status;
    std::optional<int> sys_errno;
    std::optional<ErrorCode> code;
    std::optional<std::string> message;
};

class RefusalDriver {
public:
    virtual ~RefusalDriver() = default;
    // Expect: refused when the element is not as stated.
    [[nodiscard]] virtual Verdict take(const Step& step) = 0;
};

struct Refused {
    FirmwareStatus status;
    int sys_errno;
    ErrorCode code;
    std::vector<std::string> words;    // all of them in the message
};

struct RefusalRow {
    std::string name;
    std::vector<Step> steps;
    std::optional<Refused> refused = {};
    Capabilities capabilities = default_capabilities();
};

inline Capabilities with(void (*change)(Capabilities&))
{
    Capabilities capabilities = default_capabilities();
    change(capabilities);
    return capabilities;
}

inline std::vector<RefusalRow> tree_rows()
{
    using enum ElementKind;
    const Create root{"root"};
    const Refused share_on_root{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"root", "share"}};
    const Refused rate_on_root{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"root", "rate"}};
    const Refused no_element{FirmwareStatus::BadResource, EINVAL, ErrorCode::InvalidArgument, {"knows no element"}};
    const Refused children{FirmwareStatus::ResourceBusy, EBUSY, ErrorCode::Busy, {"1 child"}};
    return {
        {"ShareOnRoot", {Create{"root", Node, "", kShare, 7}}, share_on_root},
        {"RateOnRoot", {Create{"root", Node, "", kMaxRate, 0, 100}}, rate_on_root},
        {"ShareOnRootLater", {root, Modify{"root", kShare, 7}}, share_on_root},
        {"RateOnRootLater", {root, Modify{"root", kMaxRate, 0, 100}}, rate_on_root},
        {"ZeroesOnRoot", {Create{"root", Node, "", kShare | kMaxRate}, Expect{"root"}}, {}},
        {"SecondRoot",
         {root, Create{"again"}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"only the root has no parent"}}},
        {"RootAgainAfterDestroy", {root, Destroy{"root"}, Create{"again"}}, {}},
        {"LeafWithoutParent",
         {Create{"leaf", Leaf}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"leaf", "parent"}}},
        {"LeafAsParent",
         {root, Create{"leaf", Leaf, "root"}, Create{"below", Leaf, "leaf"}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"is a leaf"}}},
        {"LeafAsParentOfNode",
         {root, Create{"leaf", Leaf, "root"}, Create{"below", Node, "leaf"}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"is a leaf"}}},
        {"ParentDestroyed",
         {root, Create{"node", Node, "root"}, Destroy{"node"}, Create{"leaf", Leaf, "node"}},
         no_element},
        {"ModifyDestroyed",
         {root, Create{"leaf", Leaf, "root"}, Destroy{"leaf"}, Modify{"leaf", kShare, 2}},
         no_element},
        {"DestroyTwice", {root, Create{"leaf", Leaf, "root"}, Destroy{"leaf"}, Destroy{"leaf"}}, no_element},
        {"RootWithChild", {root, Create{"leaf", Leaf, "root"}, Destroy{"root"}}, children},
        {"NodeWithChild",
         {root, Create{"node", Node, "root"}, Create{"leaf", Leaf, "node"}, Destroy{"node"}},
         children},
        {"NodeAfterItsChild",
         {root, Create{"node", Node, "root"}, Create{"leaf", Leaf, "node"}, Destroy{"leaf"}, Destroy{"node"}},
         {}},
    };
}

inline std::vector<RefusalRow> flag_rows()
{
    using enum ElementKind;
    const Create root{"root"};
    return {
        {"UnknownFlagAtCreate",
         {root, Create{"leaf", Leaf, "root", kShare | 4, 7}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"0x4"}}},
        {"UnknownFlagAtModify",
         {root, Create{"leaf", Leaf, "root"}, Modify{"leaf", 0x80000000U}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"0x80000000"}}},
        {"UnflaggedIgnoredAtCreate",
         {Create{"root", Node, "", 0, 99, 99}, Create{"leaf", Leaf, "root", kShare, 7, 99}, Expect{"leaf", 7, 0}},
         {}},
        {"UnflaggedIgnoredAtModify",
         {root, Create{"leaf", Leaf, "root", kShare | kMaxRate, 7, 99}, Modify{"leaf", 0, 1, 1}, Expect{"leaf", 7, 99}},
         {}},
        {"ModifyShareOnly",
         {root, Create{"leaf", Leaf, "root", kShare | kMaxRate, 7, 99}, Modify{"leaf", kShare, 3},
          Expect{"leaf", 3, 99}},
         {}},
        {"ModifyRateOnly",
         {root, Create{"leaf", Leaf, "root", kShare | kMaxRate, 7, 99}, Modify{"leaf", kMaxRate, 0, 5},
          Expect{"leaf", 7, 5}},
         {}},
        {"ModifyToDefaults",
         {root, Create{"leaf", Leaf, "root", kShare | kMaxRate, 7, 99}, Modify{"leaf", kShare | kMaxRate},
          Expect{"leaf", 0, 0}},
         {}},
        {"ShareAtMaximum", {root, Create{"leaf", Leaf, "root", kShare, 100}, Expect{"leaf", 100}}, {}},
    };
}

inline std::vector<RefusalRow> limit_rows()
{
    using enum ElementKind;
    const Create root{"root"};
    const Create leaf{"leaf", Leaf, "root"};
    const Refused share_range{
        FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"share 101", "maximum of 100"}};
    return {
        {"ShareAboveMaximum", {root, Create{"leaf", Leaf, "root", kShare, 101}}, share_range},
        {"ShareAboveMaximumLater", {root, leaf, Modify{"leaf", kShare, 101}}, share_range},
        {"DeepestLevel", {root, Create{"a", Node, "root"}, Create{"b", Node, "a"}, Create{"leaf", Leaf, "b"}}, {}},
        {"TooDeep",
         {root, Create{"a", Node, "root"}, Create{"b", Node, "a"}, Create{"c", Node, "b"}, Create{"leaf", Leaf, "c"}},
         Refused{FirmwareStatus::ExceedsLimit, ENOMEM, ErrorCode::NoSpace, {"level 5", "last level 4"}}},
        {"TooManyLeaves",
         {root, leaf, Create{"second", Leaf, "root"}, Create{"third", Leaf, "root"}},
         Refused{FirmwareStatus::ExceedsLimit, ENOMEM, ErrorCode::NoSpace, {"2 of the device's 2 leaves"}},
         with([](Capabilities& can) { can.max_leaves = 2; })},
        {"LeafFreedByDestroy",
         {root, leaf, Destroy{"leaf"}, Create{"second", Leaf, "root"}},
         {},
         with([](Capabilities& can) { can.max_leaves = 1; })},
        {"NodesAreNotLeaves", {root, leaf, Create{"node", Node, "root"}}, {}, with([](Capabilities& can) {
             can.max_leaves = 1;
         })},
        {"TooManyElements",
         {root, Create{"node", Node, "root"}, leaf, Create{"one-more", Node, "root"}},
         Refused{FirmwareStatus::ExceedsLimit, ENOMEM, ErrorCode::NoSpace, {"3 of the device's 3 scheduling elements"}},
         with([](Capabilities& can) { can.max_elements = 3; })},
        {"NoScheduling",
         {root},
         Refused{FirmwareStatus::BadOperation, EOPNOTSUPP, ErrorCode::Unsupported, {"no transmit scheduling"}},
         with([](Capabilities& can) { can.scheduling = false; })},
        {"NoShares",
         {root, Create{"leaf", Leaf, "root", kShare, 7}},
         Refused{FirmwareStatus::BadOperation, EOPNOTSUPP, ErrorCode::Unsupported, {"no shares"}},
         with([](Capabilities& can) { can.shares = false; })},
        {"NoRateCaps",
         {root, leaf, Modify{"leaf", kMaxRate, 0, 100}},
         Refused{FirmwareStatus::BadOperation, EOPNOTSUPP, ErrorCode::Unsupported, {"no maximum rates"}},
         with([](Capabilities& can) { can.rate_caps = false; })},
    };
}

inline std::vector<RefusalRow> attach_rows()
{
    using enum ElementKind;
    using enum QueuePairType;
    const Create root{"root"};
    const Create leaf{"leaf", Leaf, "root"};
    return {
        {"QueuePairOnNode",
         {root, Create{"node", Node, "root"}, MakeQueuePair{17}, Attach{17, Rc, "node"}},
         Refused{FirmwareStatus::BadResource, EINVAL, ErrorCode::InvalidArgument, {"is a node"}}},
        {"QueuePairOnRoot",
         {root, MakeQueuePair{17}, Attach{17, Rc, "root"}},
         Refused{FirmwareStatus::BadResource, EINVAL, ErrorCode::InvalidArgument, {"is a node"}}},
        {"ResponderOnNode",
         {root, leaf, MakeQueuePair{17}, Attach{17, Rc, "leaf", "root"}},
         Refused{FirmwareStatus::BadResource, EINVAL, ErrorCode::InvalidArgument, {"is a node"}}},
        {"AttachToDestroyed",
         {root, leaf, Destroy{"leaf"}, MakeQueuePair{17}, Attach{17, Rc, "leaf"}},
         Refused{FirmwareStatus::BadResource, EINVAL, ErrorCode::InvalidArgument, {"knows no element"}}},
        {"DestroyBusyLeaf",
         {root, leaf, MakeQueuePair{17}, MakeQueuePair{18}, Attach{17, Rc, "leaf"}, Attach{18, Rc, "leaf"},
          Destroy{"leaf"}},
         Refused{FirmwareStatus::ResourceBusy, EBUSY, ErrorCode::Busy, {"2 queue pairs"}}},
        {"DestroyLeafOfResponder",
         {root, leaf, Create{"reads", Leaf, "root"}, MakeQueuePair{17}, Attach{17, Rc, "leaf", "reads"},
          Destroy{"reads"}},
         Refused{FirmwareStatus::ResourceBusy, EBUSY, ErrorCode::Busy, {"1 queue pair"}}},
        {"DestroyLeafAfterMove",
         {root, leaf, Create{"next", Leaf, "root"}, MakeQueuePair{17}, Attach{17, Rc, "leaf"}, Attach{17, Rc, "next"},
          Destroy{"leaf"}},
         {}},
        {"DestroyLeafAfterDetach",
         {root, leaf, MakeQueuePair{17}, Attach{17, Rc, "leaf", "leaf"}, Attach{17, Rc}, Destroy{"leaf"}},
         {}},
        {"DestroyLeafAfterQueuePair",
         {root, leaf, MakeQueuePair{17}, Attach{17, Rc, "leaf"}, DestroyQueuePair{17}, Destroy{"leaf"}},
         {}},
    };
}

inline std::vector<RefusalRow> queue_pair_rows()
{
    using enum ElementKind;
    using enum QueuePairType;
    using enum QueuePairState;
    const Create root{"root"};
    const Create leaf{"leaf", Leaf, "root"};
    const auto state = [&](const char* name, QueuePairType type, QueuePairState in, const char* word) {
        return RefusalRow{name,
                          {root, leaf, MakeQueuePair{17, type, in}, Attach{17, type, "leaf"}},
                          Refused{type == RawPacket ? FirmwareStatus::BadResourceState    // its send queue's
                                                    : FirmwareStatus::BadQueuePairState,
                                  EINVAL,
                                  ErrorCode::BadState,
                                  {"queue pair 17", word, type == RawPacket ? "RTS" : "INIT or RTS"}}};
    };
    const auto no_responder = [&](const char* name, QueuePairType type) {
        return RefusalRow{name,
                          {root, leaf, MakeQueuePair{17, type, Rts}, Attach{17, type, "leaf", "leaf"}},
                          Refused{FirmwareStatus::BadOperation, EINVAL, ErrorCode::Unsupported, {"responder"}}};
    };
    return {
        {"AttachInInit", {root, leaf, MakeQueuePair{17, Rc, Init}, Attach{17, Rc, "leaf"}}, {}},
        {"AttachRawInRts", {root, leaf, MakeQueuePair{17, RawPacket, Rts}, Attach{17, RawPacket, "leaf"}}, {}},
        {"AttachDevx", {root, leaf, MakeQueuePair{17, Devx, Rts}, Attach{17, Devx, "leaf"}}, {}},
        state("AttachInReset", Rc, Reset, "RESET"),
        state("AttachInRtr", Rc, Rtr, "RTR"),
        state("AttachInSqd", Uc, Sqd, "SQD"),
        state("AttachInSqe", Ud, Sqe, "SQE"),
        state("AttachInError", Rc, Error, "ERR"),
        state("AttachRawInInit", RawPacket, Init, "INIT"),
        {"DetachInError",
         {root, MakeQueuePair{17, Rc, Error}, Attach{17, Rc}},
         Refused{FirmwareStatus::BadQueuePairState, EINVAL, ErrorCode::BadState, {"ERR"}}},
        no_responder("ResponderOfUc", Uc),
        no_responder("ResponderOfUd", Ud),
        no_responder("ResponderOfRaw", RawPacket),
        {"ResponderNotSupported",
         {root, leaf, MakeQueuePair{17}, Attach{17, Rc, "leaf", "leaf"}},
         Refused{FirmwareStatus::BadOperation, EINVAL, ErrorCode::Unsupported, {"RDMA READ"}},
         with([](Capabilities& can) { can.responder_leaf = false; })},
        {"TypeNotAttachable",
         {root, leaf, MakeQueuePair{17, Ud, Rts}, Attach{17, Ud, "leaf"}},
         Refused{FirmwareStatus::BadOperation, EOPNOTSUPP, ErrorCode::Unsupported, {"type ud"}},
         with([](Capabilities& can) { can.attachable = {QueuePairType::Rc}; })},
        {"WrongType",
         {root, leaf, MakeQueuePair{17, Ud, Rts}, Attach{17, Rc, "leaf"}},
         Refused{FirmwareStatus::BadResource, EINVAL, ErrorCode::BadQueuePair, {"queue pair 17 is of type ud"}}},
        {"NoSuchQueuePair",
         {root, leaf, Attach{17, Rc, "leaf"}},
         Refused{FirmwareStatus::BadResource, EINVAL, ErrorCode::BadQueuePair, {"no queue pair 17"}}},
    };
}

inline std::vector<RefusalRow> pacing_rows()
{
    using enum QueuePairType;
    using enum QueuePairState;
    const auto rate = [](std::uint64_t mbps) { return RateLimit{Bandwidth::from_mbps(mbps), {}, {}}; };
    const MakeQueuePair raw{1, RawPacket, Rts};
    const MakeQueuePair second{2, RawPacket, Rts};
    const auto one_entry = with([](Capabilities& can) { can.pacing.table_size = 1; });
    const auto range = with([](Capabilities& can) {
        can.pacing.min_rate = Bandwidth::from_mbps(1);
        can.pacing.max_rate = Bandwidth::from_gbps(10);
    });
    const Refused full{FirmwareStatus::ExceedsLimit, ENOSPC, ErrorCode::NoSpace, {"all 1 entries"}};
    return {
        {"PaceRc",
         {MakeQueuePair{1}, Pace{1, Rc, rate(100)}},
         Refused{FirmwareStatus::BadOperation, EOPNOTSUPP, ErrorCode::Unsupported, {"raw-packet only, not rc"}}},
        {"PaceNotSupported",
         {raw, Pace{1, RawPacket, rate(100)}},
         Refused{FirmwareStatus::BadOperation, EOPNOTSUPP, ErrorCode::Unsupported, {"no packet pacing"}},
         with([](Capabilities& can) { can.pacing = {}; })},
        {"PaceZero",
         {raw, Pace{1, RawPacket, rate(0)}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"no limit"}}},
        {"PaceBelowRange",
         {raw, Pace{1, RawPacket, RateLimit{Bandwidth::from_kbps(999), {}, {}}}},
         Refused{
             FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"999 kbit/s", "minimum of 1 Mbit/s"}},
         range},
        {"PaceAboveRange",
         {raw, Pace{1, RawPacket, rate(10'001)}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::InvalidArgument, {"maximum of 10 Gbit/s"}},
         range},
        {"PaceUnknownRange", {raw, Pace{1, RawPacket, rate(1'000'000)}}, {}},
        {"PaceBurstNotSupported",
         {raw, Pace{1, RawPacket, RateLimit{Bandwidth::from_mbps(100), 65536, {}}}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::Unsupported, {"burst"}},
         with([](Capabilities& can) { can.pacing.burst = false; })},
        {"PacePacketNotSupported",
         {raw, Pace{1, RawPacket, RateLimit{Bandwidth::from_mbps(100), {}, 1024}}},
         Refused{FirmwareStatus::BadParameter, EINVAL, ErrorCode::Unsupported, {"packet size"}},
         with([](Capabilities& can) { can.pacing.typical_packet = false; })},
        {"PaceInReset",
         {MakeQueuePair{1, RawPacket, Reset}, Pace{1, RawPacket, rate(100)}},
         Refused{FirmwareStatus::BadQueuePairState, EINVAL, ErrorCode::BadState, {"RESET", "RTS"}}},
        {"PaceTableFull", {raw, second, Pace{1, RawPacket, rate(100)}, Pace{2, RawPacket, rate(200)}}, full, one_entry},
        {"PaceEntryShared", {raw, second, Pace{1, RawPacket, rate(100)}, Pace{2, RawPacket, rate(100)}}, {}, one_entry},
        {"PaceEntryDiffersByBurst",
         {raw, second, Pace{1, RawPacket, rate(100)},
          Pace{2, RawPacket, RateLimit{Bandwidth::from_mbps(100), 65536, {}}}},
         full,
         one_entry},
        {"PaceEntryFreed",
         {raw, second, Pace{1, RawPacket, rate(100)}, Pace{1, RawPacket, {}}, Pace{2, RawPacket, rate(200)}},
         {},
         one_entry},
        {"PaceSameAgain", {raw, Pace{1, RawPacket, rate(100)}, Pace{1, RawPacket, rate(100)}}, {}, one_entry},
        // The new entry is taken before the old one is given back.
        {"PaceChangeInFullTable", {raw, Pace{1, RawPacket, rate(100)}, Pace{1, RawPacket, rate(200)}}, full, one_entry},
    };
}

// Without the rows that have a step which an implementation's interface cannot ask for.
inline std::vector<RefusalRow> refusal_table(bool (*can)(const Step&) = [](const Step&) { return true; })
{
    std::vector<RefusalRow> all;
    for (auto* part : {tree_rows, flag_rows, limit_rows, attach_rows, queue_pair_rows, pacing_rows}) {
        for (RefusalRow& row : part()) {
            if (std::all_of(row.steps.begin(), row.steps.end(), can)) {
                all.push_back(std::move(row));
            }
        }
    }
    return all;
}

// For INSTANTIATE_TEST_SUITE_P.
inline std::string row_name(const testing::TestParamInfo<RefusalRow>& info)
{
    return info.param.name;
}

inline void run_row(const RefusalRow& row, RefusalDriver& driver)
{
    for (std::size_t at = 0; at < row.steps.size(); ++at) {
        const Verdict verdict = driver.take(row.steps[at]);
        if (!row.refused || at + 1 < row.steps.size()) {
            ASSERT_FALSE(verdict.refused) << "step " << at + 1 << ": " << verdict.message.value_or("");
            continue;
        }
        ASSERT_TRUE(verdict.refused) << "step " << at + 1 << " was accepted";
        EXPECT_EQ(verdict.status.value_or(row.refused->status), row.refused->status);
        EXPECT_EQ(verdict.sys_errno.value_or(row.refused->sys_errno), row.refused->sys_errno);
        EXPECT_EQ(verdict.code.value_or(row.refused->code), row.refused->code);
        for (const std::string& word : row.refused->words) {
            EXPECT_NE(verdict.message.value_or(word).find(word), std::string::npos)
                << "\"" << word << "\" is not in \"" << verdict.message.value_or("") << "\"";
        }
    }
}

}    // namespace rdmaqos::test
