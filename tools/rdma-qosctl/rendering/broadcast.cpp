#include "tools/rdma-qosctl/rendering/path_answers.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

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
