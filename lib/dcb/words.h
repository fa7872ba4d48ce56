// Settings in words, for messages. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/dcb/port_settings.h"

namespace rdmaqos::dcb {

// Who wrote, as far as a notification tells.
enum class Author : std::uint8_t {
    Ourselves,
    Driver,     // or the firmware's agent: it has no request
    DcbTool,    // probably: iproute2 numbers its requests by the time of day
    Unknown,
};
[[nodiscard]] std::string_view in_words(Author author);    // "this daemon", "the driver or its firmware", ...

[[nodiscard]] std::string_view in_words(Selection selection);    // "strict", "a credit-based shaper", "by weight (ETS)"
[[nodiscard]] std::string_view in_words(Selector selector);      // "DSCP", "UDP port"
[[nodiscard]] std::string in_words(const AppEntry& entry);       // "DSCP 26 to priority 3"
// "class 0: 60 %, class 3: 40 %, class 5: strict; priorities 0 to 7 in classes 0 0 0 3 0 5 0 0": classes in use only
[[nodiscard]] std::string in_words(const Ets& ets);
[[nodiscard]] std::string in_words(const Dcbx& dcbx);    // "in host mode, IEEE"

// As dcb-ets(8) has it: "strict", "cbs", "ets"; it has no word for "vendor".
[[nodiscard]] std::string_view tsa_word(Selection selection);
[[nodiscard]] std::optional<Selection> selection_of(std::string_view tsa_word);

}    // namespace rdmaqos::dcb
