// A reconciler on a model NIC, with the firmware's own view of the tree to compare with what is desired.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/base/clock.h"
#include "lib/model/profile.h"
#include "lib/nic_model/model_backend.h"
#include "lib/reconcile/reconciler.h"

namespace rdmaqos::test {

using namespace std::chrono_literals;

constexpr RateLimit kOneGbps{Bandwidth::from_gbps(1), {}, {}};

// At most two queue pairs that differ in their rate.
inline Capabilities with_pacing()
{
    Capabilities capabilities = default_capabilities();
    capabilities.pacing.supported_types = {QueuePairType::Rc};
    capabilities.pacing.min_rate = Bandwidth::from_mbps(1);
    capabilities.pacing.max_rate = Bandwidth::from_gbps(10);
    capabilities.pacing.table_size = 2;
    return capabilities;
}

// Trees in one line: TreeText().node("/a", 70).leaf("/a/b", 60, 40).tree; rates in Gbit/s, the root comes by itself.
struct TreeText {
    Tree tree{{ElementPath::root(), Element{}}};

    TreeText& add(ElementKind kind, const std::string& path, std::uint32_t share, std::uint64_t gbps,
                  const std::string& parent)
    {
        const ElementPath element(path);
        const std::optional<Bandwidth> cap = gbps == 0 ? std::nullopt : std::optional(Bandwidth::from_gbps(gbps));
        tree[element] = Element{kind, parent.empty() ? element.parent() : ElementPath(parent), {share, cap}};
        return *this;
    }
    TreeText& node(const std::string& path, std::uint32_t share = 1, std::uint64_t gbps = 0,
                   const std::string& parent = "")
    {
        return add(ElementKind::Node, path, share, gbps, parent);
    }
    TreeText& leaf(const std::string& path, std::uint32_t share = 1, std::uint64_t gbps = 0,
                   const std::string& parent = "")
    {
        return add(ElementKind::Leaf, path, share, gbps, parent);
    }
};

// A tree as text that does not depend on names or ids: what each element is, and what is in it. Queue pairs make most
// of them unique.
struct Shape {
    struct Item {
        std::string label;
        std::optional<std::uint64_t> parent;
        std::vector<std::string> content;
    };
    std::map<std::uint64_t, Item> items;

    [[nodiscard]] std::string text(std::optional<std::uint64_t> parent = std::nullopt) const
    {
        std::vector<std::string> children;
        for (const auto& [id, item] : items) {
            if (item.parent == parent) {
                std::vector<std::string> content = item.content;
                std::sort(content.begin(), content.end());
                std::string inside;
                for (const auto& one : content) {
                    inside += " " + one;
                }
                children.push_back(item.label + inside + text(id));
            }
        }
        std::sort(children.begin(), children.end());
        std::string result;
        for (const auto& child : children) {
            result += "{" + child + "}";
        }
        return result;
    }
};

inline std::string label(ElementKind kind, std::uint32_t share, std::uint64_t mbps)
{
    return fmt::format("{} share={} mbps={}", kind == ElementKind::Leaf ? "leaf" : "node", share, mbps);
}

inline std::string rate_text(std::uint32_t number, const RateLimit& rate)
{
    return fmt::format("rate of {}: {}\n", number, to_string(rate.rate));
}

inline std::string shape_of(const DesiredState& state)
{
    Shape shape;
    std::map<ElementPath, std::uint64_t> ids;
    for (const auto& [path, element] : state.tree) {
        ids.emplace(path, ids.size() + 1);
    }
    for (const auto& [path, element] : state.tree) {
        const auto& cap = element.attributes.max_rate;
        auto& item = shape.items[ids.at(path)];
        item.label = label(element.kind, element.attributes.share, cap ? cap->mbps() : 0);
        if (!element.parent.empty()) {
            item.parent = ids.at(element.parent);
        }
    }
    std::string rates;
    for (const auto& [queue_pair, placement] : state.queue_pairs) {
        if (!placement.requester.empty()) {
            shape.items.at(ids.at(placement.requester)).content.push_back(fmt::format("q{}", queue_pair.number));
        }
        if (!placement.responder.empty()) {
            shape.items.at(ids.at(placement.responder)).content.push_back(fmt::format("r{}", queue_pair.number));
        }
        if (placement.rate) {
            rates += rate_text(queue_pair.number, *placement.rate);
        }
    }
    return shape.text() + "\n" + rates;
}

inline std::string shape_of(const Firmware& firmware)
{
    Shape shape;
    for (const auto& element : firmware.elements()) {
        auto& item = shape.items[static_cast<std::uint64_t>(element.id)];
        item.label = label(element.kind, element.share, element.max_rate_mbps);
        if (element.parent) {
            item.parent = static_cast<std::uint64_t>(*element.parent);
        }
    }
    std::string rates;
    for (const auto& queue_pair : firmware.queue_pairs()) {
        if (queue_pair.requester != kNoObject) {
            shape.items.at(static_cast<std::uint64_t>(queue_pair.requester))
                .content.push_back(fmt::format("q{}", queue_pair.number));
        }
        if (queue_pair.responder != kNoObject) {
            shape.items.at(static_cast<std::uint64_t>(queue_pair.responder))
                .content.push_back(fmt::format("r{}", queue_pair.number));
        }
        if (queue_pair.rate) {
            rates += rate_text(queue_pair.number, *queue_pair.rate);
        }
    }
    return shape.text() + "\n" + rates;
}

// Passes everything on, and lets a test look or interfere after each write and change each read-back.
class WatchedBackend final : public Backend {
public:
    explicit WatchedBackend(ModelBackend& model) : model_(model) {}

