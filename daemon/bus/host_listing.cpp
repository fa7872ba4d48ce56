#include "daemon/bus/host_listing.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bus/options.h"
#include "daemon/bus/slices.h"
#include "daemon/service/host_view.h"
#include "daemon/service/marks.h"
#include "lib/api/session.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

using bus::Writer;

constexpr std::size_t kQueuePairsAtTheCostOfACall = 100;
// What is known until then is worth more than an answer that comes late.
constexpr auto kPatienceWithMarks = std::chrono::seconds(3);

// Which queue pairs are asked for.
struct Filter {
    std::string device;    // name, or name/port; empty: of all
    std::optional<std::uint32_t> pid;

    [[nodiscard]] bool takes_device(const std::string& name, std::uint32_t port) const
    {
        return device.empty() || device == name || device == name + "/" + std::to_string(port);
    }
    [[nodiscard]] bool takes_owner(const Identity* owner) const
    {
        return !pid || (owner != nullptr && static_cast<std::uint32_t>(owner->pid) == *pid);
    }
};

Result<Filter> read_filter(const Call& call)
{
    Filter filter;
    const Option places[] = {{"device", &filter.device}, {"pid", &filter.pid}};
    TRY(read_options(call, "ListQueuePairs", places));
    return filter;
}

void set_owner(api::HostQueuePair& record, const Identity& owner)
{
    record.pid = static_cast<std::uint32_t>(owner.pid);
    record.start_time = owner.start_time;
    record.uid = owner.uid;
    record.unit = owner.unit;
    record.command = owner.command;
}

void set_standing(api::HostQueuePair& record, const HostStanding& standing)
{
    if (standing.session) {
        record.session = static_cast<std::uint64_t>(*standing.session);
    }
    if (const auto& result = standing.result) {
        record.level = result->level;
        record.rule = result->rule;
        record.leaf = result->leaf;
        record.responder_leaf = result->responder_leaf;
        record.rate = result->rate ? std::optional(result->rate->rate) : std::nullopt;
        record.enforced = result->enforced;
        record.reason = result->reason;
    } else {
        record.level = standing.level;
    }
    if (!standing.reason.empty()) {
        record.reason = standing.reason;
    }
    if (standing.mark) {
        record.dscp = standing.mark->dscp;
        record.vlan_priority = standing.mark->priority;
    }
    record.mark_unseen = standing.mark_unseen;
    record.outside = standing.outside;
}

// What is being written; ends when its client does.
class HostListing {
public:
    HostListing(BusEndpoint& endpoint, const Call& call, Filter filter, std::shared_ptr<const HostSurvey> survey)
        : host_(endpoint.context.service.host()), call_(call), filter_(std::move(filter)),
          walk_(host_.walk(std::move(survey))), reply_(call.begin_reply())
    {
        if (reply_) {
            writer_ = std::make_unique<Writer>(reply_.get());
            writer_->open('a', "a{sv}");
        }
    }

    // One queue pair, or the end; false when it is done.
    bool step()
    {
        if (!writer_ || !call_.is_wanted()) {
            return false;
        }
        HostEntry entry;
        if (!walk_.next(entry)) {
            writer_->close();
            call_.finish_reply(reply_, writer_->result());
            return false;
        }
        if (entry.tracked != nullptr) {
            write(*entry.tracked);
        } else if (entry.untracked) {
            write(*entry.untracked);
        }
        return writer_->result() >= 0;
    }

private:
    void write(const HostQueuePair& queue_pair)
    {
        if (filter_.takes_device(queue_pair.device, queue_pair.tracked.port) &&
            filter_.takes_owner(queue_pair.owner.get())) {
            rdmaqos::write(*writer_, queue_pair, host_.standing(queue_pair));
        }
    }

    void write(const QueuePairName& name)
    {
        const auto known = host_.standing(name);
        if (!known || !filter_.takes_device(known->name, known->port) || !filter_.takes_owner(known->owner.get())) {
            return;
        }
        api::HostQueuePair record{name.device, name.number, std::string(to_string(known->type))};
        set_owner(record, *known->owner);
        set_standing(record, known->standing);
        api::write(*writer_, record);
    }

    HostView& host_;
    Call call_;
    Filter filter_;
    HostWalk walk_;
    bus::MessageRef reply_;
    std::unique_ptr<Writer> writer_;
};

}    // namespace

void write(Writer& writer, const HostQueuePair& queue_pair, const HostStanding& standing)
{
    const auto& tracked = queue_pair.tracked;
    api::HostQueuePair record{
        .device = standing.device.empty() ? queue_pair.device : standing.device,
        .number = tracked.number,
        .type = rdma_netlink::name_of_type(tracked.type),
        .state = tracked.state ? std::string(to_string(*tracked.state)) : std::string(),
        .remote = tracked.remote,
        .kernel = tracked.kernel_name,
    };
    if (queue_pair.owner) {
        set_owner(record, *queue_pair.owner);
    }
    set_standing(record, standing);
    api::write(writer, record);
}

void on_list_queue_pairs(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto filter = read_filter(call);
    if (!filter) {
        call.refuse(filter.error());
        return;
    }
    endpoint.context.service.host().survey(
        [&endpoint, call, filter = std::move(*filter),
         account = peer.identity->account()](const Result<std::shared_ptr<const HostSurvey>>& survey) {
            if (!survey) {
                call.refuse(survey.error());
                return;
            }
            if (!call.is_wanted()) {
                return;    // nor is the endpoint there any longer
            }
            endpoint.charge(call.message(), (*survey)->queue_pairs.size() / kQueuePairsAtTheCostOfACall);
            const auto taken = endpoint.context.long_answers.write(account, [&endpoint, call, filter, seen = *survey] {
                auto listing = std::make_shared<HostListing>(endpoint, call, filter, seen);
                return [listing] { return listing->step(); };
            });
            if (!taken) {
                call.refuse(taken.error());
            }
        });
}

void on_count_queue_pairs(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    endpoint.context.service.host().count([call](const Result<HostView::Counted>& counted) {
        if (!counted) {
            call.refuse(counted.error());
            return;
        }
        std::vector<api::HostCount> records;
        for (const auto& [of, count] : counted->counts) {
            records.push_back({of.first, std::string(of.second), count});
        }
        for (const auto& [device, count] : counted->survey->left_out) {
            records.push_back({device, std::string(kNotLookedAt), count});
        }
        for (const auto& [device, why] : counted->survey->failures) {
            records.push_back({.device = device, .failure = why});
        }
        call.reply([&](Writer& writer) { api::write(writer, records); });
    });
}

void on_count_marks(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    endpoint.context.service.marks().read(kPatienceWithMarks, [call](const HostMarks& marks) {
        std::vector<api::MarkCount> records;
        for (const auto& [device, levels] : marks) {
            for (const auto& [level, counted] : levels) {
                for (const auto& [dscp, count] : counted.carried) {
                    records.push_back({device, level, counted.dscp, dscp, "", count});
                }
                for (const auto& [why, count] : counted.unseen) {
                    records.push_back({device, level, counted.dscp, {}, std::string(why), count});
                }
            }
        }
        call.reply([&](Writer& writer) { api::write(writer, records); });
    });
}

}    // namespace rdmaqos
