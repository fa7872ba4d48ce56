#include "tools/rdma-qosctl/rendering/path_answers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/value_text.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

bool has_no_path(const api::PathAnswer& answer)
{
    return !answer.error.empty();
}

// Why there is no path takes the column of the rules, or is said elsewhere.
enum class Reasons : std::uint8_t { InTheTable, Elsewhere };

// The columns of traffic class and DSCP only where a level has them.
Table table_of(const std::vector<api::PathAnswer>& answers, Reasons reasons)
{
    const bool marks = std::ranges::any_of(answers,
                                           [](const auto& answer) { return answer.traffic_class.has_value(); });
    std::vector<Table::Column> columns{{"LEVEL", Align::Left, Fit::Shorten},
                                       {"SOURCE", Align::Left, Fit::ShortenPath},
                                       {"DESTINATION", Align::Left, Fit::ShortenPath},
                                       {"MTU", Align::Right},
                                       {"RATE"},
                                       {"LIFE", Align::Right},
                                       {"PKEY"},
                                       {"SL", Align::Right}};
    if (marks) {
        columns.push_back({"TC", Align::Right});
        columns.push_back({"DSCP", Align::Right});
    }
    columns.push_back({"RULE", Align::Left, Fit::Drop});
    const std::size_t width = columns.size();
    Table table(std::move(columns));
    for (const auto& answer : answers) {
        if (has_no_path(answer)) {
            std::vector<Cell> row{{"no path", Style::Bad}, answer.source, answer.destination};
            row.resize(width - 1, Cell(""));
            row.emplace_back(reasons == Reasons::InTheTable ? answer.message : "");
            table.add(std::move(row));
            continue;
        }
        std::vector<Cell> row{answer.level,           answer.source,
                              answer.destination,     number_text(answer.mtu),
                              rate_text(answer.rate), number_text(answer.packet_life),
                              hex_text(answer.pkey),  number_text(answer.sl)};
        if (marks) {
            row.emplace_back(number_text(answer.traffic_class));
            row.emplace_back(number_text(answer.dscp));
        }
        row.emplace_back(answer.rule);
        table.add(std::move(row));
    }
    return table;
}

// "assumed, of neither port it is known: MTU, rate"
std::string note_of_assumed(const std::vector<api::PathAnswer>& answers, const Screen& screen)
{
    std::string fields;
    for (const auto& [key, word] : {std::pair("mtu", "MTU"), std::pair("rate", "rate")}) {
        const bool is_assumed = std::ranges::any_of(
            answers, [key = key](const auto& answer) { return std::ranges::count(answer.assumed, key) != 0; });
        fields += is_assumed ? fmt::format("{}{}", fields.empty() ? "" : ", ", word) : "";
    }
    return fields.empty() ? ""
                          : "\n" + labelled("assumed:", Style::Faint, fields + "; of neither port it is known", screen);
}

std::string reason_of(const api::PathAnswer& answer, const Screen& screen)
{
    const auto end = [](const char* word, const std::string& name) {
        return name.empty() ? "" : fmt::format(" {} {}", word, name);
    };
    const std::string ends = end("from", answer.source) + end("to", answer.destination);
    return labelled(fmt::format("no path{}:", ends), Style::Bad, answer.message, screen);
}

}    // namespace

std::string render_note(const std::string& note, const Screen& screen)
{
    return sentence_on(screen, 0, 2, printable(note)) + "\n\n";
}

std::string render_answers(const std::vector<api::PathAnswer>& answers, const Screen& screen)
{
    const Table whole = table_of(answers, Reasons::InTheTable);
    const std::string drawn = whole.render(Colour::Off);
    const bool fits = widest(lines_of(drawn), [](std::string_view line) { return line; }) <= screen.columns;
    if (fits || std::ranges::none_of(answers, has_no_path)) {
        return whole.render(screen) + note_of_assumed(answers, screen);
    }
    std::string text = table_of(answers, Reasons::Elsewhere).render(screen) + "\n";
    for (const auto& answer : answers) {
        text += has_no_path(answer) ? reason_of(answer, screen) : "";
    }
    return text + note_of_assumed(answers, screen);
}

std::string render_broadcast(const BroadcastReport& report, const Screen& screen)
{
    Fields head;
    head.add("partition", fmt::format("{}, P_Key {:#06x}", report.partition, report.pkey));
    head.add("broadcast group", report.mgid);
    head.add("level", report.level);
    head.add("rule", report.rule);
    Table table({{"FIELD"}, {"GROUP"}, {"LEVEL"}, {"VERDICT"}, {"WHY", Table::Align::Left, Table::Fit::Shorten}});
    for (const auto& field : report.fields) {
        const Cell verdict = field.verdict == Verdict::Agrees    ? Cell("agrees", Style::Good)
                             : field.verdict == Verdict::Differs ? Cell("differs", Style::Bad)
                                                                 : Cell("not known", Style::Warning);
        table.add({field.field, field.group, field.path, verdict, field.why});
    }
    return head.render(screen) + "\n" + table.render(screen);
}

Json broadcast_json(const BroadcastReport& report)
{
    Json json{{"partition", report.partition},
              {"pkey", report.pkey},
              {"mgid", report.mgid},
              {"level", report.level},
              {"rule", report.rule}};
    json["fields"] = Json::array();
    for (const auto& field : report.fields) {
        Json entry{{"field", field.field}};
        set_text(entry, "group", field.group);
        set_text(entry, "level", field.path);
        entry["verdict"] = field.verdict == Verdict::Agrees    ? "agrees"
                           : field.verdict == Verdict::Differs ? "differs"
                                                               : "not known";
        set_text(entry, "why", field.why);
        json["fields"].push_back(std::move(entry));
    }
    json["agrees"] = report.agrees();
    return json;
}

}    // namespace rdmaqos::ctl
