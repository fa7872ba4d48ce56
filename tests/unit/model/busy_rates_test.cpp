#include "lib/model/busy_rates.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

const ElementPath kRoot = ElementPath::root();

Tree two_classes(std::uint32_t rpc, std::uint32_t bulk)
{
    return {{kRoot, {ElementKind::Node, {}, {}}},
            {ElementPath("/bulk"), {ElementKind::Leaf, kRoot, {bulk, {}}}},
            {ElementPath("/rpc"), {ElementKind::Node, kRoot, {rpc, {}}}},
            {ElementPath("/rpc/others"), {ElementKind::Leaf, ElementPath("/rpc"), {1, {}}}},
            {ElementPath("/rpc/pid:1"), {ElementKind::Leaf, ElementPath("/rpc"), {1, {}}}}};
}

TEST(BusyRates, OfClassesBeforeAndAfter)
{
    const std::set<ElementPath> classes{ElementPath("/bulk"), ElementPath("/rpc"), ElementPath("/elsewhere")};
    const auto rates = compare_busy_rates(two_classes(60, 40), two_classes(25, 75), Bandwidth::from_gbps(100), classes);
    const std::map<ElementPath, BusyRate> expected{
        {ElementPath("/bulk"), {Bandwidth::from_gbps(40), Bandwidth::from_gbps(75)}},
        {ElementPath("/rpc"), {Bandwidth::from_gbps(60), Bandwidth::from_gbps(25)}}};
    EXPECT_EQ(rates, expected);
}

TEST(BusyRates, AFoldedClassGetsWhatItsLeavesGet)
{
    const Tree tree{{kRoot, {ElementKind::Node, {}, {}}},
                    {ElementPath("/a"), {ElementKind::Leaf, kRoot, {1, {}}}},
                    {ElementPath("/rpc/others"), {ElementKind::Leaf, kRoot, {1, {}}}},
                    {ElementPath("/rpc/pid:1"), {ElementKind::Leaf, kRoot, {2, {}}}},
                    {ElementPath("/rpc2"), {ElementKind::Leaf, kRoot, {1, {}}}}};
    const auto rates = compare_busy_rates({}, tree, Bandwidth::from_gbps(10),
                                          {ElementPath("/rpc"), ElementPath("/none")});
    const std::map<ElementPath, BusyRate> expected{{ElementPath("/rpc"), {std::nullopt, Bandwidth::from_gbps(6)}}};
    EXPECT_EQ(rates, expected);
}

TEST(BusyRates, AClassThatComesOrGoes)
{
    const Tree tree = two_classes(60, 40);
    const std::set<ElementPath> classes{ElementPath("/rpc")};
    const auto fresh = compare_busy_rates({}, tree, Bandwidth::from_gbps(10), classes).at(ElementPath("/rpc"));
    EXPECT_EQ(fresh, (BusyRate{std::nullopt, Bandwidth::from_gbps(6)}));
    const auto gone = compare_busy_rates(tree, {}, Bandwidth::from_gbps(10), classes).at(ElementPath("/rpc"));
    EXPECT_EQ(gone, (BusyRate{Bandwidth::from_gbps(6), std::nullopt}));
}

}    // namespace
}    // namespace rdmaqos
