// What our encoder sends against what libmlx5 sends for the same arguments, taken from the ioctl of both at test time.
//
// Not compared, because nobody chooses them: the handle a creation gives (its attribute is empty before the call), and
// addresses. Everything else must be equal: object, method, the attributes and their order of ids, every byte of every
// input, and how much room is left for each answer unless the case says why not.
#include <cstdarg>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "lib/nic_mlx5/commands.h"
#include "lib/nic_mlx5/uverbs.h"
#include "tests/emulator/clients/world.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

struct CapturedCall {
    std::uint16_t object = 0;
    std::uint16_t method = 0;
    std::map<std::uint16_t, Bytes> inputs;             // by attribute; of a handle, its number
    std::map<std::uint16_t, std::uint16_t> outputs;    // room
    std::map<std::uint16_t, Bytes> answers;            // what came back in the outputs

    friend bool operator==(const CapturedCall& a, const CapturedCall& b)
    {
        return a.object == b.object && a.method == b.method && a.inputs == b.inputs && a.outputs == b.outputs;
    }
};

std::vector<CapturedCall>* captured = nullptr;

bool is_output(std::uint16_t object, std::uint16_t method, std::uint16_t id)
{
    struct Output {
        std::uint16_t object;
        std::uint16_t method;
        std::uint16_t id;
    };
    constexpr Output kOutputs[] = {
        {MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT},
        {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT},
        {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT},
        {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT},
        {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, UVERBS_ATTR_CORE_OUT},
        {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, UVERBS_ATTR_UHW_OUT},
    };
    return std::any_of(std::begin(kOutputs), std::end(kOutputs), [&](const Output& output) {
        return output.object == object && output.method == method && output.id == id;
    });
}

Bytes input_of(const ib_uverbs_attr& attribute)
{
    const bool is_inline = attribute.len <= sizeof(attribute.data);
    const auto* from = is_inline ? reinterpret_cast<const std::uint8_t*>(&attribute.data)
                                 : reinterpret_cast<const std::uint8_t*>(attribute.data);
    return {from, from + (attribute.len == 0 ? sizeof(attribute.data) : attribute.len)};
}

CapturedCall capture(const ib_uverbs_ioctl_hdr& head)
{
    CapturedCall call{head.object_id, head.method_id, {}, {}, {}};
    for (const auto& attribute : std::span(head.attrs, head.num_attrs)) {
        if (is_output(call.object, call.method, attribute.attr_id)) {
            call.outputs[attribute.attr_id] = attribute.len;
        } else {
            call.inputs[attribute.attr_id] = input_of(attribute);
        }
    }
    return call;
}

}    // namespace

// Stands before everybody else's ioctl in this program.
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept
{
    static const auto next = reinterpret_cast<int (*)(int, unsigned long, void*)>(dlsym(RTLD_NEXT, "ioctl"));
    std::va_list arguments;
    va_start(arguments, request);
    void* argument = va_arg(arguments, void*);
    va_end(arguments);
    if (captured == nullptr || request != RDMA_VERBS_IOCTL) {
        return next(fd, request, argument);
    }
    const auto* head = static_cast<const ib_uverbs_ioctl_hdr*>(argument);
    CapturedCall call = capture(*head);
    const int result = next(fd, request, argument);
    for (const auto& attribute : std::span(head->attrs, head->num_attrs)) {
        if (call.outputs.contains(attribute.attr_id)) {
            const auto* from = reinterpret_cast<const std::uint8_t*>(attribute.data);
            call.answers[attribute.attr_id] = {from, from + attribute.len};
        }
    }
    if (call.object == MLX5_IB_OBJECT_DEVX_OBJ && call.method == MLX5_IB_METHOD_DEVX_OBJ_CREATE) {
        call.answers[MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE] = {};
        for (const auto& attribute : std::span(head->attrs, head->num_attrs)) {
            if (attribute.attr_id == MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE) {
                call.answers[attribute.attr_id] = input_of(attribute);
            }
        }
    }
    captured->push_back(std::move(call));
    return result;
}

