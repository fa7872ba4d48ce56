#include "policy/model/client_keys.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/overloaded.h"

namespace rdmaqos {

std::string permitting_keys(std::string_view quote)
{
    std::vector<std::string> keys;
    for (const ClientKey& key : kClientKeys) {
        if (key.gives_permission()) {
            keys.push_back(fmt::format("{0}{1}{0}", quote, key.name()));
        }
    }
    const std::string last = std::move(keys.back());
    keys.pop_back();
    return fmt::format("{} or {}", fmt::join(keys, ", "), last);
}

bool asks(const ClientCriteria& criteria, const ClientKey& key)
{
    return std::visit(Overloaded{
                          // A name that no user has is still a criterion: one that nobody meets.
                          [&](const AccountKind& accounts) {
                              return !(criteria.*accounts.names).empty() || !(criteria.*accounts.numbers).empty();
                          },
                          [&](const NameKind& names) { return !(criteria.*names.patterns).empty(); },
                      },
                      key.kind);
}

bool permits(const ClientCriteria& allow, const ClientKey& key)
{
    return key.gives_permission() && asks(allow, key);
}

std::string asked(const ClientCriteria& criteria, const ClientKey& key)
{
    return std::visit(
        Overloaded{
            [&](const AccountKind& accounts) {
                const auto& names = criteria.*accounts.names;
                return names.empty() ? fmt::format("{}", fmt::join(criteria.*accounts.numbers, ", "))
                                     : fmt::format("{}", fmt::join(names, ", "));
            },
            [&](const NameKind& names) { return fmt::format("{}", fmt::join(criteria.*names.patterns, ", ")); },
        },
        key.kind);
}

std::string allowed_in_words(const QosLevel& level)
{
    if (!level.allow) {
        return "everyone";
    }
    std::string text;
    for (const ClientKey& key : kClientKeys) {
        if (permits(*level.allow, key)) {
            text += fmt::format("{}{} {}", text.empty() ? "" : " and ", key.name(), asked(*level.allow, key));
        }
    }
    return text.empty() ? "nobody" : text;
}

}    // namespace rdmaqos
