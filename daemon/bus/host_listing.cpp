#include "daemon/bus/host_listing.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bus/answer.h"
#include "daemon/bus/slices.h"
#include "daemon/service/host_view.h"

namespace rdmaqos {
namespace {

using bus::Writer;

constexpr std::size_t kQueuePairsAtTheCostOfACall = 100;

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
    const auto dict = bus::read_dict(call.message(), call.limits());
    if (!dict) {
        return fail(dict.error());
    }
    Filter filter;
    for (const auto& [key, value] : dict->entries()) {
        const auto* device = value.as<std::string>();
        const auto* pid = value.as<std::uint32_t>();
        if (key == "device" && device != nullptr) {
            filter.device = *device;
        } else if (key == "pid" && pid != nullptr) {
            filter.pid = *pid;
        } else if (!key.starts_with("x-")) {
            return fail(ErrorCode::InvalidArgument,
                        "ListQueuePairs has the options `device` (a string) and `pid` (u), and no others");
        }
    }
    return filter;
}

void write_owner(Answer<kHostQueuePairKeys>& dict, const Identity& owner)
{
    dict.set("pid", static_cast<std::uint32_t>(owner.pid));
    dict.set("start-time", owner.start_time);
    dict.set("uid", owner.uid);
    dict.set_text("unit", owner.unit);
    dict.set_text("command", owner.command);
}

void write_standing(Answer<kHostQueuePairKeys>& dict, const HostStanding& standing)
{
    if (standing.session) {
        dict.set("session", static_cast<std::uint64_t>(*standing.session));
    }
    if (const auto& result = standing.result) {
        dict.set_text("level", result->level);
        dict.set_text("rule", result->rule);
        dict.set_text("leaf", result->leaf);
        dict.set_text("responder-leaf", result->responder_leaf);
        dict.set("rate", result->rate ? std::optional(result->rate->rate.kbps()) : std::nullopt);
        dict.set("enforced", result->enforced);
    }
    if (!standing.result) {
        dict.set_text("level", standing.level);
    }
    if (!standing.reason.empty()) {
        dict.set("reason", standing.reason);
    } else if (standing.result) {
        dict.set_text("reason", standing.result->reason);
    }
    dict.set_text("outside", std::string(standing.outside));
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
        Answer<kHostQueuePairKeys> dict(*writer_);
        dict.set("device", name.device);
        dict.set("number", name.number);
        dict.set("type", std::string(to_string(known->type)));
        write_owner(dict, *known->owner);
        write_standing(dict, known->standing);
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
    Answer<kHostQueuePairKeys> dict(writer);
    dict.set("device", standing.device.empty() ? queue_pair.device : standing.device);
    dict.set("number", tracked.number);
    dict.set("type", rdma_netlink::name_of_type(tracked.type));
    if (tracked.state) {
        dict.set_text("state", std::string(to_string(*tracked.state)));
    }
    dict.set("remote", tracked.remote);
    dict.set_text("kernel", tracked.kernel_name);
    if (queue_pair.owner) {
        write_owner(dict, *queue_pair.owner);
    }
    write_standing(dict, standing);
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
        call.reply([&](Writer& writer) {
            writer.open('a', "a{sv}");
            for (const auto& [of, count] : counted->counts) {
                Answer<kHostCountKeys> dict(writer);
                dict.set("device", of.first);
                dict.set_text("outside", std::string(of.second));
                dict.set("count", static_cast<std::uint64_t>(count));
            }
            for (const auto& [device, count] : counted->survey->left_out) {
                Answer<kHostCountKeys> dict(writer);
                dict.set("device", device);
                dict.set_text("outside", std::string(kNotLookedAt));
                dict.set("count", static_cast<std::uint64_t>(count));
            }
            for (const auto& [device, why] : counted->survey->failures) {
                Answer<kHostCountKeys> dict(writer);
                dict.set_text("device", device);
                dict.set_text("failure", why);
            }
            writer.close();
        });
    });
}

}    // namespace rdmaqos
