// The part of the engine that is about queue pairs: those that are attached, and those that are to be.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/client/engine.h"

namespace rdmaqos::client {
namespace {

using namespace std::chrono_literals;

// Of one message: the daemon takes 256 queue pairs, and 253 descriptors.
constexpr std::size_t kMostAtOnce = 128;
// How long a queue pair that was attached before is tried again at short intervals: a daemon that has just been started
// may not have found its device yet, and a program may be bringing it from INIT to RTS. Then its program is notified,
// and the intervals are longer.
constexpr auto kPatience = 30s;

std::pair<std::string, std::uint32_t> key_of(const QueuePair& queue_pair)
{
    return {queue_pair.device, queue_pair.number};
}

Failure not_answered(int result)
{
    return failure_of(result < 0 ? -result : EBADMSG, "rdma-qosd answers Attach with something else than documented");
}

std::string_view base_of(std::string_view device)
{
    return device.substr(0, device.find('/'));
}

// Whether `device`, with or without its port, is one of "mlx5_0/1 mlx5_1/1".
bool is_among(std::string_view device, std::string_view list)
{
    const bool has_port = device.find('/') != std::string_view::npos;
    while (!list.empty() && !device.empty()) {
        const auto one = list.substr(0, list.find(' '));
        if (device == (has_port ? one : base_of(one))) {
            return true;
        }
        list.remove_prefix(std::min(one.size() + 1, list.size()));
    }
    return false;
}

// Of the queue pair itself, and so for ever.
bool is_of_itself(const Failure& failure)
{
    return failure.error == EINVAL || failure.error == EBADF || failure.name == "org.rdmaqos1.Error.NotOwner";
}

}    // namespace

Engine::Records::iterator Engine::find(const std::string& device, std::uint32_t number)
{
    const auto exact = records_.find(Key(device, number));
    if (exact != records_.end()) {
        return exact;
    }
    return std::ranges::find_if(records_, [&](const auto& entry) {
        return entry.first.second == number && base_of(entry.first.first) == base_of(device);
    });
}

Failure Engine::cannot_be_passed(const QueuePair& queue_pair) const
{
    if (queue_pair.fd >= 0 && connection_ && connection_->transport() == RDMAQOS_TRANSPORT_SYSTEM_BUS) {
        return {EOPNOTSUPP,
                "the system bus does not take descriptors, so a queue pair of a real device can be attached "
                "only over the direct socket, " RDMAQOS_SOCKET};
    }
    if (!queue_pair.is_open()) {
        return {EBADF, "its device has been closed"};
    }
    return {};
}

// Whether all queue pairs of its device that the daemon knows of this session, or is given now, are in one file: then
// one descriptor in a message is enough.
bool Engine::has_one_file(const QueuePair& queue_pair, std::span<const Wanted* const> part) const
{
    const auto is_other = [&](const QueuePair& other) {
        return base_of(other.device) == base_of(queue_pair.device) && other.fd != queue_pair.fd;
    };
    return std::ranges::none_of(records_,
                                [&](const auto& entry) { return is_other(entry.second.wanted.queue_pair); }) &&
           std::ranges::none_of(part, [&](const Wanted* each) { return is_other(each->queue_pair); });
}

int Engine::append(sd_bus_message* message, std::span<const Wanted* const> part) const
{
    int result = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "a{sv}");
    std::map<std::string_view, bool> one_file_sent;    // by device; false: it has several
    for (const Wanted* each : part) {
        if (result < 0) {
            return result;
        }
        const auto device = base_of(each->queue_pair.device);
        const auto known = one_file_sent.find(device);
        const bool with_descriptor = known == one_file_sent.end() || !known->second;
        if (known == one_file_sent.end()) {
            one_file_sent.emplace(device, has_one_file(each->queue_pair, part));
        }
        result = each->queue_pair.append(message, each->own.get(), with_descriptor);
    }
    return result < 0 ? result : sd_bus_message_close_container(message);
}

Failure Engine::attach_part(std::span<const Wanted* const> part, Deadline deadline, std::vector<AnswerRef>& answers)
{
    const Message message = connection_->new_call(session_, kSessionInterface, "Attach");
    int result = message ? append(message.get(), part) : -ENOTCONN;
    if (result < 0) {
        return failure_of(-result, "the request cannot be sent");
    }
    Message answer;
    if (Failure failure = call(message, deadline, answer)) {
        return failure;
    }
    result = read_answers(answer.get(), answers);
    return result < 0 || answers.size() != part.size() ? not_answered(result) : Failure{};
}

