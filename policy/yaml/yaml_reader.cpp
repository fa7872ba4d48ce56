#include "policy/yaml/yaml_reader.h"

#include <algorithm>
#include <istream>
#include <streambuf>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "lib/base/text.h"
#include "lib/base/units.h"

namespace rdmaqos::reader {
namespace {

// Thrown through yaml-cpp to stop it; caught in read_yaml.
struct Stop {
    Position at;
    std::string message;
    std::string hint;
};

std::string_view rest_of_line(std::string_view text, std::size_t offset)
{
    const auto rest = text.substr(std::min(offset, text.size()));
    return rest.substr(0, rest.find_first_of("\r\n"));
}

// The offset behind the closing quote of a quoted scalar that starts at `offset`; npos if it is never closed. (yaml-cpp
// takes the end of the text for one.)
std::size_t end_of_quoted(std::string_view text, std::size_t offset)
{
    const char quote = text[offset];
    for (std::size_t i = offset + 1; i < text.size(); ++i) {
        if (quote == '"' && text[i] == '\\') {
            ++i;
        } else if (text[i] == quote) {
            if (quote == '\'' && i + 1 < text.size() && text[i + 1] == quote) {
                ++i;
                continue;
            }
            return i + 1;
        }
    }
    return std::string_view::npos;
}

// yaml-cpp reports `null`, `~` and nothing at all alike.
bool is_written_null(std::string_view text, std::size_t offset)
{
    const auto line = rest_of_line(text, offset);
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
        if (line.starts_with(word)) {
            const auto behind = line.substr(word.size());
            const auto next = behind.find_first_not_of(" \t");
            const bool ends = behind.empty() || std::string_view(" \t,]}").find(behind[0]) != std::string_view::npos;
            return ends && (next == std::string_view::npos || behind[next] != ':');
        }
    }
    return false;
}

class TreeBuilder final : public YAML::EventHandler {
public:
    TreeBuilder(Context& context, std::uint32_t file, const YamlLimits& limits)
        : context_(context), limits_(limits), text_(context.files().at(file)->text), file_(file)
    {
    }

