// What the kernel does is what the golden files of its version say it does. For the machine of tests/kernel.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/kernel/agreement/comparison.h"
#include "tests/kernel/agreement/variants.h"
#include "tests/kernel/firmware.h"
#include "tests/support/golden.h"
#include "tests/support/kernel_version.h"
#include "tests/support/process.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kDirectory = "/run/firmware";
constexpr const char* kResults = "/results/agreement";

// Whether a port on Ethernet has an address that packets can be sent to: the kernel looks for twins first.
bool has_address()
{
    std::istringstream lines(read_text("/proc/net/if_inet6"));
    std::string address;
    std::string flags;
    std::string word;
    bool found = false;
    while (lines >> address >> word >> word >> word >> flags >> word) {
        constexpr unsigned long kTentative = 0x40;
        if (address.starts_with("fe80")) {
            found = true;
            if ((std::stoul(flags, nullptr, 16) & kTentative) != 0) {
                return false;
            }
        }
    }
    return found;
}

// Compares with what is on record of this kernel. What is to become the record is in kResults: of a kernel that differs
// from the one that the emulator plays its differences, of all variants that ran.
void expect_known(const Variant& variant, const std::string& transcript)
{
    const auto [major, minor] = kernel_version();
    const std::string kernel = fmt::format("{}.{}", major, minor);
    if (kernel == kPlayedKernel) {
        expect_golden(golden_of(variant), transcript);
        return;
    }
    const std::string goldens = source_dir() + "/tests/golden/";
    const std::string played = read_text(goldens + golden_of(variant));
    const std::string differs = differences(kPlayedKernel, played, kernel, transcript);
    const fs::path results = fs::path(kResults) / "differences" / (kernel + ".txt");
    const std::string all = merged(read_text(results), differs);
    fs::create_directories(results.parent_path());
    std::ofstream(results, std::ios::binary) << all;
    const std::string golden = goldens + differences_of(kernel);
    ASSERT_TRUE(fs::exists(golden)) << "nothing is on record of Linux " << kernel
                                    << ". See whether the product copes with what differs from Linux " << kPlayedKernel
                                    << ", and put it there: cp build/*/tests/kernel/machine/two/agreement/differences/"
                                    << kernel << ".txt tests/golden/" << differences_of(kernel) << "\n"
                                    << differs;
    const std::string expected = with_differences(played, read_text(golden));
    EXPECT_EQ(differences("on record", expected, "it says", transcript), "") << "of Linux " << kernel;
}

class KernelAgreement : public testing::TestWithParam<Variant> {};

TEST_P(KernelAgreement, TheKernelDoesWhatTheGoldenFileSays)
{
    const Variant& variant = GetParam();
    const LoadedNic nic(variant.ethernet ? "plugged=0 eth=1" : "plugged=0 eth=0");
    std::vector<std::string> command{RDMAQOS_EMULATOR, "firmware",  "--directory",
                                     kDirectory,       "--devices", description_of(variant, RDMAQOS_AGREEMENT),
                                     "--plug"};
    if (variant.isolated) {
        command.emplace_back("--isolate-queue-groups");
    }
    const Child firmware(command, {}, "/tmp/firmware.log");
    ASSERT_TRUE(wait_for_nic(true)) << read_text("/tmp/firmware.log");
    ASSERT_TRUE(!variant.ethernet || eventually(has_address)) << read_text("/proc/net/if_inet6");
    // Kept, to become the golden file.
    fs::create_directories(kResults);
    const fs::path output = fs::path(kResults) / (std::string(variant.name) + ".txt");
    std::vector<std::string> program{RDMAQOS_TRANSCRIPT};
    std::istringstream areas(variant.areas);
    program.insert(program.end(), std::istream_iterator<std::string>(areas), {});
    Child transcript(program, {std::string("RDMA_QOS_EMULATOR=") + kDirectory, "PATH=/bin"}, output);
    const auto status = transcript.wait();
    ASSERT_TRUE(status.has_value()) << "it does not end: " << read_text(output);
    EXPECT_EQ(*status, 0) << read_text(output);
    expect_known(variant, read_text(output));
    firmware.signal(SIGTERM);
}

INSTANTIATE_TEST_SUITE_P(All, KernelAgreement, testing::ValuesIn(variants()), [](const auto& row) {
    std::string name = row.param.name;
    std::erase(name, '-');
    return name;
});

}    // namespace
}    // namespace rdmaqos::test::agreement
