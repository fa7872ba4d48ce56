// For tests that run below an emulator: what it says of itself, and queue pairs made through libibverbs.
#pragma once

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "lib/bus/value.h"
#include "tests/emulator/clients/world.h"

namespace rdmaqos::test {

// `rdma-qos-emulator ctl WORDS`; throws if it refuses.
inline std::string emulator(const std::string& words)
{
    const std::string command = std::string(RDMAQOS_EMULATOR) + " ctl " + words;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        throw std::runtime_error("popen");
    }
    std::string text;
    std::array<char, 65536> part{};
    for (std::size_t length = 0; (length = fread(part.data(), 1, part.size(), pipe)) > 0;) {
        text.append(part.data(), length);
    }
    if (pclose(pipe) != 0) {
        throw std::runtime_error("the emulator refuses: " + words + ": " + text);
    }
    return text;
}

// One device as the emulator has it.
inline nlohmann::json emulated_device(const std::string& name = "mlx5_0")
{
    const auto all = nlohmann::json::parse(emulator("state --json"));
    for (const auto& device : all.at("devices")) {
        if (device.at("name") == name) {
            return device;
        }
    }
    throw std::runtime_error("the emulator has no " + name);
}

// "rate 40000 share 0 < rate 0 share 7 < root": the way from an element up, told apart by what the policy gives it.
inline std::string way_up(const nlohmann::json& device, std::uint32_t element)
{
    std::string text;
    while (element != 0) {
        bool found = false;
        for (const auto& each : device.at("tree")) {
            if (each.at("id") == element) {
                found = true;
                element = each.value("parent", 0U);
                text += element == 0 ? std::string("root")
                                     : fmt::format("rate {} share {} < ", each.at("max-average-bw").dump(),
                                                   each.at("bw-share").dump());
                break;
            }
        }
        if (!found) {
            return text + "(nothing)";
        }
    }
    return text;
}

// Where each queue pair of a device is, requester side.
inline std::map<std::uint32_t, std::string> places(const nlohmann::json& device)
{
    std::map<std::uint32_t, std::string> result;
    for (const auto& each : device.at("queue-pairs")) {
        result[each.at("qpn").get<std::uint32_t>()] = way_up(device, each.at("requester").get<std::uint32_t>());
    }
    return result;
}

inline const char* name_of(ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_RC:
        return "rc";
    case IBV_QPT_UC:
        return "uc";
    case IBV_QPT_UD:
        return "ud";
    default:
        return "raw-packet";
    }
}

// What Attach wants to know of a queue pair.
inline bus::Dict request_for(const world& world, ibv_qp* queue_pair, const std::string& device = "mlx5_0")
{
    bus::Dict dict;
    dict.set("device", device);
    dict.set("number", queue_pair->qp_num);
    dict.set("handle", queue_pair->handle);
    dict.set("type", name_of(queue_pair->qp_type));
    // The other end of the call closes what it gets; this one keeps its own.
    dict.set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(dup(world.context->cmd_fd))});
    if (queue_pair->qp_type == IBV_QPT_RAW_PACKET) {
        mlx5dv_qp details{};
        details.comp_mask = MLX5DV_QP_MASK_RAW_QP_HANDLES;
        mlx5dv_obj object{};
        object.qp = {queue_pair, &details};
        mlx5dv_init_obj(&object, MLX5DV_OBJ_QP);
        dict.set("sq-number", details.sqn);
    }
    return dict;
}

}    // namespace rdmaqos::test
