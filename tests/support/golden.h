// Golden files: what the operator sees, kept as text in tests/golden and compared byte by byte.
// RDMAQOS_UPDATE_GOLDEN=1 rewrites a file instead of comparing; review the change with git diff.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace rdmaqos::test {

inline std::string source_dir()
{
    return RDMAQOS_SOURCE_DIR;
}

inline std::string read_text(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// `name` is a path below tests/golden: "diagnostics/unknown-key.txt".
inline void expect_golden(const std::string& name, const std::string& actual)
{
    std::string path = source_dir();
    path.append("/tests/golden/").append(name);         // gcc 12 warns of a sum that is inlined
    ::testing::Test::RecordProperty("golden", name);    // tools/test.sh counts them
    if (std::getenv("RDMAQOS_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << actual;
        return;
    }
    std::ifstream exists(path);
    ASSERT_TRUE(exists.good()) << path << " is missing; write it with RDMAQOS_UPDATE_GOLDEN=1. It would be:\n"
                               << actual;
    EXPECT_EQ(read_text(path), actual) << "differs from " << path;
}

}    // namespace rdmaqos::test
