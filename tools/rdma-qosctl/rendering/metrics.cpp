#include "tools/rdma-qosctl/rendering/metrics.h"

#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"

namespace rdmaqos::ctl {
namespace {

// One line, eaten from its front.
class Cursor {
public:
    explicit Cursor(std::string_view line) : rest_(line) {}

    [[nodiscard]] bool take(std::string_view text)
    {
        if (!rest_.starts_with(text)) {
            return false;
        }
        rest_.remove_prefix(text.size());
        return true;
    }
    // Up to one of `ends`, which stays.
    [[nodiscard]] std::string_view take_until(std::string_view ends)
    {
        const auto word = rest_.substr(0, rest_.find_first_of(ends));
        rest_.remove_prefix(word.size());
        return word;
    }
    [[nodiscard]] std::string_view rest() const { return rest_; }
    [[nodiscard]] std::optional<char> next()
    {
        if (rest_.empty()) {
            return std::nullopt;
        }
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }

private:
    std::string_view rest_;
};

// A backslash stands before a backslash, a quote, and the n of a line feed.
std::optional<char> unescape(Cursor& cursor)
{
    const auto c = cursor.next();
    return c == 'n' ? '\n' : c;
}

std::optional<std::string> take_quoted(Cursor& cursor)
{
    std::string text;
    if (!cursor.take("\"")) {
        return std::nullopt;
    }
    while (auto c = cursor.next()) {
        if (c == '"') {
            return text;
        }
        if (c == '\\') {
            c = unescape(cursor);
        }
        text.push_back(c.value_or('\\'));
    }
    return std::nullopt;
}

std::string unescaped(std::string_view text)
{
    std::string result;
    Cursor cursor(text);
    while (const auto c = cursor.next()) {
        result.push_back(c == '\\' ? unescape(cursor).value_or('\\') : *c);
    }
    return result;
}

bool take_labels(Cursor& cursor, MetricSample& sample)
{
    if (!cursor.take("{")) {
        return true;
    }
    while (!cursor.take("}")) {
        const std::string name(cursor.take_until("="));
        auto value = cursor.take("=") ? take_quoted(cursor) : std::nullopt;
        if (name.empty() || !value) {
            return false;
        }
        sample.labels.emplace_back(name, std::move(*value));
        if (!cursor.take(",") && !cursor.rest().starts_with("}")) {
            return false;
        }
    }
    return true;
}

std::optional<double> to_number(std::string_view text)
{
    if (text.starts_with('+')) {
        text.remove_prefix(1);
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<MetricSample> parse_sample(std::string_view line)
{
    Cursor cursor(line);
    MetricSample sample;
    sample.name = cursor.take_until("{ ");
    if (sample.name.empty() || !take_labels(cursor, sample) || !cursor.take(" ")) {
        return std::nullopt;
    }
    const auto value = to_number(cursor.rest());
    if (!value) {
        return std::nullopt;
    }
    sample.value = *value;
    return sample;
}

class Reader {
public:
    // False: this line is not understood.
    bool take(std::string_view line)
    {
        Cursor cursor(line);
        if (cursor.take("# HELP ")) {
            MetricFamily& family = family_of(cursor.take_until(" "));
            family.help = cursor.take(" ") ? unescaped(cursor.rest()) : "";
            return true;
        }
        if (cursor.take("# TYPE ")) {
            MetricFamily& family = family_of(cursor.take_until(" "));
            family.type = cursor.take(" ") ? cursor.rest() : "";
            return !family.type.empty();
        }
        if (line.empty() || line.starts_with('#')) {
            return true;
        }
        auto sample = parse_sample(line);
        if (!sample || families_.empty() || !sample->name.starts_with(families_.back().name)) {
            return false;
        }
        families_.back().samples.push_back(std::move(*sample));
        return true;
    }
    [[nodiscard]] std::vector<MetricFamily> result() { return std::move(families_); }

private:
    MetricFamily& family_of(std::string_view name)
    {
        if (families_.empty() || families_.back().name != name) {
            families_.push_back({std::string(name), {}, {}, {}});
        }
        return families_.back();
    }

    std::vector<MetricFamily> families_;
};

// JSON has no infinity: what is not a number is a text.
Json number_json(double value)
{
    constexpr double kExact = 9007199254740992.0;
    if (!std::isfinite(value)) {
        return fmt::format("{}", value);
    }
    if (std::trunc(value) == value && std::abs(value) < kExact) {
        return static_cast<std::int64_t>(value);
    }
    return value;
}

}    // namespace

Result<std::vector<MetricFamily>> parse_metrics(std::string_view text)
{
    Reader reader;
    std::size_t number = 0;
    for (const auto line : lines_of(text)) {
        ++number;
        if (!reader.take(line)) {
            return fail(ErrorCode::Internal,
                        fmt::format("line {} of the daemon's metrics is not understood: {}", number, printable(line)));
        }
    }
    return reader.result();
}

Json metrics_json(const std::vector<MetricFamily>& families)
{
    Json list = Json::array();
    for (const auto& family : families) {
        Json samples = Json::array();
        for (const auto& sample : family.samples) {
            Json labels = Json::object();
            for (const auto& [name, value] : sample.labels) {
                labels[name] = value;
            }
            samples.push_back({{"name", sample.name}, {"labels", labels}, {"value", number_json(sample.value)}});
        }
        list.push_back({{"name", family.name}, {"type", family.type}, {"help", family.help}, {"samples", samples}});
    }
    return {{"metrics", list}};
}

}    // namespace rdmaqos::ctl
