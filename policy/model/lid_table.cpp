#include "policy/model/lid_table.h"

namespace rdmaqos {

LidTable::LidTable(const Fabric& fabric)
{
    for (const auto& port : fabric.ports) {
        if (port.lids) {
            static_cast<void>(add(*port.lids, port.guid));
        }
    }
}

std::optional<Guid> LidTable::add(const LidRange& lids, Guid guid)
{
    const Entry entry{lids, guid};
    const auto next = by_last_.lower_bound(lids.base);
    if (next != by_last_.end() && next->second.lids.base <= lids.last()) {
        // The ports of a switch share its LIDs.
        return next->second == entry ? std::nullopt : std::optional(next->second.guid);
    }
    by_last_.emplace_hint(next, lids.last(), entry);
    return std::nullopt;
}

std::optional<Guid> LidTable::find(Lid lid) const
{
    const auto found = by_last_.lower_bound(lid);
    return found != by_last_.end() && found->second.lids.base <= lid ? std::optional(found->second.guid) : std::nullopt;
}

}    // namespace rdmaqos