    std::function<void(CommandKind)> after_write = [](CommandKind) {};
    std::function<void(ElementHandle, Result<ElementState>&)> on_query = [](ElementHandle, Result<ElementState>&) {};

    [[nodiscard]] DeviceInfo info() const override { return model_.info(); }
    [[nodiscard]] Capabilities capabilities() const override { return model_.capabilities(); }
    [[nodiscard]] Result<Admission> admit(const QueuePairRef& ref) override { return model_.admit(ref); }
    [[nodiscard]] AttachReport attach_report() const override { return model_.attach_report(); }
    [[nodiscard]] std::vector<DeviceAttribute> attributes() const override { return model_.attributes(); }
    [[nodiscard]] Result<ElementHandle> create_element(const ElementRequest& request) override
    {
        auto result = model_.create_element(request);
        after_write(CommandKind::Create);
        return result;
    }
    [[nodiscard]] Result<void> modify_element(ElementHandle element, const ElementChange& change) override
    {
        auto result = model_.modify_element(element, change);
        after_write(CommandKind::Modify);
        return result;
    }
    [[nodiscard]] Result<ElementState> query_element(ElementHandle element) override
    {
        auto result = model_.query_element(element);
        on_query(element, result);
        return result;
    }
    [[nodiscard]] Result<void> destroy_element(ElementHandle element) override
    {
        auto result = model_.destroy_element(element);
        after_write(CommandKind::Destroy);
        return result;
    }
    [[nodiscard]] Result<void> take_over(const std::vector<KnownElement>& elements, const BackendNotes& notes) override
    {
        return model_.take_over(elements, notes);
    }
    [[nodiscard]] Result<std::size_t> count_strays(const std::vector<ElementHandle>& known) override
    {
        return model_.count_strays(known);
    }
    [[nodiscard]] Result<std::size_t> destroy_strays(const std::vector<ElementHandle>& known) override
    {
        return model_.destroy_strays(known);
    }
    [[nodiscard]] Result<void> place(const QueuePairRef& queue_pair, std::optional<ElementHandle> requester,
                                     std::optional<ElementHandle> responder) override
    {
        auto result = model_.place(queue_pair, requester, responder);
        after_write(CommandKind::Attach);
        return result;
    }
    [[nodiscard]] Result<void> set_rate(const QueuePairRef& queue_pair, const std::optional<RateLimit>& rate) override
    {
        auto result = model_.set_rate(queue_pair, rate);
        after_write(CommandKind::SetRate);
        return result;
    }
    [[nodiscard]] Result<QueuePairState> query_queue_pair(const QueuePairRef& queue_pair) override
    {
        return model_.query_queue_pair(queue_pair);
    }
    [[nodiscard]] Result<PortCounters> port_counters() override { return model_.port_counters(); }
    void set_event_handler(EventHandler handler) override { model_.set_event_handler(std::move(handler)); }

private:
    ModelBackend& model_;
};

inline QueuePairRef ref(std::uint32_t number, QueuePairType type = QueuePairType::Rc)
{
    QueuePairRef result;
    result.number = number;
    result.type = type;
    result.handle = number;
    return result;
}

inline QueuePairUpdate put(std::uint32_t number, const std::string& leaf, std::optional<RateLimit> rate = {},
                           QueuePairType type = QueuePairType::Rc)
{
    return {ref(number, type), Placement{ElementPath(leaf), {}, rate}};
}

inline QueuePairUpdate take_out(std::uint32_t number)
{
    return {ref(number), std::nullopt};
}

// Everything a test of the reconciler needs; members may be used before the first call of `reconciler()`.
class Rig {
public:
    Rig() : Rig(default_capabilities()) {}
    explicit Rig(const Capabilities& capabilities)
    {
        FirmwareOptions firmware_options;
        firmware_options.capabilities = capabilities;
        firmware = std::make_shared<Firmware>(firmware_options);
        make(capabilities);
    }
    explicit Rig(const FirmwareOptions& firmware_options) : firmware(std::make_shared<Firmware>(firmware_options))
    {
        make(firmware_options.capabilities);
    }

