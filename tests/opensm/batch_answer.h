// PathRecord queries as lines of text, answered in the words of OpenSM's compatibility cases.
//
//     SRC DST QOS_CLASS SERVICE_ID PKEY                   which level: `rule=2 "rpc" sl=3 mtu=- ... path-pkey=0x8001`
//     ... SL MTU RATE LIFE PORT_MTU LINK SLS_ON_VL15      which path: `OK mtu=4 rate=3 life=18 pkey=0x8001 sl=3`,
//                                                         or `FAIL(5)`
//
// Ends are GUIDs; one that the fabric does not have gives `ERROR unknown-source` or `ERROR unknown-destination`. `-` is
// a component that the query does not have. MTU, RATE and LIFE are InfiniBand's numbers with a selector in front: `<4`,
// `>4`, `=4`, or `^4` for the largest. PORT_MTU (1 to 5) and LINK (2.5, 10, 20 or 40 Gb/s) are those of both ports;
// SLS_ON_VL15 is a list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/base/result.h"
#include "policy/match/matcher.h"
#include "policy/model/fabric.h"
#include "policy/path/path.h"

namespace rdmaqos::ctl {

class BatchAnswers {
public:
    // Both must outlive it.
    BatchAnswers(const Matcher& matcher, const Fabric& fabric);

    // Without a line end. Error InvalidArgument: the line is no query.
    [[nodiscard]] Result<std::string> answer(std::string_view line) const;

private:
    [[nodiscard]] std::string level_answer(const Request& request, const PathLimits& limits) const;
    [[nodiscard]] std::string path_answer(const Request& request, const PathLimits& limits) const;

    const Matcher& matcher_;
    std::unordered_map<std::uint64_t, const FabricPort*> ports_;
};

}    // namespace rdmaqos::ctl
