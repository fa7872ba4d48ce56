#include "tools/rdma-qosctl/simulate/html.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "lib/tree/drawing.h"
#include "tools/rdma-qosctl/simulate/report.h"

namespace rdmaqos::ctl::page {
namespace {

constexpr double kBarWidth = 1000;
constexpr double kLeastSegment = 3;    // what gets anything is seen
// Of leaves that are all the same, more than so many are one line.
constexpr std::size_t kLeavesDrawn = 4;

// A line of the drawing: one element, or a run of leaves that are the same.
struct Row {
    std::size_t element = 0;
    std::size_t count = 1;
    bool is_last = false;    // of its siblings
};

using LevelRates = std::map<std::string, double>;

class TreeDrawing {
public:
    TreeDrawing(const SimulatedStep& step, Bandwidth link_speed, const LevelColours& colours)
        : elements_(step.elements), step_(step), link_speed_(link_speed), colours_(colours),
          link_kbps_(static_cast<double>(link_speed.kbps())), below_(step.elements.size())
    {
        add_up_levels();
        choose_rows();
    }

    [[nodiscard]] std::string draw() const
    {
        if (rows_.empty()) {
            return "<p class=\"note\">The device has no tree: every queue pair competes with every other.</p>\n";
        }
        std::string text = "<div class=\"tree\" role=\"table\">\n"
                           "<div class=\"row head\" role=\"row\"><div class=\"cells\">"
                           "<div class=\"name\" role=\"columnheader\">element</div>"
                           "<div class=\"bar\" role=\"columnheader\">of the link</div>"
                           "<div class=\"gets\" role=\"columnheader\">gets</div>"
                           "<div class=\"facts\"><div class=\"wants\" role=\"columnheader\">asks for</div>"
                           "<div class=\"share\" role=\"columnheader\">share</div>"
                           "<div class=\"limit\" role=\"columnheader\">max-rate</div>"
                           "<div class=\"busy\" role=\"columnheader\">guaranteed</div>"
                           "<div class=\"why\" role=\"columnheader\">limited by</div></div></div></div>\n";
        std::vector<bool> continues;    // by depth: a sibling of the ancestor there follows
        for (const Row& row : rows_) {
            const std::size_t depth = elements_[row.element].depth;
            continues.resize(depth + 1, false);
            continues[depth] = !row.is_last;
            text += draw_row(row, continues);
        }
        return text + "</div>\n";
    }

private:
    void add_up_levels()
    {
        std::map<ElementPath, std::size_t> index;
        for (std::size_t i = 0; i < elements_.size(); ++i) {
            index.emplace(elements_[i].path, i);
        }
        for (std::size_t i = elements_.size(); i-- > 0;) {
            const SimulatedElement& element = elements_[i];
            if (element.kind == ElementKind::Leaf) {
                below_[i][element.level] += element.rates.gets;
            }
            if (i > 0) {
                for (const auto& [level, rate] : below_[i]) {
                    below_[index.at(element.parent)][level] += rate;
                }
            }
        }
    }

    void choose_rows()
    {
        std::map<std::size_t, std::size_t> runs;
        for (const LeafRun& run : leaf_runs(elements_)) {
            if (run.count > kLeavesDrawn) {
                runs.emplace(run.first, run.count);
            }
        }
        for (std::size_t i = 0; i < elements_.size();) {
            const auto run = runs.find(i);
            const std::size_t count = run == runs.end() ? 1 : run->second;
            // A leaf for more senders where there are no more says nothing.
            if (elements_[i].senders > 0 || elements_[i].path.name() != "others") {
                rows_.push_back({i, count, false});
            }
            i += count;
        }
        std::set<ElementPath> seen;
        for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
            row->is_last = seen.insert(elements_[row->element].parent).second;
        }
    }

    [[nodiscard]] std::string draw_row(const Row& row, const std::vector<bool>& continues) const
    {
        const SimulatedElement& element = elements_[row.element];
        const bool is_root = element.depth == 0;
        const std::string_view each = row.count > 1 ? " each" : "";
        const auto& attributes = element.attributes;
        const bool idle = element.senders == 0;
        const std::string share = is_root ? "" : attributes.share > 0 ? std::to_string(attributes.share) : "default";
        std::string text = fmt::format("<div class=\"row{}{}\" role=\"row\">{}<div class=\"cells\">\n",
                                       idle ? " idle" : "", element.is_class ? " class" : "", guides(row, continues));
        text += fmt::format("<div class=\"name\" role=\"rowheader\">{}</div>\n", name(row));
        text += fmt::format("<div class=\"bar\" role=\"cell\">{}</div>\n", bar(row));
        text += fmt::format("<div class=\"gets\" role=\"cell\"><b>{}{}</b></div>\n",
                            idle ? "idle" : rate_in_words(element.rates.gets), idle ? "" : each);
        const std::string asked = asked_in_words(element.rates.asked);
        text += "<div class=\"facts\">\n";
        text += cell("wants", "asks for", idle ? "" : asked + std::string(each));
        text += cell("share", "share", share);
        text += cell("limit", "max-rate", attributes.max_rate ? to_string(*attributes.max_rate) : "");
        text += cell("busy", "guaranteed", rate_in_words(element.rates.guaranteed) + std::string(each));
        text += cell("why", "limited by", limit_in_words(element.limit, element.path, link_speed_));
        return text + "</div></div></div>\n";
    }

