#include "policy/model/ulp_forms.h"

#include <string>

#include <gtest/gtest.h>

#include "policy/model/service_id.h"
#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos {
namespace {

TEST(UlpForms, AreInTheOrderOfTheirNames)
{
    for (const Ulp ulp : {Ulp::Default, Ulp::Sdp, Ulp::Rds, Ulp::Iser, Ulp::Srp, Ulp::Ipoib, Ulp::Any, Ulp::Lustre,
                          Ulp::NvmeOf, Ulp::NfsRdma, Ulp::Ceph}) {
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

// What a program that connects through rdma_cm asks the subnet manager for.
TEST(UlpForms, StorageIsAtThePortsOfItsTransport)
{
    const auto at = [](std::uint16_t port) { return *service_id_of("tcp", port); };
    const auto services = [](Ulp ulp) { return meaning_of(ulp, std::nullopt, {}).service_id; };
    EXPECT_EQ(services(Ulp::Lustre), IntervalSet({{at(987), at(987)}}));
    EXPECT_EQ(services(Ulp::NvmeOf), IntervalSet({{at(4420), at(4420)}}));
    EXPECT_EQ(services(Ulp::NfsRdma), IntervalSet({{at(20049), at(20049)}}));
    EXPECT_EQ(services(Ulp::Ceph), IntervalSet({{at(3300), at(3300)}, {at(6789), at(6789)}, {at(6800), at(7568)}}));
    EXPECT_EQ(meaning_of(Ulp::Lustre, UlpCriterion::PortNum, IntervalSet({{988, 989}})).service_id,
              IntervalSet({{at(988), at(989)}}));
}

// OpenSM would refuse the whole file.
TEST(UlpForms, OfTheHostAloneAreNotReadFromOpensmsFormat)
{
    for (const UlpForm& form : ulp_forms()) {
        const std::string entry = std::string(form.name) + (form.needs_one ? ", target-port-guid 7" : "") + " : 1\n";
        const auto result = test::read_native("qos-ulps\n    default : 0\n    " + entry + "end-qos-ulps\n",
                                              OpensmMode::Default);
        EXPECT_EQ(result.value == nullptr, form.host_only) << entry << test::shown(result);
    }
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
