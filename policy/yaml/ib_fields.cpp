#include "policy/yaml/ib_fields.h"

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::reader {
namespace {

bool is_unlimited(const Field& field)
{
    return may_be_unlimited(field) && field.value->is_scalar() && equals_ignoring_case(field.value->text, "unlimited");
}

std::optional<std::uint64_t> bare_number(const Field& field)
{
    return field.value->is_scalar() ? parse_number(field.value->text) : std::nullopt;
}

std::string without_any_blanks(std::string_view text)
{
    std::string result(text);
    std::erase(result, ' ');
    return result;
}

// The life that is printed as this time, up to the longest time that is read. What is printed is rounded, up or down:
// 21 is `8.59 s`, and would be read as 22.
std::optional<std::uint8_t> packet_life_printed_as(std::string_view text)
{
    constexpr std::uint8_t kHighest = 34;    // `19.5 h`
    const std::string time = without_any_blanks(text);
    for (std::uint8_t life = 0; life <= kHighest; ++life) {
        const std::string words = packet_life_in_words(life);
        if (equals_ignoring_case(time, without_any_blanks(words.substr(words.find('=') + 1)))) {
            return life;
        }
    }
    return std::nullopt;
}

}    // namespace

std::optional<IbMtu> read_ib_mtu(Context& context, const Field& field)
{
    constexpr std::uint64_t kHighestNumber = 5;
    if (is_unlimited(field)) {
        return std::nullopt;
    }
    const auto number = bare_number(field);
    if (number && *number >= 1 && *number <= kHighestNumber) {
        const auto mtu = static_cast<IbMtu>(*number);
        context.remark(*field.value, fmt::format("`{}` is {}", field.key, in_words(mtu)));
        return mtu;
    }
    const auto size = read_size(context, field, 0, ~std::uint64_t{0});
    if (!size) {
        return std::nullopt;
    }
    const auto mtu = ib_mtu_from_bytes(*size);
    if (!mtu) {
        context.error(*field.value, fmt::format("`{}` cannot be {}", field.key, field.value->text),
                      fmt::format("expected 256, 512, 1024, 2048 or 4096 bytes, or OpenSM's 1 to 5{}",
                                  *size == 0 && may_be_unlimited(field) ? "; for no limit, write `unlimited`" : ""));
    }
    return mtu;
}

std::optional<IbRate> read_ib_rate(Context& context, const Field& field)
{
    if (is_unlimited(field)) {
        return std::nullopt;
    }
    const auto number = bare_number(field);
    if (number && *number != 0) {
        const auto rate = ib_rate_from_number(*number);
        if (rate) {
            context.remark(*field.value, fmt::format("`{}` is {}", field.key, in_words(*rate)));
        } else {
            context.error(*field.value, fmt::format("`{}: {}` is not one of OpenSM's rate numbers", field.key, *number),
                          fmt::format("did you mean `{}Gbps`? The numbers are 2 to 24", *number));
        }
        return rate;
    }
    const auto bandwidth = read_rate(context, field);
    if (!bandwidth) {
        return std::nullopt;
    }
    const auto rate = ib_rate_from_bandwidth(*bandwidth);
    if (!rate) {
        const auto lower = ib_rate_at_most(*bandwidth);
        context.error(*field.value, fmt::format("InfiniBand has no rate of {}", to_string(*bandwidth)),
                      lower ? fmt::format("the next lower one is {}", to_string(nominal(*lower)))
                            : "the lowest is 2.5Gbps");
    }
    return rate;
}

std::optional<std::uint8_t> read_packet_life(Context& context, const Field& field)
{
    // A bare number is OpenSM's, and no time in seconds.
    const bool is_bare = field.value->text.find_first_not_of("0123456789.") == std::string::npos;
    if (is_bare || bare_number(field) || !field.value->is_scalar()) {
        const auto life = read_integer<std::uint8_t>(context, field, 0, kHighestPacketLife);
        if (life) {
            context.remark(*field.value, fmt::format("`{}` is {}", field.key, packet_life_in_words(*life)));
        }
        return life;
    }
    if (const auto life = packet_life_printed_as(field.value->text)) {
        return life;
    }
    constexpr std::chrono::milliseconds kLongest{std::uint64_t{1000} * 3600 * 24};
    const auto time = read_duration(context, field, std::chrono::milliseconds(1), kLongest);
    if (!time) {
        return std::nullopt;
    }
    // 4.096 us * 2^n, in nanoseconds.
    const auto wanted = static_cast<std::uint64_t>(time->count()) * 1'000'000;
    std::uint8_t life = 0;
    while ((std::uint64_t{4096} << life) < wanted) {
        ++life;
    }
    return life;
}

}    // namespace rdmaqos::reader
