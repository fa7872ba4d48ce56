// The C interface: arguments in, a negative errno out. What can throw is below take_turn() or guarded().
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>

#include <infiniband/verbs.h>

#include "lib/client/handle.h"
#include "lib/client/retry.h"
#include "lib/client/uncancelled.h"
#include "lib/client/verbs.h"

#define RDMAQOS_EXPORT extern "C" __attribute__((visibility("default")))

using namespace rdmaqos::client;

namespace {

constexpr std::uint32_t kKnownFlags = RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_SYSTEM_BUS | RDMAQOS_OPEN_WITHOUT_DAEMON |
                                      RDMAQOS_OPEN_THREAD | RDMAQOS_OPEN_ONCE | RDMAQOS_OPEN_PERSIST;

int no_handle()
{
    return report(ENOTCONN, "there is no connection to rdma-qosd");
}

// For what is not done on a handle's turn.
template <typename Function>
int guarded(const Function& function)
{
    return uncancelled([&]() noexcept {
        try {
            return function();
        } catch (const std::bad_alloc&) {
            return report(ENOMEM, "out of memory");
        } catch (...) {
            return report(EIO, "an internal error of librdmaqos");
        }
    });
}

template <typename Function>
int on(rdmaqos_handle* handle, const Function& function)
{
    return handle == nullptr ? no_handle() : uncancelled([&]() noexcept { return handle->take_turn(function); });
}

void hand_out(const AnswerRef& answer, rdmaqos_answer** into)
{
    if (into != nullptr) {
        *into = answer.share();
    }
}

int result_of(const Failure& failure)
{
    return failure ? report(failure) : 0;
}

Failure copy_options(const rdmaqos_open_attr* attr, EngineOptions& options)
{
    rdmaqos_open_attr known{};
    if (Failure failure = take(attr, known)) {
        return failure;
    }
    if ((known.flags & ~kKnownFlags) != 0) {
        return {EOPNOTSUPP, "this librdmaqos is older than the program and does not know a flag of rdmaqos_open()"};
    }
    if ((known.flags & RDMAQOS_OPEN_DIRECT) != 0 && (known.flags & RDMAQOS_OPEN_SYSTEM_BUS) != 0) {
        return {EINVAL, "only the direct socket and only the system bus: there is nothing left"};
    }
    options.flags = known.flags;
    if (known.open_timeout_ms != 0) {
        options.open_timeout = std::chrono::milliseconds(known.open_timeout_ms);
    }
    if (known.timeout_ms != 0) {
        options.timeout = std::chrono::milliseconds(known.timeout_ms);
    }
    options.socket = known.socket == nullptr ? "" : known.socket;
    return {};
}

Failure copy_own(const rdmaqos_request* from, std::shared_ptr<const Request>& into)
{
    if (from == nullptr) {
        return {};
    }
    auto made = std::make_shared<Request>();
    Failure failure = Request::copy(from, *made);
    into = std::move(made);
    return failure;
}

// `describe(i, queue_pair)` says which queue pairs they are. What cannot be described fails alone.
template <typename Describe>
int attach_many(rdmaqos_handle* handle, std::size_t count, const Describe& describe,
                const rdmaqos_request* const* requests, int* results, rdmaqos_answer** places)
{
    for (std::size_t i = 0; places != nullptr && i < count; ++i) {
        places[i] = nullptr;
    }
    return on(handle, [&](Engine& engine, Deadline deadline) {
        std::vector<Wanted> wanted;
        std::vector<std::size_t> positions;
        int failed = 0;
        const auto set = [&](std::size_t i, int result) {
            failed += result < 0 ? 1 : 0;
            if (results != nullptr) {
                results[i] = result;
            }
        };
        for (std::size_t i = 0; i < count; ++i) {
            Wanted each;
            Failure failure = describe(i, each.queue_pair);
            if (!failure) {
                failure = copy_own(requests == nullptr ? nullptr : requests[i], each.own);
            }
            if (failure) {
                set(i, report(failure));
            } else {
                wanted.push_back(std::move(each));
                positions.push_back(i);
            }
        }
        const auto outcomes = wanted.empty() ? std::vector<Outcome>() : engine.attach(wanted, deadline);
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            const Outcome& outcome = outcomes[i];
            const int result = result_of(outcome.failure);
            set(positions[i], outcome.is_pending ? RDMAQOS_PENDING : result);
            if (places != nullptr) {
                places[positions[i]] = outcome.place.share();
            }
        }
        return failed;
    });
}

template <typename Describe>
int attach_one(rdmaqos_handle* handle, const Describe& describe, const rdmaqos_request* request, rdmaqos_answer** place)
{
    int result = 0;
    const int failed = attach_many(handle, 1, describe, &request, &result, place);
    return failed < 0 ? failed : result;
}

