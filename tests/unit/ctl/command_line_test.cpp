#include "tools/rdma-qosctl/command_line.h"

#include <iterator>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/match/criteria.h"
#include "tests/support/golden.h"

namespace rdmaqos::ctl {
namespace {

using testing::HasSubstr;

Finished refused(const std::vector<std::string>& arguments)
{
    const auto parsed = parse_command_line(arguments);
    const auto* finished = std::get_if<Finished>(&parsed);
    EXPECT_NE(finished, nullptr);
    return finished == nullptr ? Finished{} : *finished;
}

TEST(CommandLine, Version)
{
    const Finished finished = refused({"--version"});
    EXPECT_EQ(finished.status, 0);
    EXPECT_THAT(finished.output, testing::MatchesRegex("rdma-qosctl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

void expect_examples(std::vector<std::string> words, const Verb& verb)
{
    words.emplace_back(verb.name);
    const std::string command = fmt::format("rdma-qosctl {}", fmt::join(words, " "));
    for (const Verb& part : verb.parts) {
        expect_examples(words, part);
    }
    words.emplace_back("--help");
    const Finished finished = refused(words);
    EXPECT_EQ(finished.status, 0) << command;
    EXPECT_THAT(finished.output, HasSubstr("Examples:")) << command;
    EXPECT_THAT(finished.output, HasSubstr(command));
    EXPECT_THAT(finished.output, HasSubstr(std::string(verb.examples))) << command;
}

TEST(CommandLine, HelpOfEveryVerbHasExamples)
{
    EXPECT_GT(all_verbs().size(), 28U);
    for (const Verb* verb : all_verbs()) {
        expect_examples({}, *verb);
    }
}

TEST(CommandLine, WhatIsShownIsPaged)
{
    const auto is_paged = [](const std::vector<std::string>& arguments) {
        const auto parsed = parse_command_line(arguments);
        const auto* invocation = std::get_if<Invocation>(&parsed);
        return invocation != nullptr && invocation->paged;
    };
    EXPECT_TRUE(is_paged({"status"}));
    EXPECT_TRUE(is_paged({"--json", "query-path"}));
    EXPECT_FALSE(is_paged({"status", "--no-pager"}));
    EXPECT_FALSE(is_paged({"reload"}));
    EXPECT_FALSE(is_paged({"rule", "list"}));
}

TEST(CommandLine, WhatTheCompletionOfShellsAsksIsHidden)
{
    EXPECT_THAT(refused({"--help"}).output, testing::Not(HasSubstr("names")));
    EXPECT_TRUE(std::holds_alternative<Invocation>(parse_command_line({"names", "levels"})));
    EXPECT_EQ(refused({"names", "queue-pairs"}).status, 1);
}

// What rules can ask for can be said.
TEST(CommandLine, EveryCriterionHasItsOption)
{
    const std::string help = refused({"explain", "--help"}).output;
    for (const Criterion& criterion : kRequestCriteria) {
        EXPECT_THAT(help, HasSubstr(fmt::format("--{} ", criterion.key)));
    }
    for (const ClientKey& key : kClientKeys) {
        EXPECT_THAT(help, HasSubstr(fmt::format("--as-{} ", key.name())));
    }
}

TEST(CommandLine, EveryCriterionOfARuleHasItsOption)
{
    const std::string help = refused({"rule", "add", "--help"}).output;
    for (const Criterion& criterion : kRequestCriteria) {
        EXPECT_THAT(help, HasSubstr(fmt::format("--{} ", criterion.key)));
    }
    for (const ClientKey& key : kClientKeys) {
        EXPECT_THAT(help, HasSubstr(fmt::format("--{} ", key.name() == "cgroup" ? "cgroup-pattern" : key.name())));
    }
    for (const char* part : {"add", "remove", "list"}) {
        EXPECT_THAT(refused({"rule", part, "--help"}).output, HasSubstr(fmt::format("rdma-qosctl rule {}", part)));
    }
    EXPECT_EQ(refused({"rule"}).status, 1);
    EXPECT_EQ(refused({"rule", "remove", "a", "--owner", "b"}).status, 1);
    EXPECT_THAT(refused({"rule", "add", "--level", "bulk", "--ownr", "x"}).error, HasSubstr("did you mean `--owner`?"));
}

struct BadCase {
    std::vector<std::string> arguments;
    const char* error;
    const char* hint;
};

TEST(CommandLine, Mistakes)
{
    const BadCase cases[] = {
        {{}, "which command?", "--help"},
        {{"--json"}, "which command?", "--help"},
        {{"statsu"}, "there is no command `statsu`", "did you mean `status`?"},
        {{"--root", "/x", "chekc", "a.yaml"}, "there is no command `chekc`", "did you mean `check`?"},
        {{"frobnicate"}, "there is no command `frobnicate`", "lists the commands"},
        {{"a\x1b"}, "a\\x1b", "lists the commands"},
        {{"explain", "--lvel", "x"}, "--lvel", "did you mean `--level`?"},
        {{"status", "--jsno"}, "--jsno", "did you mean `--json`?"},
        {{"status", "extra"}, "extra", "status --help"},
        {{"--colour", "maybe", "status"}, "maybe", "status --help"},
        {{"request", "--qps", "4000000000"}, "--qps", "request --help"},
        {{"request", "--qps", "x"}, "--qps", "request --help"},
        {{"simulate", "--laod", "rpc=inf"}, "rpc=inf", "did you mean `--load`?"},
        {{"release"}, "DEVICE", "release --help"},
        {{"disable", "--all", "mlx5_0"}, "DEVICE", "disable --help"},
        {{"request", "sleep", "1"}, "sleep", "put `--` before the command"},
        {{"request", "level=rpc"}, "level=rpc", "options begin with `--`: `--level rpc`"},
        {{"explain", "level=rpc"}, "there is no file `level=rpc`", "options begin with `--`: `--level rpc`"},
        {{"simulate", "--load", "a=inf", "b=inf"}, "loads are one list", "simulate --help"},
    };
    for (const auto& [arguments, error, hint] : cases) {
        const Finished finished = refused(arguments);
        EXPECT_EQ(finished.status, 1);
        EXPECT_EQ(finished.output, "");
        EXPECT_THAT(finished.error, testing::StartsWith("rdma-qosctl: error: "));
        EXPECT_THAT(finished.error, HasSubstr(error));
        EXPECT_THAT(finished.error, HasSubstr(std::string("  hint: ")));
        EXPECT_THAT(finished.error, HasSubstr(hint));
    }
}

TEST(CommandLine, GlobalOptionsGoBeforeOrBehindTheCommand)
{
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"--root", "/r", "--json", "--colour", "never", "status"},
                                               {"status", "--json", "--root=/r", "--color", "never"}}) {
        const auto parsed = parse_command_line(arguments);
        const auto* invocation = std::get_if<Invocation>(&parsed);
        ASSERT_NE(invocation, nullptr);
        EXPECT_EQ(invocation->root, "/r");
        EXPECT_TRUE(invocation->json);
        EXPECT_EQ(invocation->colour, ColourChoice::Never);
        EXPECT_TRUE(invocation->run);
    }
}

// Whoever follows the checklist knows no better than to type what it says.
TEST(CommandLine, TheHardwareChecklistNamesCommandsThatThereAre)
{
    const std::string text = rdmaqos::test::read_text(rdmaqos::test::source_dir() + "/docs/hardware-checklist.md");
    const std::regex command("rdma-qosctl ([^`|;>#\n]*)");
    std::size_t count = 0;
    for (std::sregex_iterator found(text.begin(), text.end(), command), end; found != end; ++found, ++count) {
        std::istringstream words((*found)[1].str());
        const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
        EXPECT_TRUE(std::holds_alternative<Invocation>(parse_command_line(arguments))) << found->str();
    }
    EXPECT_GT(count, 10U);
}

// What is behind `--` belongs to the command that is run, even if it looks like ours.
TEST(CommandLine, RequestLeavesItsCommandAlone)
{
    const auto parsed = parse_command_line({"request", "--level", "rpc", "--", "status", "--json", "--help", "--"});
    const auto* invocation = std::get_if<Invocation>(&parsed);
    ASSERT_NE(invocation, nullptr);
    EXPECT_FALSE(invocation->json);
    EXPECT_THAT(invocation->command, testing::ElementsAre("status", "--json", "--help", "--"));
}

// A part of `override` is run alone, and a level of its own comes before none.
TEST(CommandLine, OverrideOrOneOfItsParts)
{
    for (const auto& good : std::vector<std::vector<std::string>>{
             {"override", "rpc", "--max-rate", "1Gbps"}, {"override", "list"}, {"override", "--level", "list"}}) {
        EXPECT_TRUE(std::holds_alternative<Invocation>(parse_command_line(good)))
            << fmt::format("{}", fmt::join(good, " "));
    }
    EXPECT_THAT(refused({"override"}).error, HasSubstr("LEVEL is required"));
    EXPECT_THAT(refused({"override", "rpc", "list"}).error, HasSubstr("take neither a level before them"));
    EXPECT_THAT(refused({"override", "--for", "3m", "clear", "rpc"}).error, HasSubstr("take neither a level"));
}

// The option must not swallow the words behind it.
TEST(CommandLine, RepeatedOptionsTakeOneValueEach)
{
    const auto parsed = parse_command_line({"query-path", "--source", "fd00::1", "--source", "fd00::2", "--offline"});
    EXPECT_TRUE(std::holds_alternative<Invocation>(parsed));
    EXPECT_TRUE(std::holds_alternative<Invocation>(
        parse_command_line({"simulate", "--load", "a=inf,b=1Gbps", "--load", "c=inf", "--check"})));
}

TEST(CommandLine, DisableWantsADeviceOrAll)
{
    const auto parsed = parse_command_line({"--root", "/nonexistent", "disable"});
    const auto* invocation = std::get_if<Invocation>(&parsed);
    ASSERT_NE(invocation, nullptr);
    const auto result = invocation->run({});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(result.error().message, HasSubstr("`--all`"));
}

// Nothing listens below this root.
TEST(CommandLine, CommandsThatNeedTheDaemonSaySo)
{
    for (const char* command : {"reload", "status", "tree", "levels", "devices", "sessions", "reconcile", "verify",
                                "enable", "request", "metrics", "monitor", "hardware-report"}) {
        const auto parsed = parse_command_line({"--root", "/nonexistent", command});
        const auto* invocation = std::get_if<Invocation>(&parsed);
        ASSERT_NE(invocation, nullptr) << command;
        Context context;
        context.root = invocation->root;
        const auto result = invocation->run(context);
        ASSERT_FALSE(result.has_value()) << command;
        EXPECT_EQ(result.error().code, ErrorCode::NoDaemon) << command;
        EXPECT_THAT(result.error().message, HasSubstr("/nonexistent")) << command;
    }
}

}    // namespace
}    // namespace rdmaqos::ctl
