// A text with a few random edits, for properties of what people get wrong.
#pragma once

#include <string>

#include <rapidcheck.h>

namespace rdmaqos::test {

inline std::string mutated(std::string text)
{
    const auto edits = *rc::gen::inRange(1, 8);
    for (int i = 0; i < edits && !text.empty(); ++i) {
        const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
        switch (*rc::gen::inRange(0, 5)) {
        case 0:
            text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
            break;
        case 1:
            text.erase(at, *rc::gen::inRange<std::size_t>(1, 40));
            break;
        case 2:
            text.insert(at, 1, *rc::gen::elementOf(std::string("[]{}:,-&*!|>'\"#%@` \n\t?~09")));
            break;
        case 3:
            text.insert(at, text.substr(*rc::gen::inRange<std::size_t>(0, text.size()), 60));
            break;
        default:
            text.resize(at);
        }
    }
    return text;
}

}    // namespace rdmaqos::test
