#include "tools/rdma-qosctl/options.h"

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/version.h"
#include "policy/model/client_keys.h"
#include "tools/rdma-qosctl/commands/check.h"
#include "tools/rdma-qosctl/commands/explain.h"
#include "tools/rdma-qosctl/commands/import.h"
#include "tools/rdma-qosctl/commands/manage.h"
#include "tools/rdma-qosctl/commands/metrics.h"
#include "tools/rdma-qosctl/commands/monitor.h"
#include "tools/rdma-qosctl/commands/names.h"
#include "tools/rdma-qosctl/commands/plan.h"
#include "tools/rdma-qosctl/commands/request.h"
#include "tools/rdma-qosctl/commands/show.h"
#include "tools/rdma-qosctl/commands/show_config.h"
#include "tools/rdma-qosctl/commands/simulate.h"
#include "tools/rdma-qosctl/commands/why.h"
#include "tools/rdma-qosctl/import_options.h"
#include "tools/rdma-qosctl/opensm_conformance/batch.h"
#include "tools/rdma-qosctl/opensm_conformance/import.h"
#include "tools/rdma-qosctl/override_options.h"
#include "tools/rdma-qosctl/policy_options.h"
#include "tools/rdma-qosctl/refusal.h"
#include "tools/rdma-qosctl/rule_options.h"
#include "tools/rdma-qosctl/trial_options.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kDescription =
    "Query and control rdma-qosd, the daemon that attaches processes and queue pairs to the\ntransmit scheduling "
    "tree of RDMA NICs.";

constexpr const char* kFooter =
    "\nExit status: 0 ok, 1 failed, 2 bad policy, 3 found drift or a problem, 4 not authorised, 5 no daemon.\n"
    "`rdma-qosctl COMMAND --help` shows options and examples; rdma-qosctl(8) has it all.";
constexpr std::string_view kCommandMark = "--";

// Those that show something; the others do something.
constexpr std::array<std::string_view, 15> kPaged{
    "check",      "devices",  "explain",     "hardware-report", "levels", "metrics", "plan", "qps",
    "query-path", "sessions", "show-config", "simulate",        "status", "tree",    "why"};

// What the options of all commands are stored in; lives as long as the chosen command runs.
struct Options {
    CheckOptions check;
    PlanOptions plan;
    RuleOptions rule;
    RuleRemoval rule_removal;
    TrialOptions trial;
    bool force = false;    // what is tried replaces the file
    OverrideArguments level_override;
    WhyOptions why;
    ShowConfigOptions show_config;
    ImportFabricOptions import_fabric;
    ImportOpensmOptions import_opensm;
    std::string import_topology;
    ExplainOptions explain;
    BatchOptions batch;
    HoldOptions hold;
    SimulateOptions simulate;
    SessionFilter sessions;
    HostQueuePairOptions host;
    HardwareReportOptions hardware_report;
    TreeOptions tree;
    std::string device;
    std::string kind;    // of names
    bool all = false;    // devices
    bool brief = false;
    bool fail_on_problems = false;
};

using OptionsPtr = std::shared_ptr<Options>;
using Run = std::function<Result<int>(const Context&)>;

// A command's function as the runner that main() calls.
template <typename Function>
Run runner(Function function)
{
    return [function](const Context& context) -> Result<int> {
        const Result<ExitStatus> status = function(context);
        return status ? Result<int>(static_cast<int>(*status)) : fail(status.error());
    };
}

class Parser {
public:
    Parser();

    std::variant<Invocation, Finished> parse(std::vector<std::string> arguments);

private:
    template <typename Function>
    CLI::App* add_command(const std::string& name, const std::string& description, const std::string& examples,
                          Function function);
    template <typename Function>
    CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                          const std::string& examples, Function function);
    void add_policy_commands();
    void add_trials();
    void add_rules();
    void add_simulate();
    void add_show_config();
    void add_imports();
    void add_views();
    void add_listings();
    void add_hardware_report();
    void add_device_commands();
    void add_path_commands();
    void add_request();
    void add_batch_options(CLI::App& command);
    void add_request_options(CLI::App& command, RequestOptions& request) const;
    void add_identity_options(CLI::App& command) const;

    CLI::App app_{kDescription, "rdma-qosctl"};
    OptionsPtr options_ = std::make_shared<Options>();
    std::string root_;
    bool system_bus_ = false;
    bool json_ = false;
    bool wide_ = false;
    bool no_pager_ = false;
    bool no_ask_password_ = false;
    std::string colour_ = "auto";
    Run run_;
};

