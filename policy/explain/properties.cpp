#include "policy/explain/properties.h"

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {

std::string summary_of(const PolicyProperties& properties, std::size_t longest)
{
    std::string text;
    for (const auto& [key, value, without] : properties) {
        if (!value.empty()) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, shortened(value, longest));
        }
    }
    return text.empty() ? "" : fmt::format(" ({})", text);
}

std::string differences_of(const PolicyProperties& before, const PolicyProperties& after, std::size_t longest)
{
    const auto shown = [longest](const PolicyProperty& property) {
        return property.value.empty() ? std::string(property.without) : shortened(property.value, longest);
    };
    std::string text;
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (before[i].value == after[i].value) {
            continue;
        }
        const auto was = shown(before[i]);
        const auto is = shown(after[i]);
        text += fmt::format("{}{}", text.empty() ? "" : ", ",
                            was == is ? fmt::format("{} differs", after[i].key)
                                      : fmt::format("{} {} -> {}", after[i].key, was, is));
    }
    return text;
}

}    // namespace rdmaqos
