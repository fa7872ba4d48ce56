#include "daemon/port_classes/port_keeper.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "lib/dcb/driver.h"
#include "lib/port_classes/render.h"
#include "policy/model/transient.h"

namespace rdmaqos {
namespace {

constexpr const char* kHowToTryAgain = "`rdma-qosctl reconcile` or a reload tries again";

// What the steps do, of many only the first ones.
std::string in_words(const std::vector<port_classes::Step>& steps)
{
    constexpr std::size_t kMost = 3;
    const auto lines = port_classes::step_lines(steps);
    std::vector<std::string> words;
    for (const auto& line : lines) {
        if (words.size() == kMost) {
            words.push_back(fmt::format("and {} more", lines.size() - kMost));
            break;
        }
        words.push_back(line.words);
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

// It depends on what the driver or the firmware does just then; the others say no the next time, too.
bool may_work_later(const dcb::Written& part)
{
    switch (part.end) {
    case dcb::WriteEnd::Taken:
    case dcb::WriteEnd::Differs:
    case dcb::WriteEnd::Unknown:
    case dcb::WriteEnd::NotTried:
        return true;
    case dcb::WriteEnd::Refused:
    case dcb::WriteEnd::Partly:
        break;
    }
    return part.error == EBUSY || part.error == EAGAIN || part.error == ENETDOWN || part.error == EIO ||
           part.error == ETIMEDOUT || part.error == ENOMEM || part.error == ENODEV;
}

}    // namespace

std::vector<KeptClass> classes_of_children(const port_classes::Plan& plan)
{
    std::vector<KeptClass> classes;
    for (std::size_t number = 0; number < plan.uses.size(); ++number) {
        const port_classes::ClassUse& use = plan.uses.at(number);
        if (!use.is_others && use.children.size() == 1) {
            classes.push_back({use.children.front(), static_cast<std::uint8_t>(number), use.dscps,
                               plan.wanted.ets->traffic_class.at(number).max_rate});
        }
    }
    return classes;
}

PortKeeper::PortKeeper(std::string netdev, std::optional<port_classes::Record> record)
    : netdev_(std::move(netdev)), record_(std::move(record)), is_saved_(record_.has_value())
{
}

bool PortKeeper::take_wish(std::optional<PortWish> wish)
{
    const bool was_held = std::exchange(is_held_, false);
    if (wish == wish_) {
        return was_held && (wish_ || record_);
    }
    if (!wish || !wish_) {
        static_cast<void>(resume());    // who no longer writes fights nobody, and who begins has not fought yet
        drift_.reset();
    }
    wish_ = std::move(wish);
    present_.reset();    // it is read again; and what is being written was for another plan
    failure_.reset();
    settled_.reset();
    is_repair_ = false;
    return true;
}

void PortKeeper::hold()
{
    is_held_ = true;
}

bool PortKeeper::resume()
{
    const bool has_trouble = failure_ || !stopped_.empty();
    failure_.reset();
    stopped_.clear();
    repairs_.clear();
    return has_trouble;
}

void PortKeeper::was_reset()
{
    present_.reset();
    is_ets_doubtful_ = false;
    settled_.reset();
    failure_.reset();
    is_repair_ = false;
}

port_classes::Rules PortKeeper::rules() const
{
    return port_classes::rules_of(dcb::find_driver(driver_));
}

// PFC is not ours: as it is now, whoever has set it.
dcb::PortSettings PortKeeper::before() const
{
    dcb::PortSettings before = record_ && record_->driver == driver_ ? record_->before : *present_;
    before.pfc = present_->pfc;
    return before;
}

void PortKeeper::take_reading(const PortAnswer& answer, const std::optional<PortChange>& change, WallTime wall,
                              TimePoint now)
{
    if (answer.driver.empty()) {    // as while the device goes away: whose settings these are is not known
        take_failed_reading(fmt::format("the driver of {} is not known", netdev_));
        return;
    }
    unread_.clear();
    has_none_ = false;
    driver_ = answer.driver;
    present_ = answer.settings;
    owners_ = answer.owners;
    if (!settled_ || is_held_ || !stopped_.empty()) {
        return;
    }
    const auto to_repair = port_classes::difference(*present_, *settled_, rules());
    if (to_repair.empty()) {
        return;
    }
    const std::string what = in_words(port_classes::difference(*settled_, *present_, rules()));
    drift_ = PortDrift{change ? change->at : wall, change ? change->by : "something that the kernel does not notify of",
                       what.empty() ? "other settings" : what};
    settled_.reset();
    std::erase_if(repairs_, [&](TimePoint at) { return now - at >= kRepairWindow; });
    const std::string who = fmt::format("{} has changed the traffic classes of {} at {} ({})", drift_->by, netdev_,
                                        utc_text(std::chrono::floor<std::chrono::seconds>(drift_->at)), drift_->what);
    if (repairs_.size() < kMostRepairs) {
        is_repair_ = true;
        events_.push_back({PortEvent::Kind::Drift, who});
        return;
    }
    is_repair_ = false;
    stopped_ = fmt::format("{}, after rdma-qosd had put them back {} within a minute; it does not any more. End what "
                           "sets them, or leave them to it (`port-classes: report`); a reload or `rdma-qosctl enable` "
                           "begins again",
                           who, counted(repairs_.size(), "time"));
    events_.push_back({PortEvent::Kind::Stopped, stopped_});
}

void PortKeeper::take_failed_reading(std::string why)
{
    present_.reset();
    unread_ = std::move(why);
    has_none_ = false;
}

void PortKeeper::take_none(std::string why)
{
    take_failed_reading(std::move(why));
    has_none_ = true;
}

bool PortKeeper::may_try(TimePoint now) const
{
    return !failure_ || (failure_->retry_at && *failure_->retry_at <= now);
}

std::optional<TimePoint> PortKeeper::retry_at() const
{
    return failure_ ? failure_->retry_at : std::nullopt;
}

std::vector<port_classes::Step> PortKeeper::steps_to(const dcb::PortSettings& wanted) const
{
    return is_ets_doubtful_ ? port_classes::difference_and_ets(*present_, wanted, rules())
                            : port_classes::difference(*present_, wanted, rules());
}

void PortKeeper::note_ets(const dcb::WriteReport& report)
{
    for (const dcb::Written& part : report.parts) {
        const bool is_written = part.end == dcb::WriteEnd::Taken && std::holds_alternative<dcb::SetEts>(part.write);
        is_ets_doubtful_ = dcb::may_be_half_written(part, dcb::find_driver(driver_)) ||
                           (is_ets_doubtful_ && !is_written);
    }
}

void PortKeeper::drop_record_of_other_driver()
{
    if (!record_ || record_->driver == driver_) {
        return;
    }
    events_.push_back({PortEvent::Kind::NotPutBack,
                       fmt::format("what the traffic classes of {} were before is not put back: it is of the driver "
                                   "{}, and now the driver is {}",
                                   netdev_, record_->driver, driver_)});
    record_.reset();
}

PortJob PortKeeper::next(TimePoint now)
{
    if (is_held_ || !present_) {
        return {};
    }
    const bool had_saved_record = record_.has_value() && is_saved_;
    drop_record_of_other_driver();
    if (had_saved_record && !record_) {
        is_saved_ = false;
        return {PortJob::Kind::Forget};
    }
    plan_ = {};
    if (wish_) {
        plan_ = port_classes::plan(wish_->requests, before(), rules(), wish_->options);
    }
    return is_ours() ? keep(now) : let_go(now);
}

PortJob PortKeeper::keep(TimePoint now)
{
    is_letting_go_ = false;
    if (!record_) {
        record_ = port_classes::Record{driver_, *present_};
        is_saved_ = false;
    }
    if (!is_saved_) {
        return may_try(now) ? PortJob{PortJob::Kind::Save} : PortJob{};
    }
    auto steps = steps_to(plan_.wanted);
    if (steps.empty()) {
        settle(now);
        return {};
    }
    settled_.reset();
    if (!stopped_.empty() || !may_try(now)) {
        return {};
    }
    return {PortJob::Kind::Write, std::move(steps)};
}

PortJob PortKeeper::let_go(TimePoint now)
{
    is_letting_go_ = true;
    settled_.reset();
    is_repair_ = false;
    if (!record_) {
        failure_.reset();
        return {};
    }
    auto steps = steps_to(record_->before);
    if (steps.empty()) {
        if (std::exchange(has_written_, false)) {
            events_.push_back(
                {PortEvent::Kind::Restored, fmt::format("the traffic classes of {} are as they were before", netdev_)});
        }
        failure_.reset();
        record_.reset();
        return std::exchange(is_saved_, false) ? PortJob{PortJob::Kind::Forget} : PortJob{};
    }
    if (!is_saved_) {    // nothing of ours can be there
        failure_.reset();
        record_.reset();
        return {};
    }
    return may_try(now) ? PortJob{PortJob::Kind::Write, std::move(steps)} : PortJob{};
}

void PortKeeper::settle(TimePoint now)
{
    settled_ = plan_.wanted;
    failure_.reset();
    if (!stopped_.empty()) {
        return;
    }
    if (std::exchange(is_repair_, false)) {
        if (has_written_) {
            repairs_.push_back(now);
            ++all_repairs_;
            events_.push_back({PortEvent::Kind::Repaired,
                               fmt::format("the traffic classes of {} are as the policy asks again", netdev_)});
        }
    } else if (has_written_) {
        events_.push_back(
            {PortEvent::Kind::Set, fmt::format("the traffic classes of {} are as the policy asks", netdev_)});
    }
    has_written_ = false;
}

void PortKeeper::fail_with(std::string message, bool may_work_later, TimePoint now)
{
    const std::size_t tries = failure_ ? failure_->tries : 0;
    failure_ = Failure{std::move(message), tries + 1, std::nullopt};
    if (may_work_later && tries < kPauses.size()) {
        failure_->retry_at = now + kPauses.at(tries);
    } else {
        failure_->message += std::string("; ") + kHowToTryAgain;
    }
    events_.push_back({PortEvent::Kind::Refused, failure_->message});
}

void PortKeeper::saved(const Result<void>& result, TimePoint now)
{
    if (result) {
        is_saved_ = record_.has_value();
        failure_.reset();
    } else {
        fail_with(fmt::format("the traffic classes of {} are not set, since what they were before cannot be kept: {}",
                              netdev_, to_string(result.error())),
                  true, now);
    }
}

void PortKeeper::written(const dcb::WriteReport& report, TimePoint now)
{
    const bool is_for_this_plan = present_.has_value();
    note_ets(report);
    if (report.now) {
        present_ = *report.now;
        unread_.clear();
    } else {
        take_failed_reading(to_string(report.now.error()));
    }
    const std::string undone = is_letting_go_
                                   ? fmt::format("what the traffic classes of {} were before is not put back", netdev_)
                                   : fmt::format("the traffic classes of {} are not set", netdev_);
    const auto taken = std::ranges::count(report.parts, dcb::WriteEnd::Taken, &dcb::Written::end);
    has_written_ = has_written_ || taken > 0;
    all_steps_ += static_cast<std::uint64_t>(taken);
    const auto refused = std::ranges::find_if(report.parts, [](const dcb::Written& part) {
        return part.end != dcb::WriteEnd::Taken && part.end != dcb::WriteEnd::NotTried;
    });
    if (refused == report.parts.end() && report.now) {
        const auto rest = has_goal() && is_for_this_plan ? port_classes::difference(*present_, goal(), rules())
                                                         : std::vector<port_classes::Step>();
        if (!rest.empty()) {
            fail_with(fmt::format("{}: everything was taken, but something has changed it since, or the driver {} has "
                                  "it otherwise: what is missing {}",
                                  undone, driver_, in_words(rest)),
                      true, now);
        }
        return;
    }
    const bool is_partly = refused != report.parts.end() && refused->end == dcb::WriteEnd::Partly;
    has_written_ = has_written_ || is_partly;
    const std::string done = fmt::format("step {} of {}", std::min<std::size_t>(taken + 1, report.parts.size()),
                                         report.parts.size());
    const bool lacks_privilege = refused != report.parts.end() && refused->error == EPERM;
    fail_with(fmt::format("{}: driver {}, {}: {}{}", undone, driver_, done, report.message(),
                          lacks_privilege ? "; " + how_to_allow_ports() : ""),
              refused == report.parts.end() || may_work_later(*refused), now);
}

std::string PortKeeper::why_left_alone() const
{
    if (wish_->options.division == port_classes::Division::ByTree) {
        return "the scheduling tree divides the port, for all processes together";
    }
    if (wish_->requests.children.empty()) {
        return "the policy has no class for this device";
    }
    return plan_.findings.empty() ? "no child of the policy's root has a DSCP of its own"
                                  : to_string(plan_.findings.front());
}

PortCare PortKeeper::care() const
{
    PortCare care;
    care.repairs = all_repairs_;
    care.steps = all_steps_;
    care.drift = drift_;
    if (wish_) {
        care.findings = plan_.findings;
        if (plan_.has_classes) {
            care.notes = plan_.notes;
            care.cnp_dscp = wish_->options.cnp_dscp;
        }
        care.notes.insert(care.notes.end(), owners_.begin(), owners_.end());
    }
    if (!wish_ && !record_) {
        care.keeping = PortKeeping::Off;
    } else if (is_held_) {
        care.keeping = PortKeeping::Pending;
    } else if (!stopped_.empty()) {
        care.keeping = PortKeeping::Stopped;
        care.reason = stopped_;
    } else if (failure_) {
        care.keeping = failure_->retry_at ? PortKeeping::Waiting : PortKeeping::Failed;
        care.reason = failure_->message;
    } else if (!present_) {
        const PortCare unread = unread_care();
        care.keeping = unread.keeping;
        care.reason = unread.reason;
    } else if (!wish_) {
        care.keeping = record_ ? PortKeeping::Pending : PortKeeping::Off;
        care.reason = record_ ? "what was there before is being put back" : "";
    } else if (!is_ours()) {
        care.keeping = record_ ? PortKeeping::Pending : PortKeeping::LeftAlone;
        care.reason = why_left_alone();
    } else {
        care.keeping = settled_ ? PortKeeping::Kept : PortKeeping::Pending;
        care.classes = settled_ ? classes_of_children(plan_) : std::vector<KeptClass>();
    }
    return care;
}

PortCare PortKeeper::unread_care() const
{
    PortCare care;
    care.keeping = PortKeeping::Pending;
    const bool asks = wish_ && !wish_->requests.children.empty() &&
                      wish_->options.division != port_classes::Division::ByTree;
    if (unread_.empty()) {
        return care;    // it is being read
    }
    if (!record_ && (!asks || has_none_)) {
        care.keeping = PortKeeping::LeftAlone;
        care.reason = asks ? unread_ : why_left_alone();
        return care;
    }
    care.keeping = PortKeeping::Waiting;
    const bool is_perhaps_set = settled_ || (record_ && driver_.empty());    // by us, or by an earlier run
    if (!asks) {
        care.reason = fmt::format("what the traffic classes of {} were before is not put back yet", netdev_);
    } else if (is_perhaps_set) {
        care.reason = fmt::format("it is not known whether the traffic classes of {} are as the policy asks", netdev_);
    } else {
        care.reason = fmt::format("the traffic classes of {} are not set yet", netdev_);
    }
    care.reason += fmt::format(", since they cannot be read: {}", unread_);
    return care;
}

std::vector<PortEvent> PortKeeper::take_events()
{
    return std::exchange(events_, {});
}

std::optional<PortPlan> PortKeeper::plan_of(const std::optional<PortWish>& wish) const
{
    if (!present_) {
        return std::nullopt;
    }
    port_classes::Plan planned;
    planned.wanted = before();
    if (wish) {
        planned = port_classes::plan(wish->requests, before(), rules(), wish->options);
    }
    PortPlan plan;
    plan.netdev = netdev_;
    plan.classes = port_classes::render_classes(*present_, planned);
    if (planned.has_classes || record_) {
        for (auto& line : port_classes::step_lines(port_classes::difference(*present_, planned.wanted, rules()))) {
            plan.steps.push_back({std::move(line.words), std::move(line.disruption)});
        }
    }
    plan.findings = std::move(planned.findings);
    plan.notes = planned.notes;
    if (planned.has_classes) {
        std::ranges::move(port_classes::notes_of_change(*present_, planned.wanted), std::back_inserter(plan.notes));
        plan.notes.insert(plan.notes.end(), owners_.begin(), owners_.end());
    }
    if (!stopped_.empty() && planned.has_classes) {
        plan.notes.push_back(stopped_);
    }
    return plan;
}

std::vector<port_classes::Difference> PortKeeper::differences(const dcb::PortSettings& settings) const
{
    return has_goal() ? port_classes::differences_in_words(settings, goal(), rules())
                      : std::vector<port_classes::Difference>();
}

}    // namespace rdmaqos
