#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/try.h"
#include "policy/explain/explain_render.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/verbs/path_question.h"

namespace rdmaqos::ctl {
namespace {

Result<PathAnswer<std::string>> ask_explain(const Context& context, const PathQuestion& question)
{
    bus::Dict format;
    format.set("format", context.json ? "json" : "text");
    return ask_for_path<std::string>(context, question, "Explain", format,
                                     [&](const OfflineWorld& world) -> Result<std::string> {
                                         const auto explanation = TRY(explain_offline(world, question.request));
                                         return context.json ? explanation_to_json(*world.policy, explanation)
                                                             : render_explanation(*world.policy, explanation);
                                     });
}

Result<ExitStatus> explain(const Context& context, const PathQuestion& question)
{
    const auto answer = TRY(ask_explain(context, question));
    if (!context.json) {
        print(render_note(answer.note, context.screen) + lines_on(context.screen, answer.value));
        return ExitStatus::Ok;
    }
    Json explanation = Json::parse(answer.value, nullptr, false);
    if (explanation.is_discarded()) {
        return fail(ErrorCode::Internal, "the explanation is not JSON: is the daemon of another version?");
    }
    print(to_text({{"mode", answer.mode()}, {"note", answer.note}, {"explanation", std::move(explanation)}}));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kExplainVerb{
    .name = "explain",
    .summary = "Show which level a request gets and why, rule by rule",
    .examples = "  rdma-qosctl explain --service-id 0x10064 --destination 10.1.0.7\n"
                "  rdma-qosctl explain --port-space tcp --destination-port 4420\n"
                "  rdma-qosctl explain --pid 4711                 as this process would be seen\n"
                "  rdma-qosctl explain new.yaml --as-user alice --as-unit job-7.scope",
    .paged = true,
    .prepare = with_options<PathQuestion, add_options, explain>,
};

}    // namespace rdmaqos::ctl
