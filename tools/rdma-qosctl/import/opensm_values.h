// Names and values of a native OpenSM policy as a YAML policy writes them, with what there is to remark on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/opensm/file.h"

namespace rdmaqos::opensm {

// UTF-8 without control characters.
[[nodiscard]] bool is_printable_utf8(std::string_view text);

// The names of one kind of objects. OpenSM's may be of any bytes, and empty.
class Names {
public:
    // "level": of names that have to be made
    explicit Names(std::string_view kind) : kind_(kind) {}

    // All that are defined, before the first is asked for.
    void reserve(std::string_view name);
    // The name itself if a YAML policy can hold it, else one that stands for it; ignoring case.
    [[nodiscard]] std::string of(const std::string& name);
    // One that is not defined, like this.
    [[nodiscard]] std::string unused(std::string name);

private:
    std::string_view kind_;
    std::set<std::string> taken_;    // in lower case
    std::map<std::string, std::string> made_;
    std::size_t last_number_ = 0;
};

// Values as YAML scalars; a remark for each that is not what it looks like.
class ScalarWriter {
public:
    [[nodiscard]] std::string number(const Number& number) { return this->number(number, number.value); }
    // Of a number of which OpenSM makes this value.
    [[nodiscard]] std::string number(const Number& number, std::uint64_t value);
    [[nodiscard]] std::string range(const Range& range);
    // Without the membership bit, where it would say something else with it.
    [[nodiscard]] std::string pkeys(const Range& range);
    // Remarks on the blanks that a name lost. `what` has it: "port-name".
    void name(const Text& text, std::string_view what);

    template <typename... Arguments>
    void remark(fmt::format_string<Arguments...> format, Arguments&&... arguments)
    {
        remarks_.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
    }
    // Since they were last taken.
    [[nodiscard]] std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

private:
    std::vector<std::string> remarks_;
};

}    // namespace rdmaqos::opensm
