#include "policy/match/path_end.h"

#include <algorithm>

namespace rdmaqos {

PathEnd path_end(const std::optional<Endpoint>& endpoint, const ResolvedGroups& groups)
{
    PathEnd end;
    if (!endpoint) {
        return end;
    }
    end.gid = std::get_if<Gid>(&*endpoint);
    const auto* lid = std::get_if<Lid>(&*endpoint);
    if (const auto guid = lid != nullptr ? groups.lids.find(*lid) : port_guid_of(*endpoint)) {
        end.guid = guid->value;
    }
    if (end.guid) {
        const auto& types = groups.node_types;
        const auto found = std::lower_bound(types.begin(), types.end(), Guid{*end.guid},
                                            [](const auto& entry, Guid guid) { return entry.first < guid; });
        if (found != types.end() && found->first == Guid{*end.guid}) {
            end.type = found->second;
        }
    }
    return end;
}

}    // namespace rdmaqos
