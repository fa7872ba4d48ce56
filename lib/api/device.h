// What a device can do, and what it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/api/record.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/requested.h"

namespace rdmaqos::api {

template <>
inline constexpr auto kLast<QueuePairType> = QueuePairType::Devx;

template <>
struct Table<Capabilities> {
    using C = Capabilities;
    using P = PacingCapabilities;
    static constexpr auto keys = std::tuple{
        key<&C::scheduling>("scheduling", "it has a scheduling tree"),
        key<&C::shares>("shares", "elements have shares"),
        key<&C::rate_caps>("rate-caps", "elements have caps"),
        key<&C::max_depth>("max-depth", "levels of the tree, the root included"),
        key<&C::max_leaves>("max-leaves", "leaves, as advertised"),
        key<&C::max_elements>("max-elements", "elements, as advertised"),
        key<&C::max_share>("max-share", "the largest share"),
        key<&C::responder_leaf>("responder-leaf", "RDMA READ responses can have a leaf of their own"),
        key<&C::attachable>("attachable", "types of queue pairs that can be attached"),
        key<&C::pacing, &P::supported_types>("pacing", "types of queue pairs that can be paced"),
        key<&C::pacing, &P::burst>("pacing-burst", "takes a burst size"),
        key<&C::pacing, &P::typical_packet>("pacing-typical-packet", "takes a packet size"),
        key_unless_empty<&C::pacing, &P::table_size>("pacing-table-size",
                                                     "different rates at a time; absent: not limited, or not known"),
        key<&C::pacing, &P::min_rate>("pacing-min-rate", "kbit/s"),
        key<&C::pacing, &P::max_rate>("pacing-max-rate", "kbit/s"),
    };
};

// An element of the tree that a device has.
struct TreeElement {
    std::string path{};
    std::string parent{};    // empty for the root
    ElementKind kind = ElementKind::Node;
    std::optional<std::uint32_t> share{};    // empty: the root; 0: the device's default
    std::optional<Bandwidth> max_rate{};
    std::uint32_t queue_pairs = 0;    // of a leaf
    bool draining = false;
    RequestedRate requested{};    // what the policy says; empty for elements that it does not name
};

constexpr bool is_leaf(const TreeElement& element)
{
    return element.kind == ElementKind::Leaf;
}

template <>
struct Table<TreeElement> {
    using E = TreeElement;
    static constexpr auto keys = std::tuple{
        key<&E::path>("path"),
        key_unless_empty<&E::parent>("parent", "path of its parent; absent: this is the root"),
        key<&E::kind>("kind", "`node` or `leaf`"),
        key<&E::share>("share", "weight; 0: the device's default; absent: the root"),
        key<&E::requested, &RequestedRate::share>(
            "requested-share", "as in the policy; absent: none, or the element is not in the policy"),
        key<&E::requested, &RequestedRate::min_rate>("requested-min-rate", "kbit/s, likewise"),
        key<&E::max_rate>("max-rate", "kbit/s; absent: no cap"),
        key_when<&is_leaf, &E::queue_pairs>("queue-pairs", "of a leaf: how many are in it"),
        key<&E::draining>("draining", "of an earlier policy; it goes when its queue pairs do"),
    };
};

// A step of the self-test of a device.
struct SelfTestStep {
    std::string name{};
    bool passed = false;
    std::uint32_t sys_errno = 0;
    std::uint8_t status = 0;
    std::uint32_t syndrome = 0;
    std::string remark{};
    std::string row{};
};

template <>
struct Table<SelfTestStep> {
    using S = SelfTestStep;
    static constexpr auto keys = std::tuple{
        key<&S::name>("name", "of the step"),
        key<&S::passed>("passed"),
        key_unless_empty<&S::sys_errno>("errno", "absent: none"),
        key_unless_empty<&S::status>("status", "of the firmware's answer; absent: none, or 0"),
        key_unless_empty<&S::syndrome>("syndrome", "of the firmware's answer; absent: none, or 0"),
        key_unless_empty<&S::remark>("remark", "what it means"),
        key_unless_empty<&S::row>("row", "[kind of leaf](hardware-checklist.md#the-matrix) that it is about; absent: "
                                         "no cell of the matrix"),
    };
};

// What a port has moved.
struct Counters {
    std::uint64_t transmit_bytes = 0;
    std::uint64_t receive_bytes = 0;
    std::uint64_t taken_at = 0;
};

template <>
struct Table<Counters> {
    static constexpr auto keys = std::tuple{
        key<&Counters::transmit_bytes>("transmit-bytes"),
        key<&Counters::receive_bytes>("receive-bytes"),
        key<&Counters::taken_at>("taken-at", "µs of the monotonic clock"),
    };
};

// What has been done to a device, an a{st}.
struct DeviceStatistics {
    std::uint64_t operations = 0;
    std::uint64_t failed = 0;
    std::uint64_t retries = 0;
    std::uint64_t drift_found = 0;
    std::uint64_t drift_repaired = 0;
    std::uint64_t queue_depth = 0;
};

template <>
struct Table<DeviceStatistics> {
    using D = DeviceStatistics;
    static constexpr auto keys = std::tuple{
        key<&D::operations>("operations"),
        key<&D::failed>("failed"),
        key<&D::retries>("retries"),
        key<&D::drift_found>("drift-found"),
        key<&D::drift_repaired>("drift-repaired"),
        key<&D::queue_depth>("queue-depth", "calls that wait for the device now"),
    };
};

}    // namespace rdmaqos::api