Parser::Parser()
{
    app_.fallthrough();
    app_.require_subcommand(1);
    app_.footer(kFooter);
    app_.set_version_flag("--version", fmt::format("rdma-qosctl {}", kVersion), "Print the version and exit");
    app_.add_option("--root", root_, "Take every path below DIR instead of / (daemon socket, policy, settings)")
        ->type_name("DIR");
    app_.add_flag("--system-bus", system_bus_, "Talk to the daemon over the system bus instead of its direct socket");
    app_.add_flag("-j,--json", json_, "Print JSON instead of text; rdma-qosctl-json.md describes it");
    app_.add_option("--colour,--color", colour_, "auto: on a terminal, unless NO_COLOR is set")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app_.add_flag("--wide", wide_, "Every column and line in full, however narrow the terminal is");
    app_.add_flag("--no-pager", no_pager_, "Do not show long output in a pager");
    app_.add_flag("--no-ask-password", no_ask_password_, "Do not ask for a password that polkit wants");
    app_.get_formatter()->column_width(34);
    add_policy_commands();
    add_trials();
    add_rules();
    add_override_command(app_, options_->level_override, [this](const OverrideRun& run) {
        run_ = runner([options = options_, run](const Context& context) { return run(context); });
    });
    add_simulate();
    add_show_config();
    add_imports();
    add_views();
    add_listings();
    add_hardware_report();
    add_device_commands();
    add_path_commands();
    add_request();
}

template <typename Function>
CLI::App* Parser::add_command(const std::string& name, const std::string& description, const std::string& examples,
                              Function function)
{
    return add_command(app_, name, description, examples, function);
}

template <typename Function>
CLI::App* Parser::add_command(CLI::App& parent, const std::string& name, const std::string& description,
                              const std::string& examples, Function function)
{
    CLI::App* command = parent.add_subcommand(name, description);
    command->footer("\nExamples:\n" + examples);
    command->callback([this, function] { run_ = runner(function); });
    return command;
}

void Parser::add_policy_commands()
{
    CLI::App* check_command = add_command(
        "check", "Check a policy and report every problem; no daemon needed",
        "  rdma-qosctl check                              the host's files, with drop-ins\n"
        "  rdma-qosctl check policy.yaml                  an edit, before it is installed\n"
        "  rdma-qosctl check --devices devices.yaml new.yaml",
        [options = options_](const Context& context) { return check(context, options->check); });
    add_check_options(*check_command, options_->check);

    CLI::App* plan_command = add_command(
        "plan", "Show what a reload would do to each device, without doing it",
        "  rdma-qosctl plan                               the host's files against the NICs\n"
        "  rdma-qosctl plan policy.yaml                   an edit against the NICs\n"
        "  rdma-qosctl plan new.yaml --as policy.d/60-new.yaml\n"
        "                                                 the host's files with this drop-in\n"
        "  rdma-qosctl plan --offline policy.yaml         against an empty device",
        [options = options_](const Context& context) { return plan(context, options->plan); });
    add_plan_options(*plan_command, options_->plan);

    CLI::App* reload_command = add_command(
        "reload", "Read all files again; on any error the running policy stays and the errors are printed",
        "  rdma-qosctl reload                             as `systemctl reload rdma-qosd` does",
        [options = options_](const Context& context) { return reload(context, options->brief); });
    reload_command->add_flag("--brief", options_->brief, "Leave what is wrong with the files to the daemon's log");
}

void Parser::add_trials()
{
    CLI::App* command = add_command(
        "try", "Put a policy in force for a while: it goes back by itself unless it is confirmed", kTryExamples,
        [options = options_](const Context& context) { return try_policy(context, options->trial); });
    add_try_options(*command, options_->trial);
    command = add_command("confirm", "Keep the policy that is being tried: write it to /etc/rdma-qos/policy.yaml",
                          kConfirmExamples,
                          [options = options_](const Context& context) { return confirm(context, options->force); });
    command->add_flag("--force", options_->force, "Overwrite the file, also if it has changed since the trial began");
    add_command("revert", "End the trial now: the policy of the files comes back", kRevertExamples, revert);
}

