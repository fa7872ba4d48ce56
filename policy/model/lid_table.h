// Whose a LID is. A LID means something in one subnet: a table is of one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "lib/base/net.h"
#include "policy/model/fabric.h"

namespace rdmaqos {

// Asked for each queue pair, of ten thousand ports: O(log n).
class LidTable {
public:
    LidTable() = default;
    // As add() for each port in turn; what overlaps is left out.
    explicit LidTable(const Fabric& fabric);

    // Empty: they are its own. Else the port that has one of them already, and nothing is added: also when it is the
    // same port with other LIDs. They must be aligned.
    [[nodiscard]] std::optional<Guid> add(const LidRange& lids, Guid guid);
    // The port; empty: none is known to have it.
    [[nodiscard]] std::optional<Guid> find(Lid lid) const;

    friend bool operator==(const LidTable&, const LidTable&) = default;

private:
    struct Entry {
        LidRange lids;
        Guid guid;

        friend bool operator==(const Entry&, const Entry&) = default;
    };

    std::map<Lid, Entry> by_last_;
};

}    // namespace rdmaqos
