// The firmware on which the emulator and the kernel are compared.
#pragma once

#include <string>
#include <vector>

namespace rdmaqos::test::agreement {

// Of the kernel whose answers are kept in full, which the emulator plays. Of others the differences from it are kept.
constexpr const char* kPlayedKernel = "6.1";

struct Variant {
    const char* name;          // of its golden file
    bool isolated;             // a queue pair may use leaves of its own file only
    bool ethernet = false;     // instead of InfiniBand
    const char* areas = "";    // that may differ then; "": all
};

inline const std::vector<Variant>& variants()
{
    static const std::vector<Variant> all{
        {"isolated", true},
        {"shared", false},
        {"ethernet", true, true, "route other-process"},
    };
    return all;
}

inline void PrintTo(const Variant& variant, std::ostream* to)
{
    *to << variant.name;
}

// Its description in a folder.
[[nodiscard]] inline std::string description_of(const Variant& variant, const std::string& folder)
{
    return folder + (variant.ethernet ? "/device-ethernet.yaml" : "/device.yaml");
}

[[nodiscard]] inline std::string golden_of(const Variant& variant)
{
    return std::string("kernel/") + variant.name + ".txt";
}

// The differences of another kernel ("6.12"), of all variants.
[[nodiscard]] inline std::string differences_of(const std::string& kernel)
{
    return "kernel/" + kernel + ".txt";
}

}    // namespace rdmaqos::test::agreement