void Parser::add_rules()
{
    CLI::App* rule = app_.add_subcommand("rule", "Add, remove and list match rules that end by themselves");
    rule->require_subcommand(1);
    rule->footer(std::string("\nExamples:\n") + kRuleExamples);
    CLI::App* command = add_command(
        *rule, "add", "Add a rule that ends by itself, and reload; one that is refused leaves nothing",
        kRuleAddExamples, [options = options_](const Context& context) { return add_rule(context, options->rule); });
    add_rule_options(*command, options_->rule);
    command = add_command(
        *rule, "remove", "Remove a rule, or all of an owner, and reload", kRuleRemoveExamples,
        [options = options_](const Context& context) { return remove_rules(context, options->rule_removal); });
    add_removal_options(*command, options_->rule_removal);
    add_command(*rule, "list", "Show the rules, for whom they are and when they end",
                "  rdma-qosctl rule list\n  rdma-qosctl rule list --json", list_rules);
}

void Parser::add_simulate()
{
    CLI::App* command = add_command(
        "simulate", "Show who would get what under a load, and what limits it",
        "  rdma-qosctl simulate --load rpc=50Gbps,bulk=inf                 in the trees as they are\n"
        "  rdma-qosctl simulate new.yaml --load 'rpc*8=1Gbps,rpc=inf'\n"
        "  rdma-qosctl simulate --offline --loads day.yaml --html day.html --check\n"
        "  rdma-qosctl simulate --devices devices.yaml --device mlx5_1 --load bulk=inf",
        [options = options_](const Context& context) { return simulate(context, options->simulate); });
    add_simulate_options(*command, options_->simulate);
}

void Parser::add_show_config()
{
    CLI::App* command = add_command(
        "show-config", "Print the merged policy with the origin of every value, and the defaults",
        "  rdma-qosctl show-config                        the host's files; do they run?\n"
        "  rdma-qosctl show-config base.yaml site.yaml    these, merged in this order\n"
        "  rdma-qosctl show-config >one-file.yaml         a policy by itself: `check one-file.yaml` reads it",
        [options = options_](const Context& context) { return show_config(context, options->show_config); });
    command->add_option("FILE", options_->show_config.files,
                        "Policy files, merged in this order; -: stdin; none: the host's files");
    command->add_flag("--offline", options_->show_config.offline, "Do not ask the daemon which policy it runs");
}

void Parser::add_imports()
{
    CLI::App* command = add_command(
        "import-fabric",
        "Generate the fabric file from ibnetdiscover's output, OpenSM's partitions.conf and a "
        "node-name-map",
        "  ibnetdiscover | rdma-qosctl import-fabric --ibnetdiscover - --partitions /etc/opensm/partitions.conf\n"
        "  rdma-qosctl import-fabric --ibnetdiscover topology --sm 0x0002c90300a1b2c1 --output fabric.yaml",
        [options = options_](const Context& context) { return import_fabric(context, options->import_fabric); });
    add_import_fabric_options(*command, options_->import_fabric);

    command = add_command(
        "import-opensm", "Convert OpenSM's native policy to YAML, with comments and blocks to fill in",
        "  rdma-qosctl import-opensm /etc/opensm/qos-policy.conf >policy.yaml\n"
        "  rdma-qosctl import-opensm qos-policy.conf --fabric fabric.yaml --output policy.yaml",
        [options = options_](const Context& context) {
            return options->import_topology.empty()
                       ? import_opensm(context, options->import_opensm)
                       : import_opensm_case(context, options->import_opensm, options->import_topology);
        });
    add_import_opensm_options(*command, options_->import_opensm, options_->import_topology);
}

