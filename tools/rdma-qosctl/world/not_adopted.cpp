#include "tools/rdma-qosctl/world/not_adopted.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace rdmaqos::ctl {
namespace {

struct Advice {
    std::string_view outside;    // the word
    std::string_view sentence;
};

constexpr std::array kAdvice{
    Advice{"no-rule", "write a rule for it; one without criteria concerns every program"},
    Advice{"no-schedule", "give the level of its rule a `schedule`, or name another level in the rule"},
    Advice{"excluded", "remove `adopt: no` from its rule and its level, or let the program register"},
    Advice{"not-ready", "it is adopted when it may send (RTS)"},
};

constexpr std::string_view kUnseen = "the kernel lists none of its queue pairs: it has none yet, or makes them through "
                                     "DEVX, as UCX does unless UCX_IB_MLX5_DEVX_OBJECTS is empty, or a GPU library";
constexpr std::string_view kHowToAdopt = "`unregistered: adopt` in /etc/rdma-qos/rdma-qosd.yaml takes in programs that "
                                         "do not register, if a rule concerns them";

}    // namespace

std::vector<std::string> advice_on(const std::vector<api::HostQueuePair>& queue_pairs, const api::Adoption& adoption,
                                   const std::vector<std::string>& failures)
{
    std::set<std::string, std::less<>> words;
    for (const auto& queue_pair : queue_pairs) {
        if (queue_pair.reason.empty()) {
            words.insert(queue_pair.outside);
        }
    }
    std::vector<std::string> sentences;
    if (queue_pairs.empty()) {
        sentences.emplace_back(kUnseen);
        sentences.insert(sentences.end(), failures.begin(), failures.end());
    }
    for (const auto& [word, sentence] : kAdvice) {
        if (words.contains(word)) {
            sentences.push_back(fmt::format("{}: {}", word, sentence));
        }
    }
    const bool is_off = !adoption.setting.empty() && adoption.setting != "adopt";
    if (is_off && (queue_pairs.empty() || words.contains("unregistered"))) {
        sentences.emplace_back(kHowToAdopt);
    }
    if (queue_pairs.empty() && !adoption.unavailable.empty()) {
        sentences.push_back(fmt::format("no program can be adopted: {}", adoption.unavailable));
    }
    return sentences;
}

std::vector<api::HostQueuePair> not_attached(std::vector<api::HostQueuePair> queue_pairs,
                                             const std::set<std::uint64_t>& processes)
{
    std::erase_if(queue_pairs, [&](const api::HostQueuePair& queue_pair) {
        return queue_pair.session || !queue_pair.pid || !processes.contains(*queue_pair.pid);
    });
    return queue_pairs;
}

std::set<std::uint64_t> adopted_processes(const std::vector<const SessionView*>& sessions)
{
    std::set<std::uint64_t> processes;
    for (const auto* session : sessions) {
        if (session->adopted) {
            processes.insert(session->owner.pid);
        }
    }
    return processes;
}

}    // namespace rdmaqos::ctl
