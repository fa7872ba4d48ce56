#include "daemon/device/attach_words.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

constexpr Bandwidth kForty = Bandwidth::from_gbps(40);

ClassPromise of(std::size_t processes, std::size_t device_processes, bool competes, std::optional<Bandwidth> cap,
                FairBy fair_by = FairBy::None)
{
    ClassPromise promise;
    promise.path = ElementPath("/rpc");
    promise.rate.share = 60;
    promise.processes = processes;
    promise.device_processes = device_processes;
    promise.competes = competes;
    promise.fair_by = fair_by;
    if (cap) {
        promise.caps.push_back({ElementPath("/rpc"), *cap, processes, true});
    }
    return promise;
}

ClassPromise guaranteed()
{
    ClassPromise promise = of(1, 3, true, {});
    promise.rate.min_rate = Bandwidth::from_gbps(10);
    return promise;
}

ClassPromise below_a_capped_node()
{
    ClassPromise promise = of(1, 2, false, {});
    promise.caps.push_back({ElementPath("/tenants"), Bandwidth::from_gbps(80), 2, false});
    return promise;
}

// The daemon keeps traffic class 2 of the port for it, by the DSCP 10.
ClassPromise on_port(ClassPromise promise, std::optional<Bandwidth> max_rate, std::optional<std::uint8_t> mark = {})
{
    promise.kept = KeptClass{promise.path, 2, {10}, max_rate};
    promise.mark = mark;
    return promise;
}

struct AttachCase {
    const char* name;
    ClassPromise promise;
    CapMode divided;
    bool held;
    const char* words;    // behind "attach mode per-process: "
};

TEST(AttachWords, PerProcessInNumbers)
{
    constexpr CapMode whole = CapMode::Whole;
    constexpr CapMode divide = CapMode::Divide;
    constexpr CapMode adaptive = CapMode::Adaptive;
    const AttachCase cases[] = {
        {"split", of(10, 10, false, kForty), divide, true,
         "class cap 40 Gbit/s split 10 ways: 4 Gbit/s each; unused parts go to nobody"},
        {"split in whole Mbit/s", of(3, 3, false, kForty), divide, true,
         "class cap 40 Gbit/s split 3 ways: 13.333 Gbit/s each; unused parts go to nobody"},
        {"never nothing", of(10, 10, false, Bandwidth::from_mbps(5)), divide, true,
         "class cap 5 Mbit/s split 10 ways: 1 Mbit/s each; unused parts go to nobody"},
        {"whole", of(10, 10, false, kForty), whole, false,
         "each of 10 processes may use the whole class cap of 40 Gbit/s"},
        {"one process", of(1, 1, true, kForty), whole, true, "class cap 40 Gbit/s, for its only process"},
        {"one process, divided", of(1, 1, true, kForty), divide, true, "class cap 40 Gbit/s, for its only process"},
        {"share", of(1, 2, true, {}), divide, false,
         "its share 60 is not enforced by the tree against the 1 other process on the device"},
        {"min-rate", guaranteed(), divide, false,
         "its min-rate 10 Gbit/s is not enforced by the tree against the 2 other processes on the device"},
        {"measured share", of(1, 2, true, {}), adaptive, true,
         "its share 60 against other levels by caps that follow what is measured"},
        {"measured cap", of(10, 10, false, kForty), adaptive, true,
         "class cap 40 Gbit/s for all processes together by caps that follow what is measured"},
        {"nothing beside it", of(2, 2, false, {}), whole, true, "nothing promised depends on another process"},
        {"fair", of(4, 4, false, {}, FairBy::Process), divide, false,
         "its 4 processes do not get equal parts (`fair-by: process`)"},
        {"share and cap", of(2, 3, true, kForty), divide, false,
         "its share 60 is not enforced by the tree against the 2 other processes on the device; class cap 40 Gbit/s "
         "split 2 "
         "ways: 20 Gbit/s each; unused parts go to nobody"},
        {"node", below_a_capped_node(), whole, false,
         "each of 2 processes may use the whole cap of /tenants of 80 Gbit/s"},
        {"node, divided", below_a_capped_node(), divide, true,
         "cap of /tenants 80 Gbit/s split 2 ways: 40 Gbit/s each; unused parts go to nobody"},
        {"cap by the port", on_port(of(2, 2, false, kForty), kForty), whole, false,
         "class cap 40 Gbit/s for all processes together by traffic class 2 of the port, for packets with DSCP 10"},
        {"cap by the port, marked", on_port(of(2, 2, false, kForty), kForty, 10), whole, true,
         "class cap 40 Gbit/s for all processes together by traffic class 2 of the port, for packets with DSCP 10"},
        {"cap by the port, not marked", on_port(of(2, 2, false, kForty), kForty, 0), whole, false,
         "class cap 40 Gbit/s for all processes together by traffic class 2 of the port, for packets with DSCP 10; "
         "these "
         "have 0"},
        {"a cap that the port has not", on_port(of(2, 2, false, kForty), {}, 10), whole, false,
         "each of 2 processes may use the whole class cap of 40 Gbit/s"},
        {"share by the port", on_port(of(1, 2, true, {}), {}), whole, false,
         "its share 60 against other levels by traffic class 2 of the port, for packets with DSCP 10"},
        {"share by the port, marked", on_port(of(1, 2, true, {}), {}, 10), whole, true,
         "its share 60 against other levels by traffic class 2 of the port, for packets with DSCP 10"},
    };
    AttachReport attach{AttachMode::PerProcess, "found out", {}};
    for (const auto& [name, promise, divided, held, words] : cases) {
        attach.caps = divided;
        const auto verdict = attach_verdict(attach, promise);
        EXPECT_EQ(verdict.held, held) << name;
        EXPECT_EQ(verdict.words, std::string("attach mode per-process: ") + words) << name;
    }
}

TEST(AttachWords, CapsThatDoNotFollowAreDivided)
{
    AttachReport attach{AttachMode::PerProcess, "found out", {}};
    attach.caps = CapMode::Adaptive;
    attach.not_adaptive = "nothing counts";
    const auto verdict = attach_verdict(attach, of(2, 2, false, kForty));
    EXPECT_TRUE(verdict.held);
    EXPECT_EQ(verdict.words, "attach mode per-process: class cap 40 Gbit/s split 2 ways: 20 Gbit/s each; unused parts "
                             "go to nobody");
}

TEST(AttachWords, OtherModes)
{
    const auto promise = of(10, 10, true, kForty);
    const auto shared = attach_verdict({AttachMode::Shared, "", {}}, promise);
    EXPECT_TRUE(shared.held);
    EXPECT_EQ(shared.words, "");
    const auto none = attach_verdict({AttachMode::None, "the firmware refused attach in RTS", {}}, promise);
    EXPECT_FALSE(none.held);
    EXPECT_EQ(none.words, "attach mode none, the firmware refused attach in RTS: queue pairs cannot be attached");
}

}    // namespace
}    // namespace rdmaqos
