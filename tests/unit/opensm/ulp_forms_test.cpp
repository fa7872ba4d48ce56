#include "policy/model/ulp_forms.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

TEST(UlpForms, AreInTheOrderOfTheirNames)
{
    for (const Ulp ulp : {Ulp::Default, Ulp::Sdp, Ulp::Rds, Ulp::Iser, Ulp::Srp, Ulp::Ipoib, Ulp::Any}) {
        EXPECT_EQ(form_of(ulp).ulp, ulp);
    }
}

TEST(UlpForms, WellKnownServices)
{
    EXPECT_EQ(meaning_of(Ulp::Sdp, std::nullopt, {}).service_id, IntervalSet({{0x10000, 0x1FFFF}}));
    EXPECT_EQ(meaning_of(Ulp::Rds, std::nullopt, {}).service_id, IntervalSet({{0x10648CA, 0x10648CA}}));
    EXPECT_EQ(meaning_of(Ulp::Iser, std::nullopt, {}).service_id, IntervalSet({{0x1060CBC, 0x1060CBC}}));
    EXPECT_EQ(meaning_of(Ulp::Ipoib, std::nullopt, {}).pkey, IntervalSet({{0x7FFF, 0x7FFF}}));
}

TEST(UlpForms, PortsAreCountedFromTheirServices)
{
    const IntervalSet ports({{0xCBC, 0xCBC}});
    EXPECT_EQ(meaning_of(Ulp::Sdp, UlpCriterion::PortNum, ports).service_id, IntervalSet({{0x10CBC, 0x10CBC}}));
    EXPECT_EQ(meaning_of(Ulp::Rds, UlpCriterion::PortNum, ports).service_id,
              meaning_of(Ulp::Iser, std::nullopt, {}).service_id);
}

TEST(UlpForms, PortsBecomeGroups)
{
    const IntervalSet guids({{1, 5}});
    const UlpMeaning srp = meaning_of(Ulp::Srp, UlpCriterion::TargetPortGuid, guids);
    EXPECT_EQ(srp.group_name, "_SRP_Targets_");
    EXPECT_EQ(srp.port_guids, guids);
    EXPECT_TRUE(srp.group_is_destination && !srp.group_is_source);
    EXPECT_EQ(meaning_of(Ulp::Any, UlpCriterion::TargetPortGuid, guids).group_name, "_ULP_Targets_");
    const UlpMeaning source = meaning_of(Ulp::Any, UlpCriterion::SourcePortGuid, guids);
    EXPECT_TRUE(source.group_is_source && !source.group_is_destination);
    const UlpMeaning both = meaning_of(Ulp::Any, UlpCriterion::SourceTargetPortGuid, guids);
    EXPECT_EQ(both.group_name, "_ULP_Sources_Targets_");
    EXPECT_TRUE(both.group_is_source && both.group_is_destination);
}

}    // namespace
}    // namespace rdmaqos