void Parser::add_views()
{
    CLI::App* why_command = add_command(
        "why", "Explain why a process gets what it gets: its place in the tree, the bottleneck, and the remedy",
        "  rdma-qosctl why 4711                           a process, or a queue pair of this number\n"
        "  rdma-qosctl why 'job-7*.scope'                 the processes of a unit\n"
        "  rdma-qosctl why mlx5_0:17                      whoever has queue pair 17 on mlx5_0",
        [options = options_](const Context& context) { return why(context, options->why); });
    why_command->add_option("PID|UNIT|QP", options_->why.target, "A process id, a unit, or [DEVICE|qp]:NUMBER")
        ->required();
    why_command
        ->add_option("--interval", options_->why.interval_ms,
                     "Milliseconds between two readings of the port counters; 0: do not read them")
        ->type_name("MS")
        ->check(CLI::Range(0, 60'000));

    add_command("status", "Show whether anything is wrong, and what to do about it",
                "  rdma-qosctl status\n"
                "  rdma-qosctl status --check                     for scripts: status 3 if there is a problem",
                [options = options_](const Context& context) { return status(context, options->fail_on_problems); })
        ->add_flag("--check", options_->fail_on_problems, "Exit with status 3 if there is a problem");

    CLI::App* tree_command = add_command(
        "tree", "Draw the scheduling tree of each device",
        "  rdma-qosctl tree\n"
        "  rdma-qosctl tree --busy mlx5_0 mlx5_1          with what each leaf gets when all send",
        [options = options_](const Context& context) { return tree(context, options->tree); });
    tree_command->add_option("DEVICE", options_->tree.devices, "Name, name/port, netdev or PCI address; none: all");
    tree_command->add_flag("--busy", options_->tree.busy,
                           "Add what each leaf gets when all that hold queue pairs send");
    tree_command->add_flag("--all", options_->tree.all, "Draw every process of a class, not only the first 16");
}

void Parser::add_listings()
{
    add_command("levels", "List the levels of the running policy", "  rdma-qosctl levels",
                [](const Context& context) { return levels(context); });

    add_command("devices", "List the devices, or show one in detail",
                "  rdma-qosctl devices\n"
                "  rdma-qosctl devices mlx5_0/1",
                [options = options_](const Context& context) { return devices(context, options->device); })
        ->add_option("DEVICE", options_->device, "Name, name/port, netdev or PCI address; none: all");

    CLI::App* sessions_command = add_command(
        "sessions", "List who has registered, and the level and leaf of each queue pair",
        "  rdma-qosctl sessions\n"
        "  rdma-qosctl sessions 4711                      of this process",
        [options = options_](const Context& context) { return sessions(context, options->sessions); });
    sessions_command->add_option("PID", options_->sessions.pid, "Only sessions of this process; none: all");
    sessions_command->add_option("--level", options_->sessions.level, "Only sessions with something in this level")
        ->type_name("LEVEL");
    sessions_command->add_flag("--all", options_->sessions.all, "On a terminal too, not only the first 100 and theirs");

    CLI::App* qps_command = add_command(
        "qps", "List all queue pairs of this host, whoever made them, and why those outside the tree are there",
        "  rdma-qosctl qps\n"
        "  rdma-qosctl qps 4711                           of this process\n"
        "  rdma-qosctl qps --outside --device mlx5_0      of programs, in no leaf\n"
        "  rdma-qosctl qps --outside=no-rule,excluded     for one of these reasons",
        [options = options_](const Context& context) { return host_queue_pairs(context, options->host); });
    qps_command->add_option("PID", options_->host.pid, "Only those of this process; none: all");
    qps_command->add_option("--device", options_->host.device, "Only those of this device")->type_name("DEVICE");
    qps_command->add_option("--unit", options_->host.unit, "Only those of this systemd unit; may be a glob")
        ->type_name("UNIT");
    qps_command->add_option("--level", options_->host.level, "Only those in this level")->type_name("LEVEL");
    qps_command->add_flag("--outside", options_->host.outside,
                          "Only those of programs that are in no leaf; --outside=WORD,...: for one of these reasons");

    add_command("metrics", "Print the daemon's metrics in the text format of Prometheus",
                "  rdma-qosctl metrics\n"
                "  rdma-qosctl metrics | grep port_transmit\n"
                "  rdma-qosctl metrics --json                     taken apart, for scripts",
                [](const Context& context) { return metrics(context); });

    add_command("monitor", "Print each change as one sentence, until interrupted",
                "  rdma-qosctl monitor\n  rdma-qosctl monitor --json | jq .text",
                [](const Context& context) { return monitor(context); });

    // For the completion of shells; --help does not list it.
    CLI::App* names_command = add_command(
        "names", "List names for the completion of shells", "  rdma-qosctl names levels",
        [options = options_](const Context& context) { return names(context, options->kind); });
    names_command->group("");
    const CLI::IsMember kinds({"levels", "devices", "sessions"});
    names_command->add_option("KIND", options_->kind)->required()->check(kinds);
}

void Parser::add_hardware_report()
{
    CLI::App* command = add_command(
        "hardware-report", "Print everything known about the cards, for a question or a bug report",
        "  rdma-qosctl hardware-report >report.txt\n"
        "  rdma-qosctl hardware-report mlx5_0 --json\n"
        "  rdma-qosctl hardware-report --guids            with the whole GUIDs, not the vendor's part alone",
        [options = options_](const Context& context) { return hardware_report(context, options->hardware_report); });
    command->add_option("DEVICE", options_->hardware_report.device,
                        "Name, name/port, netdev or PCI address; none: all");
    command->add_flag("--guids", options_->hardware_report.guids, "Show GUIDs in full");
}

void Parser::add_device_commands()
{
    add_command("reconcile", "Make devices match the policy now",
                "  rdma-qosctl reconcile                          all devices\n"
                "  rdma-qosctl reconcile mlx5_0",
                [options = options_](const Context& context) { return reconcile(context, options->device); })
        ->add_option("DEVICE", options_->device, "Name, name/port, netdev or PCI address; none: all");
    add_command("verify", "Read every element back and report drift, without repairing; status 3 if there is any",
                "  rdma-qosctl verify\n"
                "  rdma-qosctl verify mlx5_0 || rdma-qosctl reconcile mlx5_0",
                [options = options_](const Context& context) { return verify(context, options->device); })
        ->add_option("DEVICE", options_->device, "Name, name/port, netdev or PCI address; none: all");
    auto* disabling = add_command(
        "disable", "Detach every queue pair and remove the tree, until `enable`; sessions stay",
        "  rdma-qosctl disable mlx5_0\n"
        "  rdma-qosctl disable --all                      every device that is there",
        [options = options_](const Context& context) { return disable(context, options->device, options->all); });
    auto* device = disabling->add_option("DEVICE", options_->device, "Name, name/port, netdev or PCI address");
    disabling->add_flag("--all", options_->all, "Every device that is there")->excludes(device);
    auto* enabling = add_command(
        "enable", "Undo `disable` or `release`: rebuild the tree and attach queue pairs again",
        "  rdma-qosctl enable                             all devices\n"
        "  rdma-qosctl enable mlx5_0",
        [options = options_](const Context& context) { return enable(context, options->device); });
    device = enabling->add_option("DEVICE", options_->device, "Name, name/port, netdev or PCI address; none: all");
    enabling->add_flag("--all", options_->all, "All devices, as without a name")->excludes(device);
    add_command("release", "Remove everything from a device and close it, before work on its driver",
                "  rdma-qosctl release mlx5_0 && modprobe -r mlx5_ib\n"
                "  rdma-qosctl enable mlx5_0                      if it was not unplugged or its driver unloaded",
                [options = options_](const Context& context) { return release(context, options->device); })
        ->add_option("DEVICE", options_->device, "Name, name/port, netdev or PCI address")
        ->required();
}

void Parser::add_path_commands()
{
    const auto add_sources = [this](CLI::App* command) {
        add_request_options(*command, options_->explain.request);
        command->add_option("--device", options_->explain.request.device, "Device, netdev or PCI address")
            ->type_name("DEVICE");
        command->add_option("--sl", options_->explain.request.sl, "Service level of the query")->type_name("0-15");
        command->add_option("--mtu", options_->explain.request.mtu, "2048, >1024, <4096")->type_name("BYTES");
        command->add_option("--rate", options_->explain.request.rate, "40Gbps, >10Gbps, <100Gbps")->type_name("RATE");
        command->add_option("--packet-life", options_->explain.request.packet_life, "16, <18")->type_name("0-63");
        command->add_option("POLICY", options_->explain.policy, "Answer from this policy file; no daemon needed")
            ->check(policy_file(*command));
        command->add_option("--devices", options_->explain.devices_file, "Answer for the devices of this file, offline")
            ->type_name("FILE.yaml");
        command->add_flag("--offline", options_->explain.offline, "Answer from the host's files");
        add_identity_options(*command);
    };
    add_sources(add_command(
        "explain", "Show which level a request gets and why, rule by rule",
        "  rdma-qosctl explain --service-id 0x10064 --destination 10.1.0.7\n"
        "  rdma-qosctl explain --port-space tcp --destination-port 4420\n"
        "  rdma-qosctl explain --pid 4711                 as this process would be seen\n"
        "  rdma-qosctl explain new.yaml --as-user alice --as-unit job-7.scope",
        [options = options_](const Context& context) { return explain_request(context, options->explain); }));
    CLI::App* query_path_command = add_command(
        "query-path", "Answer as a PathRecord query would be: MTU, rate, packet life, P_Key, SL",
        "  rdma-qosctl query-path --source fd00::1 --destination fd00::2 --qos-class 7\n"
        "  rdma-qosctl query-path --source fd00::1 --destination fd00::2 --destination fd00::3\n"
        "  rdma-qosctl query-path new.yaml --level rpc --mtu '>1024'\n"
        "  rdma-qosctl query-path policy.conf --strict --topology topology.txt --batch queries.txt\n"
        "  rdma-qosctl query-path --broadcast Part1           does its IPoIB group agree with the policy?",
        [options = options_](const Context& context) { return query_path(context, options->explain); });
    add_sources(query_path_command);
    query_path_command
        ->add_option("--broadcast", options_->explain.broadcast,
                     "Compare the IPoIB broadcast group of this partition with the path; status 3 if they disagree")
        ->type_name("PARTITION");
    add_batch_options(*query_path_command);
}

void Parser::add_batch_options(CLI::App& command)
{
    BatchOptions& batch = options_->batch;
    CLI::Option* queries = command.add_option("--batch", batch.queries, "Answer each line of this file (-: stdin)");
    queries->type_name("FILE");
    command.add_flag("--strict", batch.strict, "With --batch: reject a native OpenSM policy where OpenSM does")
        ->needs(queries)
        ->needs("POLICY");
    CLI::Option* topology = command.add_option("--topology", batch.topology, "With --batch: the fabric of a test case");
    topology->type_name("FILE")->needs(queries);
    command.add_option("--fabric", batch.fabric, "With --batch: a fabric file")
        ->type_name("FILE")
        ->needs(queries)
        ->excludes(topology);
    command.callback([this] {
        run_ = [options = options_](const Context& context) -> Result<int> {
            if (options->batch.queries.empty()) {
                const auto status = query_path(context, options->explain);
                return status ? Result<int>(static_cast<int>(*status)) : fail(status.error());
            }
            options->batch.policy = options->explain.policy;
            return query_path_batch(context, options->batch);
        };
    });
}

void Parser::add_request_options(CLI::App& command, RequestOptions& request) const
{
    command.add_option("--level", request.level, "This level or an error")->type_name("LEVEL");
    command.add_option("--qos-class", request.qos_class, "Number or name")->type_name("CLASS");
    command.add_option("--tos", request.tos, "Type of service that rdma_cm sends as the QoS class of an IPv4 address")
        ->type_name("0-255");
    command.add_option("--service-id", request.service_id, "64-bit number")->type_name("ID");
    command.add_option("--port-space", request.port_space, "With --destination-port: as rdma_cm forms a service id")
        ->type_name("tcp|udp|ib|ipoib");
    command.add_option("--destination-port", request.destination_port, "With --port-space")->type_name("PORT");
    command.add_option("--pkey", request.pkey, "With or without the membership bit")->type_name("PKEY");
    command.add_option("--source", request.source, "GID, GUID or LID (lid:17); query-path takes several")
        ->type_name("END")
        ->allow_extra_args(false);
    command.add_option("--destination", request.destination, "GID, GUID or LID (lid:17); query-path takes several")
        ->type_name("END")
        ->allow_extra_args(false);
    command.add_option("--port", request.port, "Port of the device")->type_name("N");
}

void Parser::add_identity_options(CLI::App& command) const
{
    IdentityOptions& identity = options_->explain.identity;
    command.add_option("--pid", identity.pid, "As this process; offline, as are all of --as-...")->type_name("PID");
    command.add_option("--as-user", identity.user, "As this user, in the user's groups")->type_name("NAME|UID");
    command.add_option("--as-group", identity.groups, "In this group as well")
        ->type_name("NAME|GID")
        ->allow_extra_args(false);
    for (const ClientKey& key : kClientKeys) {
        if (const auto* kind = std::get_if<NameKind>(&key.kind)) {
            const std::string option = fmt::format("--as-{}", key.name());
            command.add_option(option, identity.named.*kind->name, std::string(kind->as_words))
                ->type_name(std::string(kind->as_value));
        }
    }
}

void Parser::add_request()
{
    CLI::App* command = app_.add_subcommand("request", "Hold a session while a command runs (simulated devices: with "
                                                       "queue pairs)");
    command->footer(
        "\nAfter the options: -- COMMAND ARGUMENTS...\nThe command finds RDMA_QOS_SESSION, RDMA_QOS_LEVEL, "
        "RDMA_QOS_SL and RDMA_QOS_TRAFFIC_CLASS in its\nenvironment; the exit status is the command's. Without one, "
        "the session is held until a signal.\nNumbers of --qps and of `auto` come from a block of 1024 reserved for "
        "this process, found by its pid.\n\nExamples:\n  rdma-qosctl request --level rpc --qps 4 --device mlx5_0 -- "
        "sleep 60\n  rdma-qosctl request --qp 17:destination=10.1.0.7 --qp auto:level=bulk,device=mlx5_1 --print");
    HoldOptions& hold_options = options_->hold;
    add_request_options(*command, hold_options.request);
    command->add_option("--device", hold_options.devices, "Device of the queue pairs; may be repeated; none: the first")
        ->type_name("DEVICE")
        ->allow_extra_args(false);
    command->add_option("--qps", hold_options.count, "Number of queue pairs on each device")
        ->type_name("N")
        ->check(CLI::Range(0, 1024));
    command
        ->add_option("--qp", hold_options.queue_pairs,
                     "A queue pair with path keys of its own: NUMBER|auto[:key=value,...], keys device, type and those "
                     "above; may be repeated")
        ->type_name("QP")
        ->allow_extra_args(false);
    command->add_flag("--print", hold_options.print, "Print the grant before the command starts");
    command->callback(
        [this] { run_ = [options = options_](const Context& context) { return hold(context, options->hold); }; });
}

std::variant<Invocation, Finished> Parser::parse(std::vector<std::string> arguments)
{
    // What is behind `--` is not ours: CLI11 would look for commands and options in it.
    if (first_word(arguments) == "request") {
        const auto mark = std::find(arguments.begin(), arguments.end(), kCommandMark);
        if (mark != arguments.end()) {
            options_->hold.command.assign(mark + 1, arguments.end());
            arguments.erase(mark, arguments.end());
        }
    }
    try {
        app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
            return refuse(app_, error, arguments);
        }
        std::ostringstream output;
        std::ostringstream messages;
        app_.exit(error, output, messages);
        return Finished{0, output.str(), messages.str()};
    }
    Invocation invocation;
    invocation.root = root_;
    invocation.system_bus = system_bus_;
    invocation.json = json_;
    invocation.wide = wide_;
    invocation.ask_password = !no_ask_password_;
    invocation.paged = !no_pager_ && std::ranges::find(kPaged, first_word(arguments)) != kPaged.end();
    invocation.colour = colour_ == "always"  ? ColourChoice::Always
                        : colour_ == "never" ? ColourChoice::Never
                                             : ColourChoice::Auto;
    invocation.run = run_;
    return invocation;
}

}    // namespace

std::variant<Invocation, Finished> parse_command_line(const std::vector<std::string>& arguments)
{
    return Parser().parse(arguments);
}

}    // namespace rdmaqos::ctl
