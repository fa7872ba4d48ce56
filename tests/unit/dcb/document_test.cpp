// The table of drivers in docs/beside-other-tools.md is drawn from the rows.
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "lib/dcb/driver.h"
#include "lib/dcb/words.h"
#include "tests/support/golden.h"

namespace rdmaqos::dcb {
namespace {

using Lines = std::vector<std::string>;

std::string joined(const Lines& lines)
{
    return lines.empty() ? "none" : fmt::format("{}", fmt::join(lines, "; "));
}

std::string words_of_ets(const Driver& driver)
{
    if (driver.ets != Access::Write) {
        return driver.ets == Access::Read ? "read only" : "none";
    }
    Lines lines{driver.weight_sum == WeightSum::Exactly100 ? "weights sum to 100" : "weights sum to 100 or less"};
    if (driver.zero_weight == ZeroWeight::Refused) {
        lines.emplace_back("none is 0");
    } else if (driver.zero_weight == ZeroWeight::AllowedBelow100) {
        lines.emplace_back("none is 0 if others have 100");
    }
    if (driver.classes) {
        lines.push_back(fmt::format("{} classes", *driver.classes));
    }
    if (driver.starts_swapped) {
        lines.emplace_back("at first priority 0 is in class 1, and 1 in 0");
    }
    if (driver.unused_must_be_strict) {
        lines.emplace_back("unused classes must be strict");
    }
    if (driver.contiguous_classes) {
        lines.emplace_back("no gaps between classes");
    }
    if (!driver.atomic) {
        lines.emplace_back("a refused write may be half done");
    }
    return joined(lines);
}

std::string words_of_rates(const Driver& driver)
{
    Lines lines;
    for (const RateStep& range : driver.rate_steps) {
        lines.push_back(fmt::format("up to {} in steps of {}", to_string(range.up_to), to_string(range.step)));
    }
    return joined(lines);
}

std::string words_of_apps(const Driver& driver)
{
    Lines selectors;
    for (const Selector one :
         {Selector::Dscp, Selector::DatagramPort, Selector::StreamPort, Selector::AnyPort, Selector::Ethertype}) {
        if (driver.takes(one)) {
            selectors.emplace_back(in_words(one));
        }
    }
    Lines lines;
    if (!selectors.empty()) {
        lines.push_back(fmt::format("{}", fmt::join(selectors, ", ")));
    }
    if (driver.ignores_other_apps) {
        lines.emplace_back("others have no effect");
    }
    if (driver.dscp_is_class) {
        lines.emplace_back("the priority is the class");
    }
    if (driver.delete_before_remap) {
        lines.emplace_back("another priority only after a deletion");
    }
    if (driver.first_app_resets_ets) {
        lines.emplace_back("the first entry resets the weights");
    }
    if (!driver.deletes_apps) {
        lines.emplace_back("the NIC keeps what is deleted");
    }
    return joined(lines);
}

std::string words_of_dcbx(const Driver& driver)
{
    switch (driver.host_dcbx) {
    case HostDcbx::Always:
        break;
    case HostDcbx::Advised:
        return "firmware may overwrite, unless in host mode";
    case HostDcbx::Settable:
        return "host mode, which can be set";
    case HostDcbx::AgentOff:
        return "only with the firmware's agent off";
    case HostDcbx::Operational:
        return "only while operational (IEEE)";
    }
    return "host mode";
}

std::string words_of_disruptions(const Driver& driver)
{
    const Disruptions& all = driver.disrupts;
    Lines lines;
    for (const auto& [disruption, word] :
         {std::pair(Disruption::Queues, "queues"), {Disruption::Link, "link"}, {Disruption::Interface, "interface"}}) {
        Lines writes;
        if (all.weights == disruption) {
            writes.emplace_back("weights");
        }
        if (all.priorities == disruption) {
            writes.emplace_back("classes of priorities");
        }
        if (all.max_rates == disruption) {
            writes.emplace_back("maximum rates");
        }
        if (all.first_app == disruption) {
            writes.emplace_back(all.apps == disruption ? "entries" : "first and last DSCP");
        } else if (all.apps == disruption) {
            writes.emplace_back("entries");
        }
        if (all.pfc == disruption) {
            writes.emplace_back("PFC");
        }
        if (!writes.empty()) {
            lines.push_back(fmt::format("{}: {}", word, fmt::join(writes, ", ")));
        }
    }
    return joined(lines);
}

std::string draw_table()
{
    std::string table = "| driver | ETS | maximum rates | application table | DCBX | a write disturbs | evidence |\n"
                        "|---|---|---|---|---|---|---|\n";
    Lines without;
    for (const Driver& one : drivers()) {
        if (!one.has_dcb()) {
            without.push_back(fmt::format("`{}`", one.name));
            continue;
        }
        table += fmt::format("| `{}` ({}{}) | {} | {} | {} | {} | {} | {} |\n", one.name, one.hardware,
                             one.rdma.empty() ? "" : fmt::format("; `{}`", one.rdma), words_of_ets(one),
                             words_of_rates(one), words_of_apps(one), words_of_dcbx(one), words_of_disruptions(one),
                             to_string(one.evidence));
    }
    return table +
           fmt::format("| {} | no DCB netlink | | | | | {} |\n", fmt::join(without, ", "), to_string(Evidence::Source));
}

TEST(DcbDocument, ShowsTheRows)
{
    const std::string path = test::source_dir() + "/docs/beside-other-tools.md";
    const std::string document = test::read_text(path);
    const std::size_t begin = document.find("| driver | ETS |");
    ASSERT_NE(begin, std::string::npos);
    const std::size_t end = document.find("\n\n", begin) + 1;
    const std::string expected = document.substr(0, begin) + draw_table() + document.substr(end);
    if (std::getenv("RDMAQOS_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << expected;
        return;
    }
    EXPECT_TRUE(document == expected) << path << " differs; it should have:\n" << draw_table();
}

}    // namespace
}    // namespace rdmaqos::dcb
