// UVERBS_METHOD_INFO_HANDLES.
#pragma once

#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {

struct HandleList {
    int error = 0;
    std::uint32_t total = 0;
    std::vector<std::uint32_t> handles;

    [[nodiscard]] std::string text(const std::map<std::uint32_t, std::string>& names) const;
};
[[nodiscard]] HandleList list_handles(int fd, std::uint64_t object, std::size_t bytes);

}    // namespace rdmaqos::test::agreement
