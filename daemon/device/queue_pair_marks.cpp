#include "daemon/device/queue_pair_marks.h"

namespace rdmaqos {
namespace {

// Null: it is not of the book, or has just come.
const KnownQueuePair* known(const DeviceFacts& facts, std::uint32_t number)
{
    const auto found = facts.queue_pairs.find(number);
    return found == facts.queue_pairs.end() ? nullptr : &found->second;
}

bool is_due(const KnownMark& mark, TimePoint now)
{
    return !mark.asked_at || now - *mark.asked_at >= (mark.mark ? Duration(kMarkStays) : Duration(kMissingMarkStays));
}

}    // namespace

std::string_view why_never_marked(QueuePairType type)
{
    switch (type) {
    case QueuePairType::Ud:
        return kMarkOfEachMessage;
    case QueuePairType::RawPacket:
        return kMarkOfProgram;
    case QueuePairType::Rc:
    case QueuePairType::Uc:
    case QueuePairType::Devx:
        break;
    }
    return "";
}

std::vector<QueuePairRef> take_due_marks(DeviceFacts& facts, const DscpOfLevels& levels, TimePoint now,
                                         std::size_t most)
{
    std::vector<QueuePairRef> due;
    for (auto& [number, each] : facts.queue_pairs) {
        if (due.size() == most) {
            break;
        }
        const Member* member = facts.book.find(number);
        if (member != nullptr && levels.contains(member->membership.level) &&
            why_never_marked(member->ref.type).empty() && is_due(each.mark, now)) {
            each.mark.asked_at = now;
            due.push_back(member->ref);
        }
    }
    return due;
}

void take_marks(DeviceFacts& facts, const std::vector<MarkAnswer>& answers)
{
    for (const MarkAnswer& answer : answers) {
        const auto found = facts.queue_pairs.find(answer.number);
        if (found == facts.queue_pairs.end() || !found->second.mark.asked_at) {
            continue;
        }
        KnownMark& known = found->second.mark;
        known.answered = true;
        known.refused = !answer.mark;
        known.mark = answer.mark.value_or(std::nullopt);
    }
}

std::optional<QueuePairMark> mark_of(const DeviceFacts& facts, std::uint32_t number)
{
    const KnownQueuePair* found = known(facts, number);
    return found == nullptr ? std::nullopt : found->mark.mark;
}

std::string_view why_mark_unseen(const DeviceFacts& facts, std::uint32_t number)
{
    const Member* member = facts.book.find(number);
    const KnownQueuePair* found = known(facts, number);
    if (member == nullptr || found == nullptr || found->mark.mark) {
        return "";
    }
    if (const auto never = why_never_marked(member->ref.type); !never.empty()) {
        return never;
    }
    if (!found->mark.answered) {
        return kMarkNotRead;
    }
    if (found->mark.refused) {
        return kMarkNotTold;
    }
    return member->ref.type == QueuePairType::Devx ? kMarkOfDevx : kMarkNotSetYet;
}

DeviceMarks count_marks(const DeviceFacts& facts, const DscpOfLevels& levels)
{
    DeviceMarks marks;
    for (const auto& [number, each] : facts.queue_pairs) {
        const Member* member = facts.book.find(number);
        const auto level = member == nullptr ? levels.end() : levels.find(member->membership.level);
        if (level == levels.end()) {
            continue;
        }
        LevelMarks& counted = marks[level->first];
        counted.dscp = level->second;
        if (each.mark.mark) {
            ++counted.carried[each.mark.mark->dscp];
        } else {
            ++counted.unseen[why_mark_unseen(facts, number)];
        }
    }
    return marks;
}

}    // namespace rdmaqos
