// Who asks: an identity from /proc or from the options of a command line.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"
#include "policy/model/identity.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

struct IdentityOptions {
    std::string pid;     // of a running process; else this one, or nobody in particular
    std::string user;    // name or uid
    std::vector<std::string> groups;
    Identity named;    // the names that kClientKeys have an option for, as given

    [[nodiscard]] bool any() const { return !(pid.empty() && user.empty() && groups.empty() && named == Identity{}); }
};
// --pid, --as-user and the like.
void add_identity_options(CLI::App& command, IdentityOptions& identity);
[[nodiscard]] Result<Identity> identity_of(const IdentityOptions& options);
// "uid 1000, groups 1000 4, unit job-7.scope, /usr/bin/ib_send_bw"
[[nodiscard]] std::string describe(const Identity& identity);

}    // namespace rdmaqos::ctl