    [[nodiscard]] static std::string cell(std::string_view kind, std::string_view label, const std::string& text)
    {
        return fmt::format("<div class=\"{}{}\" role=\"cell\" data-label=\"{}\">{}</div>\n", kind,
                           text.empty() ? " none" : "", label, escaped(text));
    }

    // The lines of the tree left of a name.
    [[nodiscard]] std::string guides(const Row& row, const std::vector<bool>& continues) const
    {
        const std::size_t depth = elements_[row.element].depth;
        std::string text = "<span class=\"guides\" aria-hidden=\"true\">";
        for (std::size_t i = 1; i < depth; ++i) {
            text += continues[i] ? "<i class=\"down\"></i>" : "<i></i>";
        }
        if (depth > 0) {
            text += row.is_last ? "<i class=\"end\"></i>" : "<i class=\"down branch\"></i>";
        }
        return text + "</span>";
    }

    [[nodiscard]] std::string name(const Row& row) const
    {
        const SimulatedElement& element = elements_[row.element];
        if (element.depth == 0) {
            return "<b>link</b>";
        }
        std::string label = escaped(drawing::label_below(element.parent.text(), element.path.text()));
        if (row.count > 1) {
            label += fmt::format(" … {}", escaped(elements_[row.element + row.count - 1].path.name()));
        }
        if (!element.is_class) {
            return element.level.empty()
                       ? fmt::format("<b>{}</b>", label)
                       : fmt::format("<span>{}</span>{}", label,
                                     row.count > 1 ? fmt::format(" <small>{} leaves</small>", row.count)
                                                   : std::string());
        }
        const auto level = std::find_if(step_.levels.begin(), step_.levels.end(),
                                        [&](const SimulatedLevel& one) { return one.level == element.level; });
        std::string text = fmt::format("<span class=\"swatch c{}\"></span><b>{}</b>", colours_.at(element.level),
                                       label);
        if (level->senders > 0) {
            text += fmt::format(" <small>{}</small>", senders_in_words(level->senders, level->fair_by));
        }
        if (!level->use.empty()) {
            text += fmt::format("<small class=\"use\">{}</small>", escaped(level->use));
        }
        return text;
    }

    [[nodiscard]] double scaled(double kbps) const
    {
        return link_kbps_ > 0 ? std::min(kbps / link_kbps_, 1.0) * kBarWidth : 0;
    }

    [[nodiscard]] std::string bar(const Row& row) const
    {
        const SimulatedElement& element = elements_[row.element];
        std::string text = fmt::format("<svg viewBox=\"0 0 {0} 20\" preserveAspectRatio=\"none\" role=\"img\">"
                                       "<title>{1}</title><rect class=\"track\" width=\"{0}\" height=\"20\"/>",
                                       kBarWidth, escaped(tooltip(element)));
        const double asked = std::isinf(element.rates.asked) ? kBarWidth : scaled(element.rates.asked);
        if (asked > 0) {
            const auto colour = colours_.find(element.level);
            text += fmt::format("<rect class=\"asked {}\" width=\"{:.1f}\" height=\"20\"/>",
                                colour == colours_.end() ? "grey" : fmt::format("c{}", colour->second), asked);
        }
        const auto& cap = element.attributes.max_rate;
        const double cap_at = cap ? scaled(static_cast<double>(cap->kbps())) : kBarWidth;
        if (cap_at < kBarWidth) {
            text += fmt::format("<rect class=\"beyond\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"20\"/>", cap_at,
                                kBarWidth - cap_at);
        }
        text += segments(row.element);
        if (element.depth > 0) {
            text += fmt::format("<line class=\"guarantee-edge\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"20\"/>"
                                "<line class=\"guarantee\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"20\"/>",
                                scaled(element.rates.guaranteed));
        }
        if (cap_at < kBarWidth) {
            text += fmt::format("<line class=\"cap\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"20\"/>", cap_at);
        }
        return text + "</svg>";
    }

    // What it gets, in the colours of the levels it goes to.
    [[nodiscard]] std::string segments(std::size_t element) const
    {
        std::string text;
        double at = 0;
        for (const auto& level : step_.levels) {
            const auto rate = below_[element].find(level.level);
            if (rate == below_[element].end() || rate->second <= 0) {
                continue;
            }
            const double width = std::max(scaled(rate->second), kLeastSegment);
            text += fmt::format("<rect class=\"fill c{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"20\"/>",
                                colours_.at(level.level), at, width);
            at += width;
        }
        return text;
    }

    [[nodiscard]] std::string tooltip(const SimulatedElement& element) const
    {
        if (element.senders == 0) {
            return fmt::format("{}: nobody sends", element.path.text());
        }
        return fmt::format("{}: gets {} of {}, guaranteed {}", element.path.text(), rate_in_words(element.rates.gets),
                           asked_in_words(element.rates.asked), rate_in_words(element.rates.guaranteed));
    }

    const std::vector<SimulatedElement>& elements_;
    const SimulatedStep& step_;
    const Bandwidth link_speed_;
    const LevelColours& colours_;
    const double link_kbps_;
    std::vector<LevelRates> below_;    // by element: what its leaves get, by level
    std::vector<Row> rows_;
};

}    // namespace

std::string tree(const SimulatedStep& step, Bandwidth link_speed, const LevelColours& colours)
{
    return TreeDrawing(step, link_speed, colours).draw();
}

}    // namespace rdmaqos::ctl::page
