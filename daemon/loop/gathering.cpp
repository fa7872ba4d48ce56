#include "daemon/loop/gathering.h"

#include <utility>

namespace rdmaqos {

std::shared_ptr<Gathering> Gathering::begin(Done done)
{
    return std::make_shared<Gathering>(Private{}, std::move(done));
}

Gathering::Gathering(Private /*only begin() makes one*/, Done done) : done_(std::move(done)) {}

void Gathering::expect(std::string part)
{
    missing_.insert(std::move(part));
}

void Gathering::came(const std::string& part)
{
    if (const auto found = missing_.find(part); found != missing_.end()) {
        missing_.erase(found);
    }
    if (complete_ && missing_.empty()) {
        finish();
    }
}

void Gathering::all_expected()
{
    complete_ = true;
    if (missing_.empty()) {
        finish();
    }
}

void Gathering::within(Executor& loop, Duration patience)
{
    patience_ = loop.after(patience, [weak = weak_from_this()] {
        if (const auto alive = weak.lock()) {
            alive->finish();
        }
    });
}

void Gathering::finish()
{
    patience_.reset();
    if (const Done done = std::exchange(done_, nullptr)) {
        done({missing_.begin(), missing_.end()});
    }
}

}    // namespace rdmaqos
