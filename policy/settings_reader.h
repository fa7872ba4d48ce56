// Settings in the words of a settings file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/settings.h"

namespace rdmaqos {

struct SettingText {
    std::string_view section;    // "limits"; empty: it stands in no section
    std::string_view key;
    std::string text;    // "4096", "60s"
};

// Each setting that has a value, in the order of the reference.
[[nodiscard]] std::vector<SettingText> texts_of(const Settings& settings);

}    // namespace rdmaqos
