// One-line tests of the policy reader:
//
//     expect_error("qos-levels: [{name: DEFAULT, sl: 16}]", "`sl` must be from 0 to 15, not 16");
//     const auto policy = read_good("qos-levels: [{name: DEFAULT}]");
//
// Texts are given without their `version: 1`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/text/read_result.h"

namespace rdmaqos::test {

inline std::shared_ptr<const SourceFile> source(std::string name, std::string text)
{
    return std::make_shared<const SourceFile>(SourceFile{std::move(name), std::move(text)});
}

inline std::shared_ptr<const SourceFile> with_version(std::string_view body, std::string name = "policy.yaml")
{
    return source(std::move(name), "version: 1\n" + std::string(body));
}

// alice 1000, bob 1001; hpc 2000, users 100.
inline NameService fake_names()
{
    NameService names;
    names.uid_of = [](const std::string& name) -> std::optional<std::uint32_t> {
        return name == "alice" ? std::optional(1000U) : name == "bob" ? std::optional(1001U) : std::nullopt;
    };
    names.gid_of = [](const std::string& name) -> std::optional<std::uint32_t> {
        return name == "hpc" ? std::optional(2000U) : name == "users" ? std::optional(100U) : std::nullopt;
    };
    return names;
}

inline ReadResult<Policy> read_texts(const std::vector<std::string>& bodies)
{
    std::vector<std::shared_ptr<const SourceFile>> sources;
    for (const auto& body : bodies) {
        sources.push_back(with_version(body, "file" + std::to_string(sources.size() + 1) + ".yaml"));
    }
    return read_policy(std::move(sources), fake_names());
}

inline ReadResult<Policy> read_body(std::string_view body)
{
    return read_policy({with_version(body)}, fake_names());
}

template <typename T>
std::string shown(const ReadResult<T>& result)
{
    return render(result.diagnostics, Colour::Off);
}

// A policy without a single diagnostic of weight (remarks are fine); an empty one after a failure.
inline Policy good(const ReadResult<Policy>& result)
{
    EXPECT_EQ(result.diagnostics.error_count(), 0U) << shown(result);
    EXPECT_EQ(result.diagnostics.warning_count(), 0U) << shown(result);
    EXPECT_TRUE(result.value);
    return result.value ? *result.value : Policy{};
}

inline Policy read_good(std::string_view body)
{
    return good(read_body(body));
}

template <typename T>
std::size_t count_of(const ReadResult<T>& result, Severity severity, std::string_view message)
{
    std::size_t count = 0;
    for (const auto& diagnostic : result.diagnostics.all()) {
        count += diagnostic.severity == severity && diagnostic.message == message ? 1 : 0;
    }
    return count;
}

// Exactly this error, and no value.
template <typename T>
void expect_only_error(const ReadResult<T>& result, std::string_view message)
{
    EXPECT_EQ(result.value, nullptr);
    EXPECT_EQ(result.diagnostics.error_count(), 1U) << shown(result);
    EXPECT_EQ(count_of(result, Severity::Error, message), 1U) << "expected: " << message << '\n' << shown(result);
}

inline void expect_error(std::string_view body, std::string_view message)
{
    expect_only_error(read_body(body), message);
}

// Exactly this warning, no error, and a value.
inline Policy expect_warning(std::string_view body, std::string_view message)
{
    const auto result = read_body(body);
    EXPECT_EQ(result.diagnostics.error_count(), 0U) << shown(result);
    EXPECT_EQ(result.diagnostics.warning_count(), 1U) << shown(result);
    EXPECT_EQ(count_of(result, Severity::Warning, message), 1U) << "expected: " << message << '\n' << shown(result);
    return result.value ? *result.value : Policy{};
}

}    // namespace rdmaqos::test
