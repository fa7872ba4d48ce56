#include "tests/emulator/clients/stress_worker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/emulator/clients/prm.h"
#include "tests/emulator/clients/world.h"

namespace stress {
namespace {

constexpr std::size_t kMostQueuePairs = 6;
constexpr std::size_t kMostElements = 12;
// What all threads together may use of a device's 256 leaves; processes that were killed have some for a moment.
constexpr std::size_t kLeafBudget = 200;
constexpr unsigned kLevels = 4;
constexpr std::uint32_t kMaxShare = 100;
constexpr int kDestroyAttempts = 1000;

std::atomic<int> complaints{0};

}    // namespace

Worker::Worker(Totals& totals, const Options& options, std::uint64_t seed, Device* shared)
    : totals_(totals), options_(options), random_(seed),
      most_leaves_(std::max<std::size_t>(1, kLeafBudget / (std::size_t{options.processes} * options.threads))),
      device_(shared != nullptr ? shared : &own_), shared_(shared != nullptr)
{
}

void Worker::wrong(const char* what, int answer, int wanted)
{
    ++totals_.wrong;
    if (complaints.fetch_add(1) < 20) {
        std::fprintf(stderr, "WRONG: %s: %d (%s), not %d (%s)\n", what, answer, std::strerror(answer), wanted,
                     std::strerror(wanted));
    }
}

bool Worker::expect(int answer, int wanted, const char* what, Fault fault)
{
    ++totals_.operations;
    if (answer == wanted) {
        return true;
    }
    if (options_.faults && fault == Fault::Possible && answer != 0) {
        ++totals_.refused;
    } else {
        wrong(what, answer, wanted);
    }
    return false;
}

bool Worker::expect_refusal(int answer, const char* what)
{
    ++totals_.operations;
    if (answer == 0) {
        wrong(what, 0, EINVAL);
    }
    return answer != 0;
}

bool Worker::open(Device& device)
{
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    if (!expect(devices != nullptr && count > 0 ? 0 : ENODEV, 0, "list of devices")) {
        return false;
    }
    errno = 0;
    device.context = ibv_open_device(devices[below(static_cast<std::uint32_t>(count))]);
    const int failure = errno;
    ibv_free_device_list(devices);
    if (!expect(device.context != nullptr ? 0 : failure, 0, "open")) {
        return false;
    }
    device.way = below(2) == 0 ? Way::Library : Way::ByHand;
    device.root = Element{};
    while (!expect(create(device.context, device.way, device.root), 0, "root", Fault::Possible)) {
        if (!options_.faults) {
            ibv_close_device(device.context);
            return false;
        }
    }
    return true;
}

bool Worker::destroy_at_last(const Element& element)
{
    for (int i = 0; i < kDestroyAttempts; ++i) {
        if (expect(destroy(element), 0, "destroy an element", Fault::Possible)) {
            return true;
        }
    }
    return false;
}

void Worker::close(Device& device)
{
    destroy_at_last(device.root);
    expect(ibv_close_device(device.context), 0, "close");
    device = Device{};
}

void Worker::begin()
{
    if (!shared_ && !open(own_)) {
        return;
    }
    pd_ = ibv_alloc_pd(device_->context);
    expect(pd_ != nullptr ? 0 : errno, 0, "PD");
    cq_ = ibv_create_cq(device_->context, 16, nullptr, nullptr, 0);
    expect(cq_ != nullptr ? 0 : errno, 0, "CQ");
}

void Worker::end(bool abandon)
{
    if (device_->context == nullptr) {
        return;
    }
    if (abandon && !shared_) {
        // The kernel takes everything away.
        queue_pairs_.clear();
        elements_.clear();
        expect(ibv_close_device(own_.context), 0, "close with all of it");
        own_ = Device{};
        pd_ = nullptr;
        cq_ = nullptr;
        return;
    }
    while (!queue_pairs_.empty()) {
        destroy_queue_pair(queue_pairs_.size() - 1);
    }
    while (!elements_.empty()) {
        destroy_at_last(*elements_.back());
        elements_.pop_back();
    }
    if (cq_ != nullptr) {
        expect(ibv_destroy_cq(cq_), 0, "destroy the CQ");
    }
    if (pd_ != nullptr) {
        expect(ibv_dealloc_pd(pd_), 0, "dealloc the PD");
    }
    pd_ = nullptr;
    cq_ = nullptr;
    if (!shared_) {
        close(own_);
    }
}

void Worker::run(const std::function<bool()>& enough)
{
    begin();
    while (!enough()) {
        if (pd_ == nullptr || cq_ == nullptr) {
            break;    // counted as wrong already
        }
        if (!shared_ && below(300) == 0) {
            end(below(6) == 0);
            begin();
            continue;
        }
        some_operation();
    }
    end(false);
}

void Worker::some_operation()
{
    switch (below(20)) {
    case 0:
        return ask_device();
    case 1:
        return use_memory();
    case 2:
        return use_completion();
    case 3:
    case 4:
        return create_queue_pair();
    case 5:
    case 6:
    case 7:
        return step_queue_pair();
    case 8:
        return step_wrongly();
    case 9:
        return ask_queue_pair();
    case 10:
    case 11:
    case 12:
        return attach_queue_pair();
    case 13:
        return pace_queue_pair();
    case 14:
        return queue_pairs_.empty() ? void()
                                    : destroy_queue_pair(below(static_cast<std::uint32_t>(queue_pairs_.size())));
    case 15:
    case 16:
        return create_element();
    case 17:
        return modify_element();
    case 18:
        return ask_element();
    default:
        return elements_.empty() ? void() : destroy_element(below(static_cast<std::uint32_t>(elements_.size())));
    }
}

// ---- what is not about scheduling ----

void Worker::ask_device()
{
    ibv_port_attr port{};
    expect(ibv_query_port(device_->context, 1, &port), 0, "query the port");
    expect(port.state, IBV_PORT_ACTIVE, "the port's state");
    ibv_device_attr_ex attr{};
    expect(ibv_query_device_ex(device_->context, nullptr, &attr), 0, "query the device");
    std::array<std::uint8_t, CAPABILITY_IN> in{};
    static thread_local std::array<std::uint8_t, CAPABILITY_OUT> out;
    prm_query_capability(in.data(), 0xc);
    expect(mlx5dv_devx_general_cmd(device_->context, in.data(), in.size(), out.data(), out.size()), 0,
           "query a capability");
    expect(static_cast<int>(prm_get(out.data(), 128 + 224, 32)), kMaxShare, "the capability");
}

void Worker::use_memory()
{
    static thread_local std::array<char, 8192> memory;
    ibv_mr* region = ibv_reg_mr(pd_, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    if (expect(region != nullptr ? 0 : errno, 0, "register memory")) {
        expect(ibv_dereg_mr(region), 0, "deregister memory");
    }
}

void Worker::use_completion()
{
    ibv_comp_channel* channel = ibv_create_comp_channel(device_->context);
    if (!expect(channel != nullptr ? 0 : errno, 0, "completion channel")) {
        return;
    }
    ibv_cq* cq = ibv_create_cq(device_->context, 1 + static_cast<int>(below(200)), nullptr, channel, 0);
    if (expect(cq != nullptr ? 0 : errno, 0, "create a CQ")) {
        expect(ibv_destroy_cq(cq), 0, "destroy a CQ");
    }
    expect(ibv_destroy_comp_channel(channel), 0, "destroy a completion channel");
}

// ---- queue pairs ----

QueuePair* Worker::some_queue_pair()
{
    return queue_pairs_.empty() ? nullptr : &queue_pairs_[below(static_cast<std::uint32_t>(queue_pairs_.size()))];
}

void Worker::create_queue_pair()
{
    if (queue_pairs_.size() >= kMostQueuePairs) {
        return;
    }
    constexpr std::array kTypes{IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    const world here{device_->context, pd_, cq_};
    ibv_qp* qp = create_qp(&here, kTypes[below(kTypes.size())]);
    if (expect(qp != nullptr ? 0 : errno, 0, "create a queue pair")) {
        queue_pairs_.push_back({qp, IBV_QPS_RESET, nullptr, nullptr});
    }
}

void Worker::put(QueuePair& pair, Element* requester, Element* responder)
{
    for (Element* left : {pair.requester, pair.responder}) {
        if (left != nullptr) {
            --left->queue_pairs;
        }
    }
    for (Element* entered : {requester, responder}) {
        if (entered != nullptr) {
            ++entered->queue_pairs;
        }
    }
    pair.requester = requester;
    pair.responder = responder;
}

void Worker::step_queue_pair()
{
    QueuePair* pair = some_queue_pair();
    if (pair == nullptr) {
        return;
    }
    ibv_qp_state next = pair->state < IBV_QPS_RTS ? static_cast<ibv_qp_state>(pair->state + 1) : IBV_QPS_ERR;
    if (pair->state == IBV_QPS_ERR || below(8) == 0) {
        next = IBV_QPS_RESET;
    }
    if (expect(step_qp(pair->qp, next, 0), 0, "modify a queue pair")) {
        pair->state = next;
        if (next == IBV_QPS_RESET) {
            put(*pair, nullptr, nullptr);
        }
    }
}

void Worker::step_wrongly()
{
    QueuePair* pair = some_queue_pair();
    if (pair == nullptr) {
        return;
    }
    const auto far = pair->state == IBV_QPS_RTS || pair->state == IBV_QPS_ERR ? IBV_QPS_RTR : IBV_QPS_RTS;
    if (pair->state != IBV_QPS_RTR) {
        expect(step_qp(pair->qp, far, 0), EINVAL, "a step that is not there");
    } else if (pair->qp->qp_type != IBV_QPT_UD) {
        expect(step_qp(pair->qp, IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL, "a step without its PSN");
    }
}

void Worker::ask_queue_pair()
{
    QueuePair* pair = some_queue_pair();
    if (pair == nullptr) {
        return;
    }
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (!expect(ibv_query_qp(pair->qp, &attr, IBV_QP_STATE, &init), 0, "query a queue pair", Fault::Possible)) {
        return;
    }
    expect(attr.qp_state, pair->state, "its state");
    if (pair->state == IBV_QPS_RTS) {
        expect(static_cast<int>(attr.sq_psn), PSN + 1, "its PSN");
        if (pair->qp->qp_type != IBV_QPT_UD) {
            expect(static_cast<int>(attr.dest_qp_num), static_cast<int>(pair->qp->qp_num), "its peer");
        }
    }
}

void Worker::attach_queue_pair()
{
    QueuePair* pair = some_queue_pair();
    if (pair == nullptr) {
        return;
    }
    Element* requester = below(4) != 0 ? some_leaf() : nullptr;
    Element* responder = pair->qp->qp_type == IBV_QPT_RC && below(2) != 0 ? some_leaf() : nullptr;
    const int answer = attach(pair->qp, device_->way, requester, responder);
    if (pair->state != IBV_QPS_INIT && pair->state != IBV_QPS_RTS) {
        expect_refusal(answer, "attach in a state that has no way for it");
    } else if (expect(answer, 0, "attach", Fault::Possible)) {
        put(*pair, requester, responder);
    }
}

void Worker::pace_queue_pair()
{
    QueuePair* pair = some_queue_pair();
    if (pair != nullptr) {
        ibv_qp_rate_limit_attr attr{};
        attr.rate_limit = 1000 + below(1000);
        expect_refusal(ibv_modify_qp_rate_limit(pair->qp, &attr), "a rate for a type that has none");
    }
}

void Worker::destroy_queue_pair(std::size_t index)
{
    QueuePair& pair = queue_pairs_[index];
    if (expect(ibv_destroy_qp(pair.qp), 0, "destroy a queue pair")) {
        put(pair, nullptr, nullptr);
    }
    queue_pairs_.erase(queue_pairs_.begin() + static_cast<std::ptrdiff_t>(index));
}

// ---- scheduling elements ----

Element* Worker::some_element()
{
    return elements_.empty() ? nullptr : elements_[below(static_cast<std::uint32_t>(elements_.size()))].get();
}

Element* Worker::some_leaf()
{
    Element* element = some_element();
    return element != nullptr && element->leaf ? element : nullptr;
}

void Worker::create_element()
{
    if (elements_.size() >= kMostElements) {
        return;
    }
    Element* above = some_element();
    auto element = std::make_unique<Element>();
    element->parent = above == nullptr || above->leaf || below(3) == 0 ? &device_->root : above;
    element->level = element->parent->level + 1;
    element->leaf = below(2) == 0;
    const auto leaves = static_cast<std::size_t>(
        std::count_if(elements_.begin(), elements_.end(), [](const auto& each) { return each->leaf; }));
    if (element->leaf && leaves >= most_leaves_) {
        element->leaf = false;
    }
    element->share = 1 + below(kMaxShare);
    element->max_rate = below(3) == 0 ? 0 : 1 + below(100'000);
    const int answer = create(device_->context, device_->way, *element);
    if (element->level > kLevels) {
        expect_refusal(answer, "an element below the last level");
    } else if (expect(answer, 0, "create an element", Fault::Possible)) {
        if (element->parent != &device_->root) {    // that one's children are others' business as well
            ++element->parent->children;
        }
        elements_.push_back(std::move(element));
    }
}

void Worker::modify_element()
{
    Element* element = some_element();
    if (element == nullptr) {
        return;
    }
    if (below(8) == 0) {
        expect_refusal(modify(*element, kMaxShare + 1 + below(1000), std::nullopt), "a share that is too large");
        return;
    }
    std::optional<std::uint32_t> share;
    std::optional<std::uint32_t> max_rate;
    const std::uint32_t which = 1 + below(3);
    if ((which & 1U) != 0) {
        share = 1 + below(kMaxShare);
    }
    if ((which & 2U) != 0) {
        max_rate = below(100'000);
    }
    if (expect(modify(*element, share, max_rate), 0, "modify an element", Fault::Possible)) {
        element->share = share.value_or(element->share);
        element->max_rate = max_rate.value_or(element->max_rate);
    }
}

void Worker::ask_element()
{
    const Element* element = some_element();
    if (element == nullptr || device_->way != Way::ByHand) {
        return;
    }
    bool same = false;
    if (expect(query(*element, same), 0, "query an element", Fault::Possible)) {
        expect(same ? 0 : EBADMSG, 0, "what was written to an element");
    }
}

void Worker::destroy_element(std::size_t index)
{
    const Element& element = *elements_[index];
    const int answer = destroy(element);
    if (element.children != 0 || element.queue_pairs != 0) {
        expect(answer, EBUSY, "destroy an element that is in use", Fault::Possible);
        return;
    }
    if (expect(answer, 0, "destroy an element", Fault::Possible)) {
        if (element.parent != &device_->root) {
            --element.parent->children;
        }
        elements_.erase(elements_.begin() + static_cast<std::ptrdiff_t>(index));
    }
}

}    // namespace stress