int detach_all(Engine& engine, const std::vector<std::pair<std::string, std::uint32_t>>& names, Deadline deadline,
               int* results)
{
    int failed = 0;
    const auto failures = engine.detach(names, deadline);
    for (std::size_t i = 0; i < failures.size(); ++i) {
        const int result = result_of(failures[i]);
        failed += result < 0 ? 1 : 0;
        if (results != nullptr) {
            results[i] = result;
        }
    }
    return failed;
}

// By its device's name alone: nothing is asked of a queue pair that may be about to go.
std::pair<std::string, std::uint32_t> name_of(const ibv_qp& qp)
{
    return {qp.context->device->name, qp.qp_num};
}

int set_rate(rdmaqos_handle* handle, const std::pair<std::string, std::uint32_t>& name, const rdmaqos_rate* rate)
{
    return on(handle, [&](Engine& engine, Deadline deadline) {
        rdmaqos_rate known{};
        Failure failure = rate == nullptr ? Failure{EINVAL, "no rate was given"} : take(rate, known);
        return result_of(failure ? failure : engine.set_rate(name.first, name.second, known, deadline));
    });
}

int number_of(const rdmaqos_answer* answer, const char* key)
{
    const auto number = answer == nullptr ? std::nullopt : answer->number(key);
    return number ? static_cast<int>(*number) : -ENOENT;
}

const char* words_of(const rdmaqos_answer* answer, const char* key)
{
    const auto* text = answer == nullptr ? nullptr : answer->text(key);
    return text == nullptr ? "" : text->c_str();
}

}    // namespace

RDMAQOS_EXPORT const char* rdmaqos_last_error(void)
{
    return last_text();
}

RDMAQOS_EXPORT const char* rdmaqos_last_error_name(void)
{
    return last_name();
}

RDMAQOS_EXPORT const char* rdmaqos_version(void)
{
    return RDMAQOS_LIBRARY_VERSION;
}

RDMAQOS_EXPORT int rdmaqos_open(rdmaqos_handle** handle, const rdmaqos_open_attr* attr)
{
    if (handle == nullptr) {
        return report(EINVAL, "no place for the handle was given");
    }
    *handle = nullptr;
    return guarded([&] {
        EngineOptions options;
        if (Failure failure = copy_options(attr, options)) {
            return report(failure);
        }
        auto made = std::make_unique<rdmaqos_handle>(std::move(options));
        if (Failure failure = made->open()) {
            return report(failure);
        }
        *handle = made.release();
        return 0;
    });
}

RDMAQOS_EXPORT void rdmaqos_close(rdmaqos_handle* handle)
{
    if (handle == nullptr) {
        return;
    }
    uncancelled([&]() noexcept {
        if (handle->is_here()) {
            delete handle;    // NOLINT: the C interface owns it
        } else {
            handle->leave();
        }
        return 0;
    });
}

RDMAQOS_EXPORT int rdmaqos_get_transport(rdmaqos_handle* handle)
{
    return on(handle, [](Engine& engine, Deadline) {
        return static_cast<int>(engine.connection() == nullptr ? RDMAQOS_TRANSPORT_NONE
                                                               : engine.connection()->transport());
    });
}

RDMAQOS_EXPORT const char* rdmaqos_gid_text(const ibv_gid* gid, char text[RDMAQOS_GID_TEXT])
{
    std::size_t at = 0;
    for (std::size_t i = 0; i < sizeof(gid->raw); i += 2) {
        at += static_cast<std::size_t>(
            snprintf(text + at, RDMAQOS_GID_TEXT - at, "%s%02x%02x", i == 0 ? "" : ":", gid->raw[i], gid->raw[i + 1]));
    }
    return text;
}

RDMAQOS_EXPORT int rdmaqos_register(rdmaqos_handle* handle, const rdmaqos_request* request, rdmaqos_answer** grant)
{
    if (grant != nullptr) {
        *grant = nullptr;
    }
    return on(handle, [&](Engine& engine, Deadline deadline) {
        Request wish;
        AnswerRef granted;
        bool is_pending = false;
        Failure failure = Request::copy(request, wish);
        if (!failure) {
            failure = engine.enroll(wish, deadline, granted, is_pending);
        }
        if (is_pending) {
            report(failure);
            return RDMAQOS_PENDING;
        }
        hand_out(failure ? AnswerRef() : granted, grant);
        return result_of(failure);
    });
}

RDMAQOS_EXPORT int rdmaqos_release(rdmaqos_handle* handle)
{
    return on(handle, [](Engine& engine, Deadline deadline) { return result_of(engine.release(deadline)); });
}

