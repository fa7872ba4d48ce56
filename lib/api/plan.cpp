#include "lib/api/plan.h"

namespace rdmaqos::api {

std::string_view change_of(const DescribedElement& element)
{
    if (element.before == element.after) {
        return {};
    }
    return to_string(!element.before  ? DescribedOperation::Kind::Create
                     : !element.after ? DescribedOperation::Kind::Destroy
                                      : DescribedOperation::Kind::Modify);
}

std::string message_of(const DescribedOperation& operation)
{
    return to_string(operation);
}

Finding to_record(const rdmaqos::Finding& finding, std::string device, std::string_view verdict)
{
    return {std::move(device),
            std::string(to_string(finding.kind)),
            finding.is_error ? "error" : "warning",
            std::string(verdict),
            finding.path.text(),
            finding.requested,
            finding.achievable,
            finding.why,
            to_string(finding)};
}

}    // namespace rdmaqos::api
