// Resource domains, by what libibverbs has for them: a thread domain, a parent domain, and completion queues without
// locks.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

#include <infiniband/verbs.h>

#include "lib/client/failure.h"
#include "lib/client/request.h"
#include "lib/client/uncancelled.h"
#include "lib/client/verbs.h"

#define RDMAQOS_EXPORT extern "C" __attribute__((visibility("default")))

using namespace rdmaqos::client;

struct rdmaqos_domain {
    ibv_pd* pd = nullptr;        // the program's
    ibv_pd* parent = nullptr;    // null: the provider has none, and objects are made in `pd`
    ibv_td* thread = nullptr;    // null: none, or not asked for
    bool is_forced = false;
    rdmaqos_achieved achieved{};
    std::atomic<bool> has_locked_cq = false;
};

namespace {

constexpr std::uint32_t kKnownMask = RDMAQOS_DOMAIN_THREAD_MODEL | RDMAQOS_DOMAIN_MESSAGE_MODEL;
constexpr std::uint32_t kKnownCq = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
constexpr std::uint32_t kKnownQp = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                   IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
                                   IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

struct Models {
    std::uint32_t thread = RDMAQOS_THREAD_SAFE;
    std::uint32_t message = RDMAQOS_MESSAGE_DEFAULT;
};

Failure read_models(const rdmaqos_domain_attr* attr, Models& models)
{
    rdmaqos_domain_attr known{};
    if (Failure failure = take(attr, known)) {
        return failure;
    }
    if ((known.mask & ~kKnownMask) != 0) {
        return {EOPNOTSUPP, "this librdmaqos is older than the program and does not know what was asked for"};
    }
    if ((known.mask & RDMAQOS_DOMAIN_THREAD_MODEL) != 0) {
        models.thread = known.thread_model;
    }
    if ((known.mask & RDMAQOS_DOMAIN_MESSAGE_MODEL) != 0) {
        models.message = known.message_model;
    } else if (const int granted = rdmaqos_answer_message_model(known.grant); granted >= 0) {
        models.message = static_cast<std::uint32_t>(granted);
    }
    if (models.thread > RDMAQOS_THREAD_SINGLE || models.message > RDMAQOS_MESSAGE_FORCE_LOW_LATENCY) {
        return {EINVAL, "there is no such thread model or message model"};
    }
    return {};
}

// As libmlx5 reads it when it opens a device.
bool doorbells_are_plain()
{
    const char* const text = getenv("MLX5_SHUT_UP_BF");    // NOLINT(concurrency-mt-unsafe): as libmlx5 does
    return text != nullptr && std::string_view(text) != "0";
}

void make_domains(rdmaqos_domain& domain, std::uint32_t thread_model)
{
    if (thread_model != RDMAQOS_THREAD_SAFE) {
        ibv_td_init_attr none{};
        domain.thread = ibv_alloc_td(domain.pd->context, &none);
    }
    ibv_parent_domain_init_attr parts{};
    parts.pd = domain.pd;
    parts.td = domain.thread;
    domain.parent = ibv_alloc_parent_domain(domain.pd->context, &parts);
    if (domain.parent == nullptr && domain.thread != nullptr) {
        ibv_dealloc_td(domain.thread);
        domain.thread = nullptr;
    }
}

Failure end_domains(rdmaqos_domain& domain)
{
    if (domain.parent != nullptr) {
        if (const int error = ibv_dealloc_pd(domain.parent); error != 0) {
            return failure_of(error, "a completion queue or queue pair of the domain exists");
        }
        domain.parent = nullptr;
    }
    if (domain.thread != nullptr) {
        if (const int error = ibv_dealloc_td(domain.thread); error != 0) {
            return failure_of(error, "the thread domain is in use");
        }
        domain.thread = nullptr;
    }
    return {};
}

// What the provider does with messages: libmlx5 writes a single small message into the doorbell register itself if that
// has a part for it (BlueFlame), and only rings for a list of them. That cannot be set for each queue pair.
std::uint32_t achieved_messages(std::uint32_t asked, bool has_own_doorbell)
{
    const bool is_plain = doorbells_are_plain();
    const bool is_done = asked == RDMAQOS_MESSAGE_HIGH_BW ? is_plain : has_own_doorbell && !is_plain;
    return is_done ? asked : static_cast<std::uint32_t>(RDMAQOS_MESSAGE_DEFAULT);
}

Failure create(ibv_pd* pd, const rdmaqos_domain_attr* attr, rdmaqos_domain& domain)
{
    Models models;
    if (Failure failure = read_models(attr, models)) {
        return failure;
    }
    domain.pd = pd;
    domain.is_forced = models.message == RDMAQOS_MESSAGE_FORCE_LOW_LATENCY;
    make_domains(domain, models.thread);
    rdmaqos_achieved& achieved = domain.achieved;
    rdmaqos_achieved_init(&achieved);
    achieved.thread_model = domain.thread == nullptr ? static_cast<std::uint32_t>(RDMAQOS_THREAD_SAFE) : models.thread;
    achieved.thread_domain = domain.thread == nullptr ? 0 : 1;
    // libmlx5 gives each thread domain a doorbell register; of other providers that is not known.
    achieved.own_doorbell = domain.thread != nullptr && is_mlx5(pd->context->device) ? 1 : 0;
    achieved.single_threaded_cq = models.thread == RDMAQOS_THREAD_SAFE ? 0 : 1;
    achieved.message_model = achieved_messages(models.message, achieved.own_doorbell != 0);
    if (domain.is_forced && achieved.message_model != models.message) {
        static_cast<void>(end_domains(domain));
        return {EOPNOTSUPP, models.thread == RDMAQOS_THREAD_SAFE
                                ? "low latency cannot be forced in a domain that is safe for threads: its queue pairs "
                                  "share doorbell registers"
                                : "low latency cannot be forced: there is no doorbell register for the domain alone"};
    }
    return {};
}

// A completion queue with all that the provider takes: not every one knows parent domains, or queues without a lock.
ibv_cq_ex* create_cq(rdmaqos_domain& domain, ibv_cq_init_attr_ex attr)
{
    const bool is_single = domain.achieved.single_threaded_cq != 0;
    const ibv_cq_init_attr_ex plain = attr;
    if (is_single) {
        attr.comp_mask |= IBV_CQ_INIT_ATTR_MASK_FLAGS;
        attr.flags = ((plain.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? plain.flags : 0U) |
                     static_cast<std::uint32_t>(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
    }
    if (domain.parent != nullptr) {
        attr.comp_mask |= IBV_CQ_INIT_ATTR_MASK_PD;
        attr.parent_domain = domain.parent;
    }
    const auto is_refused = [] {
        return errno == EOPNOTSUPP || errno == ENOTSUP || errno == ENOSYS || errno == EINVAL;
    };
    ibv_cq_ex* cq = ibv_create_cq_ex(domain.pd->context, &attr);
    if (cq == nullptr && domain.parent != nullptr && is_refused()) {
        attr.comp_mask &= ~static_cast<std::uint32_t>(IBV_CQ_INIT_ATTR_MASK_PD);
        cq = ibv_create_cq_ex(domain.pd->context, &attr);
    }
    if (cq == nullptr && is_single && is_refused()) {
        attr = plain;
        cq = ibv_create_cq_ex(domain.pd->context, &attr);
        domain.has_locked_cq = domain.has_locked_cq || cq != nullptr;
    }
    return cq;
}

// A queue pair that was just made, or why it cannot stay.
int finish_qp(const rdmaqos_domain& domain, ibv_qp* made, ibv_qp** qp)
{
    if (made == nullptr) {
        return report(failure_of(errno, "the queue pair cannot be made"));
    }
    if (domain.is_forced && !writes_through_doorbell(*made)) {
        ibv_destroy_qp(made);
        return report(EOPNOTSUPP,
                      "low latency cannot be forced: the device has no doorbell register that takes messages");
    }
    *qp = made;
    return 0;
}

template <typename Function>
int guarded(const Function& function)
{
    return uncancelled([&]() noexcept {
        try {
            return function();
        } catch (...) {
            return report(ENOMEM, "out of memory");
        }
    });
}

}    // namespace

RDMAQOS_EXPORT int rdmaqos_domain_create(ibv_pd* pd, const rdmaqos_domain_attr* attr, rdmaqos_domain** domain)
{
    if (domain == nullptr || pd == nullptr) {
        return report(EINVAL, "a domain needs a protection domain, and a place to be put");
    }
    *domain = nullptr;
    return guarded([&] {
        auto made = std::make_unique<rdmaqos_domain>();
        if (Failure failure = create(pd, attr, *made)) {
            return report(failure);
        }
        *domain = made.release();
        return 0;
    });
}

RDMAQOS_EXPORT int rdmaqos_domain_destroy(rdmaqos_domain* domain)
{
    if (domain == nullptr) {
        return 0;
    }
    return guarded([&] {
        if (Failure failure = end_domains(*domain)) {
            return report(failure);
        }
        delete domain;    // NOLINT: the C interface owns it
        return 0;
    });
}

RDMAQOS_EXPORT int rdmaqos_domain_achieved(const rdmaqos_domain* domain, rdmaqos_achieved* achieved)
{
    return guarded([&] {
        rdmaqos_achieved now = domain->achieved;
        now.single_threaded_cq = now.single_threaded_cq != 0 && !domain->has_locked_cq ? 1 : 0;
        const Failure failure = give(now, achieved);
        return failure ? report(failure) : 0;
    });
}

RDMAQOS_EXPORT ibv_pd* rdmaqos_domain_pd(const rdmaqos_domain* domain)
{
    return domain->parent == nullptr ? domain->pd : domain->parent;
}

RDMAQOS_EXPORT int rdmaqos_domain_create_cq_ex(rdmaqos_domain* domain, const ibv_cq_init_attr_ex* attr, ibv_cq_ex** cq)
{
    return guarded([&] {
        if ((attr->comp_mask & ~kKnownCq) != 0) {
            return report(EOPNOTSUPP, "this librdmaqos does not know all attributes of the completion queue");
        }
        *cq = create_cq(*domain, *attr);
        return *cq == nullptr ? report(failure_of(errno, "the completion queue cannot be made")) : 0;
    });
}

RDMAQOS_EXPORT int rdmaqos_domain_create_cq(rdmaqos_domain* domain, int cqe, void* cq_context,
                                            ibv_comp_channel* channel, int comp_vector, ibv_cq** cq)
{
    *cq = nullptr;
    if (cqe <= 0 || comp_vector < 0) {
        return report(EINVAL, "a completion queue has at least one entry, and vectors begin with 0");
    }
    ibv_cq_init_attr_ex attr{};
    attr.cqe = static_cast<std::uint32_t>(cqe);
    attr.cq_context = cq_context;
    attr.channel = channel;
    attr.comp_vector = static_cast<std::uint32_t>(comp_vector);
    ibv_cq_ex* made = nullptr;
    const int result = rdmaqos_domain_create_cq_ex(domain, &attr, &made);
    if (result == 0) {
        *cq = ibv_cq_ex_to_cq(made);
    }
    return result;
}

RDMAQOS_EXPORT int rdmaqos_domain_create_qp(rdmaqos_domain* domain, const ibv_qp_init_attr* attr, ibv_qp** qp)
{
    *qp = nullptr;
    ibv_qp_init_attr own = *attr;
    return guarded([&] { return finish_qp(*domain, ibv_create_qp(rdmaqos_domain_pd(domain), &own), qp); });
}

RDMAQOS_EXPORT int rdmaqos_domain_create_qp_ex(rdmaqos_domain* domain, const ibv_qp_init_attr_ex* attr, ibv_qp** qp)
{
    *qp = nullptr;
    return guarded([&] {
        if ((attr->comp_mask & ~kKnownQp) != 0) {
            return report(EOPNOTSUPP, "this librdmaqos does not know all attributes of the queue pair");
        }
        ibv_qp_init_attr_ex own = *attr;
        own.comp_mask |= IBV_QP_INIT_ATTR_PD;
        own.pd = rdmaqos_domain_pd(domain);
        return finish_qp(*domain, ibv_create_qp_ex(domain->pd->context, &own), qp);
    });
}
