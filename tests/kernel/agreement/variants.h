// The firmware on which the emulator and the kernel are compared.
#pragma once

#include <string>
#include <vector>

namespace rdmaqos::test::agreement {

struct Variant {
    const char* name;    // of its golden file
    bool isolated;       // a queue pair may use leaves of its own file only
};

inline const std::vector<Variant>& variants()
{
    static const std::vector<Variant> all{
        {"isolated", true},
        {"shared", false},
    };
    return all;
}

inline void PrintTo(const Variant& variant, std::ostream* to)
{
    *to << variant.name;
}

[[nodiscard]] inline std::string golden_of(const Variant& variant)
{
    return std::string("kernel/") + variant.name + ".txt";
}

}    // namespace rdmaqos::test::agreement
