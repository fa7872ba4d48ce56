#include "tools/rdma-qosctl/simulate/html.h"

#include <optional>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/golden.h"
#include "tests/unit/ctl/simulate_sample.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using testing::HasSubstr;
using testing::Not;
using namespace test;

bool is_reference(std::string_view text)
{
    for (const std::string_view known : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
        if (text.starts_with(known)) {
            return true;
        }
    }
    return false;
}

// What is wrong with a text as XML, as far as our pages go: tags that do not match, attributes without quotes or given
// twice, bare '&' and '<'. Empty: nothing.
class XmlCheck {
public:
    explicit XmlCheck(std::string_view text) : rest_(text) {}

    std::string run()
    {
        while (!rest_.empty() && problem_.empty()) {
            if (rest_.front() == '<') {
                read_tag();
            } else if (rest_.front() == '&' && !is_reference(rest_)) {
                problem_ = "a bare & before: " + std::string(rest_.substr(0, 30));
            } else {
                rest_.remove_prefix(1);
            }
        }
        return !problem_.empty() ? problem_ : open_.empty() ? "" : "not closed: " + open_.back();
    }

private:
    void read_tag()
    {
        const auto end = rest_.find('>');
        std::string_view tag = rest_.substr(1, end == std::string_view::npos ? end : end - 1);
        if (end == std::string_view::npos || tag.find('<') != std::string_view::npos) {
            problem_ = "a tag without end: " + std::string(rest_.substr(0, 30));
            return;
        }
        rest_.remove_prefix(end + 1);
        if (tag.starts_with("!")) {
            return;
        }
        const std::string name(tag.substr(tag.starts_with("/") ? 1 : 0, tag.find_first_of(" \n/", 1)));
        if (tag.starts_with("/")) {
            if (open_.empty() || open_.back() != name) {
                problem_ = "closes what is not open: " + std::string(tag);
            } else {
                open_.pop_back();
            }
            return;
        }
        const bool is_empty = tag.ends_with("/");
        const auto blank = tag.find(' ');
        if (blank != std::string_view::npos) {
            read_attributes(tag.substr(blank, tag.size() - blank - (is_empty ? 1 : 0)));
        }
        if (!is_empty) {
            open_.push_back(name);
        }
    }

    void read_attributes(std::string_view text)
    {
        std::vector<std::string_view> seen;
        while (text.starts_with(" ")) {
            text.remove_prefix(1);
            const auto equals = text.find("=\"");
            const auto end = equals == std::string_view::npos ? equals : text.find('"', equals + 2);
            if (end == std::string_view::npos) {
                problem_ = "an attribute without a value in quotes: " + std::string(text);
                return;
            }
            const std::string_view name = text.substr(0, equals);
            if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
                problem_ = "an attribute given twice: " + std::string(name);
            }
            seen.push_back(name);
            const std::string_view value = text.substr(equals + 2, end - equals - 2);
            for (auto at = value.find('&'); at != std::string_view::npos; at = value.find('&', at + 1)) {
                if (!is_reference(value.substr(at))) {
                    problem_ = "a bare & in: " + std::string(value);
                }
            }
            text.remove_prefix(end + 1);
        }
        if (!text.empty()) {
            problem_ = "attributes: " + std::string(text);
        }
    }

    std::string_view rest_;
    std::vector<std::string> open_;
    std::string problem_;
};

std::string problem_of(std::string_view page)
{
    return XmlCheck(page).run();
}

TEST(XmlCheck, FindsWhatIsWrong)
{
    EXPECT_EQ(problem_of("<!DOCTYPE html><a b=\"c &amp; d\"><e f=\"g\"/>&lt;</a>"), "");
    for (const char* bad : {"<a>", "</a>", "<a></b>", "<a><b></a></b>", "<a b></a>", "<a b=\"c\" b=\"d\"/>", "a & b",
                            "<a b=\"&\"/>", "<a", "<a b=\"c\"d/>", "<br>"}) {
        EXPECT_NE(problem_of(bad), "") << bad;
    }
}

SimulationReport report_of(const std::string& policy, const std::vector<std::vector<std::string>>& steps)
{
    SimulationReport report;
    report.note = "who would get what";
    report.over_time = steps.size() > 1;
    SimulatedPort port{"mlx5_0/1", Bandwidth::from_gbps(100), {}, {}};
    Loads loads;
    for (const auto& step : steps) {
        const LoadedTree loaded = loaded_policy(policy, step);
        port.steps.push_back(simulate_step(loaded, port.link_speed));
        loads.steps.push_back({std::chrono::seconds(60 * loads.steps.size()), "step", {}});
        port.notes.insert(port.notes.end(), loaded.notes.begin(), loaded.notes.end());
    }
    set_times(loads, port.steps);
    report.ports.push_back(std::move(port));
    return report;
}

