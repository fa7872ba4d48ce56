// The reader of YAML policies: any text gives a policy or errors with places, soon; what is accepted can be used, and
// is accepted again as `rdma-qosctl show-config` prints it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "policy/load/policy_reader.h"
#include "policy/load/show_config.h"
#include "policy/load/show_config_yaml.h"
#include "policy/model/name_service.h"
#include "tests/fuzz/support/reader_checks.h"
#include "tests/libfuzzer/fuzzer.h"

namespace rdmaqos {
namespace {

std::shared_ptr<const SourceFile> source(std::string text)
{
    return std::make_shared<const SourceFile>(SourceFile{"fuzz.yaml", std::move(text)});
}

// Empty: the policy that show-config prints is the same.
std::string problem_of_shown(const Policy& policy, const NameService& names)
{
    const auto again = read_policy({source(to_yaml(show_policy(policy).document))}, names);
    if (!again.value) {
        return "show-config printed a policy that is refused:\n" + render(again.diagnostics, Colour::Off);
    }
    const auto sizes = [](const Policy& of) {
        return std::tuple(of.groups.size(), of.partitions.size(), of.nodes.size(), of.levels.size(), of.rules.size());
    };
    return sizes(*again.value) == sizes(policy) ? "" : "show-config printed another policy";
}

void run(std::string text)
{
    static const NameService names = test::fuzz_names();
    const auto read = read_policy({source(std::move(text))}, names);
    test::require_none(test::problem_of(read));
    if (!read.value) {
        return;
    }
    test::require_none(test::problem_of_use(*read.value));
    test::require_none(problem_of_shown(*read.value, names));
}

}    // namespace
}    // namespace rdmaqos

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    rdmaqos::run(std::string(reinterpret_cast<const char*>(data), size));    // NOLINT(*-reinterpret-cast)
    return 0;
}