namespace rdmaqos::mlx5 {
namespace {

template <typename Function>
std::vector<CapturedCall> calls_of(Function function)
{
    std::vector<CapturedCall> calls;
    captured = &calls;
    function();
    captured = nullptr;
    return calls;
}

std::string text_of(const CapturedCall& call)
{
    std::string text = fmt::format("object {:#x} method {:#x}", call.object, call.method);
    for (const auto& [id, bytes] : call.inputs) {
        text += fmt::format("\n  in {:#x} ({} bytes):", id, bytes.size());
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            if (bytes[at] != 0) {
                text += fmt::format(" [{}]={:02x}", at, bytes[at]);
            }
        }
    }
    for (const auto& [id, room] : call.outputs) {
        text += fmt::format("\n  out {:#x}: {} bytes", id, room);
    }
    return text;
}

// The last of libmlx5's calls is the command; before it may come queries of its own.
void expect_same(const std::vector<CapturedCall>& theirs, const std::vector<CapturedCall>& ours)
{
    ASSERT_FALSE(theirs.empty());
    ASSERT_EQ(ours.size(), 1U);
    EXPECT_TRUE(theirs.back() == ours.front())
        << "libmlx5: " << text_of(theirs.back()) << "\nours: " << text_of(ours.front());
}

// Handle and firmware id of an object that libmlx5 made.
struct Made {
    std::uint32_t handle = 0;
    ObjectId id = kNoObject;
};

Made made_by(const std::vector<CapturedCall>& calls)
{
    const auto& answers = calls.back().answers;
    Made made;
    const Bytes& handle = answers.at(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
    std::memcpy(&made.handle, handle.data(), sizeof(made.handle));
    made.id = ObjectId{
        static_cast<std::uint32_t>(get(answers.at(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT), prm::kObjectId))};
    return made;
}

class SameBytes : public ::testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_TRUE(open_world(&world_));
        const auto root_attributes = element_attr(nullptr, 0, 0);
        root_made_ = made_by(calls_of([&] { root_ = mlx5dv_sched_node_create(world_.context, &root_attributes); }));
        ASSERT_NE(root_, nullptr);
    }
    void TearDown() override
    {
        EXPECT_EQ(mlx5dv_sched_node_destroy(root_), 0);
        close_world(&world_);
    }
    [[nodiscard]] int fd() const { return world_.context->cmd_fd; }

    world world_{};
    mlx5dv_sched_node* root_ = nullptr;
    Made root_made_;
};

TEST_F(SameBytes, CreateRoot)
{
    // A context has one root: the emulator refuses ours, which changes nothing about what was sent.
    const auto attributes = element_attr(nullptr, 0, 0);
    expect_same(calls_of([&] { EXPECT_EQ(mlx5dv_sched_node_create(world_.context, &attributes), nullptr); }),
                calls_of([&] {
                    EXPECT_FALSE(devx_create(fd(), create_element(ElementKind::Node, kNoObject, {})).has_value());
                }));
}

struct CreateCase {
    std::uint32_t share;
    std::uint32_t max_mbps;
};

TEST_F(SameBytes, CreateNodesAndLeaves)
{
    for (const CreateCase& each : {CreateCase{0, 0}, CreateCase{7, 0}, CreateCase{0, 25000}, CreateCase{100, 400000}}) {
        SCOPED_TRACE(fmt::format("share {}, {} Mbit/s", each.share, each.max_mbps));
        const auto theirs = element_attr(root_, each.share, each.max_mbps);
        ElementAttributes ours{each.share, std::nullopt};
        if (each.max_mbps != 0) {
            ours.max_rate = Bandwidth::from_mbps(each.max_mbps);
        }
        mlx5dv_sched_node* node = nullptr;
        mlx5dv_sched_leaf* leaf = nullptr;
        const auto node_calls = calls_of([&] { node = mlx5dv_sched_node_create(world_.context, &theirs); });
        const auto leaf_calls = calls_of([&] { leaf = mlx5dv_sched_leaf_create(world_.context, &theirs); });
        ASSERT_TRUE(node != nullptr && leaf != nullptr);
        for (const auto& [kind, calls] : {std::pair(ElementKind::Node, node_calls), {ElementKind::Leaf, leaf_calls}}) {
            Created created;
            expect_same(calls, calls_of([&] {
                            const auto answer = devx_create(fd(), create_element(kind, root_made_.id, ours));
                            ASSERT_TRUE(answer.has_value());
                            created = *answer;
                        }));
            EXPECT_TRUE(devx_destroy(fd(), created.handle).has_value());
        }
        EXPECT_EQ(mlx5dv_sched_node_destroy(node), 0);
        EXPECT_EQ(mlx5dv_sched_leaf_destroy(leaf), 0);
    }
}

