#include "lib/smp/umad.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace rdmaqos::smp::test {
namespace {

using testing::HasSubstr;

// A port of a device, with a file in place of its umad.
void add_umad(const std::filesystem::path& root, const std::string& name, const std::string& device, int port)
{
    const auto folder = root / "sys/class/infiniband_mad" / name;
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(root / "dev/infiniband");
    std::ofstream(folder / "ibdev") << device << '\n';
    std::ofstream(folder / "port") << port << '\n';
    std::ofstream(root / "dev/infiniband" / name) << "";
}

TEST(Umad, IsThatOfTheDeviceAndPort)
{
    const rdmaqos::test::TempDir root;
    add_umad(root.path(), "umad0", "mlx5_0", 1);
    add_umad(root.path(), "umad3", "mlx5_0", 2);
    const auto opened = Umad::open("mlx5_0", 2, root.path());
    ASSERT_FALSE(opened) << "it is a file";
    EXPECT_EQ(opened.error().code, ErrorCode::Io);
    EXPECT_THAT(opened.error().message, HasSubstr("cannot register with")) << "but it was found";
    EXPECT_THAT(opened.error().message, HasSubstr("umad3"));
}

TEST(Umad, APortWithoutOneIsSaidToHaveNone)
{
    const rdmaqos::test::TempDir root;
    add_umad(root.path(), "umad0", "mlx5_0", 1);
    for (const auto& [device, port] : {std::pair("mlx5_0", 2), std::pair("mlx5_1", 1), std::pair("mlx5", 1)}) {
        const auto opened = Umad::open(device, static_cast<std::uint32_t>(port), root.path());
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::UnknownDevice);
        EXPECT_THAT(opened.error().message, HasSubstr("modprobe ib_umad"));
    }
}

}    // namespace
}    // namespace rdmaqos::smp::test