    void OnDocumentStart(const YAML::Mark& mark) override
    {
        if (started_) {
            throw Stop{position(mark), "text after the end of the document", "a file holds one YAML document"};
        }
        started_ = true;
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        Node node;
        node.at = position(mark);
        if (is_written_null(text_, offset_of(mark))) {
            node.kind = NodeKind::Null;
            node.at.length = text_[offset_of(mark)] == '~' ? 1 : 4;
        } else if (!open_.empty()) {
            // The mark is that of whatever comes next; what lacks the value is a better place.
            const Node& parent = open_.back();
            node.at = expects_value() ? parent.children.back().at : parent.is_mapping() ? node.at : parent.at;
        }
        refuse_anchor(node.at, anchor);
        add(std::move(node));
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override
    {
        const Position at = position(mark);
        context_.error(at, "aliases (`*name`) are not supported", "write the value out");
        unusable_ = true;
        Node node;
        node.at = at;
        add(std::move(node));
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override
    {
        Node node;
        node.kind = NodeKind::Scalar;
        node.at = position(mark);
        measure(node, offset_of(mark), value);
        refuse_anchor(node.at, anchor);
        refuse_tag(node.at, tag != "?" && (tag != "!" || !node.quoted));
        if (node.quoted && !is_valid_utf8(value)) {
            context_.error(node.at, "the text contains a NUL character or is not valid Unicode");
        }
        node.text = value;
        add(std::move(node));
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override
    {
        open(NodeKind::Sequence, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override
    {
        open(NodeKind::Mapping, mark, tag, anchor);
    }
    void OnMapEnd() override
    {
        clean_keys(open_.back());
        close();
    }

    [[nodiscard]] Node take_root() { return std::move(root_); }
    // The list or mapping that is being read.
    [[nodiscard]] const Node* innermost() const { return open_.empty() ? nullptr : &open_.back(); }
    [[nodiscard]] bool unusable() const { return unusable_; }
    // Where yaml-cpp was when it last said something.
    [[nodiscard]] std::size_t last_offset() const { return last_offset_; }
    [[nodiscard]] const Position& last_position() const { return last_position_; }

    [[nodiscard]] Position position(const YAML::Mark& mark) const
    {
        return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1), 1, file_};
    }

private:
    std::size_t offset_of(const YAML::Mark& mark)
    {
        last_offset_ = static_cast<std::size_t>(mark.pos);
        last_position_ = position(mark);
        return last_offset_;
    }

    [[nodiscard]] bool expects_value() const
    {
        return open_.back().is_mapping() && open_.back().children.size() % 2 == 1;
    }

    void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor)
    {
        offset_of(mark);
        const Position at = position(mark);
        if (open_.size() >= limits_.depth) {
            throw Stop{at, fmt::format("nested more than {} deep", limits_.depth), {}};
        }
        refuse_anchor(at, anchor);
        refuse_tag(at, tag != "?");
        count_node(at);
        Node node;
        node.kind = kind;
        node.at = at;
        open_.push_back(std::move(node));
    }

    void close()
    {
        Node node = std::move(open_.back());
        open_.pop_back();
        place(std::move(node));
    }

    void add(Node node)
    {
        count_node(node.at);
        place(std::move(node));
    }

    void place(Node node)
    {
        if (open_.empty()) {
            root_ = std::move(node);
        } else {
            open_.back().children.push_back(std::move(node));
        }
    }

    void count_node(const Position& at)
    {
        if (++nodes_ > limits_.nodes) {
            throw Stop{at, fmt::format("more than {} values in one file", limits_.nodes), {}};
        }
    }

    void refuse_anchor(const Position& at, YAML::anchor_t anchor)
    {
        if (anchor != 0) {
            context_.error(at, "anchors (`&name`) are not supported", "write the value out where it is used");
        }
    }

    void refuse_tag(const Position& at, bool tagged)
    {
        if (tagged) {
            context_.error(at, "tags (`!name`) are not supported", "quote the value if it starts with `!`");
        }
    }

    // Whether the scalar is quoted, and how much of its line to underline.
    void measure(Node& node, std::size_t offset, const std::string& value)
    {
        if (offset >= text_.size()) {
            return;
        }
        const auto line = rest_of_line(text_, offset);
        const char first = text_[offset];
        std::size_t length = line.size();
        if (first == '"' || first == '\'') {
            node.quoted = true;
            const std::size_t end = end_of_quoted(text_, offset);
            if (end == std::string_view::npos) {
                throw Stop{node.at, "the quoted text that starts here has no closing quote", {}};
            }
            length = std::min(end - offset, line.size());
        } else if (first == '|' || first == '>') {
            node.quoted = true;
        } else if (line.starts_with(value)) {
            length = value.size();
        }
        node.at.length = static_cast<std::uint32_t>(std::max<std::size_t>(1, length));
    }

    // Reports and removes entries whose key is unusable or there already.
    void clean_keys(Node& mapping)
    {
        std::unordered_map<std::string_view, std::size_t> seen;
        auto& children = mapping.children;
        std::vector<bool> bad(children.size() / 2, false);
        for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
            const Node& key = children[i];
            if (!is_usable_key(key)) {
                bad[i / 2] = true;
                continue;
            }
            const auto [first, inserted] = seen.emplace(key.text, i);
            if (!inserted) {
                context_.error(key, fmt::format("duplicate key `{}`", key.text));
                context_.note(context_.locate(children[first->second]), "first used here");
                bad[i / 2] = true;
            }
        }
        if (std::find(bad.begin(), bad.end(), true) == bad.end()) {
            return;
        }
        std::vector<Node> good;
        for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
            if (!bad[i / 2]) {
                good.push_back(std::move(children[i]));
                good.push_back(std::move(children[i + 1]));
            }
        }
        children = std::move(good);
    }

    bool is_usable_key(const Node& key)
    {
        if (key.has_no_value()) {
            context_.error(key, "a key is missing");
            return false;
        }
        if (!key.is_scalar()) {
            context_.error(key, fmt::format("a key must be a plain word, not {}", kind_in_words(key.kind)));
            return false;
        }
        if (key.text == "<<" && !key.quoted) {
            context_.error(key, "merge keys (`<<`) are not supported", "write the keys out");
            return false;
        }
        return true;
    }

