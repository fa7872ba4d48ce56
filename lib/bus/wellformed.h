// Whether a message can be read at all, before sd-bus has it.
//
// sd-bus drops a message whose header it finds wrong without a word, and forgets the descriptors that came with it:
// they stay open. So it gets none of these. What is checked here is all that sd-bus checks when a message arrives (it
// looks at bodies only when they are read), by the D-Bus specification, "Message Protocol"; in doubt a message is
// refused here. A pure function over bytes. docs/adr/0030 has what happens without it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmaqos::bus {

// Of a whole message, whose head parse_head() (framing.h) takes, with as many descriptors as came with it. The reason
// is the end of "the message ": "has no path". Empty: it is well-formed.
[[nodiscard]] std::string why_malformed(std::string_view message, std::size_t descriptors);

}    // namespace rdmaqos::bus
