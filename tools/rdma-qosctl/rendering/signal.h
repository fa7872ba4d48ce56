// Signals of the daemon as sentences of `rdma-qosctl monitor`.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lib/bus/client.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// The properties of an object; empty: there is no such object (any more).
using LookUp = std::function<std::optional<bus::Dict>(const std::string& path, const char* interface)>;

// Says who, which level and which device, and remembers them: of what has ended nothing can be asked any more.
class Narrator {
public:
    explicit Narrator(LookUp look_up) : look_up_(std::move(look_up)) {}

    // One line, without a time: "mlx5_0/1: 2 elements had drifted and were repaired". Empty: other signals say all of
    // it.
    [[nodiscard]] std::string sentence(const bus::Signal& signal);

private:
    // "session 3 (rdma_server, pid 4711, alice)"
    std::string session(const std::string& path);
    // "mlx5_0/1"
    std::string device(const std::string& path);
    std::string name_of(const std::string& path);
    // Asks for it, and remembers its name; empty: it is gone.
    std::optional<SessionView> ask_session(const std::string& path);
    std::optional<DeviceView> ask_device(const std::string& path);
    std::string came(const std::string& path);
    std::string changed(const bus::Signal& signal);
    // Of the traffic classes of a device's port, in words; empty: nothing that people would see.
    std::string changed_port(const std::string& path, const bus::Dict& port);

    LookUp look_up_;
    UserNames users_;
    std::map<std::string, std::string> names_;    // by object path
    std::map<std::string, api::Port> ports_;      // likewise, as the last signal said
};

// What a sentence of a time looks like.
[[nodiscard]] std::string render_change(const std::string& time, const std::string& sentence, const Screen& screen);
// `text`: the sentence.
[[nodiscard]] Json signal_json(const bus::Signal& signal, const std::string& time, const std::string& text);

}    // namespace rdmaqos::ctl