Engine::Record& Engine::keep(const Wanted& wanted, bool is_attached)
{
    Record& record = records_[key_of(wanted.queue_pair)];
    const QueuePair& before = record.wanted.queue_pair;
    if (before.handle != wanted.queue_pair.handle || before.type != wanted.queue_pair.type) {
        record.rate.reset();    // another queue pair has the number now
    }
    record.wanted = wanted;
    record.want_again();
    record.is_attached = is_attached;
    record.is_promised = !is_attached;
    return record;
}

std::vector<Outcome> Engine::attach(const std::vector<Wanted>& wanted, Deadline deadline)
{
    std::vector<Outcome> outcomes(wanted.size());
    std::vector<const Wanted*> all;
    all.reserve(wanted.size());
    for (const Wanted& each : wanted) {
        all.push_back(&each);
    }
    Failure failure = join(deadline);
    const bool is_of_session = persists() && failure && !is_loss(failure);
    for (std::size_t first = 0; first < all.size(); first += kMostAtOnce) {
        const std::span part(all.data() + first, std::min(kMostAtOnce, all.size() - first));
        std::vector<Outcome> some(part.size());
        if (failure) {
            for (auto& each : some) {
                each.failure = failure;
            }
        } else {
            attach_wanted(part, deadline, some);
        }
        std::ranges::move(some, outcomes.begin() + static_cast<std::ptrdiff_t>(first));
        if (!connection_) {
            failure = failure_of_reply("", "", ENOTCONN);
        }
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (is_loss(outcomes[i].failure) && remembers() && comes_back()) {
            outcomes[i].is_pending = true;
            wants_session_ = true;
            keep(wanted[i], false);
        } else if (is_of_session) {
            keep(wanted[i], false);
        }
    }
    return outcomes;
}

void Engine::attach_wanted(std::span<const Wanted* const> part, Deadline deadline, std::vector<Outcome>& outcomes)
{
    std::vector<const Wanted*> sent;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < part.size(); ++i) {
        outcomes[i].failure = cannot_be_passed(part[i]->queue_pair);
        if (!outcomes[i].failure) {
            sent.push_back(part[i]);
            places.push_back(i);
        }
    }
    if (sent.empty()) {
        return;
    }
    std::vector<AnswerRef> answers;
    const std::uint64_t losses = losses_;
    Failure failure = attach_part(sent, deadline, answers);
    if (failure.name == "org.rdmaqos1.Error.UnknownSession") {
        for (auto& [key, record] : records_) {
            record.want_again();
        }
        session_.clear();
        failure = join(deadline);
        failure = failure ? failure : attach_part(sent, deadline, answers);
    }
    bool is_open = next_attach_ || next_slow_;    // else there is no need to look at them all
    for (std::size_t i = 0; i < sent.size(); ++i) {
        Outcome& outcome = outcomes[places[i]];
        outcome.failure = failure ? failure : refusal_in(answers[i]);
        if (!outcome.failure) {
            outcome.place = answers[i];
            take_place(keep(*sent[i], true), answers[i]);
        } else if (persists() && connection_ && stays(outcome.failure)) {
            keep(*sent[i], false);
            take_refusal(records_.find(key_of(sent[i]->queue_pair)), outcome.failure);
            is_open = true;
        } else if (failure.error == ETIMEDOUT && connection_) {
            // It may be attached some time later, and its program was notified that it is not.
            const QueuePair& late = sent[i]->queue_pair;
            if (find(late.device, late.number) == records_.end()) {
                const Message message = connection_->new_call(session_, kSessionInterface, "Detach");
                if (message && sd_bus_message_append(message.get(), "su", late.device.c_str(), late.number) >= 0) {
                    connection_->tell(message);
                }
            }
        }
    }
    if (losses_ != losses) {
        lose_devices(grant_ ? grant_->text("detached-devices") : nullptr);    // behind the answer, perhaps
    }
    if (is_open) {
        plan_next_round();
    }
}

void Engine::lose_devices(const std::string* devices)
{
    for (auto& [key, record] : records_) {
        if (record.is_attached &&
            (devices == nullptr || is_among(key.first, *devices) || is_among(record.device, *devices))) {
            record.want_again();
            record.is_promised = record.is_tried = record.waits_for_device = true;
        }
    }
    plan_next_round();
}