    Reconciler& reconciler()
    {
        if (!reconciler_) {
            reconciler_ = std::make_unique<Reconciler>(*backend, clock, options);
        }
        return *reconciler_;
    }
    Report update(const Tree& tree, const std::vector<QueuePairUpdate>& queue_pairs = {})
    {
        return reconciler().update(tree, queue_pairs, {});
    }
    Report update(const std::vector<QueuePairUpdate>& queue_pairs)
    {
        return reconciler().update(std::nullopt, queue_pairs, {});
    }
    // Lets the time until the retry pass, then retries.
    Report retry_after(const Report& report)
    {
        EXPECT_TRUE(report.retry_after) << "nothing is open";
        clock.advance(report.retry_after.value_or(0ms));
        return reconciler().retry();
    }
    void expect_converged() { EXPECT_EQ(shape_of(*firmware), shape_of(reconciler().desired())); }
    // The element with this share on the device; tests that ask give each share once.
    [[nodiscard]] ObjectId object_with_share(std::uint32_t share) const
    {
        for (const auto& element : firmware->elements()) {
            if (element.share == share) {
                return element.id;
            }
        }
        ADD_FAILURE() << "no element has share " << share;
        return kNoObject;
    }
    // The leaf that a queue pair sends through, by its share; 0: none.
    [[nodiscard]] std::uint32_t share_of_leaf(std::uint32_t queue_pair) const
    {
        const auto record = firmware->queue_pair(queue_pair);
        for (const auto& element : firmware->elements()) {
            if (record && element.id == record->requester) {
                return element.share;
            }
        }
        return 0;
    }

    ManualClock clock;
    ReconcilerOptions options;
    std::shared_ptr<Firmware> firmware;
    std::unique_ptr<ModelBackend> model;
    std::unique_ptr<WatchedBackend> backend;

private:
    void make(const Capabilities& capabilities)
    {
        DeviceInfo info;
        info.name = "model0";
        model = std::make_unique<ModelBackend>(info, capabilities, firmware);
        backend = std::make_unique<WatchedBackend>(*model);
    }

    std::unique_ptr<Reconciler> reconciler_;
};

inline const QueuePairOutcome* outcome_of(const Report& report, std::uint32_t number)
{
    for (const auto& outcome : report.queue_pairs) {
        if (outcome.queue_pair.number == number) {
            return &outcome;
        }
    }
    return nullptr;
}

inline std::string failed_text(const Report& report)
{
    std::string text;
    for (const auto& failure : report.snapshot->failures) {
        text += fmt::format("{} {} x{}; ", failure.operation, failure.path.text(), failure.attempts);
    }
    return text;
}

// What a client gave, as far as the reconciler sees it: something that is held or not.
struct File final : ClientFile {
    File() : ClientFile(UniqueFd(), nullptr) {}
};

}    // namespace rdmaqos::test
