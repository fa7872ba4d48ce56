// Rates of queue pairs, and entries of the table of rates.
#include <cerrno>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>
#include <nlohmann/json.hpp>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

std::string entries()
{
    return fmt::format("{} entries", device_state().at("pacing-entries").dump());
}

std::string rate_of(ibv_qp* qp)
{
    const std::uint32_t queue = send_queue_of(qp);
    for (const auto& each : device_state().at("queue-pairs")) {
        if ((each.at("qpn") == qp->qp_num || each.at("qpn") == queue) && each.contains("rate-kbps")) {
            return fmt::format("{} kbit/s burst {} packet {}", each["rate-kbps"].dump(), each["max-burst"].dump(),
                               each["typical-packet"].dump());
        }
    }
    return "no rate";
}

void say_rates(const Room& room)
{
    constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};
    for (const ibv_qp_type type : kTypes) {
        for (const ibv_qp_state state :
             {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
            const QueuePair pair(room, type, state);
            if (pair.qp == nullptr || pair.why_not != 0) {
                continue;
            }
            ibv_qp_rate_limit_attr rate{100000, 0, 0, 0};
            say(fmt::format("{} in {}", name_of_type(type), name_of_state(state)),
                joined({spelled(ibv_modify_qp_rate_limit(pair.qp, &rate)), rate_of(pair.qp)}));
        }
    }
    const QueuePair raw(room, IBV_QPT_RAW_PACKET, IBV_QPS_RTS);
    if (raw.qp == nullptr) {
        return;
    }
    const auto set = [&](const std::string& name, const ibv_qp_rate_limit_attr& given) {
        ibv_qp_rate_limit_attr attr = given;
        say(name, joined({spelled(ibv_modify_qp_rate_limit(raw.qp, &attr)), rate_of(raw.qp), entries()}));
    };
    set("a rate", {100000, 0, 0, 0});
    set("the same rate", {100000, 0, 0, 0});
    set("another rate", {200000, 0, 0, 0});
    set("the smallest rate", {1, 0, 0, 0});
    set("the largest rate", {100000000, 0, 0, 0});
    set("a rate above the largest", {100000001, 0, 0, 0});
    set("a burst", {300000, 4096, 0, 0});
    set("a typical packet", {300000, 0, 1500, 0});
    set("both", {300000, 4096, 1500, 0});
    set("both, and an unknown bit", {300000, 4096, 1500, 1});
    set("no rate", {0, 0, 0, 0});
    set("no rate, and a burst", {0, 4096, 0, 0});
    set("a rate before RESET", {100000, 0, 0, 0});
    say("RESET", joined({spelled(step_qp(raw.qp, IBV_QPS_RESET, 0)), rate_of(raw.qp), entries()}));
    const QueuePair second(room, IBV_QPT_RAW_PACKET, IBV_QPS_RTS);
    (void)drive_qp(raw.qp, IBV_QPS_RTS);
    set("a rate after RESET", {100000, 0, 0, 0});
    ibv_qp_rate_limit_attr shared{100000, 0, 0, 0};
    say("the same rate by another queue pair",
        joined({spelled(ibv_modify_qp_rate_limit(second.qp, &shared)), rate_of(second.qp), entries()}));
}

void say_entries(const Room& room)
{
    Bytes entry(48);
    const auto allocate = [&](const std::string& name, std::uint32_t kbps, std::uint32_t flags) {
        prm_set(entry.data(), 0, 32, kbps);
        errno = 0;
        mlx5dv_pp* pp = mlx5dv_pp_alloc(room.world.context, entry.size(), entry.data(), flags);
        const int error = pp != nullptr ? 0 : errno;
        say(name, joined({spelled(error), pp != nullptr ? fmt::format("row {}", pp->index) : "no row", entries()}));
        if (pp != nullptr) {
            mlx5dv_pp_free(pp);
        }
    };
    allocate("mlx5dv_pp_alloc", 100000, 0);
    allocate("mlx5dv_pp_alloc, dedicated", 100000, MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX);
    allocate("mlx5dv_pp_alloc above the largest", 100000001, 0);
    allocate("mlx5dv_pp_alloc of rate 0", 0, 0);
    allocate("mlx5dv_pp_alloc with an unknown flag", 100000, 0x80);
    say("and then", entries());
    const auto two = [&](const std::string& name, std::uint32_t first, std::uint32_t second) {
        prm_set(entry.data(), 0, 32, 100000);
        mlx5dv_pp* one = mlx5dv_pp_alloc(room.world.context, entry.size(), entry.data(), first);
        mlx5dv_pp* other = mlx5dv_pp_alloc(room.world.context, entry.size(), entry.data(), second);
        say(name, one == nullptr || other == nullptr ? "refused" : fmt::format("rows {} {}", one->index, other->index));
        for (mlx5dv_pp* each : {one, other}) {
            if (each != nullptr) {
                mlx5dv_pp_free(each);
            }
        }
    };
    two("two rows of one rate", 0, 0);
    two("two rows of one rate, dedicated", MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX,
        MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX);
    two("two rows of one rate, one of them dedicated", 0, MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX);
}

}    // namespace

void say_pacing()
{
    const Room room;
    say_rates(room);
    say("with all queue pairs gone", entries());
    say_entries(room);
}

}    // namespace rdmaqos::test::agreement
