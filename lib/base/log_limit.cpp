#include "lib/base/log_limit.h"

namespace rdmaqos {

LogLimit::Line LogLimit::take(std::uint32_t whose, TimePoint now)
{
    if (now - begin_ >= std::chrono::seconds(1)) {
        begin_ = now;
        all_ = 0;
        each_.clear();
    }
    if (all_ >= of_all_) {
        return Line::LeftOut;
    }
    std::uint32_t& own = each_[whose];
    if (own >= of_each_) {
        return Line::LeftOut;
    }
    ++own;
    ++all_;
    return own == of_each_ || all_ == of_all_ ? Line::Last : Line::Written;
}

}    // namespace rdmaqos
