#include "tools/rdma-qosctl/world/marks.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/marks/marks.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

struct UnseenWord {
    std::string_view word;
    std::string_view why;
};
constexpr std::array kUnseenMarks{
    UnseenWord{"datagram", "each message of a datagram queue pair carries what its address handle says"},
    UnseenWord{"raw-packet", "its program makes the headers of its packets itself"},
    UnseenWord{"not-connected", "it is not connected, and gets its DSCP when it is"},
    UnseenWord{"devx", "it was made through DEVX and is not connected, or is of a kind without a peer"},
    UnseenWord{"not-read", "the device has not answered yet"},
    UnseenWord{"not-told", "the device or the kernel does not tell"},
};

template <typename Counts>
std::uint64_t sum(const Counts& counts)
{
    std::uint64_t all = 0;
    for (const auto& [key, count] : counts) {
        all += count;
    }
    return all;
}

std::string joined(const std::map<std::uint8_t, std::uint64_t>& dscps)
{
    std::string text;
    std::size_t at = 0;
    for (const auto& [dscp, count] : dscps) {
        const std::string_view separator = at == 0 ? "" : at + 1 == dscps.size() ? " and " : ", ";
        text += dscps.size() == 1 ? fmt::format("{}", dscp) : fmt::format("{}{} ({})", separator, dscp, count);
        ++at;
    }
    return text;
}

}    // namespace

std::vector<api::MarkCount> fetch_marks(bus::Client& client)
{
    return call_manager<std::vector<api::MarkCount>>(client, "CountMarks", {}).value_or(std::vector<api::MarkCount>());
}

std::uint64_t LevelMarks::all_wrong() const
{
    return sum(wrong);
}

std::uint64_t LevelMarks::all_unseen() const
{
    return sum(unseen);
}

std::vector<LevelMarks> sum_marks(const std::vector<api::MarkCount>& counts)
{
    std::map<std::pair<std::string, std::string>, LevelMarks> levels;
    for (const auto& each : counts) {
        LevelMarks& marks = levels[{each.device, each.level}];
        marks.device = each.device;
        marks.level = each.level;
        marks.dscp = each.dscp;
        if (!each.found) {
            marks.unseen[each.unseen] += each.count;
        } else if (*each.found == each.dscp) {
            marks.right += each.count;
        } else {
            marks.wrong[*each.found] += each.count;
        }
    }
    std::vector<LevelMarks> list;
    for (auto& [key, marks] : levels) {
        list.push_back(std::move(marks));
    }
    return list;
}

std::string wrong_in_words(const LevelMarks& marks)
{
    const std::uint64_t wrong = marks.all_wrong();
    if (wrong == 0) {
        return "";
    }
    std::string text = fmt::format(
        "{} of {} of level {} on {} {} not carry its DSCP {} but {}", wrong, counted(wrong + marks.right, "queue pair"),
        printable(marks.level), printable(marks.device), wrong == 1 ? "does" : "do", marks.dscp, joined(marks.wrong));
    if (const std::uint64_t unseen = marks.all_unseen(); unseen > 0) {
        std::string whys;
        for (const auto& [word, count] : marks.unseen) {
            whys += fmt::format("{}{} {}", whys.empty() ? "" : ", ", count, printable(word));
        }
        text += fmt::format("; of {} more it cannot be seen ({})", unseen, whys);
    }
    return text;
}

std::string how_to_mark(std::string_view level, std::uint8_t dscp, std::string_view device)
{
    const auto traffic_class = static_cast<std::uint8_t>(dscp << 2U);
    const marks::Marks wanted{std::string(level), {}, false, traffic_class};
    std::string variables;
    for (const auto& each : marks::variables_of(wanted, {.infiniband = false, .ethernet = true})) {
        // The two that most programs read; the verb has all.
        if (each.name == "NCCL_IB_TC" || each.name == "UCX_IB_TRAFFIC_CLASS") {
            variables += fmt::format("{}{}={}", variables.empty() ? "" : ", ", each.name, each.value);
        }
    }
    return fmt::format("start their programs with `rdma-qos-run`, or with {} (`rdma-qosctl env --level {}` prints all "
                       "variables); those that connect by rdma_cm with `rdma-qos-run --default-roce-tos {}={}`; "
                       "programs of your own call rdmaqos_apply_qp()",
                       variables, printable(level), printable(device), traffic_class);
}

std::string why_unseen(std::string_view word)
{
    for (const UnseenWord& each : kUnseenMarks) {
        if (each.word == word) {
            return std::string(each.why);
        }
    }
    return std::string(printable(word));
}

}    // namespace rdmaqos::ctl
