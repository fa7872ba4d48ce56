// What a policy would do to devices, and what devices cannot do of it: the records of Plan, Reload and Check.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/api/record.h"
#include "lib/model/busy_rates.h"
#include "lib/tree/compile.h"
#include "lib/tree/described_plan.h"

namespace rdmaqos::api {

template <>
inline constexpr auto kLast<ElementKind> = ElementKind::Leaf;
template <>
inline constexpr auto kLast<DescribedOperation::Kind> = DescribedOperation::Kind::Limit;

// "create", "modify", "destroy"; empty: it stays as it is.
[[nodiscard]] std::string_view change_of(const DescribedElement& element);

template <>
struct Table<DescribedElement> {
    using E = DescribedElement;
    static constexpr auto keys = std::tuple{
        key<&E::path>("path"),
        key_unless_empty<&E::parent>("parent", "path of its parent; absent: this is the root"),
        key<&E::kind>("kind", "`node` or `leaf`"),
        computed<&change_of>("change", "`create`, `modify`, `destroy`; absent: it stays as it is"),
        key<&E::before, &ElementAttributes::share>("share-before",
                                                   "weight; 0: the device's default; absent if it is created"),
        key<&E::before, &ElementAttributes::max_rate>("max-rate-before", "kbit/s; absent: no cap"),
        key<&E::after, &ElementAttributes::share>("share-after", "absent if it is destroyed"),
        key<&E::after, &ElementAttributes::max_rate>("max-rate-after", "kbit/s; absent: no cap"),
        key<&E::requested_before, &RequestedRate::share>("requested-share-before", "as in the policy; absent: none"),
        key<&E::requested_before, &RequestedRate::min_rate>("requested-min-rate-before",
                                                            "kbit/s, as in the policy; absent: none"),
        key<&E::requested_after, &RequestedRate::share>("requested-share-after", "as in the policy; absent: none"),
        key<&E::requested_after, &RequestedRate::min_rate>("requested-min-rate-after",
                                                           "kbit/s, as in the policy; absent: none"),
        key<&E::queue_pairs_before>("queue-pairs-before"),
        key<&E::queue_pairs_after>("queue-pairs-after"),
    };
};

[[nodiscard]] std::string message_of(const DescribedOperation& operation);

template <>
struct Table<DescribedOperation> {
    using O = DescribedOperation;
    static constexpr auto keys = std::tuple{
        key<&O::kind>("operation", "`create`, `modify`, `destroy` of an element; `move`, `limit` of a queue pair"),
        key_unless_empty<&O::path>("path", "of the element"),
        key_unless_empty<&O::parent>("parent", "`create`; absent: the root"),
        key<&O::element_kind>("kind", "`create`: `node` or `leaf`"),
        key<&O::share_before>("share-before", "`modify`; absent: the share stays"),
        key<&O::share>("share-after", "`create`, `modify`"),
        key<&O::max_rate_before>("max-rate-before", "`modify`, kbit/s; absent: no cap"),
        key<&O::max_rate>("max-rate-after",
                          "`create`, `modify`, kbit/s; absent: no cap. Neither of both: the cap stays"),
        key<&O::queue_pair>("queue-pair", "its number"),
        key_unless_empty<&O::leaf_before>("leaf-before", "`move`; absent: none"),
        key_unless_empty<&O::leaf>("leaf-after", "`move`; absent: none"),
        key_unless_empty<&O::responder_leaf_before>("responder-leaf-before",
                                                    "`move`, of its RDMA READ responses; absent: none"),
        key_unless_empty<&O::responder_leaf>("responder-leaf-after", "likewise"),
        key<&O::limit_before, &RateLimit::rate>("rate-before", "`limit`, kbit/s; absent: unlimited"),
        key<&O::limit_before, &RateLimit::max_burst>("max-burst-before", "bytes"),
        key<&O::limit_before, &RateLimit::typical_packet>("typical-packet-before", "bytes"),
        key<&O::limit, &RateLimit::rate>("rate-after", "`limit`, kbit/s; absent: unlimited"),
        key<&O::limit, &RateLimit::max_burst>("max-burst-after", "bytes"),
        key<&O::limit, &RateLimit::typical_packet>("typical-packet-after", "bytes"),
        computed<&message_of>("message", "all of it, as `rdma-qosctl plan` says it"),
    };
};

template <>
struct Table<Unreachable> {
    static constexpr auto keys = std::tuple{
        key<&Unreachable::path>("path"),
        key<&Unreachable::why>("message", "why, in words"),
    };
};

// What a class gets when all are backlogged.
template <>
struct Table<std::pair<ElementPath, BusyRate>> {
    using R = std::pair<ElementPath, BusyRate>;
    static constexpr auto keys = std::tuple{
        key<&R::first>("class", "path of a class, or of the leaf of its responses"),
        key<&R::second, &BusyRate::before>("before", "kbit/s; absent: there is no such class yet"),
        key<&R::second, &BusyRate::after>("after", "kbit/s; absent: there is no such class any more"),
    };
};

// Something that a policy asks for and the device cannot do in full.
struct Finding {
    std::string device{};
    std::string kind{};
    std::string severity{};
    std::string verdict{};
    std::string path{};
    std::string requested{};
    std::string achievable{};
    std::string reason{};
    std::string message{};

