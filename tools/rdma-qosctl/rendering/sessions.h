// Who has registered, and what they were granted, as text.
#pragma once

#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/bus/value.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// `most`: so many of them, and so many queue pairs; 0: all.
[[nodiscard]] std::string render_sessions(const std::vector<SessionView>& sessions, std::size_t most,
                                          const Screen& screen);
[[nodiscard]] std::string render_grant(const std::string& session, const bus::Dict& grant, const Screen& screen);
// "alice", or "1000" if the uid has no name
[[nodiscard]] std::string owner_text(const bus::Dict& owner);

}    // namespace rdmaqos::ctl
