#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "lib/reconcile/reconciler_state.h"

namespace rdmaqos {

// Everything is read before anything is recorded, so that a missing node does not hide its missing children.
std::vector<Reconciler::State::Found> Reconciler::State::query_all(Pass& pass)
{
    std::vector<Found> found;
    for (const auto& [id, element] : device.actual().elements) {
        auto state = writer.query(id);
        if (writer.gone()) {
            break;
        }
        if (state) {
            found.push_back({id, *state});
        } else if (says_missing(state.error())) {
            found.push_back({id, std::nullopt});
        } else {
            writer.doubt(id);
            note_element(element.path, "query", fail(state.error()), pass);
        }
    }
    return found;
}

std::vector<Drift> Reconciler::State::drifts_in(const std::vector<Found>& found) const
{
    std::vector<Drift> drifts;
    for (const auto& [id, state] : found) {
        const ElementPath path = device.path(id);
        // What is on its way out may look as it likes.
        if (!desired.tree.contains(path) || current(path) != id) {
            continue;
        }
        if (!state) {
            const auto kind = to_string(device.actual().elements.at(id).kind);
            drifts.push_back({path, DriftKind::Missing, std::string(kind), "nothing", false, {}});
            continue;
        }
        for (auto& mismatch : compare(device, id, *state)) {
            drifts.push_back({path, mismatch.kind, std::move(mismatch.expected), std::move(mismatch.found), false, {}});
        }
    }
    std::stable_sort(drifts.begin(), drifts.end(), [](const Drift& a, const Drift& b) { return a.path < b.path; });
    return drifts;
}

// Children have later ids than their parents, so the way back meets them first.
void Reconciler::State::record(const std::vector<Found>& found)
{
    for (auto it = found.rbegin(); it != found.rend(); ++it) {
        if (!device.exists(it->id)) {
            continue;
        }
        if (it->state) {
            writer.record(it->id, *it->state);
        } else {
            writer.record_missing(it->id);
        }
    }
}

std::vector<ElementHandle> Reconciler::State::known_handles() const
{
    std::vector<ElementHandle> known;
    for (const auto& [id, element] : device.actual().elements) {
        known.push_back(device.handle(id));
    }
    for (const auto& removed : writer.abandoned()) {
        known.push_back(removed.handle);
    }
    return known;
}

std::vector<Drift> Reconciler::State::unknown_elements(Pass& pass)
{
    const auto strays = backend.count_strays(known_handles());
    if (!strays) {
        note_element(ElementPath::root(), "query", fail(strays.error()), pass);
        return {};
    }
    if (*strays == 0) {
        return {};
    }
    return {{ElementPath::root(),
             DriftKind::Unknown,
             "nothing else",
             fmt::format("{} element{} that nobody uses", *strays, *strays == 1 ? "" : "s"),
             false,
             {}}};
}

void Reconciler::State::destroy_unknown(Drift& drift)
{
    const auto left = backend.destroy_strays(known_handles());
    if (!left) {
        drift.error = left.error();
    } else if (*left > 0) {
        drift.error = Error{ErrorCode::Busy, EBUSY, fmt::format("{} could not be destroyed", *left)};
    }
    drift.repaired = !drift.error;
}

void Reconciler::State::note_repair(Drift& drift) const
{
    const auto wanted = desired.tree.find(drift.path);
    const auto id = current(drift.path);
    if (id && wanted != desired.tree.end()) {
        const ActualElement& element = device.actual().elements.at(*id);
        drift.repaired = element.kind == wanted->second.kind && device.path(element.parent) == wanted->second.parent &&
                         element.attributes == wanted->second.attributes;
    }
    if (drift.repaired) {
        return;
    }
    for (const auto& [key, failure] : failures) {
        if (key.first == drift.path) {
            drift.error = failure.error;
            return;
        }
    }
    drift.error = why_no_leaf(drift.path);
}

DriftReport Reconciler::verify(bool repair)
{
    DriftReport result;
    auto pass = state_->begin();
    if (state_->writer.gone()) {
        result.report = state_->finish(pass);
        return result;
    }
    const auto found = state_->query_all(pass);
    result.drifts = state_->unknown_elements(pass);
    for (auto& drift : state_->drifts_in(found)) {
        result.drifts.push_back(std::move(drift));
    }
    state_->counters.drift_found += result.drifts.size();
    if (repair && state_->writing() && !state_->writer.gone()) {
        const auto revision = state_->device.revision();
        state_->record(found);
        if (revision != state_->device.revision()) {
            state_->reconcile(pass);
            state_->schedule(true);
        }
        for (auto& drift : result.drifts) {
            if (drift.kind == DriftKind::Unknown) {
                state_->destroy_unknown(drift);
            } else {
                state_->note_repair(drift);
            }
            state_->counters.drift_repaired += drift.repaired ? 1 : 0;
        }
    }
    if (!pass.clean || state_->writer.gone()) {
        state_->schedule_soon();
    }
    result.report = state_->finish(pass);
    return result;
}

}    // namespace rdmaqos
