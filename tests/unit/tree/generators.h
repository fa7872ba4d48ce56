// rapidcheck generators of devices, policies and who is there. Small on purpose: devices of a few leaves are where the
// order of operations is hard, and names come from a small pool so that two policies have much in common.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "tests/unit/tree/support.h"

namespace rdmaqos::test {

// A number of first..last-1, all as likely from the first test on: rapidcheck would start with the smallest only.
template <typename T>
T number(T first, T last)
{
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(first, last));
}

inline bool one_in(int n)
{
    return number(0, n) == 0;
}

inline Capabilities any_capabilities()
{
    Capabilities capabilities = connectx6();
    capabilities.max_depth = number<std::uint32_t>(2, 6);
    capabilities.max_leaves = number<std::uint32_t>(1, 12);
    capabilities.max_elements = number<std::uint32_t>(2, 24);
    capabilities.max_share = *rc::gen::element<std::uint32_t>(1, 3, 7, 100, 100, 65535);
    capabilities.shares = !one_in(8);
    capabilities.rate_caps = !one_in(8);
    capabilities.responder_leaf = !one_in(4);
    return capabilities;
}

struct SpecLimits {
    bool caps = true;
    bool min_rates = true;
    std::uint32_t largest_share = 300;
};

inline RateSpec any_rate(const SpecLimits& limits)
{
    RateSpec rate;
    rate.share = number<std::uint32_t>(1, one_in(4) ? limits.largest_share + 1 : 10);
    if (limits.min_rates && one_in(12)) {
        rate.share.reset();
    }
    if (limits.min_rates && one_in(4)) {
        rate.min_rate = Bandwidth::from_mbps(number<std::uint64_t>(1, 60'000));
    }
    if (limits.caps && one_in(4)) {
        // Also so small that what is below it is guaranteed less than 1 kbit/s.
        rate.max_rate = Bandwidth::from_mbps(number<std::uint64_t>(1, one_in(4) ? 3 : 120'000));
    }
    return rate;
}

// Up to six nodes, nested up to five deep, and up to six classes.
inline TreeSpec any_spec(const SpecLimits& limits = {})
{
    TreeSpec spec;
    std::vector<ElementPath> nodes{ElementPath::root()};
    const int node_count = number(0, 7);
    for (int i = 0; i < node_count; ++i) {
        // The last one half of the time, so that deep policies are not rare.
        const auto& parent = one_in(2) ? nodes.back() : *rc::gen::elementOf(nodes);
        spec.elements.push_back(node(parent.child("n" + std::to_string(i)).text(), any_rate(limits)));
        nodes.push_back(spec.elements.back().path);
    }
    const int class_count = number(1, 7);
    for (int i = 0; i < class_count; ++i) {
        const auto path = (*rc::gen::elementOf(nodes)).child("c" + std::to_string(i));
        SpecElement element = level(path.text(), any_rate(limits));
        element.fair_by = *rc::gen::element(FairBy::None, FairBy::Process, FairBy::User);
        if (one_in(3)) {
            element.leaf_budget = number<std::uint32_t>(1, 4);
        }
        if (one_in(4)) {
            element.responder = any_rate({limits.caps, false, limits.largest_share});
        }
        spec.elements.push_back(std::move(element));
    }
    // Not beside guarantees: those are for as many principals as come, whoever is there now.
    const bool has_guarantee = std::ranges::any_of(
        spec.elements, [](const SpecElement& one) { return one.rate.min_rate.has_value(); });
    for (auto& element : spec.elements) {
        if (limits.caps && !has_guarantee && element.fair_by != FairBy::None && one_in(2)) {
            element.principal.max_rate = Bandwidth::from_mbps(number<std::uint64_t>(1, 30'000));
        }
    }
    return spec;
}

inline std::vector<Principal> any_principals(const TreeSpec& spec)
{
    std::vector<Principal> principals;
    const int count = number(0, 12);
    for (int i = 0; i < count; ++i) {
        const auto element = *rc::gen::elementOf(spec.elements);
        if (!element.is_class) {
            continue;
        }
        Principal one{element.path, {}, std::nullopt};
        if (element.fair_by != FairBy::None) {
            one.segments.push_back("pid:" + std::to_string(number(0, 6)));
        }
        if (one_in(4)) {
            one.segments.push_back("qp:" + std::to_string(number(0, 4)));
            one.max_rate = gbps(number<std::uint64_t>(1, 10));
        }
        principals.push_back(std::move(one));
    }
    return principals;
}

inline CompileInput any_input(const SpecLimits& limits = {})
{
    CompileInput result;
    result.spec = any_spec(limits);
    result.principals = any_principals(result.spec);
    result.capabilities = any_capabilities();
    result.link_speed = gbps(*rc::gen::element<std::uint64_t>(10, 25, 100, 400));
    result.leaf_reserve = number<std::uint32_t>(0, 3);
    return result;
}

// What the policy gives a device that has room for it, with some queue pairs for each principal.
inline DesiredState any_state()
{
    auto in = any_input();
    in.capabilities.max_leaves = 64;
    in.capabilities.max_elements = 256;
    const auto compiled = compile(in);
    DesiredState state;
    state.tree = compiled.tree;
    for (std::size_t i = 0; i < in.principals.size(); ++i) {
        Placement placement;
        placement.requester = compiled.principal_leaves[i];
        placement.responder = compiled.classes.at(in.principals[i].class_path).responder_leaf;
        placement.responder = placement.responder.empty() ? placement.requester : placement.responder;
        if (one_in(4)) {
            placement.rate = RateLimit{gbps(number<std::uint64_t>(1, 3)), std::nullopt, std::nullopt};
        }
        const int count = number(1, 3);
        for (int k = 0; k < count; ++k) {
            state.queue_pairs[QueuePairId{number<std::uint32_t>(0, 16)}] = placement;
        }
    }
    return state;
}

// A tree of exactly so many leaves, below up to two nodes, with queue pairs in every one of them.
inline DesiredState any_crowded_state(std::uint32_t leaves)
{
    DesiredState state;
    state.tree[ElementPath::root()] = {};
    std::vector<ElementPath> nodes{ElementPath::root()};
    for (const char* name : {"n", "m"}) {
        if (one_in(2)) {
            const auto parent = *rc::gen::elementOf(nodes);
            nodes.push_back(parent.child(name));
            state.tree[nodes.back()] = {ElementKind::Node, parent, {1, std::nullopt}};
        }
    }
    std::vector<ElementPath> paths;
    for (std::uint32_t tries = 0; paths.size() < leaves; ++tries) {
        // A parent that is not the path's own: folded, as on a shallow device.
        const auto named_below = *rc::gen::elementOf(nodes);
        const auto parent = one_in(4) ? ElementPath::root() : named_below;
        const auto path = named_below.child(one_in(6) ? "others" : "l" + std::to_string((number(0U, 8U) + tries) % 8));
        if (!state.tree.contains(path)) {
            state.tree[path] = {ElementKind::Leaf, parent, {1, std::nullopt}};
            paths.push_back(path);
        }
    }
    for (std::uint32_t i = 0; i < 2 * leaves; ++i) {
        const auto& requester = i < leaves ? paths[i] : *rc::gen::elementOf(paths);
        const auto& responder = one_in(3) ? *rc::gen::elementOf(paths) : requester;
        state.queue_pairs[QueuePairId{i}] = {requester, responder, std::nullopt};
    }
    return state;
}

}    // namespace rdmaqos::test
