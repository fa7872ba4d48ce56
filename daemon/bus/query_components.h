// The components of a PathRecord query that come with a selector: a value, and how the path's may differ from it.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/bus/request_keys.h"
#include "lib/base/result.h"
#include "lib/bus/value.h"
#include "policy/model/request.h"

namespace rdmaqos {

class QueryComponents {
public:
    // One of the keys of `mtu`, `rate` and `packet-life`, of the right type.
    Result<void> take(RequestKey key, const bus::Value& value);
    // When all keys have been taken. InvalidArgument: a value that there is not, or a selector without one
    // that needs one. For the largest there is none, and one that was sent does not count.
    Result<void> give_to(Request& request) const;

private:
    struct Component {
        std::optional<std::uint64_t> value;
        std::optional<Selector> selector;
    };

    static Result<void> take_selector(std::string_view key, const bus::Value& value, Component& to);
    template <typename T, typename Parse>
    static Result<void> join(std::string_view key, const Component& component, std::optional<Selected<T>>& to,
                             Parse parse, std::string_view wanted);

    Component mtu_;
    Component rate_;
    Component packet_life_;
};

}    // namespace rdmaqos
