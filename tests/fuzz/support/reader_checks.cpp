#include "tests/fuzz/support/reader_checks.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "lib/base/net.h"
#include "lib/base/units.h"
#include "lib/model/profile.h"
#include "lib/tree/compile.h"
#include "policy/explain/explain.h"
#include "policy/explain/explain_render.h"
#include "policy/match/adoption.h"
#include "policy/model/lower.h"

namespace rdmaqos::test {

NameService fuzz_names()
{
    const auto number_of = [](std::uint32_t number) {
        return [number](const std::string& name) {
            return name.size() % 2 == 0 ? std::optional<std::uint32_t>(number) : std::nullopt;
        };
    };
    return {number_of(1000), number_of(2000)};
}

std::string problem_of(const Diagnostics& diagnostics)
{
    for (const Diagnostic& diagnostic : diagnostics.all()) {
        if (diagnostic.location.file == nullptr) {
            return "no file: " + diagnostic.message;
        }
        const auto& text = diagnostic.location.file->text;
        const auto lines = 1 + static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
        if (diagnostic.location.line > lines) {
            return "behind the end of the file: " + diagnostic.message;
        }
        if (diagnostic.message.empty()) {
            return "a diagnostic without words";
        }
    }
    for (const char byte : render(diagnostics, Colour::Off)) {
        if (byte != '\n' && static_cast<unsigned char>(byte) < 0x20) {
            return "a control character in a diagnostic";
        }
    }
    return {};
}

std::string problem_of_use(const Policy& policy)
{
    const CompileInput input{to_tree_spec(policy), {}, default_capabilities(), Bandwidth::from_gbps(100), 4};
    const Compiled compiled = compile(input);
    if (leaf_count(compiled.tree) > input.capabilities.max_leaves ||
        depth(compiled.tree) > input.capabilities.max_depth) {
        return "a tree beyond the device's limits";
    }
    const Matcher matcher(policy, resolve(policy, Fabric{}, {}));
    Request request;
    request.pkey = 0x8001;
    request.destination = parse_endpoint("fd00:10::7");
    PathLimits limits;
    limits.rate = *ib_rate_from_number(16);
    const auto unseen = choose_for_adoption(matcher, request, Identity{}, false);
    const auto seen = choose_for_adoption(matcher, request, Identity{}, true);
    if (unseen.verdict == AdoptionVerdict::Adopt
            ? seen.match.level != unseen.match.level
            : unseen.verdict != AdoptionVerdict::NeedsPath && seen.verdict == AdoptionVerdict::Adopt) {
        return "the path proves the choice for adoption wrong";
    }
    request.service_id = 0x10064;
    const Explanation explanation = explain(matcher, request, Identity{}, limits);
    if (explanation.match.has_value() == explanation.error.has_value()) {
        return "a level and an error, or neither";
    }
    if (render_explanation(policy, explanation).empty() || explanation_to_json(policy, explanation).empty()) {
        return "an explanation without words";
    }
    return {};
}

}    // namespace rdmaqos::test
