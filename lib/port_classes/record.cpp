#include "lib/port_classes/record.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/dcb/words.h"

namespace rdmaqos::port_classes {
namespace {

using dcb::PortSettings;

constexpr std::string_view kFirst = "port-classes 1";
constexpr std::string_view kLast = "end";
constexpr std::array<std::pair<bool dcb::Dcbx::*, std::string_view>, 4> kDcbx{{
    {&dcb::Dcbx::host, "host"},
    {&dcb::Dcbx::firmware, "firmware"},
    {&dcb::Dcbx::ieee, "ieee"},
    {&dcb::Dcbx::cee, "cee"},
}};

tl::unexpected<Error> broken(std::string_view line)
{
    return fail(ErrorCode::InvalidArgument,
                fmt::format("not a record of traffic classes: '{}'", printable(shortened(line))));
}

// The words of one line.
class Words {
public:
    explicit Words(std::string_view line) : line_(line)
    {
        for (std::string_view rest = line; !rest.empty();) {
            const auto end = std::min(rest.find(' '), rest.size());
            words_.push_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }

    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] std::string_view first() const { return words_.empty() ? std::string_view() : words_.front(); }
    [[nodiscard]] std::size_t size() const { return words_.size(); }
    [[nodiscard]] std::string_view word(std::size_t index) const { return words_.at(index); }
    // Up to `most`; nothing for another word.
    [[nodiscard]] std::optional<std::uint64_t> number(std::size_t index, std::uint64_t most) const
    {
        if (index >= words_.size()) {
            return std::nullopt;
        }
        const std::string_view text = words_[index];
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_whole = error == std::errc() && end == text.data() + text.size();
        return is_whole && value <= most ? std::optional(value) : std::nullopt;
    }

private:
    std::string_view line_;
    std::vector<std::string_view> words_;
};

bool read_ets(const Words& words, PortSettings& settings)
{
    const auto classes = words.number(1, dcb::kTrafficClasses);
    if (!classes || settings.ets) {
        return false;
    }
    settings.ets.emplace();
    settings.ets->classes = static_cast<std::uint8_t>(*classes);
    return true;
}

bool read_class(const Words& words, PortSettings& settings)
{
    const auto index = words.number(1, dcb::kTrafficClasses - 1);
    const auto weight = words.number(3, 255);
    if (!settings.ets || words.size() != 5 || !index || !weight) {
        return false;
    }
    const auto selection = dcb::selection_of(words.word(2));
    if (!selection) {
        return false;
    }
    dcb::TrafficClass& each = settings.ets->traffic_class.at(*index);
    each = {*selection, static_cast<std::uint8_t>(*weight), std::nullopt};
    if (words.word(4) != "unlimited") {
        const auto rate = words.number(4, ~std::uint64_t{0});
        if (!rate) {
            return false;
        }
        each.max_rate = Bandwidth::from_kbps(*rate);
    }
    return true;
}

bool read_priority(const Words& words, PortSettings& settings)
{
    const auto priority = words.number(1, dcb::kPriorities - 1);
    const auto its = words.number(2, dcb::kTrafficClasses - 1);
    if (!settings.ets || words.size() != 3 || !priority || !its) {
        return false;
    }
    settings.ets->class_of_priority.at(*priority) = static_cast<std::uint8_t>(*its);
    return true;
}

bool read_app(const Words& words, PortSettings& settings)
{
    const auto selector = words.number(1, 5);
    const auto protocol = words.number(2, 65'535);
    const auto priority = words.number(3, dcb::kPriorities - 1);
    if (words.size() != 4 || !selector || *selector == 0 || !protocol || !priority) {
        return false;
    }
    settings.apps.push_back({static_cast<dcb::Selector>(*selector), static_cast<std::uint16_t>(*protocol),
                             static_cast<std::uint8_t>(*priority)});
    return true;
}

bool read_pfc(const Words& words, PortSettings& settings)
{
    const auto capacity = words.number(1, 255);
    if (!capacity || settings.pfc) {
        return false;
    }
    settings.pfc.emplace();
    settings.pfc->capacity = static_cast<std::uint8_t>(*capacity);
    for (std::size_t index = 2; index < words.size(); ++index) {
        const auto priority = words.number(index, dcb::kPriorities - 1);
        if (!priority) {
            return false;
        }
        settings.pfc->lossless.at(*priority) = true;
    }
    return true;
}

bool read_dcbx(const Words& words, PortSettings& settings)
{
    settings.dcbx.emplace();
    for (std::size_t index = 1; index < words.size(); ++index) {
        const auto row = std::ranges::find(kDcbx, words.word(index), [](const auto& each) { return each.second; });
        if (row == kDcbx.end()) {
            return false;
        }
        (*settings.dcbx).*(row->first) = true;
    }
    return true;
}

bool read_max_rates(const Words& words, PortSettings& settings)
{
    settings.has_max_rates = true;
    return words.size() == 1;
}

struct Line {
    std::string_view first;
    bool (*read)(const Words& words, PortSettings& settings);
};

constexpr std::array kLines{
    Line{"dcbx", read_dcbx},   Line{"max-rates", read_max_rates}, Line{"ets", read_ets},
    Line{"class", read_class}, Line{"priority", read_priority},   Line{"app", read_app},
    Line{"pfc", read_pfc},
};

}    // namespace

std::string to_text(const Record& record)
{
    const PortSettings& before = record.before;
    std::string text = fmt::format("{}\ndriver {}\n", kFirst, record.driver);
    if (before.dcbx) {
        text += "dcbx";
        for (const auto& [member, word] : kDcbx) {
            text += (*before.dcbx).*member ? fmt::format(" {}", word) : "";
        }
        text += "\n";
    }
    text += before.has_max_rates ? "max-rates\n" : "";
    if (before.ets) {
        text += fmt::format("ets {}\n", before.ets->classes);
        for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
            const dcb::TrafficClass& each = before.ets->traffic_class.at(index);
            text += fmt::format("class {} {} {} {}\n", index, dcb::tsa_word(each.selection), each.weight,
                                each.max_rate ? fmt::format("{}", each.max_rate->kbps()) : "unlimited");
        }
        for (std::size_t priority = 0; priority < dcb::kPriorities; ++priority) {
            text += fmt::format("priority {} {}\n", priority, before.ets->class_of_priority.at(priority));
        }
    }
    for (const dcb::AppEntry& entry : before.apps) {
        text += fmt::format("app {} {} {}\n", static_cast<int>(entry.selector), entry.protocol, entry.priority);
    }
    if (before.pfc) {
        text += fmt::format("pfc {}", before.pfc->capacity);
        for (std::size_t priority = 0; priority < dcb::kPriorities; ++priority) {
            text += before.pfc->lossless.at(priority) ? fmt::format(" {}", priority) : "";
        }
        text += "\n";
    }
    return fmt::format("{}{}\n", text, kLast);
}

Result<Record> parse_record(std::string_view text)
{
    if (text.size() > kLongestRecord) {
        return fail(ErrorCode::InvalidArgument, fmt::format("not a record of traffic classes: {} bytes", text.size()));
    }
    Record record;
    const auto lines = lines_of(text);
    constexpr std::string_view kDriver = "driver ";
    if (lines.size() < 3 || lines.front() != kFirst || !lines[1].starts_with(kDriver) || lines.back() != kLast) {
        return broken(lines.empty() ? std::string_view() : lines.front());
    }
    record.driver = lines[1].substr(kDriver.size());
    for (std::size_t index = 2; index + 1 < lines.size(); ++index) {
        const Words words(lines[index]);
        const auto* const row = std::ranges::find(kLines, words.first(), &Line::first);
        if (row == kLines.end() || !row->read(words, record.before)) {
            return broken(lines[index]);
        }
    }
    // Nothing twice, nothing left out, in this order: all of it is as it was written.
    if (to_text(record) != text) {
        return fail(ErrorCode::InvalidArgument, "not a record of traffic classes as it was written");
    }
    return record;
}

}    // namespace rdmaqos::port_classes
