// Keeps one port equal to what the policy asks of it: what is to be done next, by what is known. Pure.
//
//     take_wish() ──┐
//     the record  ──┼─▶ next() ─▶ Save ─▶ saved() ─▶ next() ─▶ Write ─▶ written() ─▶ next() ─▶ Rest
//     take_reading()┘                                                                  └─────▶ Forget
//
// Vocabulary
//   wish      what the policy asks of the port; none: it is let go, and what was there before is put back
//   record    what was there before anything of ours was written. It is on the disk before the first write, and plans
//             are made from it, so a change that was interrupted anywhere is continued to the same end
//   settled   the port was equal to its plan when it was read last. What differs after that was written by others
//   repair    that is put back. After two within a minute nothing more is written: stopped
//
// Each way it goes ends in one of: equal to the plan, put back to the record, or a sentence that says why not.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/port_status.h"
#include "daemon/port_classes/port_kernel.h"
#include "lib/base/clock.h"
#include "lib/port_classes/plan.h"
#include "lib/port_classes/record.h"
#include "lib/port_classes/steps.h"

namespace rdmaqos {

struct PortWish {
    port_classes::Requests requests;
    port_classes::Options options;

    friend bool operator==(const PortWish&, const PortWish&) = default;
};

struct PortJob {
    enum class Kind : std::uint8_t {
        Rest,      // nothing, until something comes
        Save,      // record() onto the disk; then saved()
        Write,     // `steps`; then written()
        Forget,    // the record on the disk; the port is as it was before
    };
    Kind kind = Kind::Rest;
    std::vector<port_classes::Step> steps{};

    friend bool operator==(const PortJob&, const PortJob&) = default;
};

// For the log.
struct PortEvent {
    enum class Kind : std::uint8_t {
        Set,          // the port is as the policy asks
        Drift,        // somebody else has written
        Repaired,     // that was put back
        Stopped,      // it was not, and will not be
        Refused,      // a write was not taken, or a record could not be saved
        Restored,     // what was there before is there again
        NotPutBack    // and this is why not
    };
    Kind kind = Kind::Set;
    std::string text;    // a sentence

    friend bool operator==(const PortEvent&, const PortEvent&) = default;
};

class PortKeeper {
public:
    static constexpr std::size_t kMostRepairs = 2;
    static constexpr auto kRepairWindow = std::chrono::minutes(1);
    // The pause before each further try of what may work the next time; then it is given up.
    static constexpr std::array kPauses{std::chrono::seconds(1), std::chrono::seconds(5), std::chrono::seconds(30)};

    PortKeeper() = default;
    // `record`: of an earlier run, from the disk.
    PortKeeper(std::string netdev, std::optional<port_classes::Record> record);

    // What the policy asks now. What was refused is tried again if that is another plan.
    // True: next() has perhaps something to do.
    bool take_wish(std::optional<PortWish> wish);
    // It is not known yet what the policy asks: nothing is written, and nothing put back.
    void hold();
    // An administrator wants another try: a reload, `enable`, `reconcile`.
    // True: next() has perhaps something to do.
    bool resume();
    // The port came back new, without what was set: what is missing was taken by nobody.
    void was_reset();

    // `change`: the last one of others, if there was one since the reading before. With a driver that is not known it
    // is a failed reading: what a port has is put back and planned by its driver, and "not known" is not another one.
    void take_reading(const PortAnswer& answer, const std::optional<PortChange>& change, WallTime wall, TimePoint now);
    // Nothing is known of it now; the next reading is another try. `why`: a phrase.
    void take_failed_reading(std::string why);
    // It has no traffic classes, so that the policy can ask for none.
    void take_none(std::string why);

    [[nodiscard]] PortJob next(TimePoint now);
    void saved(const Result<void>& result, TimePoint now);
    // What became of the steps of the job.
    void written(const dcb::WriteReport& report, TimePoint now);

    [[nodiscard]] const std::optional<port_classes::Record>& record() const { return record_; }
    // When next() may have more to do without anything having come; empty: not.
    [[nodiscard]] std::optional<TimePoint> retry_at() const;
    [[nodiscard]] PortCare care() const;
    // Those since the last call.
    [[nodiscard]] std::vector<PortEvent> take_events();

    // What this wish would mean for the port as it was read last; empty: it was not.
    [[nodiscard]] std::optional<PortPlan> plan_of(const std::optional<PortWish>& wish) const;
    // Is something asked of it, or something to be put back?
    [[nodiscard]] bool has_work() const { return wish_ || record_; }
    // Is there something that it should be: a plan, or what was there before?
    [[nodiscard]] bool has_goal() const { return is_ours() || record_; }
    // From what it should be, of a port that is set so.
    [[nodiscard]] std::vector<port_classes::Difference> differences(const dcb::PortSettings& settings) const;

private:
    struct Failure {
        std::string message;
        std::size_t tries = 0;
        std::optional<TimePoint> retry_at;    // empty: given up
    };

    [[nodiscard]] port_classes::Rules rules() const;
    // That a plan is made from.
    [[nodiscard]] dcb::PortSettings before() const;
    [[nodiscard]] bool is_ours() const { return wish_ && plan_.has_classes; }
    [[nodiscard]] const dcb::PortSettings& goal() const { return is_ours() ? plan_.wanted : record_->before; }
    [[nodiscard]] bool may_try(TimePoint now) const;
    // To there from what is present.
    [[nodiscard]] std::vector<port_classes::Step> steps_to(const dcb::PortSettings& wanted) const;
    // Why it is not known how the port is, and what of it is not done therefore.
    [[nodiscard]] PortCare unread_care() const;
    void note_ets(const dcb::WriteReport& report);
    void drop_record_of_other_driver();
    [[nodiscard]] PortJob keep(TimePoint now);
    [[nodiscard]] PortJob let_go(TimePoint now);
    void settle(TimePoint now);
    void fail_with(std::string message, bool may_work_later, TimePoint now);
    [[nodiscard]] std::string why_left_alone() const;

    std::string netdev_;
    std::optional<PortWish> wish_;
    bool is_held_ = true;
    std::optional<port_classes::Record> record_;
    bool is_saved_ = false;    // the record is on the disk
    std::string driver_;
    std::optional<dcb::PortSettings> present_;    // empty: not known
    std::string unread_;                          // why it could not be read last; empty: it could
    bool has_none_ = false;                       // and that is since it has no traffic classes
    std::vector<std::string> owners_;
    port_classes::Plan plan_;                     // of the wish
    std::optional<dcb::PortSettings> settled_;    // what it was settled with
    bool has_written_ = false;                    // since it was settled
    bool is_letting_go_ = false;                  // what was written last was to put back what was there before
    bool is_ets_doubtful_ = false;    // the NIC may have a part of one that was refused, and the driver not read it
    std::optional<Failure> failure_;
    std::string stopped_;    // why; empty: it is not
    std::optional<PortDrift> drift_;
    bool is_repair_ = false;
    std::vector<TimePoint> repairs_;    // within the window
    std::uint64_t all_repairs_ = 0;
    std::uint64_t all_steps_ = 0;    // that were taken
    std::vector<PortEvent> events_;
};

// The classes that one child of the root has for itself.
[[nodiscard]] std::vector<KeptClass> classes_of_children(const port_classes::Plan& plan);

}    // namespace rdmaqos