void Engine::try_again(const std::string* returned_devices)
{
    for (auto& [key, record] : records_) {
        if (record.is_attached) {
            continue;
        }
        const bool is_back = returned_devices != nullptr &&
                             (is_among(key.first, *returned_devices) || is_among(record.device, *returned_devices));
        record.waits_for_device = record.waits_for_device && !is_back;
        if (!record.waits_for_device) {
            (record.is_overdue ? next_slow_ : next_attach_) = Clock::now();
        }
    }
}

bool Engine::stays(const Failure& failure) const
{
    return may_pass(failure) || (persists() && !is_of_itself(failure));
}

void Engine::take_refusal(Records::iterator record, const Failure& failure)
{
    if (!stays(failure)) {
        give_up(record, failure);
        return;
    }
    auto& [key, refused] = *record;
    refused.is_tried = true;
    refused.waits_for_device = failure.name == "org.rdmaqos1.Error.UnknownDevice";
    if (!refused.refused_since) {
        refused.refused_since = Clock::now();
    }
    if (!refused.is_overdue && Clock::now() - *refused.refused_since >= kPatience) {
        refused.is_overdue = true;
        events_.push_back({RDMAQOS_EVENT_QUEUE_PAIR_WAITING, key.first, key.second, failure.text, {}});
    }
}

void Engine::take_place(Record& record, const AnswerRef& place)
{
    if (const std::string* device = place->text("device")) {
        record.device = *device;
    }
}

void Engine::give_up(Records::iterator record, const Failure& failure)
{
    events_.push_back({RDMAQOS_EVENT_QUEUE_PAIR_LOST, record->first.first, record->first.second, failure.text, {}});
    records_.erase(record);
}

// As many as one message takes, of those that are to be tried; what cannot be attached any more is given up.
std::vector<const Wanted*> Engine::some_pending()
{
    std::vector<const Wanted*> part;
    for (auto record = records_.begin(); record != records_.end() && part.size() < kMostAtOnce;) {
        const auto next = std::next(record);
        if (!record->second.is_attached && !record->second.is_tried) {
            if (const Failure failure = cannot_be_passed(record->second.wanted.queue_pair)) {
                give_up(record, failure);
            } else {
                part.push_back(&record->second.wanted);
            }
        }
        record = next;
    }
    return part;
}

void Engine::settle(const std::vector<const Wanted*>& part, const std::vector<AnswerRef>& answers, Deadline deadline)
{
    std::vector<Key> limited;
    for (std::size_t i = 0; i < part.size(); ++i) {
        const auto record = records_.find(key_of(part[i]->queue_pair));
        if (record == records_.end() || i >= answers.size()) {
            continue;
        }
        if (const Failure failure = refusal_in(answers[i])) {
            take_refusal(record, failure);
            continue;
        }
        auto& [key, attached] = *record;
        attached.want_again();
        attached.is_attached = true;
        take_place(attached, answers[i]);
        if (std::exchange(attached.is_promised, false)) {
            events_.push_back({RDMAQOS_EVENT_QUEUE_PAIR_ATTACHED, key.first, key.second, {}, answers[i]});
        }
        if (attached.rate) {
            limited.push_back(key);
        }
    }
    restore_rates(limited, deadline);
}

void Engine::begin_round()
{
    const auto is_due = [](const std::optional<Clock::time_point>& time) { return !time || Clock::now() >= *time; };
    const bool fast = is_due(next_attach_);
    const bool slow = is_due(next_slow_);
    for (auto& [key, record] : records_) {
        if (!record.is_attached && (record.is_slow() ? slow : fast)) {
            record.is_tried = false;
        }
    }
}

void Engine::plan_next_round()
{
    bool fast = false;
    bool slow = false;
    for (const auto& [key, record] : records_) {
        if (!record.is_attached) {
            (record.is_slow() ? slow : fast) = true;
        }
    }
    const auto plan = [](bool is_needed, Pause& pause, std::optional<Clock::time_point>& next) {
        if (!is_needed) {
            pause.reset();
            next.reset();
        } else if (!next || Clock::now() >= *next) {
            next = pause.from_now();
        }
    };
    plan(fast, attach_pause_, next_attach_);
    plan(slow, slow_pause_, next_slow_);
}

