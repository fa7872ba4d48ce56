#include "lib/client/engine.h"

#include <algorithm>
#include <cerrno>

namespace rdmaqos::client {
namespace {

using namespace std::chrono_literals;

constexpr auto kReleaseTime = 1s;    // at the end

}    // namespace

Engine::Clock::time_point Engine::Pause::from_now()
{
    const auto half = next_ / 2;
    const auto pause = half + std::chrono::milliseconds(chance_() % static_cast<unsigned>(half.count() + 1));
    next_ = std::min(next_ * 2, longest_);
    return Clock::now() + pause;
}

Engine::Engine(EngineOptions options, std::function<void(int fd)> before_close)
    : options_(std::move(options)), before_close_(std::move(before_close))
{
}

Engine::~Engine()
{
    if (connection_ && !session_.empty()) {
        // Its queue pairs are out of their classes when this returns; the end of the connection would do it a moment
        // later.
        Message answer;
        static_cast<void>(
            connection_->call(connection_->new_call(session_, kSessionInterface, "Release"),
                              Deadline(std::min<std::chrono::milliseconds>(kReleaseTime, options_.timeout)), answer));
    }
    drop_connection();
}

Failure Engine::connect(Deadline deadline)
{
    Failure failure = open_any(deadline.within(options_.open_timeout));
    unreachable_ = failure;
    if (failure) {
        next_try_ = pause_.from_now();
        is_back_news_ = true;
        return failure;
    }
    pause_.reset();
    next_try_ = wants_session_ ? std::optional(Clock::now()) : std::nullopt;
    transport_ = connection_->transport();
    connection_->on_grant([this](const std::string& session, const AnswerRef& grant) { take_grant(session, grant); });
    if (!wants_session_ && std::exchange(is_back_news_, false)) {
        tell(RDMAQOS_EVENT_DAEMON_BACK, {});
    }
    return {};
}

Failure Engine::open_any(Deadline deadline)
{
    // Who came by one way comes back by it: a queue pair of a real device cannot be attached by the other.
    const bool by_bus_alone = (options_.flags & RDMAQOS_OPEN_SYSTEM_BUS) != 0 ||
                              transport_ == RDMAQOS_TRANSPORT_SYSTEM_BUS;
    const bool directly_alone = (options_.flags & RDMAQOS_OPEN_DIRECT) != 0 || !options_.socket.empty() ||
                                transport_ == RDMAQOS_TRANSPORT_DIRECT;
    if (by_bus_alone) {
        return Connection::open_system_bus(deadline, connection_);
    }
    Failure failure = Connection::open_direct(options_.socket.empty() ? RDMAQOS_SOCKET : options_.socket, deadline,
                                              connection_);
    if (failure && !directly_alone && !Connection::open_system_bus(deadline, connection_)) {
        return {};
    }
    return failure;
}

void Engine::drop_connection()
{
    if (connection_) {
        before_close_(connection_->fd());
        connection_.reset();
    }
}

void Engine::forget_all()
{
    wants_session_ = false;
    is_detached_ = false;
    refusal_.reset();
    session_.clear();
    grant_ = {};
    records_.clear();
    next_attach_.reset();
    next_slow_.reset();
}

void Engine::lose()
{
    drop_connection();
    if (!is_back_news_) {
        tell(RDMAQOS_EVENT_DAEMON_GONE, {}, "rdma-qosd has gone");
    }
    is_back_news_ = true;
    unreachable_ = {ENOTCONN, "the connection to rdma-qosd has ended"};
    if (!comes_back()) {
        forget_all();
    }
    session_.clear();
    grant_ = {};
    refusal_.reset();
    for (auto& [key, record] : records_) {
        record.want_again();
    }
    next_attach_.reset();
    next_slow_.reset();
    pause_.reset();
    next_try_ = comes_back() ? std::optional(pause_.from_now()) : std::nullopt;
}

void Engine::look()
{
    if (connection_) {
        connection_->process();
        if (!connection_->is_there()) {
            lose();
        }
    }
}

Failure Engine::why_absent() const
{
    return unreachable_ ? unreachable_ : Failure{ENOTCONN, "rdma-qosd is not there"};
}

Failure Engine::reach(Deadline deadline)
{
    look();
    if (connection_) {
        return {};
    }
    const bool may_try = next_try_ && Clock::now() >= *next_try_;
    if (!may_try) {
        return why_absent();
    }
    return connect(deadline);
}

Failure Engine::join(Deadline deadline)
{
    if (Failure failure = reach(deadline)) {
        return failure;
    }
    if (!session_.empty()) {
        return {};
    }
    if (persists() && refusal_ && next_try_ && Clock::now() < *next_try_) {
        return *refusal_;
    }
    const bool is_first = !std::exchange(wants_session_, true);
    Failure failure = register_now(deadline);
    if (failure && persists() && !is_loss(failure)) {
        ask_later(failure);
    } else if (failure && is_first && !(is_loss(failure) && remembers())) {
        wants_session_ = false;
    }
    return failure;
}

Failure Engine::call(const Message& message, Deadline deadline, Message& answer)
{
    Failure failure = connection_->call(message, deadline, answer);
    look();    // what came besides the answer; and the connection is dropped if that is what failed
    return !failure && !connection_ ? failure_of_reply("", "", ENOTCONN) : failure;
}

Failure Engine::enroll(const Request& wish, Deadline deadline, AnswerRef& grant, bool& is_pending)
{
    look();
    if (wants_session_ && !is_detached_ && !refusal_) {
        return {EALREADY, "the handle has a session: release it first"};
    }
    if (is_detached_ && connection_ && !session_.empty()) {
        Message answer;
        static_cast<void>(call(connection_->new_call(session_, kSessionInterface, "Release"), deadline, answer));
        for (auto& [key, record] : records_) {
            record.want_again();
        }
    }
    session_.clear();
    is_detached_ = false;
    refusal_.reset();
    Failure failure = reach(deadline);
    wish_ = wish;
    wants_session_ = true;
    if (!failure) {
        failure = register_now(deadline);
    }
    is_pending = is_loss(failure) && remembers();
    if (failure && !is_pending) {
        const bool is_wanted = persists() || (!records_.empty() && (may_pass(failure) || is_loss(failure)));
        if (!is_wanted) {
            forget_all();
            wish_ = {};
        } else if (!is_loss(failure)) {
            ask_later(failure);
        }
        return failure;
    }
    grant = grant_;
    return failure;
}

Failure Engine::register_now(Deadline deadline)
{
    const Message message = connection_->new_call(kRootPath, kManagerInterface, "Register");
    const auto part = some_pending();
    int result = message ? sd_bus_message_open_container(message.get(), 'a', "{sv}") : -ENOTCONN;
    if (result >= 0) {
        result = wish_.append(message.get(), true, false);
    }
    if (result >= 0 && !part.empty()) {
        if ((result = sd_bus_message_open_container(message.get(), 'e', "sv")) >= 0 &&
            (result = sd_bus_message_append(message.get(), "s", "queue-pairs")) >= 0 &&
            (result = sd_bus_message_open_container(message.get(), 'v', "aa{sv}")) >= 0 &&
            (result = append(message.get(), part)) >= 0 &&
            (result = sd_bus_message_close_container(message.get())) >= 0) {
            result = sd_bus_message_close_container(message.get());
        }
    }
    if (result >= 0) {
        result = sd_bus_message_close_container(message.get());
    }
    if (result < 0) {
        return failure_of(-result, "the request cannot be sent");
    }
    Message answer;
    if (Failure failure = call(message, deadline, answer)) {
        return failure;
    }
    const char* path = nullptr;
    std::vector<AnswerRef> places;
    if ((result = sd_bus_message_read_basic(answer.get(), 'o', &path)) < 0 ||
        (result = read_answer(answer.get(), grant_, &places)) < 0) {
        return failure_of(-result, "rdma-qosd answers Register with something else than documented");
    }
    session_ = path;
    is_detached_ = false;
    refusal_.reset();
    losses_ = 0;
    next_try_.reset();
    pause_.reset();
    if (std::exchange(is_back_news_, false)) {
        tell(RDMAQOS_EVENT_DAEMON_BACK, grant_);
    }
    if (!part.empty()) {
        settle(part, places, deadline);
        attach_pending(deadline);
    }
    return {};
}

void Engine::register_again(Deadline deadline)
{
    Failure failure = register_now(deadline);
    if (!failure || !connection_) {
        return;
    }
    if (may_pass(failure) || is_loss(failure)) {
        next_try_ = pause_.from_now();
        return;
    }
    const bool is_news = !refusal_;
    if (persists()) {
        ask_later(failure);
    } else {
        forget_all();
        is_back_news_ = false;
    }
    if (is_news) {
        tell(RDMAQOS_EVENT_REFUSED, {}, failure.text);
    }
}

void Engine::ask_later(const Failure& failure)
{
    refusal_ = failure;
    is_back_news_ = true;
    next_try_ = refused_pause_.from_now();
}

void Engine::tend(Deadline deadline)
{
    look();
    const auto is_due = [](const std::optional<Clock::time_point>& time) { return time && Clock::now() >= *time; };
    if (!connection_ && is_due(next_try_)) {
        if (connect(deadline)) {
            return;
        }
        if (wants_session_) {
            register_again(deadline);
        }
    } else if (connection_ && wants_session_ && session_.empty() && (!next_try_ || is_due(next_try_))) {
        register_again(deadline);
    }
    if (!session_.empty() && (is_due(next_attach_) || is_due(next_slow_))) {
        attach_pending(deadline);
    }
}

std::optional<Engine::Clock::time_point> Engine::next_time() const
{
    std::optional<Clock::time_point> next;
    if (!connection_ || (wants_session_ && session_.empty())) {
        next = next_try_;
    }
    for (const auto& attach : {next_attach_, next_slow_}) {
        if (!session_.empty() && attach && (!next || *attach < *next)) {
            next = attach;
        }
    }
    return next;
}

void Engine::take_grant(const std::string& session, const AnswerRef& grant)
{
    if (session != session_) {
        return;
    }
    grant_ = grant;
    const std::string* cause = grant->text("cause");
    const std::string* lost = grant->text("detached-devices");
    const std::string* returned = grant->text("returned-devices");
    const bool has_nothing = cause != nullptr && *cause == "detached";
    const auto losses = grant->number("losses");    // absent: none, or a daemon that does not count
    if (losses ? *losses != losses_ : has_nothing && !is_detached_) {
        losses_ = losses.value_or(0);
        is_detached_ = true;
        lose_devices(lost);
        tell(RDMAQOS_EVENT_DETACHED, grant, lost == nullptr ? "the session's device went away" : *lost + " went away");
    } else if (!has_nothing || (returned != nullptr && !returned->empty())) {
        tell(RDMAQOS_EVENT_GRANT_CHANGED, grant);
    }
    try_again(returned);
}

Failure Engine::release(Deadline deadline)
{
    look();
    if (!wants_session_) {
        return connection_ ? Failure{ENOENT, "the handle has no session"} : why_absent();
    }
    const std::string session = session_;
    forget_all();
    wish_ = {};
    if (!connection_ || session.empty()) {
        return {};
    }
    Message answer;
    return call(connection_->new_call(session, kSessionInterface, "Release"), deadline, answer);
}

Failure Engine::grant(Deadline deadline, AnswerRef& grant)
{
    if (Failure failure = reach(deadline)) {
        return failure;
    }
    if (session_.empty()) {
        return {ENOENT, "the handle has no session"};
    }
    const Message message = connection_->new_call(session_, "org.freedesktop.DBus.Properties", "Get");
    const int result = message ? sd_bus_message_append(message.get(), "ss", kSessionInterface, "Grant") : -ENOTCONN;
    Message answer;
    Failure failure = result < 0 ? failure_of(-result, "the request cannot be sent") : call(message, deadline, answer);
    if (!failure && sd_bus_message_enter_container(answer.get(), 'v', "a{sv}") > 0) {
        static_cast<void>(read_answer(answer.get(), grant_));
    }
    grant = grant_;
    return is_loss(failure) || !grant ? failure : Failure{};
}

Failure Engine::query_path(const Request& request, Deadline deadline, AnswerRef& path)
{
    if (Failure failure = reach(deadline)) {
        return failure;
    }
    const Message message = connection_->new_call(kRootPath, kManagerInterface, "QueryPath");
    int result = message ? sd_bus_message_open_container(message.get(), 'a', "{sv}") : -ENOTCONN;
    if (result >= 0 && (result = request.append(message.get(), true, true)) >= 0) {
        result = sd_bus_message_close_container(message.get());
    }
    if (result < 0) {
        return failure_of(-result, "the request cannot be sent");
    }
    Message answer;
    if (Failure failure = call(message, deadline, answer)) {
        return failure;
    }
    std::vector<AnswerRef> answers;
    result = read_answers(answer.get(), answers);
    if (result < 0 || answers.empty()) {
        return failure_of(result < 0 ? -result : EBADMSG,
                          "rdma-qosd answers QueryPath with something else than documented");
    }
    if (Failure failure = refusal_in(answers.front())) {
        return failure;
    }
    path = answers.front();
    return {};
}

void Engine::tell(rdmaqos_event_type type, const AnswerRef& grant, std::string message)
{
    events_.push_back({type, {}, 0, std::move(message), grant});
}

}    // namespace rdmaqos::client
