// One answer that is made of several: `done` is called once, when every part that is expected has come, or when there
// is no patience left, with the names of the parts that have not.
//
//     const auto all = Gathering::begin([](const Gathering::Missing& missing) { ... });
//     for (each device) {
//         all->expect(key);
//         device.ask([all, key](auto answer) { ...; all->came(key); });
//     }
//     all->all_expected();
//
// A part that comes later than patience lasted changes nothing any more.
//
// Thread: the main loop.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/base/executor.h"
#include "lib/base/loop_callback.h"

namespace rdmaqos {

class Gathering : public std::enable_shared_from_this<Gathering> {
    struct Private {};

public:
    using Missing = std::vector<std::string>;
    using Done = LoopCallback<void(Missing)>;

    [[nodiscard]] static std::shared_ptr<Gathering> begin(Done done);
    Gathering(Private, Done done);

    // Before all_expected(). Several parts may have one name.
    void expect(std::string part);
    void came(const std::string& part);
    // There are no more: `done` may be called now, and is at once if everything has come.
    void all_expected();
    // Waits no longer than this from now on.
    void within(Executor& loop, Duration patience);

private:
    void finish();

    Done done_;    // empty: it was called
    std::multiset<std::string> missing_;
    bool complete_ = false;    // nothing more is expected
    std::unique_ptr<Timer> patience_;
};

}    // namespace rdmaqos
