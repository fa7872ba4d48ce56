#include "lib/tree/live_tree.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/unit/tree/generators.h"

namespace rdmaqos::test {
namespace {

using Number = LiveTree::PrincipalNumber;

// A live tree, and what it was made of.
struct Scene {
    CompileInput input;
    std::map<Number, Principal> principals;
    std::set<std::vector<std::string>> keys;
    LiveTree live;
    Tree followed;    // what one has who only reads the changes
    Number next = 1;

    void compile()
    {
        LiveTree::Principals all;
        for (const auto& [number, principal] : principals) {
            all.emplace(number, &principal);
        }
        static_cast<void>(live.compile(input, all));
        followed = live.compiled().tree;
    }
    static std::vector<std::string> key_of(const Principal& principal)
    {
        std::vector<std::string> key{principal.class_path.text()};
        key.insert(key.end(), principal.segments.begin(), principal.segments.end());
        return key;
    }
    // Whether that was a step of its own.
    bool add(const Principal& principal)
    {
        if (!keys.insert(key_of(principal)).second) {
            return false;
        }
        const Number number = next++;
        const Principal& kept = principals.emplace(number, principal).first->second;
        if (!live.add(number, kept)) {
            compile();
            return false;
        }
        return true;
    }
    bool remove(Number number)
    {
        keys.erase(key_of(principals.at(number)));
        principals.erase(number);
        if (!live.remove(number)) {
            compile();
            return false;
        }
        return true;
    }
    void follow()
    {
        for (const auto& [path, element] : live.take_changes()) {
            if (element) {
                followed.insert_or_assign(path, *element);
            } else {
                followed.erase(path);
            }
        }
    }
    [[nodiscard]] Compiled whole() const
    {
        CompileInput all = input;
        for (const auto& [number, principal] : principals) {
            all.principals.push_back(principal);
        }
        return rdmaqos::compile(all);
    }
};

void expect_equal(Scene& scene)
{
    scene.follow();
    auto whole = scene.whole();
    const auto leaves = std::exchange(whole.principal_leaves, {});
    RC_ASSERT(scene.live.compiled().tree == whole.tree);
    RC_ASSERT(scene.followed == whole.tree);
    RC_ASSERT(scene.live.compiled().findings == whole.findings);
    RC_ASSERT(scene.live.compiled() == whole);
    std::size_t index = 0;
    for (const auto& [number, principal] : scene.principals) {
        RC_ASSERT(scene.live.leaf(number) == leaves.at(index++));
    }
    for (const auto& [path, class_leaves] : whole.classes) {
        const auto in_others = std::ranges::count_if(scene.principals, [&](const auto& entry) {
            return entry.second.class_path == path && scene.live.leaf(entry.first) == class_leaves.shared_leaf;
        });
        RC_ASSERT(scene.live.in_others(path) == static_cast<std::size_t>(in_others));
    }
}

// Mostly of the usual kind; with `all_kinds` also such as need a compilation of the whole.
std::optional<Principal> any_principal(const TreeSpec& spec, bool all_kinds)
{
    const auto element = *rc::gen::elementOf(spec.elements);
    if (!element.is_class || (element.fair_by == FairBy::None && !all_kinds)) {
        return std::nullopt;
    }
    Principal one{element.path, {"pid:" + std::to_string(number(0, 12))}, std::nullopt};
    if (all_kinds && one_in(6)) {
        one.segments.push_back("qp:" + std::to_string(number(0, 4)));
    }
    if (all_kinds && one_in(6)) {
        one.max_rate = gbps(number<std::uint64_t>(1, 10));
    }
    return one;
}

CompileInput any_device(bool all_kinds)
{
    CompileInput input = any_input();
    input.principals.clear();
    if (!all_kinds) {    // classes are nodes, and their principals take part in nothing but shares
        input.capabilities.shares = input.capabilities.rate_caps = true;
        input.capabilities.max_depth = 8;
        input.capabilities.max_leaves = number<std::uint32_t>(8, 24);
        input.capabilities.max_elements = number<std::uint32_t>(16, 40);
    }
    return input;
}

void run_sequence(bool all_kinds, std::uint64_t& alone, std::uint64_t& whole)
{
    Scene scene;
    scene.input = any_device(all_kinds);
    scene.compile();
    constexpr int kSteps = 40;
    for (int step = 0; step < kSteps; ++step) {
        const auto before = scene.live.work().compilations;
        const int what = number(0, 20);
        if (what == 0) {    // a reload
            scene.input = any_device(all_kinds);
            scene.keys.clear();
            scene.principals.clear();
            scene.compile();
        } else if (what < 8 && !scene.principals.empty()) {
            auto gone = scene.principals.begin();
            std::advance(gone, number<std::size_t>(0, scene.principals.size()));
            alone += scene.remove(gone->first) ? 1 : 0;
        } else if (const auto principal = any_principal(scene.input.spec, all_kinds)) {
            alone += scene.add(*principal) ? 1 : 0;
        }
        whole += scene.live.work().compilations - before;
        expect_equal(scene);
    }
}

// 10,000 sequences: RC_PARAMS=max_success=10000 live_tree_test
TEST(LiveTree, EqualsTheCompilationOfTheWholeAfterEachStep)
{
    std::uint64_t alone = 0;
    std::uint64_t whole = 0;
    EXPECT_TRUE(rc::check("usual principals", [&] { run_sequence(false, alone, whole); }));
    EXPECT_GT(alone, whole) << "else this tests compile() only";
}

TEST(LiveTree, EqualsTheCompilationOfTheWholeWithAllKindsOfPrincipals)
{
    std::uint64_t alone = 0;
    std::uint64_t whole = 0;
    EXPECT_TRUE(rc::check("all kinds", [&] { run_sequence(true, alone, whole); }));
    EXPECT_GT(alone, 0U);
}

// A policy that is tried begins with a copy.
TEST(LiveTree, ACopyGoesOnByItself)
{
    auto scene = std::make_unique<Scene>();
    SpecElement element = level("/rpc", RateSpec{});
    element.fair_by = FairBy::Process;
    element.leaf_budget = 1;
    scene->input.spec.elements.push_back(element);
    scene->input.capabilities = connectx6();
    scene->input.link_speed = gbps(100);
    scene->compile();
    ASSERT_TRUE(scene->add({element.path, {"pid:1"}, std::nullopt}));
    LiveTree copy = scene->live;
    const Compiled before = scene->live.compiled();
    scene.reset();
    ASSERT_TRUE(copy.add(7, {element.path, {"pid:2"}, std::nullopt}));
    EXPECT_EQ(copy.compiled().tree, before.tree);
    EXPECT_EQ(copy.compiled().findings.size(), before.findings.size() + 1);
    ASSERT_TRUE(copy.remove(1));
    EXPECT_EQ(copy.leaf(7), ElementPath("/rpc/pid:2"));
}

TEST(LiveTree, APrincipalCostsAStepHoweverManyThereAre)
{
    Scene scene;
    SpecElement element = level("/rpc", RateSpec{});
    element.fair_by = FairBy::Process;
    scene.input.spec.elements.push_back(element);
    scene.input.capabilities = connectx6();
    scene.input.link_speed = gbps(100);
    scene.compile();
    constexpr int kMany = 2000;    // most of them beyond the leaves of the device
    for (int pid = 0; pid < kMany; ++pid) {
        ASSERT_TRUE(scene.add({element.path, {"pid:" + std::to_string(pid)}, std::nullopt}));
    }
    EXPECT_GT(scene.live.in_others(element.path), 1000U);
    for (int number = 1; number <= kMany; ++number) {
        ASSERT_TRUE(scene.remove(static_cast<Number>(number)));
    }
    EXPECT_EQ(scene.live.work().compilations, 1U);
    EXPECT_EQ(scene.live.work().steps, 2U * kMany);
}

}    // namespace
}    // namespace rdmaqos::test
