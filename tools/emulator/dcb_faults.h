// What goes wrong with requests that set DCB of an emulated port, as `ctl dcb-fault` orders it, and how many there
// were.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <vector>

namespace rdmaqos::emulator {

enum class DcbFaultKind : std::uint8_t {
    Refuse,        // nothing of it is there
    Half,          // of ETS, the first half of the priorities have their classes; of other parts, nothing is there
    KillBefore,    // nothing of it is there, and who asked gets SIGKILL
    KillAfter,     // it is done, and who asked gets SIGKILL before he has the answer
    Silent,        // it is done, and never answered
};

struct DcbFault {
    DcbFaultKind kind = DcbFaultKind::Refuse;
    int error = EIO;    // of Refuse and Half

    friend bool operator==(const DcbFault&, const DcbFault&) = default;
};

class DcbFaults {
public:
    // Of `times` requests, of which the first is the `nth` from now (1: the next one).
    void order(std::uint64_t nth, std::uint64_t times, const DcbFault& fault)
    {
        ordered_.push_back({taken_ + nth, taken_ + nth + times, fault});
    }
    void clear() { ordered_.clear(); }

    // A request: what happens to it.
    [[nodiscard]] std::optional<DcbFault> take()
    {
        const std::uint64_t number = ++taken_;
        const auto found = std::ranges::find_if(
            ordered_, [&](const Ordered& each) { return each.first <= number && number < each.end; });
        return found == ordered_.end() ? std::nullopt : std::optional(found->fault);
    }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }

private:
    struct Ordered {
        std::uint64_t first = 0;
        std::uint64_t end = 0;
        DcbFault fault;
    };

    std::uint64_t taken_ = 0;
    std::vector<Ordered> ordered_;
};

}    // namespace rdmaqos::emulator
