#include "tools/rdma-qosctl/output/generated.h"

#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {

Result<ExitStatus> deliver(const Context& context, const std::string* text, const Diagnostics& diagnostics,
                           const std::string& file)
{
    if (text != nullptr && !file.empty()) {
        TRY(write_file_atomically(file, *text));
    }
    const std::string* shown = file.empty() ? text : nullptr;
    if (context.json) {
        Json json{{"ok", text != nullptr}};
        if (shown != nullptr) {
            json["yaml"] = *shown;
        }
        json["diagnostics"] = to_json(diagnostics);
        print(to_text(json));
    } else {
        print_error(render(diagnostics, context.error_colour));
        print(shown != nullptr ? *shown : std::string());
    }
    return text != nullptr ? ExitStatus::Ok : ExitStatus::BadPolicy;
}

}    // namespace rdmaqos::ctl
