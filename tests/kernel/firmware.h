// The device of module/, as a test loads and drives it: /proc/fake_mlx5.
#pragma once

#include <string>
#include <string_view>

namespace rdmaqos::test {

// The module with these parameters ("eth=1 vf=1"), until the end of the object. Throws if the driver does not make a
// uverbs device of it.
class LoadedNic {
public:
    explicit LoadedNic(const std::string& parameters = "");
    ~LoadedNic();
    LoadedNic(const LoadedNic&) = delete;
    LoadedNic& operator=(const LoadedNic&) = delete;
};

// insmod /modules/NAME.ko, and rmmod. Throw.
void load_module(const std::string& name, const std::string& parameters = "");
void unload_module(const std::string& name);

// Whether the kernel has mlx5_0 now; and a wait until it has it, or has not. False: it takes too long.
[[nodiscard]] bool nic_is_present();
[[nodiscard]] bool wait_for_nic(bool present);

// A line for /proc/fake_mlx5; module/control.c has them all. Throws if the module refuses it.
void tell_firmware(std::string_view line);

}    // namespace rdmaqos::test