    friend bool operator==(const Finding&, const Finding&) = default;
};

// `device`: empty where it is known anyway. `verdict`: empty: it does not matter.
[[nodiscard]] Finding to_record(const rdmaqos::Finding& finding, std::string device = {},
                                std::string_view verdict = {});

template <>
struct Table<Finding> {
    using F = Finding;
    static constexpr auto keys = std::tuple{
        key_unless_empty<&F::device>("device", "name/port; not where the device is known anyway"),
        key_unless_empty<&F::kind>(
            "kind", "`no-scheduling`, `folded`, `cap-lost`, `share-error`, `min-rate-missed`, `budget-exceeded`, "
                    "`no-leaf`, `cap-above-link`, `queue-pair-limit`, `not-supported`, `traffic-class`; `attach-mode`: "
                    "what the "
                    "self-test found, such as a number that holds in attach mode `per-process`"),
        key_unless_empty<&F::severity>("severity", "`error`, which can refuse a policy, or `warning`"),
        key_unless_empty<&F::verdict>("verdict",
                                      "of an error in a report: `refuses` the policy; `known`: the running policy has "
                                      "it too, and no less of it; absent: it does not matter, by `on-unsupported: "
                                      "degrade`"),
        key_unless_empty<&F::path>("path", "of the class or node; `level NAME` of a level without one"),
        key_unless_empty<&F::requested>("requested", "what the policy asks for, in words"),
        key_unless_empty<&F::achievable>("achievable", "what the device can do, in words"),
        key_unless_empty<&F::reason>("reason", "why, in words"),
        key<&F::message>("message", "all of it as a sentence"),
    };
};

// What would be done to the traffic classes of a port.
struct PortStep {
    std::string words{};
    std::string disruption{};
};

template <>
struct Table<PortStep> {
    static constexpr auto keys = std::tuple{
        key<&PortStep::words>("message", "\"maps DSCP 10 to priority 3\""),
        key_unless_empty<&PortStep::disruption>("disruption",
                                                "what traffic would notice: \"takes the link down and up\""),
    };
};

struct PortPlan {
    std::string netdev{};
    std::string classes{};
    std::vector<PortStep> steps{};
    std::vector<std::string> findings{};
    std::vector<std::string> notes{};

    [[nodiscard]] bool empty() const { return netdev.empty(); }
};

template <>
struct Table<PortPlan> {
    using P = PortPlan;
    static constexpr auto keys = std::tuple{
        key<&P::netdev>("netdev"),
        key_unless_empty<&P::classes>("classes", "a table for people: each class in use, before and after; absent: the "
                                                 "daemon would set none"),
        key<&P::steps>("steps", "in this order"),
        key_unless_empty<&P::findings>("findings", "what of the policy the port cannot have: a sentence each"),
        key_unless_empty<&P::notes>("notes", "what else an administrator should know: a sentence each"),
    };
};

// What would be done to a device.
struct DevicePlan {
    std::string device;
    DescribedPlan plan;
    std::vector<Finding> findings;
    Bandwidth link_speed;
    std::map<ElementPath, BusyRate> rates;    // of classes and responders
    std::optional<PortPlan> port{};
};

template <>
struct Table<DevicePlan> {
    using P = DevicePlan;
    static constexpr auto keys = std::tuple{
        key<&P::device>("device", "name/port"),
        key<&P::plan, &DescribedPlan::tree>("tree",
                                            "every element, with what becomes of it; children after their parent, the "
                                            "last element of its path before them"),
        key<&P::plan, &DescribedPlan::operations>("operations", "in this order"),
        key<&P::plan, &DescribedPlan::unreachable>("unreachable",
                                                   "`path` and `message` of what no order of operations can reach"),
        key<&P::findings>("findings", "as of Reload, for this device"),
        key<&P::link_speed>("link-speed", "kbit/s"),
        key<&P::rates>("rates", "what each class gets when all are backlogged; empty in attach mode `per-process`"),
        key<&P::port>("port-classes",
                      "what would become of the [traffic classes](#plan-of-a-port) of its port; absent: "
                      "the daemon would leave them as they are"),
    };
};

}    // namespace rdmaqos::api