RDMAQOS_EXPORT int rdmaqos_get_grant(rdmaqos_handle* handle, rdmaqos_answer** grant)
{
    return on(handle, [&](Engine& engine, Deadline deadline) {
        AnswerRef granted;
        const Failure failure = engine.grant(deadline, granted);
        hand_out(failure ? AnswerRef() : granted, grant);
        return result_of(failure);
    });
}

RDMAQOS_EXPORT int rdmaqos_query_path(rdmaqos_handle* handle, const rdmaqos_request* request, rdmaqos_answer** path)
{
    return on(handle, [&](Engine& engine, Deadline deadline) {
        Request wish;
        AnswerRef found;
        Failure failure = Request::copy(request, wish);
        if (!failure) {
            failure = engine.query_path(wish, deadline, found);
        }
        hand_out(found, path);
        return result_of(failure);
    });
}

RDMAQOS_EXPORT int rdmaqos_describe(ibv_qp* qp, rdmaqos_queue_pair* queue_pair)
{
    return guarded([&] {
        rdmaqos_queue_pair described{};
        rdmaqos_queue_pair_init(&described);
        const Failure failure = describe(qp, described);
        return result_of(failure ? failure : give(described, queue_pair));
    });
}

RDMAQOS_EXPORT int rdmaqos_attach(rdmaqos_handle* handle, ibv_qp* qp, const rdmaqos_request* request,
                                  rdmaqos_answer** place)
{
    return attach_one(
        handle, [&](std::size_t, QueuePair& into) { return QueuePair::describe(qp, into); }, request, place);
}

RDMAQOS_EXPORT int rdmaqos_attach_number(rdmaqos_handle* handle, const rdmaqos_queue_pair* queue_pair,
                                         const rdmaqos_request* request, rdmaqos_answer** place)
{
    return attach_one(
        handle, [&](std::size_t, QueuePair& into) { return QueuePair::copy(queue_pair, into); }, request, place);
}

RDMAQOS_EXPORT int rdmaqos_attach_many(rdmaqos_handle* handle, std::size_t count, ibv_qp* const* qps,
                                       const rdmaqos_request* const* requests, int* results, rdmaqos_answer** places)
{
    return attach_many(
        handle, count, [&](std::size_t i, QueuePair& into) { return QueuePair::describe(qps[i], into); }, requests,
        results, places);
}

RDMAQOS_EXPORT int rdmaqos_attach_numbers(rdmaqos_handle* handle, std::size_t count,
                                          const rdmaqos_queue_pair* const* queue_pairs,
                                          const rdmaqos_request* const* requests, int* results, rdmaqos_answer** places)
{
    return attach_many(
        handle, count, [&](std::size_t i, QueuePair& into) { return QueuePair::copy(queue_pairs[i], into); }, requests,
        results, places);
}

RDMAQOS_EXPORT int rdmaqos_detach(rdmaqos_handle* handle, ibv_qp* qp)
{
    int result = 0;
    const int failed = rdmaqos_detach_many(handle, 1, &qp, &result);
    return failed < 0 ? failed : result;
}

RDMAQOS_EXPORT int rdmaqos_detach_number(rdmaqos_handle* handle, const char* device, std::uint32_t number)
{
    return on(handle, [&](Engine& engine, Deadline deadline) {
        int result = 0;
        detach_all(engine, {{device, number}}, deadline, &result);
        return result;
    });
}

RDMAQOS_EXPORT int rdmaqos_detach_many(rdmaqos_handle* handle, std::size_t count, ibv_qp* const* qps, int* results)
{
    return on(handle, [&](Engine& engine, Deadline deadline) {
        std::vector<std::pair<std::string, std::uint32_t>> names;
        for (std::size_t i = 0; i < count; ++i) {
            names.push_back(name_of(*qps[i]));
        }
        return detach_all(engine, names, deadline, results);
    });
}

RDMAQOS_EXPORT int rdmaqos_set_rate(rdmaqos_handle* handle, ibv_qp* qp, const rdmaqos_rate* rate)
{
    return guarded([&] { return set_rate(handle, name_of(*qp), rate); });
}

RDMAQOS_EXPORT int rdmaqos_set_rate_number(rdmaqos_handle* handle, const char* device, std::uint32_t number,
                                           const rdmaqos_rate* rate)
{
    return guarded([&] { return set_rate(handle, {device, number}, rate); });
}

// The handle is there as everywhere: a later version may use it without another symbol.
RDMAQOS_EXPORT int rdmaqos_modify_qp(rdmaqos_handle* /*handle*/, ibv_qp* qp, ibv_qp_attr* attr, int attr_mask)
{
    return uncancelled([&]() noexcept { return retry_busy([&] { return ibv_modify_qp(qp, attr, attr_mask); }); });
}