TEST_F(SameBytes, ModifyCarriesOnlyWhatChanges)
{
    const auto attributes = element_attr(root_, 5, 1000);
    mlx5dv_sched_leaf* leaf = nullptr;
    const Made made = made_by(calls_of([&] { leaf = mlx5dv_sched_leaf_create(world_.context, &attributes); }));
    const auto compare = [&](std::uint32_t share, std::uint32_t max_mbps, const ElementChange& change) {
        const auto wanted = element_attr(root_, share, max_mbps);
        expect_same(
            calls_of([&] { EXPECT_EQ(mlx5dv_sched_leaf_modify(leaf, &wanted), 0); }), calls_of([&] {
                EXPECT_TRUE(
                    devx_modify(fd(), made.handle, modify_element(ElementKind::Leaf, made.id, change)).has_value());
            }));
    };
    compare(60, 0, {60, std::nullopt});
    compare(0, 40000, {std::nullopt, Bandwidth::from_gbps(40)});
    compare(9, 2, {9, Bandwidth::from_mbps(2)});
    // Lifting a cap: the flag with 0, which element_attr() takes for "left out".
    auto lifted = element_attr(root_, 0, 0);
    lifted.flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;
    expect_same(calls_of([&] { EXPECT_EQ(mlx5dv_sched_leaf_modify(leaf, &lifted), 0); }), calls_of([&] {
                    const ElementChange change{std::nullopt, std::optional<Bandwidth>()};
                    EXPECT_TRUE(
                        devx_modify(fd(), made.handle, modify_element(ElementKind::Leaf, made.id, change)).has_value());
                }));
    EXPECT_EQ(mlx5dv_sched_leaf_destroy(leaf), 0);
}

TEST_F(SameBytes, Destroy)
{
    const auto attributes = element_attr(root_, 5, 0);
    mlx5dv_sched_leaf* leaf = nullptr;
    const Made made = made_by(calls_of([&] { leaf = mlx5dv_sched_leaf_create(world_.context, &attributes); }));
    auto theirs = calls_of([&] { EXPECT_EQ(mlx5dv_sched_leaf_destroy(leaf), 0); });
    expect_same(theirs, calls_of([&] { EXPECT_FALSE(devx_destroy(fd(), made.handle).has_value()); }));
}

// A queue pair and what its handle is in verbs.
struct QueuePairCase {
    ibv_qp_type type;
    ibv_qp_state state;
    bool responder;
};

class SameBytesOfQueuePairs : public SameBytes, public ::testing::WithParamInterface<QueuePairCase> {};

