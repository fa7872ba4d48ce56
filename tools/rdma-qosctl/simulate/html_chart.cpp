#include "tools/rdma-qosctl/simulate/html.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/rdma-qosctl/simulate/report.h"

namespace rdmaqos::ctl::page {
namespace {

constexpr double kWidth = 1000;    // of the drawing; stretched to the page
constexpr double kHeight = 1000;
constexpr double kLabelGap = 0.1;     // of the width: labels of the axis are not nearer to each other
constexpr double kNarrowGap = 0.3;    // nor, on a narrow page, than this; what is narrower has no name there
// What a band must measure to hold its name, in parts of the drawing.
constexpr double kNamedWidth = 0.12;
constexpr double kNamedHeight = 0.075;

class Chart {
public:
    Chart(const SimulatedPort& port, const LevelColours& colours)
        : port_(port), colours_(colours), begin_(port.steps.front().at.count()),
          length_(static_cast<double>(port.steps.back().until.count() - begin_)),
          link_kbps_(static_cast<double>(port.link_speed.kbps()))
    {
    }

    [[nodiscard]] std::string draw() const
    {
        std::string bands;
        std::string names;
        std::string titles;
        for (std::size_t i = 0; i < port_.steps.size(); ++i) {
            draw_step(port_.steps[i], bands, names);
            titles += title(port_.steps[i]);
        }
        return fmt::format("<figure class=\"chart\">\n<div class=\"titles\">{}</div>\n"
                           "<div class=\"scale\" aria-hidden=\"true\">{}</div>\n<div class=\"plot\">\n"
                           "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\">"
                           "<title>What each level gets over time</title>\n{}{}</svg>\n{}</div>\n"
                           "<div class=\"times\" aria-hidden=\"true\">{}</div>\n{}</figure>\n",
                           titles, scale(), kWidth, kHeight, bands, grid(), names, times(), legend());
    }

private:
    [[nodiscard]] double part_of_time(std::chrono::milliseconds time) const
    {
        return static_cast<double>(time.count() - begin_) / length_;
    }

    [[nodiscard]] double part_of_link(double kbps) const
    {
        return link_kbps_ > 0 ? std::min(kbps / link_kbps_, 1.0) : 0;
    }

    void draw_step(const SimulatedStep& step, std::string& bands, std::string& names) const
    {
        const double left = part_of_time(step.at);
        const double width = part_of_time(step.until) - left;
        double top = 1;
        for (const auto& level : step.levels) {
            const double height = part_of_link(level.rates.gets);
            if (height <= 0) {
                continue;
            }
            top -= height;
            const std::size_t colour = colours_.at(level.level);
            bands += fmt::format(
                "<rect class=\"fill c{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
                "<title>{}: {} {}</title></rect>\n",
                colour, left * kWidth, top * kHeight, width * kWidth, height * kHeight, escaped(level.level),
                rate_in_words(level.rates.gets), escaped(step_in_words(step, true)));
            if (width >= kNamedWidth && height >= kNamedHeight) {
                names += fmt::format("<span class=\"band{}\" style=\"left:{:.2f}%;top:{:.2f}%;width:{:.2f}%;"
                                     "height:{:.2f}%\"><span>{}</span><small>{}</small></span>\n",
                                     tight(width), left * 100, top * 100, width * 100, height * 100,
                                     escaped(level.level), rate_in_words(level.rates.gets));
            }
        }
    }

    // The name of a step above its time; what does not fit is cut off with dots, and whole when pointed at.
    [[nodiscard]] std::string title(const SimulatedStep& step) const
    {
        const double left = part_of_time(step.at);
        const double width = part_of_time(step.until) - left;
        return fmt::format("<span class=\"title{}\" style=\"left:{:.2f}%;width:{:.2f}%\" title=\"{}\">{}</span>",
                           tight(width), left * 100, width * 100, escaped(step_in_words(step, true)),
                           escaped(step.use));
    }

    // A class for what a narrow page has no room for.
    [[nodiscard]] static std::string_view tight(double width) { return width < kNarrowGap ? " tight" : ""; }

    [[nodiscard]] std::string grid() const
    {
        std::string text;
        for (const double part : {0.25, 0.5, 0.75}) {
            text += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"{0}\" y1=\"{1}\" y2=\"{1}\"/>", kWidth,
                                part * kHeight);
        }
        for (std::size_t i = 1; i < port_.steps.size(); ++i) {
            text += fmt::format("<line class=\"step\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>",
                                part_of_time(port_.steps[i].at) * kWidth, kHeight);
        }
        return text + "\n";
    }

    [[nodiscard]] std::string scale() const
    {
        std::string text;
        for (const double part : {1.0, 0.75, 0.5, 0.25, 0.0}) {
            text += fmt::format("<span style=\"top:{:.0f}%\">{}</span>", (1 - part) * 100,
                                part > 0 ? rate_in_words(part * link_kbps_) : "0");
        }
        return text;
    }

    [[nodiscard]] std::string times() const
    {
        std::string text;
        double last = -1;
        double last_on_narrow = -1;
        for (const auto& step : port_.steps) {
            const double at = part_of_time(step.at);
            if (at < last + kLabelGap || at > 1 - kLabelGap) {
                continue;
            }
            const bool on_narrow = at >= last_on_narrow + kNarrowGap && at <= 1 - kNarrowGap;
            text += fmt::format("<span class=\"time{}\" style=\"left:{:.2f}%\">{}</span>", on_narrow ? "" : " tight",
                                at * 100, time_in_words(step.at));
            last = at;
            last_on_narrow = on_narrow ? at : last_on_narrow;
        }
        return text + fmt::format("<span class=\"last\">{}</span>", time_in_words(port_.steps.back().until));
    }

    [[nodiscard]] std::string legend() const
    {
        std::string text = "<figcaption>";
        std::vector<std::string> listed;
        for (const auto& step : port_.steps) {
            for (const auto& level : step.levels) {
                if (level.senders == 0 || std::find(listed.begin(), listed.end(), level.level) != listed.end()) {
                    continue;
                }
                listed.push_back(level.level);
                text += fmt::format("<span><span class=\"swatch c{}\"></span>{}</span>\n", colours_.at(level.level),
                                    escaped(level.level));
            }
        }
        return text + "</figcaption>\n";
    }

    const SimulatedPort& port_;
    const LevelColours& colours_;
    const std::chrono::milliseconds::rep begin_;
    const double length_;    // in milliseconds
    const double link_kbps_;
};

}    // namespace

std::string chart(const SimulatedPort& port, const LevelColours& colours)
{
    return Chart(port, colours).draw();
}

}    // namespace rdmaqos::ctl::page
