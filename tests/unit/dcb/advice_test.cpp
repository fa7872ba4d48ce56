#include "lib/dcb/advice.h"

#include <cerrno>

#include <gmock/gmock.h>

#include "lib/dcb/words.h"

namespace rdmaqos::dcb {
namespace {

using testing::HasSubstr;

PortKnown port(std::string_view driver, std::optional<Dcbx> dcbx = kHostDcbx)
{
    PortKnown known{.interface = "ens1", .driver = find_driver(driver), .before = {}};
    known.before.dcbx = dcbx;
    return known;
}

const Write kApp = SetApp{{Selector::Dscp, 26, 3}};
constexpr Dcbx kAgent{.host = false, .firmware = true, .ieee = true, .cee = false};

TEST(Advice, NamesWhatToChange)
{
    EXPECT_THAT(advice_on(port("mlx5_core"), kApp, EPERM), HasSubstr("CAP_NET_ADMIN"));
    EXPECT_THAT(advice_on(port("mlx5_core"), kApp, EOPNOTSUPP), HasSubstr("the driver has no such thing"));
    EXPECT_THAT(advice_on(port("ice", kAgent), kApp, EINVAL),
                HasSubstr("`ethtool --set-priv-flags ens1 fw-lldp-agent off`"));
    EXPECT_THAT(advice_on(port("i40e", kAgent), SetEts{}, EINVAL),
                HasSubstr("`ethtool --set-priv-flags ens1 disable-fw-lldp on`"));
    EXPECT_THAT(advice_on(port("bnxt_en", kAgent), kApp, EINVAL), HasSubstr("lldp_nearest_bridge"));
    EXPECT_THAT(advice_on(port("hns3", Dcbx{}), kApp, EINVAL), HasSubstr("`dcb dcbx set dev ens1 host ieee`"));
    EXPECT_THAT(advice_on(port("none", kAgent), kApp, EINVAL), HasSubstr("the vendor's tool"));
}

TEST(Advice, ModesOfDcbxAreNotBlamedWhereTheyDoNotMatter)
{
    EXPECT_THAT(advice_on(port("mlx5_core", kAgent), kApp, EINVAL), HasSubstr("does not say why"));
    EXPECT_THAT(advice_on(port("ice"), kApp, EINVAL), HasSubstr("does not say why"));
    EXPECT_THAT(advice_on(port("qede"), SetEts{}, EINVAL), HasSubstr("operational in IEEE mode"));
}

TEST(Advice, SaysWhatIsThere)
{
    PortSettings after;
    after.apps = {{Selector::Dscp, 26, 5}};
    EXPECT_THAT(advice_on_difference(port("mlx5_core"), kApp, after), HasSubstr("now: DSCP 26 to priority 5; "));
    EXPECT_THAT(advice_on_difference(port("mlx5_core"), kApp, {}), HasSubstr("there is no such entry"));
    EXPECT_THAT(advice_on_difference(port("mlx5_core"), SetEts{}, {}), HasSubstr("there is no ETS"));
    EXPECT_THAT(advice_on_difference(port("mlx5_core"), SetDcbx{}, {}), HasSubstr("DCBX is unknown"));
    EXPECT_THAT(advice_on_difference(port("ice"), SetMaxRates{MaxRates{Bandwidth::from_gbps(1)}}, {}),
                HasSubstr("ice has no maximum rates"));
}

TEST(Words, OfSettings)
{
    EXPECT_EQ(in_words(AppEntry{Selector::Ethertype, 0x8915, 3}), "EtherType 0x8915 to priority 3");
    EXPECT_EQ(in_words(kHostDcbx), "in host mode, IEEE");
    EXPECT_EQ(in_words(kAgent), "in the NIC's firmware, IEEE");
    Ets ets;
    ets.traffic_class[0] = {.selection = Selection::Ets, .weight = 60, .max_rate = {}};
    ets.traffic_class[3] = {.selection = Selection::Ets, .weight = 40, .max_rate = {}};
    ets.class_of_priority = {0, 0, 0, 3, 0, 5, 0, 0};
    EXPECT_EQ(in_words(ets),
              "class 0: 60 %, class 3: 40 %, class 5: strict; priorities 0 to 7 in classes 0 0 0 3 0 5 0 0");
    EXPECT_EQ(in_words(Write{DeleteApp{{Selector::Dscp, 26, 3}}}), "delete the entry DSCP 26 to priority 3");
    EXPECT_EQ(in_words(Write{SetMaxRates{}}), "remove all maximum rates");
    EXPECT_EQ(in_words(Write{SetMaxRates{MaxRates{Bandwidth::from_gbps(1)}}}),
              "set maximum rates: class 0: 1 Gbit/s, others none");
    EXPECT_EQ(in_words(Write{SetDcbx{kHostDcbx}}), "set DCBX in host mode, IEEE");
}

}    // namespace
}    // namespace rdmaqos::dcb
