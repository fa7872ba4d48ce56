#include "tools/rdma-qosctl/rendering/world_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/value_text.h"
#include "tools/rdma-qosctl/world/lost_levels.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

Cell enforced_cell(const api::QueuePair& queue_pair)
{
    if (!queue_pair.error.empty()) {
        return {"refused", Style::Bad};
    }
    return queue_pair.enforced ? Cell("yes", Style::Good) : Cell("no", Style::Warning);
}

// "adopted" in place of "active".
Cell state_cell(const SessionView& session)
{
    return {session.adopted && session.state == "active" ? "adopted" : session.state, style_of_state(session.state)};
}

void add_queue_pairs(const std::vector<api::QueuePair>& queue_pairs, const std::string& session, Table& table)
{
    for (const auto& each : queue_pairs) {
        table.add({session, each.device, std::to_string(each.number), level_in_words(each.level, each.lost), each.leaf,
                   limit_text(each.rate), enforced_cell(each), each.rule,
                   each.message.empty() ? each.reason : each.message});
    }
}

Table queue_pair_table()
{
    return Table({{"SESSION", Align::Right},
                  {"DEVICE"},
                  {"QP", Align::Right},
                  {"LEVEL", Align::Left, Fit::Drop},
                  {"LEAF", Align::Left, Fit::ShortenPath},
                  {"RATE", Align::Left, Fit::Drop},
                  {"ENFORCED"},
                  {"RULE", Align::Left, Fit::DropSoon},
                  {"REASON", Align::Left, Fit::Shorten}});
}

}    // namespace

std::string owner_text(const std::string& user, std::uint64_t uid)
{
    return user.empty() ? std::to_string(uid) : user;
}

std::string render_sessions(const std::vector<SessionView>& sessions, std::size_t most, const Screen& screen)
{
    if (sessions.empty()) {
        return "no session: no process has registered\n";
    }
    Table owners({{"SESSION", Align::Right},
                  {"PID", Align::Right},
                  {"USER", Align::Left, Fit::Shorten},
                  {"UNIT", Align::Left, Fit::Drop},
                  {"COMMAND", Align::Left, Fit::Shorten},
                  {"STATE"},
                  {"LEVEL", Align::Left, Fit::Shorten},
                  {"QPS", Align::Right},
                  {"RULE", Align::Left, Fit::Shorten}});
    Table queue_pairs = queue_pair_table();
    const std::size_t shown = most == 0 ? sessions.size() : std::min(most, sessions.size());
    std::size_t left_out = 0;    // queue pairs
    for (std::size_t i = 0; i < shown; ++i) {
        const SessionView& session = sessions[i];
        const bool fits = most == 0 || queue_pairs.size() + session.queue_pairs.size() <= most;
        left_out += fits ? 0 : session.queue_pairs.size();
        const api::Owner& owner = session.owner;
        owners.add({std::to_string(session.id), std::to_string(owner.pid), owner_text(owner.user, owner.uid),
                    owner.unit, owner.command, state_cell(session), level_in_words(session),
                    std::to_string(session.queue_pairs.size()), session.grant.rule});
        if (fits) {
            add_queue_pairs(session.queue_pairs, std::to_string(session.id), queue_pairs);
        }
    }
    std::string text = owners.render(screen);
    if (shown < sessions.size()) {
        text += "... and more; `--all` lists them\n";
    }
    if (!queue_pairs.empty()) {
        text += "\n" + queue_pairs.render(screen);
    }
    if (left_out > 0) {
        text += fmt::format("{}... {} more of these sessions; `--all` lists them, `sessions PID` those of a process\n",
                            queue_pairs.empty() ? "\n" : "", counted(left_out, "queue pair"));
    }
    return text;
}

std::string render_grant(const std::string& session, const api::Grant& grant, const Screen& screen)
{
    Fields fields;
    fields.add("session", session);
    fields.add("level", level_in_words(grant.level, grant.lost));
    fields.add("rule", grant.rule);
    fields.add("verified", grant.verified ? "yes: only facts from the kernel decided"
                                          : "no: the level depends on a claim of the client");
    fields.add("leaf", grant.leaf);
    fields.add("enforced", grant.enforced ? "yes" : "no", grant.enforced ? Style::Good : Style::Warning);
    fields.add("reason", grant.reason);
    fields.add("share", number_text(grant.share));
    fields.add("max-rate", rate_text(grant.max_rate));
    fields.add("max-rate now", rate_text(grant.max_rate_now));
    fields.add("per queue pair", limit_text(grant.per_queue_pair));
    fields.add("message model", grant.message_model);
    fields.add("SL", number_text(grant.sl));
    fields.add("traffic class", number_text(grant.traffic_class));
    fields.add("MTU limit", number_text(grant.mtu));
    fields.add("path rate limit", rate_text(grant.rate));
    fields.add("packet life", number_text(grant.packet_life));
    fields.add("P_Key", hex_text(grant.pkey));
    std::string text = fields.render(screen);
    Table table = queue_pair_table();
    add_queue_pairs(grant.queue_pairs, session, table);
    if (!table.empty()) {
        text += "\n" + table.render(screen);
    }
    return text;
}

}    // namespace rdmaqos::ctl
