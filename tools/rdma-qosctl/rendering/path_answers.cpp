#include "tools/rdma-qosctl/rendering/path_answers.h"

#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/dict_text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;

}    // namespace

std::string render_answers(const std::vector<bus::Dict>& answers, const Screen& screen)
{
    Table table({{"LEVEL"},
                 {"SOURCE"},
                 {"DESTINATION"},
                 {"MTU", Align::Right},
                 {"RATE"},
                 {"LIFE", Align::Right},
                 {"PKEY"},
                 {"SL", Align::Right},
                 {"RULE", Align::Left, Table::Fit::Drop}});
    for (const auto& answer : answers) {
        if (const std::string why = text_of(answer, "message"); !text_of(answer, "error").empty()) {
            table.add({{"no path", Style::Bad},
                       text_of(answer, "source"),
                       text_of(answer, "destination"),
                       "",
                       "",
                       "",
                       "",
                       "",
                       why});
            continue;
        }
        table.add({text_of(answer, "level"), text_of(answer, "source"), text_of(answer, "destination"),
                   number_text(answer, "mtu"), rate_text(answer, "rate"), number_text(answer, "packet-life"),
                   hex_text(answer, "pkey"), number_text(answer, "sl"), text_of(answer, "rule")});
    }
    return table.render(screen);
}

}    // namespace rdmaqos::ctl
