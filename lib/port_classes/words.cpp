#include "lib/port_classes/words.h"

#include <fmt/format.h>

namespace rdmaqos::port_classes {

std::string ranges_in_words(const std::vector<std::uint8_t>& numbers)
{
    std::string text;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
            ++last;
        }
        if (last == first + 1) {
            last = first;    // two in a row are no range
        }
        text += text.empty() ? "" : ", ";
        text += last == first ? fmt::format("{}", numbers[first])
                              : fmt::format("{} to {}", numbers[first], numbers[last]);
        first = last + 1;
    }
    return text;
}

std::string in_words(dcb::Selector selector, std::uint16_t protocol)
{
    switch (selector) {
    case dcb::Selector::Ethertype:
        return fmt::format("Ethertype {:#06x}", protocol);
    case dcb::Selector::StreamPort:
        return fmt::format("TCP port {}", protocol);
    case dcb::Selector::DatagramPort:
        return fmt::format("UDP port {}", protocol);
    case dcb::Selector::AnyPort:
        return fmt::format("port {}", protocol);
    case dcb::Selector::Dscp:
        return fmt::format("DSCP {}", protocol);
    }
    return fmt::format("protocol {}", protocol);
}

}    // namespace rdmaqos::port_classes
