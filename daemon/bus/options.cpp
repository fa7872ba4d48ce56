#include "daemon/bus/options.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/try.h"
#include "lib/bus/message.h"
#include "lib/bus/value.h"

namespace rdmaqos {
namespace {

template <typename T>
const char* type_of(const T* /*into*/)
{
    return bus::signature_of<T>();
}

const char* type_of(const std::optional<std::uint32_t>* /*into*/)
{
    return bus::signature_of<std::uint32_t>();
}

template <typename T>
bool take(const bus::Value& value, T* into)
{
    const T* given = value.as<T>();
    if (given != nullptr) {
        *into = *given;
    }
    return given != nullptr;
}

bool take(const bus::Value& value, std::optional<std::uint32_t>* into)
{
    return take(value, &into->emplace());
}

// "`device` (s), `pid` (u)"
std::string listed(std::span<const Option> options)
{
    std::string text;
    for (const Option& option : options) {
        const char* type = std::visit([](const auto* into) { return type_of(into); }, option.into);
        text += fmt::format("{}`{}` ({})", text.empty() ? "" : ", ", option.name, type);
    }
    return text;
}

}    // namespace

Result<void> read_options(const Call& call, std::string_view method, std::span<const Option> options)
{
    const auto dict = TRY(bus::read_dict(call.message(), call.limits()));
    for (const auto& [key, value] : dict.entries()) {
        const auto option = std::ranges::find(options, std::string_view(key), &Option::name);
        const bool taken = option == options.end()
                               ? key.starts_with("x-")
                               : std::visit([&value = value](auto* into) { return take(value, into); }, option->into);
        if (!taken) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("{} has the options {}, and no others", method, listed(options)));
        }
    }
    return {};
}

}    // namespace rdmaqos