    Context& context_;
    const YamlLimits& limits_;
    std::string_view text_;
    std::uint32_t file_;
    std::vector<Node> open_;
    Node root_;
    std::size_t nodes_ = 0;
    std::size_t last_offset_ = 0;
    Position last_position_{1, 1, 1, 0};
    bool started_ = false;
    bool unusable_ = false;
};

// Hands yaml-cpp the text in pieces and stops it when it runs too far ahead of what it has reported.
class MeteredText final : public std::streambuf {
public:
    MeteredText(std::string_view text, const TreeBuilder& builder, std::size_t look_ahead)
        : text_(text), builder_(builder), look_ahead_(look_ahead)
    {
    }

protected:
    int_type underflow() override
    {
        constexpr std::size_t kPiece = 4096;
        if (given_ == text_.size()) {
            return traits_type::eof();
        }
        if (given_ > builder_.last_offset() + look_ahead_) {
            throw Stop{
                builder_.last_position(),
                fmt::format("the list or value that starts here does not end within {}", bytes_to_string(look_ahead_)),
                "check for a `[`, `{` or quote that is not closed; write a very long list as lines with `- `"};
        }
        const auto piece = text_.substr(given_, kPiece);
        given_ += piece.size();
        // The get area is only read.
        char* begin = const_cast<char*>(piece.data());    // NOLINT(cppcoreguidelines-pro-type-const-cast)
        setg(begin, begin, begin + piece.size());
        return traits_type::to_int_type(*begin);
    }

private:
    std::string_view text_;
    const TreeBuilder& builder_;
    std::size_t look_ahead_;
    std::size_t given_ = 0;
};

std::size_t invalid_utf8_at(std::string_view line)
{
    std::size_t i = 0;
    while (i < line.size()) {
        std::size_t length = 1;
        while (length <= 4 && !is_valid_utf8(line.substr(i, length))) {
            ++length;
        }
        if (length > 4) {
            break;
        }
        i += length;
    }
    return i;
}

// YAML allows no control characters but tab and line ends.
bool is_forbidden_control(char c)
{
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

bool check_line(Context& context, std::string_view line, const Position& start)
{
    const auto at = [&](std::size_t offset) {
        Position position = start;
        position.column = static_cast<std::uint32_t>(offset + 1);
        return position;
    };
    const auto control = std::find_if(line.begin(), line.end(), is_forbidden_control);
    if (control != line.end()) {
        const auto offset = static_cast<std::size_t>(control - line.begin());
        context.error(at(offset), fmt::format("control character 0x{:02x} in the text", static_cast<int>(*control)),
                      *control == '\0' ? "is the file saved as UTF-16? It must be UTF-8" : "");
        return false;
    }
    if (!is_valid_utf8(line)) {
        context.error(at(invalid_utf8_at(line)), "the text is not valid UTF-8", "save the file as UTF-8");
        return false;
    }
    return true;
}

// Only the first mistake of this kind is reported: what is not text is wrong throughout.
bool check_text(Context& context, std::uint32_t file, std::size_t max_size)
{
    const std::string_view text = context.files().at(file)->text;
    if (text.size() > max_size) {
        context.error(Position{0, 0, 1, file}, fmt::format("the text is {} bytes long; at most {} is read", text.size(),
                                                           bytes_to_string(max_size)));
        return false;
    }
    if (text.starts_with("\xEF\xBB\xBF")) {
        context.error(Position{1, 1, 1, file}, "the file starts with a byte order mark",
                      "save it as UTF-8 without BOM");
        return false;
    }
    std::string_view rest = text;
    for (std::uint32_t line = 1; !rest.empty(); ++line) {
        const auto newline = rest.find('\n');
        if (!check_line(context, rest.substr(0, newline), Position{line, 1, 1, file})) {
            return false;
        }
        rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    }
    return true;
}

std::string_view line_of(std::string_view text, const YAML::Mark& mark)
{
    const auto at = std::min(static_cast<std::size_t>(mark.pos), text.size());
    const auto before = text.substr(0, at).rfind('\n');
    return rest_of_line(text, before == std::string_view::npos ? 0 : before + 1);
}

// `line`: what stands where yaml-cpp gave up.
std::string syntax_hint(const std::string& message, std::string_view line)
{
    constexpr const char* kNoTabs = "indent with spaces, not tabs";
    if (line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos) {
        return kNoTabs;
    }
    if (message == "illegal map value") {
        return "is the line indented like those around it? A value that holds `: ` must be quoted";
    }
    if (message.starts_with("end of map") || message.starts_with("end of sequence")) {
        return "check the indentation, and that every `[` and `{` is closed";
    }
    if (message == "illegal block entry" || message.starts_with("illegal tab")) {
        return kNoTabs;
    }
    return {};
}

}    // namespace

std::optional<Node> read_yaml(Context& context, std::uint32_t file, const YamlLimits& limits)
{
    if (!check_text(context, file, limits.text_size)) {
        return std::nullopt;
    }
    const std::string_view text = context.files().at(file)->text;
    TreeBuilder builder(context, file, limits);
    MeteredText metered(text, builder, limits.look_ahead);
    std::istream stream(&metered);
    try {
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const Stop& stop) {
        context.error(stop.at, stop.message, stop.hint);
        return std::nullopt;
    } catch (const YAML::Exception& exception) {
        const bool placed = exception.mark.line >= 0;
        context.error(placed ? builder.position(exception.mark) : Position{0, 0, 1, file},
                      fmt::format("not valid YAML: {}", exception.msg),
                      syntax_hint(exception.msg, placed ? line_of(text, exception.mark) : std::string_view{}));
        if (const Node* open = builder.innermost(); open != nullptr && exception.msg.starts_with("end of ")) {
            context.note(context.locate(*open), fmt::format("this is {} without an end", kind_in_words(open->kind)));
        }
        return std::nullopt;
    }
    if (builder.unusable()) {
        return std::nullopt;
    }
    Node root = builder.take_root();
    root.at.file = file;
    return root;
}

}    // namespace rdmaqos::reader
