// How much work may still go into a question whose answer nobody depends on.
#pragma once

#include <cstddef>

namespace rdmaqos {

// In steps, each of some ten nanoseconds.
class Effort {
public:
    explicit Effort(std::size_t steps) : left_(steps) {}

    // False: there is not so much left, and nothing is left then.
    [[nodiscard]] bool spend(std::size_t steps)
    {
        const bool enough = steps <= left_;
        left_ = enough ? left_ - steps : 0;
        return enough;
    }
    [[nodiscard]] bool is_spent() const { return left_ == 0; }

private:
    std::size_t left_;
};

}    // namespace rdmaqos
