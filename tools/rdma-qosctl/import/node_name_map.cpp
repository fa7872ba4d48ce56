#include "tools/rdma-qosctl/import/node_name_map.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/net.h"
#include "lib/base/text.h"
#include "policy/yaml/fields.h"
#include "tools/rdma-qosctl/import/text_lines.h"

namespace rdmaqos {
namespace {

using namespace reader;

constexpr std::size_t kLongestMapLine = 254;    // with its line feed what OpenSM reads at once

class NameMapReader {
public:
    explicit NameMapReader(std::shared_ptr<const SourceFile> source) : lines_(std::move(source)) {}

    ReadResult<NodeNameMap> read()
    {
        while (lines_.next()) {
            const std::string_view line = without_leading_blanks(lines_.line());
            if (!line.empty() && line.front() != '#') {
                read_line(line);
            }
        }
        ReadResult<NodeNameMap> result;
        if (!diagnostics_.has_errors()) {
            result.value = std::make_shared<const NodeNameMap>(std::move(names_));
        }
        result.diagnostics = std::move(diagnostics_);
        return result;
    }

private:
    void read_line(std::string_view line)
    {
        const CNumber guid = read_c_number(line);
        const std::string_view rest = line.substr(guid.length);
        if (guid.length == 0 || (!rest.empty() && !is_blank(rest.front()) && rest.front() != '#')) {
            const auto word = line.substr(0, std::min(line.find_first_of(" \t#"), line.size()));
            diagnostics_.error(lines_.locate(word), fmt::format("`{}` is not the GUID of a node", shortened(word)))
                .hint = "a line is `0x0002c90200400d98 \"name\"`; OpenSM drops the whole file for this one";
            return;
        }
        if (lines_.line().size() > kLongestMapLine) {
            diagnostics_.warning(lines_.locate(),
                                 fmt::format("OpenSM reads the first {} bytes of this line as one line, and the rest "
                                             "as another",
                                             kLongestMapLine + 1));
        }
        // Quotes and number signs before the name are passed over, whichever they are.
        std::string_view name = without_leading_blanks(rest);
        const auto begin = name.find_first_not_of("\"#");
        if (begin == std::string_view::npos) {
            diagnostics_.warning(lines_.locate(line), "a GUID without a name has no effect");
            return;
        }
        const bool is_comment = name.substr(0, begin).find('#') != std::string_view::npos;
        name = name.substr(begin);
        name = name.substr(0, name.find_first_of("\"#"));
        if (is_comment) {
            diagnostics_.warning(lines_.locate(name), "OpenSM reads the comment as the name of this node")
                .hint = "put a name in quotes before it";
        }
        add(line.substr(0, guid.length), guid.value, name);
    }

    void add(std::string_view written, std::uint64_t guid, std::string_view name)
    {
        if (name.empty() || name.size() > kLongestDescription || !is_valid_utf8(name)) {
            diagnostics_
                .warning(lines_.locate(name.empty() ? written : name),
                         "a name that is not UTF-8 or too long is left out")
                .hint = "the node keeps its own description";
            return;
        }
        const auto [first, is_new] = names_.emplace(guid, name);
        if (!is_new) {
            diagnostics_
                .warning(lines_.locate(written), fmt::format("node {} has a name already: `{}`", to_string(Guid{guid}),
                                                             shortened(first->second)))
                .hint = "the first one counts";
        }
    }

    TextLines lines_;
    Diagnostics diagnostics_;
    NodeNameMap names_;
};

}    // namespace

ReadResult<NodeNameMap> read_node_name_map(std::shared_ptr<const SourceFile> source)
{
    return NameMapReader(std::move(source)).read();
}

}    // namespace rdmaqos