TEST(SimulatePage, Golden)
{
    SimulationReport report = report_of(
        "qos-levels:\n  - {name: DEFAULT}\n  - {name: bulk, schedule: {max-rate: 30Gbps}}\n"
        "  - {name: rpc, use: calls, schedule: {share: 3, fair-by: process}}\n",
        {{"bulk=inf"}, {"rpc*2=5Gbps,bulk=inf,DEFAULT=inf"}});
    report.ports[0].notes = {"one note"};
    report.ports[0].steps[1].deviation = Deviation{ElementPath("/rpc"), 10e6, 9.9e6, 1.0, 5, 0};
    std::string page = simulation_page(report);
    EXPECT_EQ(problem_of(page), "");
    // The style sheet is reviewed where it is.
    const std::string style(page::style_sheet());
    ASSERT_NE(page.find(style), std::string::npos);
    page.replace(page.find(style), style.size(), "...\n");
    expect_golden("ctl/simulate.html", page);
}

TEST(SimulatePage, OneSituationHasNoChart)
{
    const std::string page = simulation_page(report_of(kTenants, {{"rpc*8=1Gbps,storage=inf"}}));
    EXPECT_EQ(problem_of(page), "");
    EXPECT_THAT(page, Not(HasSubstr("<figure")));
    EXPECT_THAT(page, Not(HasSubstr("<details")));
    EXPECT_THAT(page, HasSubstr("process-1 … process-8"));
}

// No address, no script, nothing that is loaded.
TEST(SimulatePage, NeedsNothingElse)
{
    const std::string page = simulation_page(report_of(kTenants, {{"rpc=inf"}, {"storage=inf"}}));
    for (const char* loaded :
         {"<script", "<link", "<img", "<iframe", "@import", " src=", " href=", "url(h", "javascript:"}) {
        EXPECT_THAT(page, Not(HasSubstr(loaded)));
    }
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
    std::size_t addresses = 0;
    for (auto at = page.find("//"); at != std::string::npos; at = page.find("//", at + 2)) {
        ++addresses;
    }
    EXPECT_EQ(addresses, 1U) << "only the namespace of XHTML";
}

TEST(SimulatePage, NamesAreEscaped)
{
    const std::string evil = "a<script>alert(1)</script>\"'&\x1b\xff\xEF\xBF\xBF";
    SimulationReport report = report_of(kTenants, {{"rpc=inf,DEFAULT=inf"}, {"bulk=inf"}});
    report.note = evil;
    SimulatedPort& port = report.ports[0];
    port.device = evil;
    port.notes = {evil};
    for (auto& step : port.steps) {
        step.use = evil;
        for (auto& element : step.elements) {
            element.level = element.level.empty() ? "" : evil + element.level;
            if (element.depth > 0) {
                element.path = ElementPath(element.path.text() + evil);
                element.parent = element.depth > 1 ? ElementPath(element.parent.text() + evil) : element.parent;
            }
        }
        for (auto& level : step.levels) {
            level.level = evil + level.level;
            level.use = evil;
        }
        for (auto& outside : step.outside) {
            outside.level = outside.why = evil;
        }
        step.deviation = Deviation{ElementPath("/" + evil), 1, 1, 1, 1, 0};
    }
    const std::string page = simulation_page(report);
    EXPECT_EQ(problem_of(page), "");
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("\x1b")));
    EXPECT_THAT(page, Not(HasSubstr("\xff")));
    EXPECT_THAT(page, Not(HasSubstr("\xEF\xBF\xBF")));
    EXPECT_EQ(page::escaped("<&>\"'\n"), "&lt;&amp;&gt;&quot;&#39;\\x0a");
}

TEST(SimulatePage, ManyLevelsAndSteps)
{
    std::string policy = "qos-levels:\n  - {name: DEFAULT}\n";
    std::string load;
    for (int i = 0; i < 20; ++i) {
        policy += "  - {name: level-" + std::to_string(i) + ", schedule: {}}\n";
        load += (load.empty() ? "level-" : ",level-") + std::to_string(i) + "=inf";
    }
    const std::string page = simulation_page(report_of(policy, std::vector<std::vector<std::string>>(60, {load})));
    EXPECT_EQ(problem_of(page), "");
    EXPECT_THAT(page, HasSubstr("The trees of 10 more steps are left out"));
    EXPECT_THAT(page, Not(HasSubstr("class=\"fill c8\"")));
}

TEST(SimulatePage, DevicesWithoutATreeOrALink)
{
    SimulationReport report = report_of("qos-levels: [{name: DEFAULT}]\n", {{"DEFAULT=inf"}, {"DEFAULT=inf"}});
    report.ports.push_back(
        {"mlx5_1/1", Bandwidth(), {}, {simulate_step(loaded_policy(kTenants, {"rpc=inf"}), Bandwidth())}});
    report.ports[1].steps[0].until = std::chrono::seconds(1);
    const std::string page = simulation_page(report);
    EXPECT_EQ(problem_of(page), "");
    EXPECT_THAT(page, HasSubstr("The device has no tree"));
    for (const char* number : {"nan%", "\"nan", "inf%", "\"inf"}) {
        EXPECT_EQ(page.find(number), std::string::npos) << number;
    }
}

}    // namespace
}    // namespace rdmaqos::ctl
