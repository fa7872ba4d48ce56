#include "daemon/bus/trial_calls.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "daemon/bus/authorize.h"
#include "daemon/bus/convert_report.h"
#include "daemon/bus/sent_policy.h"
#include "daemon/service/plans.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/trial_in_force.h"
#include "daemon/service/trials.h"
#include "lib/api/policy.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

// A text and a time; the text has the name of the file that it stands for.
Result<TrialRequest> read_request(const Call& call, const Peer& peer)
{
    const auto policy = TRY(bus::read_value(call.message(), call.limits()));
    const auto timeout = TRY(bus::read_value(call.message(), call.limits()));
    const auto sent = TRY(sent_policy(policy));
    // Before polkit is asked: the text is kept until it has answered.
    TRY(may_bring(peer.identity->account(), *sent));
    const auto* seconds = timeout.as<std::uint32_t>();
    return TrialRequest{std::make_shared<const SourceFile>(SourceFile{std::string(kTriedFile), sent->text}),
                        std::chrono::seconds(seconds == nullptr ? 0 : *seconds), peer.identity};
}

}    // namespace

void on_try(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto request = read_request(call, peer);
    if (!request) {
        call.refuse(request.error());
        return;
    }
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Try, [&service, call, request = std::move(*request)] {
        service.trials().begin(request,
                               [call](const Result<TrialOutcome>& outcome) { call.answer(outcome, Quote::Lines); });
    });
}

void on_confirm(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto revision = bus::read_value(call.message(), call.limits());
    const auto* text = revision ? revision->as<std::string>() : nullptr;
    if (text == nullptr) {
        call.refuse({ErrorCode::InvalidArgument, 0, "the message cannot be read"});
        return;
    }
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Try, [&service, call, text = *text] {
        service.trials().confirm(text, [call](const Result<void>& confirmed) { call.answer(confirmed); });
    });
}

void on_revert(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Try, [&service, call] {
        service.trials().revert([call](const Result<ReloadOutcome>& outcome) { call.answer(outcome, Quote::Lines); });
    });
}

void on_tried_text(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Try, [&service, call] {
        if (const auto text = service.trial().text()) {
            call.reply_text(text->text);
        } else {
            call.refuse({ErrorCode::InvalidArgument, 0, "no policy is being tried"});
        }
    });
}

void on_running_files(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Try, [&service, call] {
        const auto policy = service.in_force().policy();
        std::vector<api::RunningFile> files;
        for (const auto& file : policy ? policy->sources : std::vector<std::shared_ptr<const SourceFile>>()) {
            files.push_back({file->name, file->text});
        }
        call.reply([&](bus::Writer& writer) { api::write(writer, files); });
    });
}

void get_trial(BusContext& context, const char* /*path*/, bus::Writer& writer)
{
    write(writer, context.service.trial().status());
}

}    // namespace rdmaqos