TEST_P(SameBytesOfQueuePairs, Place)
{
    const auto attributes = element_attr(root_, 1, 0);
    mlx5dv_sched_leaf* leaf = nullptr;
    const Made made = made_by(calls_of([&] { leaf = mlx5dv_sched_leaf_create(world_.context, &attributes); }));
    ibv_qp* queue_pair = qp_in_state(&world_, GetParam().type, GetParam().state);
    ASSERT_NE(queue_pair, nullptr);
    mlx5dv_qp details{};
    details.comp_mask = MLX5DV_QP_MASK_RAW_QP_HANDLES;
    mlx5dv_obj object{};
    object.qp = {queue_pair, &details};
    ASSERT_EQ(mlx5dv_init_obj(&object, MLX5DV_OBJ_QP), 0);
    const auto compare = [&](mlx5dv_sched_leaf* requester, ObjectId requester_id, mlx5dv_sched_leaf* responder,
                             ObjectId responder_id) {
        const Mailbox command = GetParam().type == IBV_QPT_RAW_PACKET
                                    ? place_send_queue(details.sqn, requester_id)
                                    : place_queue_pair(GetParam().state == IBV_QPS_INIT ? QueuePairState::Init
                                                                                        : QueuePairState::Rts,
                                                       queue_pair->qp_num, requester_id, responder_id);
        expect_same(calls_of([&] { EXPECT_EQ(mlx5dv_modify_qp_sched_elem(queue_pair, requester, responder), 0); }),
                    calls_of([&] { EXPECT_TRUE(devx_modify(fd(), queue_pair->handle, command).has_value()); }));
    };
    compare(leaf, made.id, nullptr, kNoObject);
    if (GetParam().responder) {
        compare(leaf, made.id, leaf, made.id);
    }
    compare(nullptr, kNoObject, nullptr, kNoObject);
    EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
    EXPECT_EQ(mlx5dv_sched_leaf_destroy(leaf), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Types, SameBytesOfQueuePairs,
    ::testing::Values(QueuePairCase{IBV_QPT_RC, IBV_QPS_INIT, true}, QueuePairCase{IBV_QPT_RC, IBV_QPS_RTS, true},
                      QueuePairCase{IBV_QPT_UC, IBV_QPS_INIT, false}, QueuePairCase{IBV_QPT_UC, IBV_QPS_RTS, false},
                      QueuePairCase{IBV_QPT_UD, IBV_QPS_INIT, false}, QueuePairCase{IBV_QPT_UD, IBV_QPS_RTS, false},
                      QueuePairCase{IBV_QPT_RAW_PACKET, IBV_QPS_RTS, false}));

TEST_F(SameBytes, RateLimit)
{
    ibv_qp* queue_pair = qp_in_state(&world_, IBV_QPT_RAW_PACKET, IBV_QPS_RTS);
    ASSERT_NE(queue_pair, nullptr);
    const auto compare = [&](ibv_qp_rate_limit_attr theirs, const std::optional<RateLimit>& ours) {
        expect_same(calls_of([&] { EXPECT_EQ(ibv_modify_qp_rate_limit(queue_pair, &theirs), 0); }),
                    calls_of([&] { EXPECT_TRUE(modify_rate(fd(), queue_pair->handle, ours).has_value()); }));
    };
    compare({5'000'000, 0, 0, 0}, RateLimit{Bandwidth::from_gbps(5), {}, {}});
    compare({1'000'000, 65536, 1024, 0}, RateLimit{Bandwidth::from_gbps(1), 65536, 1024});
    compare({0, 0, 0, 0}, std::nullopt);
    EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
}

TEST_F(SameBytes, Capabilities)
{
    Mailbox command = query_capabilities(prm::kQosCapabilities);
    Mailbox answer(prm::kCapabilityBytes);
    const auto theirs = calls_of([&] {
        EXPECT_EQ(mlx5dv_devx_general_cmd(world_.context, command.data(), command.size(), answer.data(), answer.size()),
                  0);
    });
    expect_same(theirs, calls_of([&] { EXPECT_EQ(devx_command(fd(), command, prm::kCapabilityBytes), answer); }));
}

TEST_F(SameBytes, QueryState)
{
    ibv_qp* queue_pair = qp_in_state(&world_, IBV_QPT_RC, IBV_QPS_INIT);
    ASSERT_NE(queue_pair, nullptr);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    auto theirs = calls_of([&] { EXPECT_EQ(ibv_query_qp(queue_pair, &attributes, IBV_QP_STATE, &initial), 0); });
    // `response`, the address of an answer in the old way of calling: read by nobody here.
    std::fill_n(theirs.back().inputs.at(UVERBS_ATTR_CORE_IN).begin(), sizeof(std::uint64_t), 0);
    expect_same(theirs, calls_of([&] { EXPECT_EQ(query_state(fd(), queue_pair->handle), QueuePairState::Init); }));
    EXPECT_EQ(ibv_destroy_qp(queue_pair), 0);
}

}    // namespace
}    // namespace rdmaqos::mlx5