RDMAQOS_EXPORT int rdmaqos_destroy_qp(rdmaqos_handle* handle, ibv_qp* qp)
{
    if (handle != nullptr) {
        static_cast<void>(rdmaqos_detach(handle, qp));    // what is to go cannot be attached for long in any case
    }
    return uncancelled([&]() noexcept { return retry_busy([&] { return ibv_destroy_qp(qp); }); });
}

RDMAQOS_EXPORT void rdmaqos_answer_free(rdmaqos_answer* answer)
{
    AnswerRef::release(answer);
}

RDMAQOS_EXPORT rdmaqos_answer* rdmaqos_answer_ref(const rdmaqos_answer* answer)
{
    if (answer != nullptr) {
        answer->owners.fetch_add(1, std::memory_order_relaxed);
    }
    return const_cast<rdmaqos_answer*>(answer);    // NOLINT: to be freed; nothing changes it
}

RDMAQOS_EXPORT const char* rdmaqos_answer_text(const rdmaqos_answer* answer, const char* key)
{
    const auto* text = answer == nullptr ? nullptr : answer->text(key);
    return text == nullptr ? nullptr : text->c_str();
}

RDMAQOS_EXPORT int rdmaqos_answer_number(const rdmaqos_answer* answer, const char* key, std::uint64_t* value)
{
    const auto number = answer == nullptr ? std::nullopt : answer->number(key);
    if (!number) {
        return -ENOENT;
    }
    *value = *number;
    return 0;
}

RDMAQOS_EXPORT const char* rdmaqos_answer_level(const rdmaqos_answer* answer)
{
    return words_of(answer, "level");
}

RDMAQOS_EXPORT const char* rdmaqos_answer_leaf(const rdmaqos_answer* answer)
{
    return words_of(answer, "leaf");
}

RDMAQOS_EXPORT const char* rdmaqos_answer_reason(const rdmaqos_answer* answer)
{
    return words_of(answer, "reason");
}

RDMAQOS_EXPORT int rdmaqos_answer_sl(const rdmaqos_answer* answer)
{
    return number_of(answer, "sl");
}

RDMAQOS_EXPORT int rdmaqos_answer_traffic_class(const rdmaqos_answer* answer)
{
    return number_of(answer, "traffic-class");
}

RDMAQOS_EXPORT int rdmaqos_answer_enforced(const rdmaqos_answer* answer)
{
    return number_of(answer, "enforced");
}

RDMAQOS_EXPORT int rdmaqos_answer_message_model(const rdmaqos_answer* answer)
{
    constexpr std::array kModels{"default", "low-latency", "high-bandwidth", "force-low-latency"};
    const auto* found = std::ranges::find(kModels, std::string_view(words_of(answer, "message-model")));
    return found == kModels.end() ? -ENOENT : static_cast<int>(found - kModels.begin());
}

RDMAQOS_EXPORT int rdmaqos_answer_sl_source(const rdmaqos_answer* answer)
{
    return std::string_view(words_of(answer, "sl-source")) == "host" ? RDMAQOS_SL_HOST : RDMAQOS_SL_SUBNET_MANAGER;
}

RDMAQOS_EXPORT int rdmaqos_apply_ah(const rdmaqos_answer* answer, std::uint8_t link_layer, ibv_ah_attr* attr)
{
    return answer == nullptr ? 0 : mark(*answer, link_layer, *attr);
}

RDMAQOS_EXPORT int rdmaqos_apply_qp(const rdmaqos_answer* answer, ibv_qp* qp, ibv_qp_attr* attr, int attr_mask)
{
    if (answer == nullptr || (attr_mask & IBV_QP_AV) == 0) {
        return 0;
    }
    return guarded([&] {
        std::uint8_t link_layer = 0;
        const Failure failure = link_layer_of(*qp, attr->ah_attr.port_num, link_layer);
        return failure ? report(failure) : mark(*answer, link_layer, attr->ah_attr);
    });
}

RDMAQOS_EXPORT int rdmaqos_set_handler(rdmaqos_handle* handle, rdmaqos_handler handler, void* data)
{
    if (handle == nullptr || !handle->is_here()) {
        return on(handle, [](Engine&, Deadline) { return 0; });    // says why not
    }
    // Not on the handle's turn, which a handler that runs may be waiting for.
    return guarded([&] {
        handle->set_handler(handler, data);
        return 0;
    });
}

RDMAQOS_EXPORT int rdmaqos_get_fd(rdmaqos_handle* handle)
{
    if (handle == nullptr) {
        return no_handle();
    }
    return handle->is_here() ? handle->fd() : report(ECHILD, "the handle belongs to the parent process");
}

RDMAQOS_EXPORT int rdmaqos_dispatch(rdmaqos_handle* handle)
{
    return handle == nullptr ? no_handle() : uncancelled([&]() noexcept { return handle->dispatch(); });
}
