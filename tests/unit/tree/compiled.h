// What tests look at in a compiled policy.
#pragma once

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/tree/support.h"

namespace rdmaqos::test {

inline std::vector<FindingKind> kinds(const Compiled& compiled)
{
    std::vector<FindingKind> result;
    for (const auto& finding : compiled.findings) {
        result.push_back(finding.kind);
    }
    return result;
}

inline const Finding& only(const Compiled& compiled, FindingKind kind)
{
    static const Finding kNone{};
    const auto found = std::find_if(compiled.findings.begin(), compiled.findings.end(),
                                    [kind](const Finding& finding) { return finding.kind == kind; });
    EXPECT_NE(found, compiled.findings.end());
    return found == compiled.findings.end() ? kNone : *found;
}

inline const Element& at(const Compiled& compiled, const std::string& path)
{
    static const Element kNone{};
    const auto found = compiled.tree.find(ElementPath(path));
    EXPECT_NE(found, compiled.tree.end()) << path;
    return found == compiled.tree.end() ? kNone : found->second;
}

inline std::uint32_t share_of(const Compiled& compiled, const std::string& path)
{
    return at(compiled, path).attributes.share;
}

inline std::vector<Principal> processes(const std::string& class_path, int count)
{
    std::vector<Principal> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(principal(class_path, {"pid:" + std::to_string(i)}));
    }
    return result;
}

}    // namespace rdmaqos::test
