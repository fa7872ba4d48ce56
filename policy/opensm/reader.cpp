#include "policy/opensm/reader.h"

#include <optional>
#include <utility>

#include "policy/model/fabric_directory.h"
#include "policy/opensm/build.h"
#include "policy/opensm/checks.h"
#include "policy/opensm/parser.h"
#include "policy/text/context.h"

namespace rdmaqos {
namespace {

using opensm::Refusal;

// What comes first for OpenSM. It acts on what it has read before it looks at whether the next token can follow.
std::optional<Refusal> first_of(std::optional<Refusal> mistake, std::optional<Refusal> syntax_error)
{
    const bool mistake_is_first = mistake && (!syntax_error || mistake->at <= syntax_error->at);
    return mistake_is_first ? std::move(mistake) : std::move(syntax_error);
}

// OpenSM reports one mistake and stops.
Diagnostics refused_with(const Refusal& refusal, const std::shared_ptr<const SourceFile>& source)
{
    Diagnostics diagnostics;
    diagnostics.error(Location{source, refusal.at.line, refusal.at.column, 1}, refusal.message).hint = refusal.hint;
    return diagnostics;
}

}    // namespace

OpensmResult read_opensm_policy(const std::shared_ptr<const SourceFile>& source, OpensmMode mode, const Fabric& fabric)
{
    OpensmResult result;
    reader::Context context({source}, result.diagnostics);
    const FabricDirectory directory(Policy{}, fabric, {});
    opensm::Parsed parsed = opensm::parse_opensm_file(context, mode);
    const bool incomplete = context.has_errors();
    result.file = parsed.file;
    auto mistake = opensm::check_file(context, *parsed.file, mode, directory);
    if (const auto refusal = first_of(std::move(mistake), std::move(parsed.refusal))) {
        result.diagnostics = refused_with(*refusal, source);
        result.rejected = OpensmResult::Rejected::Parse;
        return result;
    }
    if (context.has_errors()) {
        result.rejected = OpensmResult::Rejected::Parse;
    }
    Policy policy = opensm::build_policy(context, *parsed.file, mode, directory, incomplete);
    if (!context.has_errors()) {
        policy.sources = context.files();
        policy.revision = revision_of(policy.sources);
        result.value = std::make_shared<const Policy>(std::move(policy));
    } else if (result.rejected == OpensmResult::Rejected::No) {
        result.rejected = OpensmResult::Rejected::Validate;
    }
    result.diagnostics.sort_by_location();
    return result;
}

}    // namespace rdmaqos
