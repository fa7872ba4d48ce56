// A program that knows nothing of rdma-qosd: what it prints, and its end. Those of tests/integration/run/programs say
// what they have, and can be held.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

using Words = std::vector<std::string>;

// GIDs to connect to. Policies of these tests name the second one.
constexpr const char* kElsewhere = "fd00:20::1";
constexpr const char* kTarget = "fd00:99::1";

// One of tests/integration/run/programs.
inline std::string program(const std::string& name)
{
    return std::string(RDMAQOS_RUN_PROGRAMS) + "/" + name;
}

// It runs on until let_go(), or its own end.
[[nodiscard]] inline Words held(const TempDir& folder, Words command)
{
    command.insert(command.end(), {"-u", folder.path() / "go"});
    return command;
}
inline void let_go(const TempDir& folder)
{
    folder.write("go", "");
}

// Whether somebody waits for connections on a port of this host.
inline bool is_listened_to(int port)
{
    std::ifstream file("/proc/net/tcp");
    const std::string words = fmt::format(":{:04X} 00000000:0000 0A ", port);    // TCP_LISTEN
    for (std::string line; std::getline(file, line);) {
        if (line.find(words) != std::string::npos) {
            return true;
        }
    }
    return false;
}

struct Described {
    std::uint32_t number = 0;
    std::string marks;    // "sl 3 traffic-class 104"
    int pid = 0;
};

class Running {
public:
    explicit Running(const Words& command, const Words& environment = {})
        : child_(command, environment, folder_.path() / "output")
    {
    }

    [[nodiscard]] std::string output() const
    {
        std::ifstream file(folder_.path() / "output");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // So many processes have said that they are ready.
    [[nodiscard]] bool ready(std::size_t processes = 1) const
    {
        return eventually([&] { return count("ready\n") >= processes; });
    }
    [[nodiscard]] std::size_t count(const std::string& what) const
    {
        const std::string text = output();
        std::size_t found = 0;
        for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) {
            ++found;
        }
        return found;
    }
    [[nodiscard]] std::vector<Described> queue_pairs() const
    {
        std::vector<Described> all;
        std::istringstream lines(output());
        for (std::string line; std::getline(lines, line);) {
            std::istringstream in(line);
            std::string word;
            std::string sl;
            std::string traffic_class;
            Described each;
            if (in >> word && word == "qp" &&
                in >> each.number >> word >> sl >> word >> traffic_class >> word >> each.pid) {
                each.marks = "sl " + sl + " traffic-class " + traffic_class;
                all.push_back(each);
            }
        }
        return all;
    }
    // The exit status; of what was killed 128 + its signal; -1: it runs on.
    int ended(std::chrono::milliseconds patience = kHung)
    {
        const auto status = child_.wait(patience);
        return !status ? -1 : WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
    }
    [[nodiscard]] const Child& child() const { return child_; }

private:
    TempDir folder_;
    Child child_;
};

}    // namespace rdmaqos::test
