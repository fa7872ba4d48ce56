// docs/dbus.md says what the service does: its tables of keys are drawn from those of the conversion, and its methods,
// properties and signals are those of the interface descriptions, which are drawn from the daemon's own tables.
// RDMAQOS_UPDATE_GOLDEN=1 rewrites the tables of keys.
#include <map>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "daemon/bus/request_keys.h"
#include "lib/api/counter.h"
#include "lib/api/device.h"
#include "lib/api/policy.h"
#include "lib/api/port.h"
#include "lib/api/report.h"
#include "lib/api/session.h"
#include "lib/api/traffic.h"
#include "tests/support/golden.h"

namespace rdmaqos::test {
namespace {

using testing::ElementsAreArray;

std::string document()
{
    return source_dir() + "/docs/dbus.md";
}

std::string row(std::string_view name, std::string_view type, std::string_view meaning)
{
    return fmt::format("| `{}` | {} | {} |\n", name, std::regex_replace(std::string(type), std::regex("\\|"), " or "),
                       meaning);
}

std::string table_of(const std::vector<api::Row>& keys)
{
    std::string text = "| key | type | |\n|---|---|---|\n";
    for (const auto& [name, type, meaning] : keys) {
        text += row(name, type, meaning);
    }
    return text;
}

// Of the requests' keys those with one of these uses and none of the others.
std::string table_of(unsigned uses, unsigned others)
{
    std::string text = "| key | type | |\n|---|---|---|\n";
    for (const auto& info : kRequestKeys) {
        if ((info.uses & uses) == 0 || (info.uses & others) != 0) {
            continue;
        }
        std::vector<std::string_view> in;
        for (const auto use : {kRegister, kQueryPath, kExplain, kQueuePair}) {
            if ((info.uses & use) != 0) {
                in.push_back(name_of(use));
            }
        }
        const bool everywhere = (info.uses & uses) == uses;
        text += row(info.name, info.types,
                    everywhere ? std::string(info.meaning) : fmt::format("{}: {}", fmt::join(in, ", "), info.meaning));
    }
    return text;
}

const std::map<std::string, std::string>& tables()
{
    constexpr unsigned kRequests = kRegister | kQueryPath | kExplain;
    static const std::map<std::string, std::string> kTables{
        {"request", table_of(kRequests, 0)},
        {"queue pair", table_of(kQueuePair, kRequests)},
        {"rate", table_of(kRate, 0)},
        {"grant", table_of(api::rows<api::Grant>())},
        {"queue pair result", table_of(api::rows<api::QueuePair>())},
        {"owner", table_of(api::rows<api::Owner>())},
        {"host queue pair", table_of(api::rows<api::HostQueuePair>())},
        {"host count", table_of(api::rows<api::HostCount>())},
        {"program counter", table_of(api::rows<api::ProgramCounter>())},
        {"counted port", table_of(api::rows<api::CountedPort>())},
        {"mark count", table_of(api::rows<api::MarkCount>())},
        {"session count", table_of(api::rows<api::SessionCount>())},
        {"path answer", table_of(api::rows<api::PathAnswer>())},
        {"diagnostic", table_of(api::rows<api::Diagnostic>())},
        {"finding", table_of(api::rows<api::Finding>())},
        {"reload", table_of(api::rows<api::Reload>())},
        {"trial", table_of(api::rows<api::Trial>())},
        {"left out", table_of(api::rows<api::LeftOut>())},
        {"plan", table_of(api::rows<api::Plan>())},
        {"changed level", table_of(api::rows<api::LevelChange>())},
        {"changed part", table_of(api::rows<api::PartChange>())},
        {"moved session", table_of(api::rows<api::SessionChange>())},
        {"lost level", table_of(api::rows<api::LevelLoss>())},
        {"device plan", table_of(api::rows<api::DevicePlan>())},
        {"planned element", table_of(api::rows<DescribedElement>())},
        {"operation", table_of(api::rows<DescribedOperation>())},
        {"unreachable", table_of(api::rows<Unreachable>())},
        {"class rate", table_of(api::rows<std::pair<ElementPath, BusyRate>>())},
        {"device result", table_of(api::rows<api::DeviceResult>())},
        {"failure", table_of(api::rows<api::Failure>())},
        {"drift", table_of(api::rows<api::Drift>())},
        {"level", table_of(api::rows<api::Level>())},
        {"override", table_of(api::rows<api::Override>())},
        {"capabilities", table_of(api::rows<Capabilities>())},
        {"counters", table_of(api::rows<api::Counters>())},
        {"self-test", table_of(api::rows<api::SelfTestStep>())},
        {"port classes", table_of(api::rows<api::Port>())},
        {"port priority", table_of(api::rows<api::PortPriority>())},
        {"port class", table_of(api::rows<api::PortClass>())},
        {"port application", table_of(api::rows<api::PortApplication>())},
        {"port buffer", table_of(api::rows<api::PortBuffer>())},
        {"port change", table_of(api::rows<api::PortChange>())},
        {"port traffic", table_of(api::rows<api::PortTraffic>())},
        {"priority bytes", table_of(api::rows<api::PriorityBytes>())},
        {"port care", table_of(api::rows<api::PortCare>())},
        {"port drift", table_of(api::rows<api::PortDrift>())},
        {"port plan", table_of(api::rows<api::PortPlan>())},
        {"port step", table_of(api::rows<api::PortStep>())},
        {"tree", table_of(api::rows<api::TreeElement>())},
        {"adoption", table_of(api::rows<api::Adoption>())},
        {"running file", table_of(api::rows<api::RunningFile>())},
        {"refused device", table_of(api::rows<api::RefusedDevice>())},
        {"state failure", table_of(api::rows<api::StateFailure>())},
        {"manager statistics", table_of(api::rows<api::ManagerStatistics>())},
        {"device statistics", table_of(api::rows<api::DeviceStatistics>())},
    };
    return kTables;
}

// The document with each marked table drawn; the names of those that were found.
std::string drawn(const std::string& text, std::vector<std::string>& found)
{
    std::string result;
    std::size_t at = 0;
    const std::string begin = "<!-- keys: ";
    const std::string end = "<!-- end of keys -->";
    while (true) {
        const auto mark = text.find(begin, at);
        if (mark == std::string::npos) {
            return result + text.substr(at);
        }
        const auto name_at = mark + begin.size();
        const std::string name = text.substr(name_at, text.find(" -->", name_at) - name_at);
        const auto table_at = text.find('\n', mark) + 1;
        const auto table_end = text.find(end, mark);
        if (table_end == std::string::npos) {
            throw std::runtime_error("no end of the keys of " + name);
        }
        found.push_back(name);
        const auto table = tables().find(name);
        result += text.substr(at, table_at - at) + (table == tables().end() ? "no such table\n" : table->second);
        at = table_end;
    }
}

TEST(DBusDocument, ItsTablesOfKeysAreThoseOfTheConversion)
{
    const std::string text = read_text(document());
    std::vector<std::string> found;
    const std::string expected = drawn(text, found);
    if (std::getenv("RDMAQOS_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(document(), std::ios::binary) << expected;
    } else {
        EXPECT_TRUE(text == expected) << "docs/dbus.md differs; see with git diff what RDMAQOS_UPDATE_GOLDEN=1 draws";
    }
    std::vector<std::string> all;
    for (const auto& [name, table] : tables()) {
        all.push_back(name);
    }
    std::ranges::sort(found);
    EXPECT_EQ(found, all) << "each table once";
}

struct Member {
    std::string kind;    // method, property, signal
    std::string name;
    std::string written;    // as the document has it
};

std::string attribute(const std::string& line, const std::string& name)
{
    const auto begin = line.find(" " + name + "=\"");
    if (begin == std::string::npos) {
        return {};
    }
    const auto value = begin + name.size() + 3;
    return line.substr(value, line.find('"', value) - value);
}

// Of a drawn description, which has one tag a line.
std::vector<Member> members_of(const std::string& interface)
{
    std::istringstream lines(read_text(RDMAQOS_BINARY_DIR "/config/dbus/org.rdmaqos1." + interface + ".xml"));
    std::vector<Member> members;
    std::vector<std::string> in;
    std::vector<std::string> out;
    std::string type;
    std::string emits = "true";
    for (std::string line; std::getline(lines, line);) {
        if (line.find("  <method ") == 0 || line.find("  <property ") == 0 || line.find("  <signal ") == 0) {
            const auto kind = line.substr(3, line.find(' ', 3) - 3);
            members.push_back({kind, attribute(line, "name"), ""});
            in.clear();
            out.clear();
            type = attribute(line, "type");
            emits = "true";
        } else if (line.find("<arg ") != std::string::npos) {
            const auto text = attribute(line, "type") + " " + attribute(line, "name");
            (attribute(line, "direction") == "out" ? out : in).push_back(text);
        } else if (line.find("EmitsChangedSignal") != std::string::npos) {
            emits = attribute(line, "value");
        }
        if (line.find("  </") != 0 && line.find("/>") == std::string::npos) {
            continue;
        }
        if (members.empty() || line.find("   ") == 0) {
            continue;
        }
        Member& member = members.back();
        if (member.kind == "property") {
            member.written = fmt::format("| `{}` | {} | {} |", member.name, type, emits);
        } else if (member.kind == "method") {
            member.written = fmt::format("`{}({}){}`", member.name, fmt::join(in, ", "),
                                         out.empty() ? "" : fmt::format(" → ({})", fmt::join(out, ", ")));
        } else {
            member.written = fmt::format("`{}({})`", member.name, fmt::join(in, ", "));
        }
    }
    return members;
}

std::string section_of(const std::string& text, const std::string& interface)
{
    const auto begin = text.find("## org.rdmaqos1." + interface + "\n");
    const auto end = text.find("\n## ", begin + 1);
    return begin == std::string::npos ? std::string() : text.substr(begin, end - begin);
}

TEST(DBusDocument, ItsMembersAreThoseOfTheInterfaces)
{
    const std::string text = read_text(document());
    for (const char* interface : {"Manager", "Device", "Session"}) {
        const std::string section = section_of(text, interface);
        ASSERT_FALSE(section.empty()) << interface;
        const auto members = members_of(interface);
        ASSERT_GT(members.size(), 8U) << interface;
        std::vector<std::string> properties;
        for (const auto& member : members) {
            EXPECT_NE(section.find(member.written), std::string::npos) << interface << " lacks " << member.written;
            if (member.kind == "property") {
                properties.push_back(member.name);
            }
        }
        // Nor is there a property in the document that the interface lacks.
        std::vector<std::string> documented;
        const std::regex row("\n\\| `([A-Z][A-Za-z]*)` \\| ");
        for (std::sregex_iterator match(section.begin(), section.end(), row), end; match != end; ++match) {
            documented.push_back((*match)[1]);
        }
        EXPECT_THAT(documented, ElementsAreArray(properties)) << interface;
    }
}

}    // namespace
}    // namespace rdmaqos::test
