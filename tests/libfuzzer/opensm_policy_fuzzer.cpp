// The reader of OpenSM's native policy files, in both modes: any text gives a policy or errors with places, soon; what
// is accepted can be used.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "policy/opensm/reader.h"
#include "tests/fuzz/support/reader_checks.h"
#include "tests/libfuzzer/fuzzer.h"

namespace rdmaqos {
namespace {

// A few ports with what rules ask for, so that names and P_Keys can be found.
Fabric small_fabric()
{
    Fabric fabric;
    fabric.ports.push_back({Guid{0x1}, 1, Guid{0x10}, NodeType::Ca, "vs1 HCA-1", {0xffff, 0x8001}, true});
    fabric.ports.push_back({Guid{0x2}, 1, Guid{0x20}, NodeType::Ca, "vs2 HCA-1", {0xffff, 0x8001}, false});
    fabric.ports.push_back({Guid{0x3}, 0, Guid{0x30}, NodeType::Switch, "leaf 1", {0xffff}, false});
    fabric.partitions.push_back({"Part1", 0x1, {}});
    return fabric;
}

std::string problem_of(const OpensmResult& result)
{
    if ((result.value == nullptr) != result.diagnostics.has_errors() ||
        (result.value == nullptr) != (result.rejected != OpensmResult::Rejected::No)) {
        return "neither accepted nor rejected";
    }
    return test::problem_of(result.diagnostics);
}

void run(std::string text)
{
    static const Fabric fabric = small_fabric();
    const auto source = std::make_shared<const SourceFile>(SourceFile{"fuzz.conf", std::move(text)});
    const auto strict = read_opensm_policy(source, OpensmMode::Strict, fabric);
    test::require_none(problem_of(strict));
    const auto forgiving = read_opensm_policy(source, OpensmMode::Default, fabric);
    test::require_none(problem_of(forgiving));
    if (forgiving.value) {
        test::require_none(test::problem_of_use(*forgiving.value));
    }
}

}    // namespace
}    // namespace rdmaqos

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    rdmaqos::run(std::string(reinterpret_cast<const char*>(data), size));    // NOLINT(*-reinterpret-cast)
    return 0;
}
