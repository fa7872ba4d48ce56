#include "lib/reconcile/device_writer.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

std::string share_text(std::uint32_t share)
{
    return share == 0 ? "share of the device's default" : fmt::format("share {}", share);
}

std::string max_rate_text(const std::optional<Bandwidth>& max_rate)
{
    return max_rate ? fmt::format("max-rate {}", to_string(*max_rate)) : "no max-rate";
}

}    // namespace

std::vector<Mismatch> compare(const TrackedState& device, ElementId id, const ElementState& found)
{
    const ActualElement& expected = device.actual().elements.at(id);
    std::vector<Mismatch> mismatches;
    if (found.kind != expected.kind) {
        mismatches.push_back(
            {DriftKind::Kind, std::string(to_string(expected.kind)), std::string(to_string(found.kind))});
    }
    if (found.parent && (!expected.parent || *found.parent != device.handle(*expected.parent))) {
        mismatches.push_back(
            {DriftKind::Parent,
             expected.parent ? fmt::format("parent {}", device.path(expected.parent).text()) : std::string("no parent"),
             fmt::format("another parent (handle {:#x})", static_cast<std::uint64_t>(*found.parent))});
    }
    if (found.attributes.share != expected.attributes.share) {
        mismatches.push_back(
            {DriftKind::Share, share_text(expected.attributes.share), share_text(found.attributes.share)});
    }
    if (found.attributes.max_rate != expected.attributes.max_rate) {
        mismatches.push_back({DriftKind::MaxRate, max_rate_text(expected.attributes.max_rate),
                              max_rate_text(found.attributes.max_rate)});
    }
    return mismatches;
}

bool says_missing(const Error& error)
{
    return error.sys_errno == ENOENT || error.code == ErrorCode::InvalidArgument;
}

DeviceWriter::DeviceWriter(Backend& backend, const Clock& clock, TrackedState& device, Counters& counters,
                           OperationsByKind& operations, std::uint32_t busy_retries)
    : backend_(backend), clock_(clock), device_(device), counters_(counters), operations_(operations),
      busy_retries_(busy_retries)
{
}

template <typename Call>
auto DeviceWriter::send(OperationKind kind, Call call)
{
    OperationStatistics& statistics = operations_.at(static_cast<std::size_t>(kind));
    ++counters_.operations;
    const TimePoint started = clock_.now();
    auto result = call();
    statistics.times.observe(clock_.now() - started);
    if (!result) {
        ++counters_.failed;
        ++statistics.failed;
        gone_ = gone_ || result.error().code == ErrorCode::DeviceGone;
    }
    return result;
}

// Busy is the owner's own call in flight, over in microseconds.
template <typename Call>
auto DeviceWriter::send_to_queue_pair(OperationKind kind, Call call)
{
    auto result = send(kind, call);
    for (std::uint32_t i = 0; i < busy_retries_ && !result && result.error().code == ErrorCode::Busy; ++i) {
        ++counters_.retries;
        result = send(kind, call);
    }
    return result;
}

std::optional<ElementHandle> DeviceWriter::handle(std::optional<ElementId> id) const
{
    return id ? std::optional(device_.handle(*id)) : std::nullopt;
}

// A refusal may have its reason in an element that is not on the device any longer; then trying again helps, once
// that is known.
Error DeviceWriter::explain(Error error, std::initializer_list<std::optional<ElementId>> involved)
{
    if (!says_missing(error)) {
        return error;
    }
    for (const auto& id : involved) {
        if (id && device_.exists(*id)) {
            const ElementPath path = device_.path(id);
            if (!read_back(*id) && !device_.exists(*id)) {
                return {ErrorCode::DeviceFailed, ENOENT, fmt::format("{} has vanished from the device", path.text())};
            }
            if (doubtful_.contains(*id)) {
                // Not known: no reason to believe that the device will always refuse.
                return {ErrorCode::DeviceFailed, ENOENT,
                        fmt::format("{} may have vanished from the device: it cannot be read back", path.text())};
            }
        }
    }
    return error;
}

bool DeviceWriter::is_gone(ElementHandle element, const Error& error)
{
    if (!says_missing(error)) {
        return false;
    }
    const auto found = backend_.query_element(element);
    return !found && says_missing(found.error());
}

Result<void> DeviceWriter::create(const CreateElement& operation)
{
    const ActualElement& element = operation.element;
    const ElementRequest request{element.kind, handle(element.parent), element.attributes};
    const auto created = send(OperationKind::Create, [&] { return backend_.create_element(request); });
    if (!created) {
        return fail(explain(created.error(), {element.parent}));
    }
    device_.add(operation.id, element, *created);
    return read_back(operation.id);
}

