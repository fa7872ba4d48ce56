#include "tools/rdma-qosctl/verbs/verb.h"

#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/marks.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

Result<ExitStatus> levels(const Context& context)
{
    auto client = TRY(connect(context));
    const auto manager = TRY(fetch_manager(client));
    const auto marks = fetch_marks(client);
    print(context.json ? to_text({{"levels", api::to_json(manager.levels)}, {"marks", api::to_json(marks)}})
                       : render_levels(manager.levels, context.screen) + render_wrong_marks(marks, "", context.screen));
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
