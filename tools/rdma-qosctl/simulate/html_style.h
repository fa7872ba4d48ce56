// The page's style sheet.
#pragma once

#include <string_view>

namespace rdmaqos::ctl::page {

[[nodiscard]] std::string_view style_sheet();

}    // namespace rdmaqos::ctl::page