void Engine::attach_pending(Deadline deadline)
{
    begin_round();
    for (auto part = some_pending(); !part.empty() && connection_ && !session_.empty() && !deadline.is_over();
         part = some_pending()) {
        for (const Wanted* each : part) {
            records_.find(key_of(each->queue_pair))->second.is_tried = true;
        }
        const std::uint64_t losses = losses_;
        std::vector<AnswerRef> answers;
        const Failure failure = attach_part(part, deadline, answers);
        if (!connection_) {
            return;    // all of it is wanted again already
        }
        if (!failure) {
            settle(part, answers, deadline);
        }
        if (losses_ != losses) {
            lose_devices(grant_ ? grant_->text("detached-devices") : nullptr);    // behind the answer, perhaps
        }
    }
    plan_next_round();
}

Message Engine::rate_call(const Key& key, const rdmaqos_rate& rate) const
{
    Message message = connection_->new_call(session_, kSessionInterface, "SetRate");
    int result = message ? sd_bus_message_append(message.get(), "su", key.first.c_str(), key.second) : -ENOTCONN;
    if (result >= 0 && (result = sd_bus_message_open_container(message.get(), 'a', "{sv}")) >= 0) {
        result = append_number(message.get(), "rate", "t", rate.rate);
    }
    if (result >= 0 && rate.rate != 0 && rate.max_burst != 0) {
        result = append_number(message.get(), "max-burst", "t", rate.max_burst);
    }
    if (result >= 0 && rate.rate != 0 && rate.typical_packet != 0) {
        result = append_number(message.get(), "typical-packet", "u", rate.typical_packet);
    }
    if (result >= 0) {
        result = sd_bus_message_close_container(message.get());
    }
    return result < 0 ? nullptr : std::move(message);
}

void Engine::restore_rates(const std::vector<Key>& keys, Deadline deadline)
{
    if (keys.empty()) {
        return;
    }
    std::vector<Message> calls;
    calls.reserve(keys.size());
    for (const Key& key : keys) {
        calls.push_back(rate_call(key, *records_.find(key)->second.rate));
    }
    static_cast<void>(connection_->call_all(calls, deadline));    // refused: the class's own rate holds
}

Failure Engine::set_rate(const std::string& device, std::uint32_t number, const rdmaqos_rate& rate, Deadline deadline)
{
    if (Failure failure = reach(deadline)) {
        return failure;
    }
    const auto record = find(device, number);
    if (record == records_.end()) {
        return {ENOENT, "the queue pair is not attached"};
    }
    if (!record->second.is_attached || session_.empty()) {
        return {EAGAIN, "the queue pair is not attached yet"};
    }
    const Key key = record->first;
    Message answer;
    if (Failure failure = call(rate_call(key, rate), deadline, answer)) {
        return failure;
    }
    const auto now = records_.find(key);
    if (now != records_.end()) {
        now->second.rate = rate.rate == 0 ? std::nullopt : std::optional(rate);
    }
    return {};
}

std::vector<Failure> Engine::detach(const std::vector<std::pair<std::string, std::uint32_t>>& names, Deadline deadline)
{
    look();
    std::vector<Failure> failures(names.size());
    std::vector<Message> calls;
    std::vector<std::optional<std::size_t>> places;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto record = find(names[i].first, names[i].second);
        if (record == records_.end()) {
            failures[i] = connection_ ? Failure{ENOENT, "the queue pair is not attached"} : why_absent();
            continue;
        }
        const Key key = record->first;
        const bool is_attached = record->second.is_attached;
        const bool is_promised = record->second.is_promised;
        records_.erase(record);
        if (!connection_ && !is_promised) {
            failures[i] = why_absent();
        } else if (connection_ && !session_.empty()) {
            // Also one that its device took along, which the daemon remembers as the session's.
            Message message = connection_->new_call(session_, kSessionInterface, "Detach");
            if (message && sd_bus_message_append(message.get(), "su", key.first.c_str(), key.second) < 0) {
                message.reset();
            }
            calls.push_back(std::move(message));
            places.push_back(is_attached ? std::optional(i) : std::nullopt);
        }
    }
    if (!calls.empty()) {
        auto some = connection_->call_all(calls, deadline);
        for (std::size_t i = 0; i < some.size(); ++i) {
            if (places[i]) {
                failures[*places[i]] = std::move(some[i].failure);
            }
        }
        look();
    }
    return failures;
}

}    // namespace rdmaqos::client
