// What the kernel does is what the golden files say it does. For the machine of tests/kernel.
#include <chrono>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/kernel/agreement/variants.h"
#include "tests/kernel/firmware.h"
#include "tests/support/golden.h"
#include "tests/support/process.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kDirectory = "/run/firmware";
constexpr const char* kResults = "/results/agreement";

class KernelAgreement : public testing::TestWithParam<Variant> {};

TEST_P(KernelAgreement, TheKernelDoesWhatTheGoldenFileSays)
{
    const Variant& variant = GetParam();
    const LoadedNic nic("plugged=0");
    std::vector<std::string> command{RDMAQOS_EMULATOR, "firmware",        "--directory", kDirectory,
                                     "--devices",      RDMAQOS_AGREEMENT, "--plug"};
    if (variant.isolated) {
        command.emplace_back("--isolate-queue-groups");
    }
    const Child firmware(command, {}, "/tmp/firmware.log");
    ASSERT_TRUE(wait_for_nic(true)) << read_text("/tmp/firmware.log");
    // Kept, to become the golden file.
    fs::create_directories(kResults);
    const fs::path output = fs::path(kResults) / (std::string(variant.name) + ".txt");
    Child transcript({RDMAQOS_TRANSCRIPT}, {std::string("RDMA_QOS_EMULATOR=") + kDirectory, "PATH=/bin"}, output);
    const auto status = transcript.wait(300s);
    ASSERT_TRUE(status.has_value()) << "it does not end: " << read_text(output);
    EXPECT_EQ(*status, 0) << read_text(output);
    expect_golden(golden_of(variant), read_text(output));
    firmware.signal(SIGTERM);
}

INSTANTIATE_TEST_SUITE_P(All, KernelAgreement, testing::ValuesIn(variants()), [](const auto& row) {
    std::string name = row.param.name;
    std::erase(name, '-');
    return name;
});

}    // namespace
}    // namespace rdmaqos::test::agreement
