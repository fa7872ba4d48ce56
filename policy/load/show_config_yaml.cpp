#include "policy/load/show_config_yaml.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/text/yaml_text.h"

namespace rdmaqos {
namespace {

using Kind = ShownNode::Kind;

// Comments start here, or two blanks behind a longer text.
constexpr std::size_t kCommentColumn = 44;
// A list of this width still goes on one line.
constexpr std::size_t kWidestList = 100;

bool same_line(const Location& a, const Location& b)
{
    return a.file == b.file && a.line == b.line;
}

// "[0x1, 0x7-0x9]" if the items stand on one line of one file and fit on one here; else empty.
std::string on_one_line(const ShownNode& list)
{
    std::string text = "[";
    for (const ShownNode& item : list.children) {
        if (item.kind != Kind::Text || !same_line(item.at, list.children.front().at)) {
            return {};
        }
        text += (text.size() > 1 ? ", " : "") + yaml_scalar(item.text);
        if (text.size() > kWidestList) {
            return {};
        }
    }
    return text + "]";
}

class Writer {
public:
    void entries(const ShownNode& mapping, std::size_t indent)
    {
        for (const ShownNode& child : mapping.children) {
            entry(child, indent);
        }
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    void line(std::size_t indent, std::string text, const std::string& comment)
    {
        text.insert(0, pending_.empty() ? std::string(indent, ' ') : std::move(pending_));
        pending_.clear();
        if (!comment.empty()) {
            text.append(std::max<std::size_t>(2, kCommentColumn - std::min(kCommentColumn, text.size())), ' ');
            text += "# " + comment;
        }
        text_ += text + '\n';
    }

    void entry(const ShownNode& node, std::size_t indent)
    {
        const std::string key = yaml_scalar(node.key) + ":";
        if (node.kind == Kind::Implied) {
            line(indent, fmt::format("# {} {} (default)", key, node.text), {});
        } else if (node.kind == Kind::Text) {
            line(indent, key + " " + yaml_scalar(node.text), origin_of(node));
        } else if (node.kind == Kind::Mapping) {
            // Remarks alone would leave the key without a value.
            const bool empty = std::all_of(node.children.begin(), node.children.end(),
                                           [](const ShownNode& child) { return child.kind == Kind::Implied; });
            line(indent, empty ? key + " {}" : key, {});
            entries(node, indent + 2);
        } else if (const std::string list = on_one_line(node); !list.empty()) {
            line(indent, key + " " + list, node.children.empty() ? "" : origin_of(node.children.front()));
        } else {
            line(indent, key, {});
            for (const ShownNode& child : node.children) {
                item(child, indent + 2);
            }
        }
    }

    void item(const ShownNode& node, std::size_t indent)
    {
        if (!node.remark.empty()) {
            line(indent, "# " + printable(node.remark), {});
        }
        if (node.kind == Kind::Mapping && !node.children.empty()) {
            pending_ = std::string(indent, ' ') + "- ";
            entries(node, indent + 2);
        } else {
            line(indent, node.kind == Kind::Mapping ? "- {}" : "- " + yaml_scalar(node.text), origin_of(node));
        }
    }

    std::string text_;
    std::string pending_;    // stands in the place of the next line's indentation: "  - "
};

}    // namespace

std::string origin_of(const ShownNode& node)
{
    if (node.is_default) {
        return "default";
    }
    if (!node.at.file || node.kind != Kind::Text) {
        return {};
    }
    return fmt::format("{}:{}{}{}", printable(node.at.file->name), node.at.line, node.override_note.empty() ? "" : ", ",
                       node.override_note);
}

std::string to_yaml(const ShownNode& mapping)
{
    std::string text;
    for (const ShownNode& section : mapping.children) {
        ShownNode alone;
        alone.children.push_back(section);
        Writer writer;
        writer.entries(alone, 0);
        const bool is_block = section.kind == Kind::List || section.kind == Kind::Mapping;
        text += (is_block && !text.empty() ? "\n" : "") + writer.take();
    }
    return text;
}

}    // namespace rdmaqos
