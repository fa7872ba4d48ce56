// Texts of other programs, and files that hold several of them:
//
//     # case: NAME
//     ... a text ...
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/base/diagnostic.h"
#include "policy/text/read_result.h"
#include "tests/support/golden.h"

namespace rdmaqos::test {

inline std::shared_ptr<const SourceFile> source(std::string name, std::string text)
{
    return std::make_shared<const SourceFile>(SourceFile{std::move(name), std::move(text)});
}

// A file below tests/golden.
inline std::shared_ptr<const SourceFile> golden_source(const std::string& name)
{
    return source(name.substr(name.rfind('/') + 1), read_text(fmt::format("{}/tests/golden/{}", source_dir(), name)));
}

inline std::vector<std::shared_ptr<const SourceFile>> cases_of(const std::string& name)
{
    constexpr std::string_view kMarker = "# case: ";
    std::vector<SourceFile> files;
    std::istringstream lines(golden_source(name)->text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(kMarker)) {
            files.push_back({line.substr(kMarker.size()), {}});
        } else {
            files.back().text += line + '\n';
        }
    }
    std::vector<std::shared_ptr<const SourceFile>> sources;
    for (auto& file : files) {
        sources.push_back(std::make_shared<const SourceFile>(std::move(file)));
    }
    return sources;
}

template <typename T>
std::string shown(const ReadResult<T>& result)
{
    return render(result.diagnostics, Colour::Off);
}

// What is said of each case of a file, as a golden file: "diagnostics/x.topology" -> "diagnostics/x-topology.txt".
template <typename Read>
void expect_golden_diagnostics(const std::string& name, Read read)
{
    std::string text;
    for (const auto& file : cases_of(name)) {
        const auto result = read(file);
        EXPECT_EQ(result.value == nullptr, result.diagnostics.has_errors()) << file->name;
        EXPECT_FALSE(result.diagnostics.empty()) << file->name;
        text += shown(result);
    }
    std::string golden = name;
    golden.replace(golden.rfind('.'), 1, "-");
    golden += ".txt";
    expect_golden(golden, text);
}

// An imported policy with the values that the import leaves to the administrator.
inline std::string filled_in(std::string text)
{
    constexpr std::string_view kMark = "#~ ";
    for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
        text.erase(at, kMark.size());
    }
    return text;
}

// A value without a word.
template <typename T>
T good(const ReadResult<T>& result)
{
    EXPECT_TRUE(result.value && result.diagnostics.empty()) << shown(result);
    return result.value ? *result.value : T{};
}

template <typename T>
T with_warning(const ReadResult<T>& result, const std::string& message)
{
    EXPECT_TRUE(result.value) << shown(result);
    EXPECT_EQ(result.diagnostics.warning_count(), 1U) << shown(result);
    EXPECT_NE(shown(result).find(fmt::format("warning: {}\n", message)), std::string::npos) << shown(result);
    return result.value ? *result.value : T{};
}

template <typename T>
void expect_only_error(const ReadResult<T>& result, const std::string& message)
{
    EXPECT_EQ(result.value, nullptr);
    EXPECT_EQ(result.diagnostics.error_count(), 1U) << shown(result);
    EXPECT_NE(shown(result).find(fmt::format("error: {}\n", message)), std::string::npos) << shown(result);
}

}    // namespace rdmaqos::test
