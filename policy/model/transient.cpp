#include "policy/model/transient.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

namespace chrono = std::chrono;

// Takes pieces off the front of a text, as long as they are as expected.
class Pieces {
public:
    explicit Pieces(std::string_view text) : rest_(text) {}

    // A number of exactly so many digits.
    int number(std::size_t digits)
    {
        int value = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            if (!good_ || rest_.empty() || !is_digit(rest_.front())) {
                good_ = false;
                return 0;
            }
            value = value * 10 + (rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return value;
    }
    // One of these characters; 0 if it is none of them.
    char one_of(std::string_view characters)
    {
        if (!good_ || rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) {
            good_ = false;
            return 0;
        }
        const char found = rest_.front();
        rest_.remove_prefix(1);
        return found;
    }
    [[nodiscard]] bool is_at_end() const { return good_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool good_ = true;
};

}    // namespace

std::string utc_text(chrono::sys_seconds time)
{
    // Not by system_clock::to_time_t(): its clock cannot count as far as a year of four digits.
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time_t{time.time_since_epoch().count()}));
}

std::optional<chrono::sys_seconds> parse_time(std::string_view text)
{
    constexpr int kMinutesOfHour = 60;
    Pieces pieces(text);
    const chrono::year year(pieces.number(4));
    pieces.one_of("-");
    const chrono::month month(static_cast<unsigned>(pieces.number(2)));
    pieces.one_of("-");
    const chrono::year_month_day date(year, month, chrono::day(static_cast<unsigned>(pieces.number(2))));
    pieces.one_of("Tt ");
    const int hours = pieces.number(2);
    pieces.one_of(":");
    const int minutes = pieces.number(2);
    pieces.one_of(":");
    const int seconds = pieces.number(2);
    const char zone = pieces.one_of("Zz+-");
    int offset = 0;
    if (zone == '+' || zone == '-') {
        offset = pieces.number(2) * kMinutesOfHour;
        pieces.one_of(":");
        offset += pieces.number(2);
    }
    if (!pieces.is_at_end() || !date.ok() || hours > 23 || minutes > 59 || seconds > 59) {
        return std::nullopt;
    }
    const auto local = chrono::sys_days(date) + chrono::hours(hours) + chrono::minutes(minutes) +
                       chrono::seconds(seconds);
    return zone == '-' ? local + chrono::minutes(offset) : local - chrono::minutes(offset);
}

std::string how_long(const Transient& transient)
{
    const std::string until = transient.until ? "until " + utc_text(*transient.until) : "";
    const std::string with = transient.cgroup.empty() ? ""
                                                      : fmt::format("while the cgroup {} is there", transient.cgroup);
    if (until.empty() && with.empty()) {
        return "until it is removed or the host restarts";
    }
    return until + (until.empty() || with.empty() ? "" : ", and ") + with;
}

}    // namespace rdmaqos
