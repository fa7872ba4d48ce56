#include "lib/port_lint/lint.h"

#include "lib/port_lint/rules.h"

namespace rdmaqos::port_lint {
namespace {

struct Rule {
    std::string_view name;
    void (*check)(const Interface& port, Findings& findings);
};

constexpr Rule kRules[] = {
    {"trust", check_trust},
    {"data-priority", check_data_priority},
    {"cnp-class", check_cnp_class},
    {"cnp-lossless", check_cnp_lossless},
    {"pfc-unused", check_unused_pfc},
    {"mixed-class", check_mixed_class},
    {"lossy-rdma", check_lossy_rdma},
    {"rdma-cm", check_rdma_cm},
    {"roce-mode", check_roce_mode},
    {"forced-class", check_forced_class},
    {"unforced", check_unforced_queue_pairs},
    {"buffers", check_buffers},
    {"reaction", check_reaction},
    {"min-rate", check_min_rates},
    {"max-rate", check_max_rates},
    {"shared-class", check_shared_class},
    {"strict", check_strict},
    {"kernel-traffic", check_kernel_traffic},
    {"negotiation", check_negotiation},
    {"rewritten", check_rewrites},
    {"other-end", check_other_ends},
};

// Of all interfaces together.
struct HostRule {
    std::string_view name;
    void (*check)(std::span<const Interface> host, Findings& findings);
};

constexpr HostRule kHostRules[] = {
    {"infiniband", check_infiniband},
    {"alike", check_alike},
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
