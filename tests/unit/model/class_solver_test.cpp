#include "lib/model/class_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lib/model/process_trees.h"
#include "tests/unit/model/random_tree.h"
#include "tests/unit/model/trees.h"

namespace rdmaqos {
namespace {

using enum ElementKind;
using test::classes_of;
using test::text_of;
using test::tree_of;

constexpr auto kSlowLink = Bandwidth::from_mbps(400);

TEST(PortClasses, ADscpHasAPriorityAndThatAClass)
{
    PortClasses port;
    EXPECT_EQ(port.class_of_dscp(63), 0);
    port.priority_of_dscp.at(26) = 3;
    port.class_of_priority.at(3) = 5;
    port.class_of_priority.at(0) = 1;
    EXPECT_EQ(port.class_of_dscp(26), 5);
    EXPECT_EQ(port.class_of_dscp(0), 1) << "unmarked: priority 0, whose class need not be 0";
}

TEST(PortClasses, StrictOnesAreFirstAndThoseWithoutAWeightLast)
{
    const auto port = classes_of({{true, 0, {}}, {true, 0, {}}, {false, 1, {}}, {false, 0, {}}});
    EXPECT_GT(rank_of(port, 1), rank_of(port, 0));
    EXPECT_GT(rank_of(port, 0), rank_of(port, 2));
    EXPECT_GT(rank_of(port, 2), rank_of(port, 3));
    EXPECT_EQ(rank_of(port, 3), rank_of(port, 7));
    EXPECT_EQ(weight_of(port.classes.at(3)), 1);
}

TEST(PortClasses, AreWordsAndBack)
{
    const std::vector<std::string> words{
        "tc1=70,10000000kbps", "tc2=30", "tc6=strict", "prio0=1", "prio1=0", "dscp26=2"};
    const auto port = parse_port_classes(words).value();
    EXPECT_EQ(port.class_of_dscp(26), 2);
    EXPECT_EQ(port.class_of_dscp(0), 1);
    EXPECT_EQ(port.classes.at(1), (PortClass{false, 70, Bandwidth::from_gbps(10)}));
    EXPECT_TRUE(port.classes.at(6).is_strict);
    EXPECT_EQ(words_of(port), words);
    EXPECT_EQ(parse_port_classes({}).value(), PortClasses());
    EXPECT_TRUE(words_of({}).empty());
    const auto identity = parse_port_classes({"prio0=0"}).value();
    EXPECT_EQ(identity.class_of_priority.at(7), 7);
    EXPECT_EQ(parse_port_classes(words_of(identity)).value(), identity);
    for (const char* wrong : {"", "tc8=1", "tc1", "tc1=", "tc1=101", "tc1=strict,", "tc1=1,fast", "prio8=0", "prio0=8",
                              "dscp64=1", "dscp1=8", "dscp1=x", "dscp=1", "x=1", "tc1=-1"}) {
        EXPECT_FALSE(parse_port_classes({wrong})) << wrong;
    }
}

// The example of class_solver.h: trees of processes, which are alike to the port.
TEST(ClassSolver, SharesHoldBetweenProcesses)
{
    const Tree tree = tree_of({{"/heavy", Leaf, 70}, {"/light", Leaf, 30}});
    const ElementPath heavy("/heavy");
    const ElementPath light("/light");
    ProcessSenders senders;
    senders[17].add(heavy, std::nullopt);
    senders[18].add(light, std::nullopt);
    senders[19].add(light, std::nullopt);
    const Tree trees = trees_of_processes(tree, senders, CapMode::Whole);
    const ClassDemands demands{
        {1, {{path_in_process(17, heavy), std::nullopt}}},
        {2, {{path_in_process(18, light), std::nullopt}, {path_in_process(19, light), std::nullopt}}}};
    const auto all = solve(trees, kSlowLink, classes_of({{}, {false, 70, {}}, {false, 30, {}}}), demands);
    EXPECT_EQ(text_of(all.classes.at(1)), "280 Mbit/s, link");
    EXPECT_EQ(text_of(all.classes.at(2)), "120 Mbit/s, link");
    EXPECT_EQ(text_of(all.elements.at(path_in_process(17, heavy))), "280 Mbit/s, link");
    EXPECT_EQ(text_of(all.elements.at(path_in_process(18, light))), "60 Mbit/s, link");
    EXPECT_EQ(text_of(all.elements.at(path_in_process(19, light))), "60 Mbit/s, link");
    EXPECT_EQ(text_of(all.elements.at(ElementPath::root())), "400 Mbit/s, link");
}

TEST(ClassSolver, WhoIsStrictIsFirst)
{
    const Tree tree = tree_of({{"/a", Leaf}, {"/b", Leaf}, {"/c", Leaf}, {"/d", Leaf}});
    const auto port = classes_of(
        {{false, 100, {}}, {true, 0, {}}, {true, 0, Bandwidth::from_mbps(150)}, {false, 0, {}}});
    const ClassDemands demands{{0, {{ElementPath("/a"), std::nullopt}}},
                               {1, {{ElementPath("/b"), Bandwidth::from_mbps(100)}}},
                               {2, {{ElementPath("/c"), std::nullopt}}},
                               {3, {{ElementPath("/d"), std::nullopt}}}};
    const auto all = solve(tree, kSlowLink, port, demands);
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/c"))), "150 Mbit/s, class 2");
    EXPECT_EQ(text_of(all.classes.at(2)), "150 Mbit/s, class 2");
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/b"))), "100 Mbit/s, demand");
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/a"))), "150 Mbit/s, link");
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/d"))), "0 kbit/s, link");
}

// What a class leaves is for the others of its rank, and then for those below.
TEST(ClassSolver, WhatAClassCannotUseIsForTheOthers)
{
    const Tree tree = tree_of({{"/a", Leaf}, {"/b", Leaf}, {"/c", Leaf}});
    const ClassDemands demands{{0, {{ElementPath("/a"), Bandwidth::from_mbps(40)}}},
                               {1, {{ElementPath("/b"), std::nullopt}}},
                               {2, {{ElementPath("/c"), std::nullopt}}}};
    const auto all = solve(tree, kSlowLink, classes_of({{false, 50, {}}, {false, 30, {}}, {false, 20, {}}}), demands);
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/a"))), "40 Mbit/s, demand");
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/b"))), "216 Mbit/s, link");
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/c"))), "144 Mbit/s, link");
}

TEST(ClassSolver, ACapHoldsInAllClassesTogether)
{
    const Tree tree = tree_of({{"/a", Leaf, 1, Bandwidth::from_mbps(100)}, {"/b", Leaf}});
    const ElementPath a("/a");
    const ClassDemands demands{{0, {{a, std::nullopt}, {ElementPath("/b"), std::nullopt}}}, {1, {{a, std::nullopt}}}};
    const auto all = solve(tree, kSlowLink, classes_of({{false, 50, {}}, {false, 50, {}}}), demands);
    EXPECT_EQ(text_of(all.elements.at(a)), "100 Mbit/s, cap of /a");
    EXPECT_NEAR(all.kbps_in_class.at(0).at(a), 100'000.0 / 3, 1);
    EXPECT_NEAR(all.kbps_in_class.at(1).at(a), 200'000.0 / 3, 1);
    EXPECT_EQ(text_of(all.elements.at(ElementPath("/b"))), "300 Mbit/s, link");
    const auto strict = solve(tree, kSlowLink, classes_of({{true, 0, {}}, {true, 0, {}}}), demands);
    EXPECT_NEAR(strict.kbps_in_class.at(1).at(a), 100'000, 1) << "the higher class takes all of it";
    EXPECT_NEAR(strict.kbps_in_class.at(0).at(a), 0, 1);
}

TEST(ClassSolver, NobodySends)
{
    const Tree tree = tree_of({{"/a", Leaf}});
    EXPECT_EQ(solve(tree, kSlowLink, {}, {}).elements.at(ElementPath("/a")).kbps, 0);
    EXPECT_EQ(solve(tree, kSlowLink, {}, {{0, {{ElementPath("/a"), Bandwidth()}}}}).elements.at(ElementPath("/a")).kbps,
              0);
    EXPECT_TRUE(solve({}, kSlowLink, {}, {{0, {{ElementPath("/a"), std::nullopt}}}}).elements.empty());
    const auto none = solve(tree, Bandwidth(), {}, {{0, {{ElementPath("/a"), std::nullopt}}}});
    EXPECT_EQ(text_of(none.elements.at(ElementPath("/a"))), "0 kbit/s, link");
}

TEST(ClassSolver, SaysWhatTheSolverSaysOfOneClass)
{
    EXPECT_TRUE(rc::check("one class", [] {
        const test::RandomCase random = test::random_case({});
        const auto link = Bandwidth::from_mbps(10'000);
        const auto number = *rc::gen::inRange<std::uint8_t>(0, 8);
        PortClasses port = test::random_classes(10'000);
        port.classes.at(number).max_rate.reset();
        const auto all = solve(random.tree, link, port, {{number, random.demands}});
        const auto expected = solve(random.tree, link, random.demands);
        RC_ASSERT(all.elements.size() == expected.size());
        for (const auto& [path, allocation] : expected) {
            RC_LOG() << path.text() << ": " << text_of(all.elements.at(path)) << ", not " << text_of(allocation)
                     << '\n';
            RC_ASSERT(std::abs(all.elements.at(path).kbps - allocation.kbps) < 0.1);
            if (random.demands.contains(path)) {
                RC_ASSERT(all.elements.at(path).bottleneck == allocation.bottleneck);
                RC_ASSERT(all.elements.at(path).bottleneck_at == allocation.bottleneck_at);
            }
        }
    }));
}

// The same rules with one small piece of the link after the other, each given to who has had least for his weight.
class Reference {
public:
    Reference(const Tree& tree, const PortClasses& port, const ClassDemands& demands)
        : tree_(tree), port_(port), demands_(demands)
    {
    }

    // False: nobody can take it.
    bool give(double kbps)
    {
        std::optional<std::uint8_t> best;
        for (const auto& [number, wanted] : demands_) {
            if (!can_take(number, ElementPath::root()) ||
                (port_.classes.at(number).max_rate &&
                 of_class(number) >= static_cast<double>(port_.classes.at(number).max_rate->kbps()))) {
                continue;
            }
            const auto level = [this](std::uint8_t each) { return of_class(each) / weight_of(port_.classes.at(each)); };
            const bool is_first = !best || rank_of(port_, number) > rank_of(port_, *best) ||
                                  (rank_of(port_, number) == rank_of(port_, *best) && level(number) < level(*best));
            if (is_first) {
                best = number;
            }
        }
        if (!best) {
            return false;
        }
        ElementPath at = ElementPath::root();
        while (true) {
            given_[*best][at] += kbps;
            all_[at] += kbps;
            if (tree_.at(at).kind == Leaf) {
                return true;
            }
            const ElementPath* next = nullptr;
            double least = std::numeric_limits<double>::infinity();
            for (const auto& [path, element] : tree_) {
                const double level = given_[*best][path] / std::max(1U, element.attributes.share);
                if (element.parent == at && level < least && can_take(*best, path)) {
                    next = &path;
                    least = level;
                }
            }
            at = *next;
        }
    }
    [[nodiscard]] double of(std::uint8_t number, const ElementPath& path) { return given_[number][path]; }

private:
    [[nodiscard]] double of_class(std::uint8_t number) { return given_[number][ElementPath::root()]; }
    [[nodiscard]] bool can_take(std::uint8_t number, const ElementPath& path)
    {
        const Element& element = tree_.at(path);
        if (element.attributes.max_rate && all_[path] >= static_cast<double>(element.attributes.max_rate->kbps())) {
            return false;
        }
        if (element.kind == Leaf) {
            const auto wanted = demands_.at(number).find(path);
            return wanted != demands_.at(number).end() &&
                   (!wanted->second || given_[number][path] < static_cast<double>(wanted->second->kbps()));
        }
        return std::any_of(tree_.begin(), tree_.end(), [&](const auto& each) {
            return each.second.parent == path && can_take(number, each.first);
        });
    }

    const Tree& tree_;
    const PortClasses& port_;
    const ClassDemands& demands_;
    std::map<std::uint8_t, std::map<ElementPath, double>> given_;
    std::map<ElementPath, double> all_;
};

TEST(ClassSolver, AgreesWithASlowReference)
{
    EXPECT_TRUE(rc::check("the solver of classes agrees with the reference", [] {
        constexpr int kPieces = 4'000;
        const auto link = Bandwidth::from_mbps(1'000);
        const test::RandomCase random = test::random_case({9, 10, 4, 1'000});
        const PortClasses port = test::random_classes(1'000);
        ClassDemands demands;
        for (const auto& [path, demand] : random.demands) {
            for (std::uint8_t number = 0; number < 4; ++number) {    // some leaves send in several classes
                if (*rc::gen::inRange(0, 3) == 0) {
                    demands[number][path] = demand;
                }
            }
        }
        Reference reference(random.tree, port, demands);
        const double piece = static_cast<double>(link.kbps()) / kPieces;
        for (int count = 0; count < kPieces && reference.give(piece); ++count) {
        }
        const auto all = solve(random.tree, link, port, demands);
        double sum = 0;
        for (const auto& [number, allocation] : all.classes) {
            sum += allocation.kbps;
        }
        RC_ASSERT(sum <= static_cast<double>(link.kbps()) * (1 + 1e-9));
        for (const auto& [number, elements] : all.kbps_in_class) {
            for (const auto& [path, kbps] : elements) {
                RC_LOG() << int{number} << ' ' << path.text() << ": " << kbps << ", not " << reference.of(number, path)
                         << '\n';
                RC_ASSERT(std::abs(kbps - reference.of(number, path)) < 30 * piece);
            }
        }
    }));
}

}    // namespace
}    // namespace rdmaqos
