// The events of the log: their ids, and that the catalogue explains each of them and nothing else.
#include "lib/base/log_events.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/golden.h"

namespace rdmaqos {
namespace {

namespace fs = std::filesystem;

// An entry of a catalogue, as journalctl reads them (catalog.c of systemd): a line "-- ID", headers, an empty line,
// text.
struct Entry {
    std::map<std::string, std::string> headers;
    std::string text;
};

std::multimap<std::string, Entry> read_catalogue()
{
    std::multimap<std::string, Entry> entries;
    std::istringstream file(test::read_text(test::source_dir() + "/systemd/rdma-qosd.catalog"));
    Entry* entry = nullptr;
    bool in_headers = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("-- ")) {
            entry = &entries.emplace(line.substr(3), Entry{})->second;
            in_headers = true;
        } else if (entry == nullptr) {
            EXPECT_TRUE(line.empty() || line.starts_with("#")) << line;
        } else if (in_headers && line.empty()) {
            in_headers = false;
        } else if (in_headers) {
            const auto colon = line.find(": ");
            EXPECT_NE(colon, std::string::npos) << line;
            entry->headers[line.substr(0, colon)] = line.substr(std::min(colon + 2, line.size()));
        } else {
            entry->text += line + '\n';
        }
    }
    return entries;
}

// Of the programs; what is only named in a comment or a table does not count.
std::string sources()
{
    std::string all;
    for (const char* folder : {"/lib", "/daemon"}) {
        for (const auto& entry : fs::recursive_directory_iterator(test::source_dir() + folder)) {
            if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h") {
                if (entry.path().filename() != "log_events.h") {
                    all += test::read_text(entry.path());
                }
            }
        }
    }
    return all;
}

// Of LogEvent, as they stand in its definition.
std::vector<std::string> enumerators()
{
    const std::string header = test::read_text(test::source_dir() + "/lib/base/log_events.h");
    const auto begin = header.find("enum class LogEvent");
    std::istringstream lines(header.substr(begin, header.find("};", begin) - begin));
    std::vector<std::string> names;
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
        const auto first = line.find_first_not_of(' ');
        names.push_back(line.substr(first, line.find(',') - first));
    }
    return names;
}

TEST(LogEvents, AreRowsInTheirOrder)
{
    EXPECT_EQ(row_of(LogEvent::None), nullptr);
    EXPECT_EQ(enumerators().size(), kLogEvents.size() + 1);
    for (const auto& row : kLogEvents) {
        EXPECT_EQ(row_of(row.event), &row) << row.name;
    }
}

TEST(LogEvents, HaveIdsOfTheirOwn)
{
    std::set<std::string_view> ids;
    std::set<std::string_view> names;
    for (const auto& row : kLogEvents) {
        EXPECT_TRUE(ids.insert(row.id).second) << row.name;
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_EQ(row.id.size(), 32U) << row.name;
        EXPECT_EQ(row.id.find_first_not_of("0123456789abcdef"), std::string_view::npos) << row.name;
        // As `journalctl --new-id128` makes them: random, by RFC 4122.
        EXPECT_EQ(row.id[12], '4') << row.name;
        EXPECT_NE(std::string_view("89ab").find(row.id[16]), std::string_view::npos) << row.name;
    }
}

TEST(LogEvents, AreLogged)
{
    const std::string code = sources();
    auto names = enumerators();
    EXPECT_EQ(names.front(), "None");
    for (const auto& name : names) {
        EXPECT_TRUE(name == "None" || code.find("LogEvent::" + name) != std::string::npos)
            << name << " is never logged";
    }
}

TEST(LogEvents, AreInTheCatalogueAndNothingElseIs)
{
    const auto entries = read_catalogue();
    for (const auto& row : kLogEvents) {
        EXPECT_EQ(entries.count(std::string(row.id)), 1U) << row.name;
    }
    for (const auto& [id, entry] : entries) {
        EXPECT_TRUE(std::ranges::any_of(kLogEvents, [&](const auto& row) { return row.id == id; })) << id;
        for (const char* header : {"Subject", "Defined-By", "Documentation"}) {
            EXPECT_TRUE(entry.headers.contains(header)) << id << ": " << header;
        }
        EXPECT_EQ(entry.headers.at("Defined-By"), "rdma-qosd");
        EXPECT_GT(entry.text.size(), 100U) << id << " is explained";
        EXPECT_NE(entry.text.find("What to do:"), std::string::npos) << id;
    }
}

// "@RDMAQOS_DEVICE@" in the catalogue stands for a field of the message, which has to have it.
TEST(LogEvents, HaveTheFieldsThatTheCatalogueNames)
{
    const std::string code = sources();
    for (const auto& [id, entry] : read_catalogue()) {
        const std::string all = entry.headers.at("Subject") + "\n" + entry.text;
        for (auto at = all.find('@'); at != std::string::npos; at = all.find('@', at + 1)) {
            const auto end = all.find('@', at + 1);
            ASSERT_NE(end, std::string::npos) << id;
            const std::string field = all.substr(at + 1, end - at - 1);
            ASSERT_TRUE(field.starts_with("RDMAQOS_")) << id << ": " << field;
            EXPECT_NE(code.find("{\"" + field.substr(8) + "\", "), std::string::npos) << id << ": " << field;
            at = end;
        }
    }
}

// The reference in the manual is complete.
TEST(LogEvents, AreInTheManual)
{
    const std::string manual = test::read_text(test::source_dir() + "/docs/man/rdma-qosd.service.8");
    for (const auto& row : kLogEvents) {
        EXPECT_NE(manual.find(row.id), std::string::npos) << row.name;
    }
}

}    // namespace
}    // namespace rdmaqos
