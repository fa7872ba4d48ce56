#include "tools/rdma-qosctl/verbs/verb.h"

#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

Result<ExitStatus> levels(const Context& context)
{
    auto client = TRY(connect(context));
    const auto manager = TRY(fetch_manager(client));
    print(context.json ? to_text({{"levels", api::to_json(manager.levels)}})
                       : render_levels(manager.levels, context.screen));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kLevelsVerb{
    .name = "levels",
    .summary = "List the levels of the running policy",
    .examples = "  rdma-qosctl levels",
    .paged = true,
    .prepare = without_options<levels>,
};

}    // namespace rdmaqos::ctl
