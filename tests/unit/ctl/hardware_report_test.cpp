#include "tools/rdma-qosctl/world/hardware_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using namespace rdmaqos::ctl::test;
using testing::HasSubstr;
using testing::Not;

HardwareReport report_of(const std::vector<DeviceView>& devices, Guids guids = Guids::Masked)
{
    std::vector<const DeviceView*> pointers;
    for (const auto& device : devices) {
        pointers.push_back(&device);
    }
    return make_hardware_report({"6.1.0-18-amd64", "x86_64", "0.1.0"}, "0.2.0", pointers, guids);
}

TEST(HardwareReport, OfTwoDevices)
{
    expect_golden("ctl/hardware-report.txt",
                  render_hardware_report(report_of({sample_hardware(), sample_device("mlx5_1")}), Colour::Off));
}

TEST(HardwareReport, AsJson)
{
    expect_golden("ctl/hardware-report.json", to_text(hardware_report_json(report_of({sample_hardware()}))));
}

TEST(HardwareReport, WithoutADevice)
{
    EXPECT_THAT(render_hardware_report(report_of({}), Colour::Off), HasSubstr("no device: the daemon waits for one"));
    EXPECT_TRUE(hardware_report_json(report_of({})).at("devices").empty());
}

// Both forms of the report of a device whose own name is made of its GUID.
std::vector<std::string> forms(Guids guids)
{
    DeviceView device = sample_hardware();
    device.name = "rocex1070fd0300aa0000";
    const auto report = report_of({device}, guids);
    return {render_hardware_report(report, Colour::Off), to_text(hardware_report_json(report))};
}

TEST(HardwareReport, MasksGuidsWhereverTheyStand)
{
    for (const auto& text : forms(Guids::Masked)) {
        EXPECT_THAT(text, HasSubstr("0x1070fdxxxxxxxxxx"));
        EXPECT_THAT(text, HasSubstr("rocex1070fdxxxxxxxxxx/1"));
        EXPECT_THAT(text, HasSubstr("1070:fdxx:xxxx:xxxx"));
        EXPECT_THAT(text, HasSubstr("0x1070FDxxxxxxxxxx"));
        EXPECT_THAT(text, HasSubstr("0x7fffffffffffffff")) << "a mask is no GUID";
        for (const char* rest : {"0300aa", "0300AA", "03:00aa", "0aa0001"}) {
            EXPECT_THAT(text, Not(HasSubstr(rest)));
        }
    }
}

TEST(HardwareReport, ShowsGuidsOnRequest)
{
    for (const auto& text : forms(Guids::Shown)) {
        for (const char* guid : {"0x1070fd0300aa0000", "0x1070fd0300aa0001", "0x1070FD0300AA0FFE",
                                 "1070:fd03:00aa:0001", "rocex1070fd0300aa0000"}) {
            EXPECT_THAT(text, HasSubstr(guid));
        }
    }
}

TEST(HardwareReport, TellsNoNamesOfNetworksOrClasses)
{
    for (const auto guids : {Guids::Masked, Guids::Shown}) {
        for (const auto& text : forms(guids)) {
            for (const char* name : {"enx", "bond-storage", "customer", "/tenants"}) {
                EXPECT_THAT(text, Not(HasSubstr(name)));
            }
        }
    }
}

TEST(HardwareReport, WhatTheDeviceSaysIsMadePrintable)
{
    DeviceView device = sample_hardware();
    device.attributes.push_back({"x\x1b[1m", "y\x1b[2m", "z\x1b[3m"});
    device.self_test.push_back({"s\x1b[4m", true, 0, 0, 0, "r\x1b[5m"});
    EXPECT_THAT(render_hardware_report(report_of({device}), Colour::Off), Not(HasSubstr("\x1b")));
}

TEST(Render, DeviceWithAllItSays)
{
    expect_golden("ctl/device-hardware.txt", render_device(sample_hardware(), Colour::Off));
}

TEST(Render, DeviceWithAllItSaysInColour)
{
    expect_golden("ctl/device-hardware-colour.txt", render_device(sample_hardware(), Colour::On));
}

TEST(Json, DeviceWithAllItSays)
{
    const DeviceView device = sample_hardware();
    expect_golden("ctl/device-hardware.json", to_text(devices_json({&device})));
}

TEST(Wrap, BreaksAtBlanks)
{
    using Lines = std::vector<std::string>;
    EXPECT_EQ(wrap("", 10), Lines{""});
    EXPECT_EQ(wrap("one two", 7), Lines{"one two"});
    EXPECT_EQ(wrap("one two", 6), (Lines{"one", "two"}));
    EXPECT_EQ(wrap("a longerthanten b", 10), (Lines{"a", "longerthanten", "b"}));
    EXPECT_EQ(wrap("\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6", 5), Lines{"\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6"});
}

TEST(ErrnoName, OfAnyNumber)
{
    EXPECT_EQ(errno_name(121), "EREMOTEIO");
    EXPECT_EQ(errno_name(4711), "errno 4711");
}

}    // namespace
}    // namespace rdmaqos::ctl
