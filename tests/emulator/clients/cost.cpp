// cost [ITERATIONS]: what a call takes, as a client sees it: median, and nine of ten are below.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/emulator/clients/prm.h"
#include "tests/emulator/clients/world.h"

namespace {

// False, and a message: a call failed.
bool measure(const char* name, int iterations, const std::function<bool()>& call)
{
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(iterations));
    for (int i = 0; i < iterations; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const bool good = call();
        const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
        if (!good) {
            std::printf("FAILED %s: %s\n", name, std::strerror(errno));
            return false;
        }
        times.push_back(taken.count());
    }
    std::sort(times.begin(), times.end());
    std::printf("%-24s median %8.1f us, 90%% below %8.1f us (%d times)\n", name, times[times.size() / 2],
                times[times.size() * 9 / 10], iterations);
    return true;
}

bool measure_open(int iterations)
{
    ibv_device** devices = ibv_get_device_list(nullptr);
    if (devices == nullptr || devices[0] == nullptr) {
        std::printf("FAILED: there is no device\n");
        return false;
    }
    ibv_context* last = nullptr;
    bool good = true;
    std::vector<ibv_context*> contexts;
    good = measure("open a device", iterations, [&] {
        last = ibv_open_device(devices[0]);
        contexts.push_back(last);
        return last != nullptr;
    });
    std::size_t next = 0;
    good = good && measure("close a device", iterations, [&] { return ibv_close_device(contexts[next++]) == 0; });
    ibv_free_device_list(devices);
    return good;
}

bool measure_commands(int iterations)
{
    world here{};
    if (!open_world(&here)) {
        return false;
    }
    std::array<std::uint8_t, ELEMENT_IN> in{};
    std::array<std::uint8_t, GENERAL_OUT> out{};
    const prm_element root{};
    prm_create_element(in.data(), &root);
    mlx5dv_devx_obj* root_object = mlx5dv_devx_obj_create(here.context, in.data(), in.size(), out.data(), out.size());
    const prm_element leaf{ELEMENT_QUEUE_GROUP, prm_object_id(out.data()), 1, 0};
    prm_create_element(in.data(), &leaf);
    mlx5dv_devx_obj* leaf_object = mlx5dv_devx_obj_create(here.context, in.data(), in.size(), out.data(), out.size());
    const std::uint32_t id = prm_object_id(out.data());
    ibv_qp* qp = create_qp(&here, IBV_QPT_RC);
    bool good = root_object != nullptr && leaf_object != nullptr && qp != nullptr;
    std::uint32_t share = 1;
    good = good && measure("DEVX modify", iterations, [&] {
               share = share % 100 + 1;
               prm_modify_element(in.data(), id, SELECT_SHARE, share, 0);
               return mlx5dv_devx_obj_modify(leaf_object, in.data(), in.size(), out.data(), out.size()) == 0;
           });
    good = good && measure("ibv_query_qp", iterations, [&] { return state_of_qp(qp) == IBV_QPS_RESET; });
    good = good && measure("ibv_query_port", iterations, [&] {
               ibv_port_attr port{};
               return ibv_query_port(here.context, 1, &port) == 0;
           });
    // What is still there goes with the context.
    return ibv_close_device(here.context) == 0 && good;
}

}    // namespace

int main(int argc, char** argv)
{
    const int iterations = argc > 1 ? std::atoi(argv[1]) : 5000;
    const bool good = iterations > 0 && measure_open(std::min(iterations, 200)) && measure_commands(iterations);
    return good ? 0 : 1;
}