Result<void> DeviceWriter::modify(const ModifyElement& operation)
{
    const ElementChange change{operation.share, operation.max_rate};
    auto modified = send(OperationKind::Modify,
                         [&] { return backend_.modify_element(device_.handle(operation.id), change); });
    if (!modified) {
        doubt(operation.id);
        return fail(explain(modified.error(), {operation.id}));
    }
    ElementAttributes attributes = device_.actual().elements.at(operation.id).attributes;
    change.apply_to(attributes);
    device_.set_attributes(operation.id, attributes);
    return read_back(operation.id);
}

Result<void> DeviceWriter::cap_copy(const std::shared_ptr<ClientFile>& file, ElementId leaf,
                                    std::optional<Bandwidth> cap)
{
    return send(OperationKind::Modify, [&] { return backend_.cap_copy(file, device_.handle(leaf), cap); });
}

Result<void> DeviceWriter::destroy(ElementId id)
{
    auto destroyed = send(OperationKind::Destroy, [&] { return backend_.destroy_element(device_.handle(id)); });
    if (!destroyed && !is_gone(device_.handle(id), destroyed.error())) {
        return destroyed;
    }
    device_.remove(id);
    doubtful_.erase(id);
    return {};
}

Result<void> DeviceWriter::place(const QueuePairRef& ref, std::optional<ElementId> requester,
                                 std::optional<ElementId> responder)
{
    auto placed = send_to_queue_pair(OperationKind::Place,
                                     [&] { return backend_.place(ref, handle(requester), handle(responder)); });
    if (!placed) {
        return fail(explain(placed.error(), {requester, responder}));
    }
    device_.place({ref.number}, requester, responder);
    return {};
}

Result<void> DeviceWriter::set_rate(const QueuePairRef& ref, const std::optional<RateLimit>& rate)
{
    auto set = send_to_queue_pair(OperationKind::SetRate, [&] { return backend_.set_rate(ref, rate); });
    if (set) {
        device_.set_rate({ref.number}, rate);
    }
    return set;
}

Result<ElementState> DeviceWriter::query(ElementId id)
{
    auto found = backend_.query_element(device_.handle(id));
    gone_ = gone_ || (!found && found.error().code == ErrorCode::DeviceGone);
    return found;
}

Result<void> DeviceWriter::read_back(ElementId id)
{
    const auto found = query(id);
    if (!found) {
        if (says_missing(found.error())) {
            record_missing(id);
        } else {
            doubt(id);
        }
        return fail(found.error().with_context("reading it back"));
    }
    const auto mismatches = compare(device_, id, *found);
    record(id, *found);
    if (mismatches.empty()) {
        return {};
    }
    std::string text;
    for (const auto& mismatch : mismatches) {
        text += fmt::format("{}{} instead of {}", text.empty() ? "" : ", ", mismatch.found, mismatch.expected);
    }
    return fail(ErrorCode::DeviceFailed, fmt::format("the device reports success, but reads back {}", text));
}

void DeviceWriter::record(ElementId id, const ElementState& found)
{
    doubtful_.erase(id);
    for (const auto& mismatch : compare(device_, id, found)) {
        if (mismatch.kind == DriftKind::Kind || mismatch.kind == DriftKind::Parent) {
            abandon(id, true);
            return;
        }
    }
    if (found.attributes != device_.actual().elements.at(id).attributes) {
        device_.set_attributes(id, found.attributes);
    }
}

void DeviceWriter::record_missing(ElementId id)
{
    missing_ = true;
    abandon(id, false);
}

void DeviceWriter::abandon(ElementId id, bool still_there)
{
    for (auto& removed : device_.remove_subtree(id)) {
        doubtful_.erase(removed.id);
        if (removed.id != id || still_there) {
            abandoned_.push_back(std::move(removed));
        }
    }
}

void DeviceWriter::destroy_abandoned()
{
    std::vector<RemovedElement> left;
    for (auto& element : abandoned_) {
        if (gone_) {
            break;
        }
        const auto destroyed = send(OperationKind::Destroy, [&] { return backend_.destroy_element(element.handle); });
        if (!destroyed && !is_gone(element.handle, destroyed.error())) {
            left.push_back(std::move(element));
        }
    }
    abandoned_ = std::move(left);
}

void DeviceWriter::forget_all()
{
    doubtful_.clear();
    abandoned_.clear();
    gone_ = false;
}

}    // namespace rdmaqos
