// What is read as OpenSM reads it, with a word about it.
#include <string>

#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos::test {
namespace {

TEST(OpensmWarnings, NothingToSay)
{
    const auto result = read_native(with_group("name: g\nport-guid: 0x1-0x5\n") + with_ulps("sdp : 1\n"),
                                    OpensmMode::Default);
    EXPECT_EQ(result.diagnostics.warning_count(), 1U) << shown(result);    // the ulp default
    EXPECT_TRUE(read_native(kDefaultLevel, OpensmMode::Default).diagnostics.empty());
}

TEST(OpensmWarnings, Numbers)
{
    expect_warned(with_level("packet-life: 010\n"), "`010` is read as 8: a leading 0 means octal, as in OpenSM");
    expect_warned(with_level("packet-life: 00\n") + with_level("", "x") + with_level("", "X"),
                  "a second qos-level `X` is never used, as in OpenSM");
    expect_warned(with_rule("service-id: 99999999999999999999\n"),
                  "the number is above 2^64 - 1: it is read as 0xffffffffffffffff");
    expect_warned(with_rule("qos-class: 7, 5000\n"), "a QoS class has 12 bits: values above 4095 never match");
    expect_warned(
        with_rule("pkey: 0x7ff0-0x8010\n"),
        "this range crosses a multiple of 0x8000: without the membership bit it is 0x10-0x7ff0, as in OpenSM");
    expect_warned(with_rule("pkey: 0x7fff-0x8000\n"),
                  "this range crosses a multiple of 0x8000: without the membership bit it is 0x0-0x7fff, as in OpenSM");
    expect_warned(with_rule("pkey: 0x18001\n"),
                  "a P_Key has 16 bits: without those above the membership bit this is 0x1, as in OpenSM");
    expect_warned(with_rule("pkey: 0x0002\n"), "no port of the fabric file has a P_Key of 0x2");
}

TEST(OpensmWarnings, Names)
{
    expect_warned(with_group("name: Virtual Servers\nport-guid: 1\n"),
                  "unquoted spaces are removed, as in OpenSM: the name is `VirtualServers`");
    expect_warned(with_group("name: g\nport-name: vs1 HCA-1/P1\n"),
                  "unquoted spaces are removed, as in OpenSM: the port-name is `vs1HCA-1/P1`");
    expect_warned(with_group("name: g\n"), "port-group `g` has no members: it never matches");
    EXPECT_EQ(
        expect_warned(with_group("name: caf\xe9\nport-guid: 1\n"), "what is not printable UTF-8 is escaped: `caf\\xe9`")
            .groups.front()
            .name,
        "caf\\xe9");
}

TEST(OpensmWarnings, WhatHasNoEffect)
{
    expect_warned(with_level("path-bits: 1-3\n"), "`path-bits` has no effect, as in OpenSM");
    expect_warned("qos-ulps\ndefault: 3\nend-qos-ulps\n" + kDefaultLevel,
                  "`default` is ignored, as in OpenSM: there is a qos-level `DEFAULT`");
    EXPECT_EQ(expect_warned("qos-ulps\ndefault: 3\ndefault: 4\nend-qos-ulps\n",
                            "a second `default`: it replaces the first, as in OpenSM")
                  .levels.at(1)
                  .sl,
              4);
    expect_warned("qos-setup\nvlarb-tables\nvlarb-scope\ngroup: g\nend-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n" +
                      kDefaultLevel,
                  "`qos-setup` has no effect, as in OpenSM");
    expect_warned(with_rule("") + with_ulps("sdp : 1\n").substr(0, 17) + "end-qos-ulps\n",
                  "a rule without criteria matches everything: no rule after it is ever reached");
    expect_warned(with_ulps("any, source-target-port-guid 1 : 1\n"),
                  "both ends of a path must be among these ports, as in OpenSM, whose manual says `source or target`");
}

TEST(OpensmWarnings, TheFabricCannotMakeAFileInvalid)
{
    expect_warned(with_group("name: g\nport-name: vs3/P99\n"),
                  "port 99 of node `vs3` is not in the fabric file: the name refers to nothing");
    expect_warned(with_ulps("ipoib, pkey 5 : 1\n"),
                  "by the fabric file the partition with P_Key 0x0005 has fewer than two full members");
    expect_warned(with_ulps("ipoib, pkey 9 : 1\n"),
                  "by the fabric file the partition with P_Key 0x0009 does not exist");
    // Without a fabric file nothing is known.
    const auto result = read_native(with_ulps("ipoib : 1\n"), OpensmMode::Default, Fabric{});
    EXPECT_TRUE(result.diagnostics.empty()) << shown(result);
}

}    // namespace
}    // namespace rdmaqos::test
