#include "lib/port_lint/lint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

// Nothing is found in classes that are kept: whoever keeps them says what is wrong.
enum class About : std::uint8_t {
    Classes,    // trust, priorities, weights and rates
    Rest,
};

struct Rule {
    std::string_view name;
    void (*check)(const Interface& port, Findings& findings);
    About about;
};

constexpr Rule kRules[] = {
    {"trust", check_trust, About::Classes},
    {"data-priority", check_data_priority, About::Classes},
    {"cnp-class", check_cnp_class, About::Classes},
    {"cnp-lossless", check_cnp_lossless, About::Rest},
    {"pfc-unused", check_unused_pfc, About::Rest},
    {"mixed-class", check_mixed_class, About::Classes},
    {"lossy-rdma", check_lossy_rdma, About::Rest},
    {"rdma-cm", check_rdma_cm, About::Rest},
    {"roce-mode", check_roce_mode, About::Rest},
    {"forced-class", check_forced_class, About::Rest},
    {"unforced", check_unforced_queue_pairs, About::Rest},
    {"buffers", check_buffers, About::Rest},
    {"reaction", check_reaction, About::Rest},
    {"min-rate", check_min_rates, About::Classes},
    {"max-rate", check_max_rates, About::Classes},
    {"shared-class", check_shared_class, About::Classes},
    {"strict", check_strict, About::Classes},
    {"kernel-traffic", check_kernel_traffic, About::Rest},
    {"negotiation", check_negotiation, About::Rest},
    {"rewritten", check_rewrites, About::Rest},
    {"other-end", check_other_ends, About::Rest},
    {"virtual-lanes", check_virtual_lanes, About::Rest},
};

// Of all interfaces together.
struct HostRule {
    std::string_view name;
    void (*check)(std::span<const Interface> host, Findings& findings);
    About about;
};

constexpr HostRule kHostRules[] = {
    {"infiniband", check_infiniband, About::Rest},
    {"alike", check_alike, About::Classes},
};

// What a rule finds is of this rule and this interface.
void label(Findings& findings, std::size_t from, std::string_view rule)
{
    for (std::size_t i = from; i < findings.size(); ++i) {
        findings[i].rule = rule;
    }
}

}    // namespace

std::vector<Finding> lint(std::span<const Interface> host)
{
    Findings findings;
    for (const Interface& port : host) {
        for (const Rule& rule : kRules) {
            if (port.is_kept && rule.about == About::Classes) {
                continue;
            }
            const std::size_t before = findings.size();
            rule.check(port, findings);
            label(findings, before, rule.name);
            for (std::size_t i = before; i < findings.size(); ++i) {
                findings[i].interface = port.name;
            }
        }
    }
    for (const HostRule& rule : kHostRules) {
        const std::size_t before = findings.size();
        rule.check(host, findings);
        if (rule.about == About::Classes) {
            const auto in_kept_port = [&](const Finding& finding) {
                return std::ranges::any_of(
                    host, [&](const Interface& port) { return port.is_kept && port.name == finding.interface; });
            };
            findings.erase(
                std::remove_if(findings.begin() + static_cast<std::ptrdiff_t>(before), findings.end(), in_kept_port),
                findings.end());
        }
        label(findings, before, rule.name);
    }
    return findings;
}

std::vector<std::string_view> rule_names()
{
    std::vector<std::string_view> names;
    for (const Rule& rule : kRules) {
        names.push_back(rule.name);
    }
    for (const HostRule& rule : kHostRules) {
        names.push_back(rule.name);
    }
    return names;
}

}    // namespace rdmaqos::port_lint
