// The sessions with busctl in docs/dbus.md show what busctl shows. RDMAQOS_UPDATE_GOLDEN=1 rewrites those that do not.
// Names and values are compared; how busctl draws them differs from version to version.
//
// Each block runs against a daemon of its own. A command that ends in " &" runs until the block ends, and what it has
// printed by then stands below it. What differs each time (serials, times, unique names) is written as "…".
#include <algorithm>
#include <regex>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/golden.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

std::string without_what_differs(std::string text)
{
    for (const auto& [pattern, replacement] : std::vector<std::pair<const char*, const char*>>{
             {"Cookie=[0-9]+", "Cookie=…"},
             {"Timestamp=\"[^\"]*\"", "Timestamp=\"…\""},
             {":1\\.[0-9]+", ":1.…"},
             {"pid:[0-9]+", "pid:…"},
             {" +\n", "\n"},
         }) {
        text = std::regex_replace(text, std::regex(pattern), replacement);
    }
    return text;
}

// Without lines of trees, bullets and the width of columns: the words of each line.
std::string words_of(const std::string& text)
{
    std::string words;
    for (const auto line : lines_of(text)) {
        std::string undrawn(line);
        for (const std::string_view drawn : {"│", "├", "└", "─", "‣", "→"}) {
            for (auto at = undrawn.find(drawn); at != std::string::npos; at = undrawn.find(drawn, at)) {
                undrawn.replace(at, drawn.size(), " ");
            }
        }
        std::istringstream in(undrawn);
        const std::string before = words;
        for (std::string word; in >> word;) {
            words += (words == before ? "" : " ") + word;
        }
        words += words == before ? "" : "\n";
    }
    return words;
}

class Session {
public:
    // Plays the commands of the block; gives it back with what they print now.
    std::string play(const std::string& block)
    {
        std::vector<Played> all;
        std::vector<std::size_t> shown;    // lines below each
        for (const auto line : lines_of(block)) {
            if (line.starts_with("$ ")) {
                run(all.emplace_back(
                    Played{std::string(line.substr(2)), root() / fmt::format("output-{}", all.size()), {}}));
                shown.push_back(0);
            } else if (!shown.empty()) {
                ++shown.back();
            }
        }
        std::string text;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto& [command, output, process] = all[i];
            text += "$ " + command + "\n" +
                    without_what_differs(process ? settled(output, shown[i]) : read_text(output));
        }
        return text;
    }

private:
    struct Played {
        std::string command;
        std::filesystem::path output;
        std::unique_ptr<Child> process;    // in the background
    };

    [[nodiscard]] std::filesystem::path root() const { return daemon_.root(); }

    void run(Played& one) const
    {
        const bool in_background = one.command.ends_with(" &");
        const std::string command = one.command.substr(0, one.command.size() - (in_background ? 2 : 0));
        // The test's own address of the bus may be that of a test before.
        const std::string script = fmt::format("export DBUS_SYSTEM_BUS_ADDRESS='{}' LC_ALL=C.UTF-8; {}{}",
                                               daemon_.bus_address(), in_background ? "exec " : "", command);
        auto child = std::make_unique<Child>(std::vector<std::string>{"/bin/sh", "-c", script},
                                             std::vector<std::string>{}, one.output);
        if (!in_background) {
            EXPECT_TRUE(child->wait()) << one.command;
            return;
        }
        one.process = std::move(child);
        EXPECT_TRUE(eventually([&] { return !read_text(one.output).empty(); })) << one.command;    // it listens
    }

    // When it is as long as what is shown, and nothing was added for a while.
    static std::string settled(const std::filesystem::path& file, std::size_t lines)
    {
        static_cast<void>(eventually([&] { return lines_of(read_text(file)).size() >= lines; }));    // else they differ
        std::string now;
        for (std::string before = "-"; before != now;) {
            before = now;
            std::this_thread::sleep_for(500ms);
            now = read_text(file);
        }
        return now;
    }

    Daemon daemon_;
};

TEST(Busctl, SessionsInTheManualShowWhatItShows)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may own org.rdmaqos1 on a bus with our policy";
    }
    if (EmulatedNics::wanted()) {
        GTEST_SKIP() << "the manual shows simulated devices";
    }
    if (std::system("busctl --version >/dev/null 2>&1") != 0) {
        GTEST_SKIP() << "busctl is not installed (Debian package systemd)";
    }
    const std::string begin = "```console\n";
    const std::string end = "```\n";
    const std::string file = source_dir() + "/docs/dbus.md";
    const std::string text = read_text(file);
    std::string played;
    std::size_t at = 0;
    std::size_t blocks = 0;
    for (auto block = text.find(begin); block != std::string::npos; block = text.find(begin, at)) {
        block += begin.size();
        played += text.substr(at, block - at);
        at = text.find(end, block);
        ASSERT_NE(at, std::string::npos);
        const std::string then = text.substr(block, at - block);
        const std::string now = Session().play(then);
        played += words_of(now) == words_of(then) ? then : now;
        ++blocks;
    }
    played += text.substr(at);
    EXPECT_GE(blocks, 3U) << "introspect, tree, monitor";
    if (std::getenv("RDMAQOS_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(file, std::ios::binary) << played;
    } else {
        const auto now = lines_of(played);
        const auto then = lines_of(text);
        const auto differs = std::ranges::mismatch(then, now);
        EXPECT_TRUE(text == played) << "rewrite them with RDMAQOS_UPDATE_GOLDEN=1; the first line that differs:\n"
                                    << (differs.in1 == then.end() ? "none" : *differs.in1) << "\n"
                                    << (differs.in2 == now.end() ? "none" : *differs.in2);
    }
}

TEST(Busctl, OnlyItsDrawingMayDiffer)
{
    EXPECT_EQ(words_of("└─/org\n  ├─/org/a  \n\n"), words_of("└─ /org\n    ├─ /org/a\n"));
    EXPECT_EQ(words_of(".Name   property  s \"a\"\n"), words_of(".Name property s   \"a\"\n"));
    EXPECT_NE(words_of("└─/org\n"), words_of("└─/orgs\n"));
    EXPECT_NE(words_of(".Name property s\n"), words_of(".Name property u\n"));
    EXPECT_NE(words_of("a\nb\n"), words_of("a b\n"));
}

}    // namespace
}    // namespace rdmaqos::test
