// rdma-qos-run: runs a program that knows nothing of rdma-qosd so that its queue pairs are in classes of the policy.
//
// It only prepares the environment, and then becomes the program: exit status, signals and process id are the program's
// own. What follows the queue pairs is the library in preload/, which the dynamic linker loads into it.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/try.h"
#include "lib/base/version.h"
#include "tools/rdma-qos-run/default_tos.h"
#include "tools/rdma-qos-run/marks.h"
#include "tools/rdma-qos-run/preload/complaint.h"
#include "tools/rdma-qos-run/program_file.h"

namespace rdmaqos::run {
namespace {

namespace fs = std::filesystem;

// As env(1), nohup(1) and timeout(1) do it.
constexpr int kRefused = 125;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

constexpr const char* kPreload = "librdma-qos-run.so";

struct Options {
    std::string level;
    bool required = false;
    bool keep_sl = false;
    bool print_env = false;
    std::vector<std::string> default_tos;
    std::string root;
    std::vector<std::string> command;
};

int refuse(const std::string& why)
{
    fmt::print(stderr, "rdma-qos-run: error: {}\n", why);
    return kRefused;
}

// Next to the program in a build tree, else where it is installed.
fs::path preload_library()
{
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path in_build = here / kPreload;
    return fs::exists(in_build) ? in_build : (here / RDMAQOS_PRELOAD_FOLDER / kPreload).lexically_normal();
}

void set_variable(const std::string& name, const std::string& value)
{
    setenv(name.c_str(), value.c_str(), 1);    // NOLINT(concurrency-mt-unsafe): one thread
}

// Before the others: what it passes on goes through them.
void preload(const fs::path& library)
{
    const char* others = std::getenv("LD_PRELOAD");    // NOLINT(concurrency-mt-unsafe): one thread
    set_variable("LD_PRELOAD",
                 others != nullptr && *others != '\0' ? library.string() + ":" + others : library.string());
}

// The dynamic linker splits its list at both, and knows no way to quote them.
bool can_be_preloaded(const fs::path& library)
{
    return library.string().find_first_of(" :") == std::string::npos;
}

// gcc's address sanitizer ends a program in which it is not the first library, for it might be loaded too late. Ours
// passes on what it takes. Not only for this program: it may start others.
void allow_sanitizer()
{
    constexpr const char* kCheck = "verify_asan_link_order";
    const char* given = std::getenv("ASAN_OPTIONS");    // NOLINT(concurrency-mt-unsafe): one thread
    const std::string options = given == nullptr ? "" : given;
    if (options.find(kCheck) == std::string::npos) {
        set_variable("ASAN_OPTIONS", fmt::format("{}{}{}=0", options, options.empty() ? "" : ":", kCheck));
    }
}

void configure(const std::string& name, const std::string& value)
{
    if (value.empty()) {
        unsetenv(name.c_str());    // NOLINT(concurrency-mt-unsafe): of a launcher further out
    } else {
        set_variable(name, value);
    }
}

int print_environment(const Options& options)
{
    const auto marks = ask_marks(options.root, options.level);
    if (!marks) {
        return refuse(marks.error().message);
    }
    const marks::HostLinks links = marks::links_of_host();
    for (const marks::Variable& each : marks::variables_of(*marks, links)) {
        fmt::print("{}={}\n", each.name, each.value);
    }
    for (const std::string& sentence : marks::left_out(*marks, links)) {
        fmt::print(stderr, "rdma-qos-run: {}\n", sentence);
    }
    return 0;
}

// For what the preload library cannot mark: address handles of datagrams, DC. Only with a level for all of the program,
// and only where the user has set nothing.
void export_marks(const Options& options, const Result<marks::Marks>& marks)
{
    if (!marks || options.level.empty() || options.keep_sl) {
        return;
    }
    for (const marks::Variable& each : marks::variables_of(*marks, marks::links_of_host())) {
        setenv(each.name.c_str(), each.value.c_str(), 0);    // NOLINT(concurrency-mt-unsafe): one thread
    }
}

// A line, and the program runs on; with --required it does not. False: it does not.
bool accept(const Options& options, const std::string& program, const std::string& why)
{
    if (options.required) {
        fmt::print(stderr, "rdma-qos-run: error: {}: {}\n", program, why);
        return false;
    }
    complain(options.root.c_str(), COMPLAINT_NOT_GOVERNED, "%s runs without a class: %s", program.c_str(), why.c_str());
    return true;
}

Result<std::vector<DefaultTos>> default_tos_of(const Options& options)
{
    std::vector<DefaultTos> all;
    for (const auto& text : options.default_tos) {
        auto parsed = TRY(parse_default_tos(text));
        all.push_back(std::move(parsed));
    }
    return all;
}

int become(const Options& options)
{
    std::vector<char*> arguments;
    for (const auto& word : options.command) {
        arguments.push_back(const_cast<char*>(word.c_str()));    // NOLINT: execvp's signature
    }
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    const int error = errno;
    fmt::print(stderr, "rdma-qos-run: {}: {}\n", options.command.front(), std::strerror(error));    // NOLINT
    return error == ENOENT ? kNotFound : kCannotRun;
}

// What goes wrong here, without --required, is only reported.
int launch(const Options& options)
{
    const auto default_tos = default_tos_of(options);
    if (!default_tos) {
        return refuse(default_tos.error().message);
    }
    const std::string& name = options.command.front();
    const std::string program = find_program(name);
    const fs::path library = preload_library();
    std::optional<std::string> why = program.empty() ? std::nullopt : reason_without_preload(program);
    if (!why && access(library.c_str(), R_OK) != 0) {
        why = fmt::format("{} is missing", library.string());
    }
    if (!why && !can_be_preloaded(library)) {
        why = fmt::format("the dynamic linker cannot preload {}: a blank or a colon is in its path", library.string());
    }
    if (why && !accept(options, name, *why)) {
        return kRefused;
    }
    if (options.required || !options.level.empty()) {
        const auto marks = ask_marks(options.root, options.level);
        if (!marks && options.required) {
            return refuse(marks.error().message);
        }
        export_marks(options, marks);
    }
    const auto set = set_until_the_end(fs::path(options.root + "/sys/kernel/config"), *default_tos);
    if (!set) {
        const std::string text = fmt::format("the default type of service is not set: {}", to_string(set.error()));
        if (options.required) {
            return refuse(text);
        }
        complain(options.root.c_str(), COMPLAINT_MARKING, "%s", text.c_str());
    }
    if (!why) {
        preload(library);
        allow_sanitizer();
        configure("RDMA_QOS_RUN_LEVEL", options.level);
        configure("RDMA_QOS_RUN_KEEP_SL", options.keep_sl ? "1" : "");
        configure("RDMA_QOS_RUN_ROOT", options.root);
    }
    return become(options);
}

int run(int argc, char** argv)
{
    Options options;
    CLI::App app("Runs a program so that its queue pairs are in classes of rdma-qosd.", "rdma-qos-run");
    app.set_version_flag("--version", kVersion);
    app.add_option("--level", options.level, "the level of all its queue pairs, instead of one for each by the rules")
        ->type_name("LEVEL");
    app.add_flag("--required", options.required,
                 "fail, instead of running the program without a class, if the daemon is not there or grants no level");
    app.add_flag("--keep-sl", options.keep_sl, "leave service levels and traffic classes to the program");
    app.add_flag("--print-env", options.print_env,
                 "print the level's service level and traffic class as variables of NCCL, UCX and MPI, and end");
    app.add_option("--default-roce-tos", options.default_tos,
                   "the type of service of rdma_cm connections of a port, for as long as the program runs (root only)")
        ->type_name("DEVICE/PORT=TOS");
    app.add_option("--root", options.root, "look for the daemon below this directory, for tests")->type_name("DIR");
    app.add_option("command", options.command, "the program and its arguments")->type_name("PROG");
    app.positionals_at_end();
    app.footer("Exit status: the program's; 125 refused, 126 cannot be run, 127 not found.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kRefused;
    }
    if (!options.root.empty()) {
        options.root = fs::absolute(options.root).lexically_normal().string();
        if (options.root.ends_with('/')) {
            options.root.pop_back();
        }
    }
    if (options.print_env) {
        return print_environment(options);
    }
    if (options.command.empty()) {
        return refuse("no program is given; try --help");
    }
    return launch(options);
}

}    // namespace
}    // namespace rdmaqos::run

int main(int argc, char** argv)
{
    try {
        return rdmaqos::run::run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "rdma-qos-run: error: {}\n", error.what());
        return rdmaqos::run::kRefused;
    }
}
