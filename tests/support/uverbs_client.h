// A program's side of an emulator that runs in this process: opens a device by its socket and calls by hand, without
// libibverbs. Errors are errnos; 0 is success.
#pragma once

#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/file.h"
#include "lib/mlx5/prm.h"
#include "lib/model/profile.h"
#include "tests/support/temp_dir.h"
#include "tools/emulator/conversation.h"
#include "tools/emulator/server.h"
#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::test {

// The bytes of an ioctl in the making.
class Ioctl {
public:
    Ioctl(std::uint16_t object, std::uint16_t method)
    {
        head_.object_id = object;
        head_.method_id = method;
        head_.driver_id = RDMA_DRIVER_MLX5;
    }

    Ioctl& in(std::uint16_t id, const void* data, std::size_t size)
    {
        ib_uverbs_attr& attribute = add(id, size);
        if (size <= sizeof(attribute.data)) {
            std::memcpy(&attribute.data, data, size);
        } else {
            attribute.data = reinterpret_cast<std::uint64_t>(data);
        }
        return *this;
    }
    template <typename T>
    Ioctl& in(std::uint16_t id, const T& value)
    {
        return in(id, &value, sizeof(value));
    }
    Ioctl& out(std::uint16_t id, void* data, std::size_t size)
    {
        add(id, size).data = reinterpret_cast<std::uint64_t>(data);
        return *this;
    }
    template <typename T>
    Ioctl& out(std::uint16_t id, T& value)
    {
        return out(id, &value, sizeof(value));
    }
    Ioctl& handle(std::uint16_t id, std::uint32_t value = 0)
    {
        add(id, 0).data = value;
        return *this;
    }

    int run(int file)
    {
        head_.num_attrs = static_cast<std::uint16_t>(attributes_.size());
        head_.length = static_cast<std::uint16_t>(sizeof(head_) + attributes_.size() * sizeof(ib_uverbs_attr));
        std::vector<std::uint8_t> bytes(head_.length);
        auto* place = bytes.data();
        std::memcpy(place, &head_, sizeof(head_));
        place += sizeof(head_);
        for (const auto& attribute : attributes_) {
            std::memcpy(place, &attribute, sizeof(attribute));
            place += sizeof(attribute);
        }
        const int error = emulator::call(file, bytes.data());
        place = bytes.data() + sizeof(head_);
        for (auto& attribute : attributes_) {
            std::memcpy(&attribute, place, sizeof(attribute));
            place += sizeof(attribute);
        }
        return error;
    }
    [[nodiscard]] std::uint64_t value(std::uint16_t id) const
    {
        for (const auto& attribute : attributes_) {
            if (attribute.attr_id == id) {
                return attribute.data;
            }
        }
        throw std::out_of_range("no such attribute");
    }
    emulator::CallHead& head() { return head_; }

private:
    ib_uverbs_attr& add(std::uint16_t id, std::size_t size)
    {
        ib_uverbs_attr attribute{};
        attribute.attr_id = id;
        attribute.len = static_cast<std::uint16_t>(size);
        attribute.flags = UVERBS_ATTR_F_MANDATORY;
        attributes_.push_back(attribute);
        return attributes_.back();
    }

    emulator::CallHead head_;
    std::vector<ib_uverbs_attr> attributes_;
};

struct DevxAnswer {
    int error = 0;
    mlx5::Mailbox mailbox;
    std::uint32_t handle = 0;

    [[nodiscard]] std::uint64_t status() const { return get(mailbox, mlx5::prm::kStatus); }
    [[nodiscard]] std::uint32_t id() const { return static_cast<std::uint32_t>(get(mailbox, mlx5::prm::kObjectId)); }
};

struct ElementFields {
    std::uint32_t flags = 0;
    std::uint32_t share = 0;
    std::uint32_t max_rate_mbps = 0;
};

class UverbsClient {
public:
    // A context with DEVX, unless told otherwise.
    explicit UverbsClient(const std::filesystem::path& directory, unsigned index = 0, bool context = true)
        : fd_(connect_to(directory, index))
    {
        if (context && get_context() != 0) {
            throw std::runtime_error("no context");
        }
    }
    explicit UverbsClient(UniqueFd fd) : fd_(std::move(fd)) {}

    [[nodiscard]] int fd() const { return fd_.get(); }
    // Behind the emulator's back, as a process that ends does.
    void close() { fd_.reset(); }
    // As below the preload library.
    void close_and_wait() { emulator::close_file(fd_.release(), ::close); }
    // Another descriptor of the same file.
    [[nodiscard]] UverbsClient again() const { return UverbsClient(UniqueFd(dup(fd_.get()))); }

    int get_context(std::uint32_t flags = MLX5_IB_ALLOC_UCTX_DEVX)
    {
        mlx5_ib_alloc_ucontext_req_v2 request{};
        request.flags = flags;
        mlx5_ib_alloc_ucontext_resp answer{};
        return Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT)
            .in(UVERBS_ATTR_UHW_IN, request)
            .out(UVERBS_ATTR_UHW_OUT, answer)
            .run(fd());
    }

    template <typename In, typename Out>
    int write(std::uint32_t command, const In& in, Out& out)
    {
        return Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
            .in(UVERBS_ATTR_WRITE_CMD, command)
            .in(UVERBS_ATTR_CORE_IN, in)
            .out(UVERBS_ATTR_CORE_OUT, out)
            .run(fd());
    }

    // Of what is made here, the handle; throws if it is refused.
    std::uint32_t make_pd()
    {
        ib_uverbs_alloc_pd_resp answer{};
        must(write(IB_USER_VERBS_CMD_ALLOC_PD, std::uint64_t{0}, answer), "alloc-pd");
        return answer.pd_handle;
    }
    std::uint32_t make_cq()
    {
        std::uint32_t cqe = 0;
        mlx5_ib_create_cq vendor{};
        mlx5_ib_create_cq_resp answer{};
        Ioctl create(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
        must(create.handle(UVERBS_ATTR_CREATE_CQ_HANDLE)
                 .in(UVERBS_ATTR_CREATE_CQ_CQE, std::uint32_t{16})
                 .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, std::uint64_t{1})
                 .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
                 .out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, cqe)
                 .in(UVERBS_ATTR_UHW_IN, vendor)
                 .out(UVERBS_ATTR_UHW_OUT, answer)
                 .run(fd()),
             "create-cq");
        return static_cast<std::uint32_t>(create.value(UVERBS_ATTR_CREATE_CQ_HANDLE));
    }

    struct QueuePair {
        std::uint32_t handle = 0;
        std::uint32_t number = 0;
        std::uint32_t sq_number = 0;
    };
    // In RESET. With protection domain and completion queue of their own.
    QueuePair make_qp(std::uint32_t verbs_type = IB_UVERBS_QPT_RC, std::uint64_t user_handle = 77)
    {
        const std::uint32_t pd = make_pd();
        const std::uint32_t cq = make_cq();
        const ib_uverbs_qp_cap cap{16, 16, 1, 1, 0};
        ib_uverbs_qp_cap real{};
        QueuePair made;
        mlx5_ib_create_qp vendor{};
        mlx5_ib_create_qp_resp answer{};
        Ioctl create(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
        must(create.handle(UVERBS_ATTR_CREATE_QP_HANDLE)
                 .handle(UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd)
                 .handle(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq)
                 .handle(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq)
                 .in(UVERBS_ATTR_CREATE_QP_TYPE, verbs_type)
                 .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, user_handle)
                 .in(UVERBS_ATTR_CREATE_QP_CAP, cap)
                 .out(UVERBS_ATTR_CREATE_QP_RESP_CAP, real)
                 .out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, made.number)
                 .in(UVERBS_ATTR_UHW_IN, vendor)
                 .out(UVERBS_ATTR_UHW_OUT, answer)
                 .run(fd()),
             "create-qp");
        made.handle = static_cast<std::uint32_t>(create.value(UVERBS_ATTR_CREATE_QP_HANDLE));
        made.sq_number = answer.sqn;
        return made;
    }
    // The errno; `events`: how many were reported.
    // Of RC or UD; the errno.
    int qp_to_init(std::uint32_t handle, std::uint8_t port, bool datagrams)
    {
        ib_uverbs_modify_qp request{};
        request.qp_handle = handle;
        request.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                            (datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
        request.qp_state = IBV_QPS_INIT;
        request.port_num = port;
        return Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
            .in(UVERBS_ATTR_WRITE_CMD, std::uint32_t{IB_USER_VERBS_CMD_MODIFY_QP})
            .in(UVERBS_ATTR_CORE_IN, &request, offsetof(ib_uverbs_modify_qp, driver_data))
            .run(fd());
    }
    int destroy_qp(std::uint32_t handle, std::uint32_t* events = nullptr)
    {
        ib_uverbs_destroy_qp_resp answer{};
        const int error = Ioctl(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY)
                              .handle(UVERBS_ATTR_DESTROY_QP_HANDLE, handle)
                              .out(UVERBS_ATTR_DESTROY_QP_RESP, answer)
                              .run(fd());
        if (events != nullptr) {
            *events = answer.events_reported;
        }
        return error;
    }
    UniqueFd open_events()
    {
        Ioctl open(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
        must(open.handle(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE).run(fd()), "async-event");
        return UniqueFd(static_cast<int>(open.value(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)));
    }

    // ---- DEVX ----

    DevxAnswer devx_create(const mlx5::Mailbox& command)
    {
        DevxAnswer answer{0, mlx5::Mailbox(64), 0};
        Ioctl create(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
        answer.error = create.handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)
                           .in(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, command.data(), command.size())
                           .out(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, answer.mailbox.data(), answer.mailbox.size())
                           .run(fd());
        answer.handle = static_cast<std::uint32_t>(create.value(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE));
        return answer;
    }
    DevxAnswer devx_modify(std::uint32_t handle, const mlx5::Mailbox& command)
    {
        DevxAnswer answer{0, mlx5::Mailbox(64), handle};
        answer.error = Ioctl(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY)
                           .handle(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, handle)
                           .in(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, command.data(), command.size())
                           .out(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, answer.mailbox.data(), answer.mailbox.size())
                           .run(fd());
        return answer;
    }
    DevxAnswer devx_query(std::uint32_t handle, const mlx5::Mailbox& command)
    {
        DevxAnswer answer{0, mlx5::Mailbox(512), handle};
        answer.error = Ioctl(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY)
                           .handle(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, handle)
                           .in(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, command.data(), command.size())
                           .out(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, answer.mailbox.data(), answer.mailbox.size())
                           .run(fd());
        return answer;
    }
    int devx_destroy(std::uint32_t handle)
    {
        return Ioctl(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY)
            .handle(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle)
            .run(fd());
    }

    // Of another command: as if it were one on a general object.
    static mlx5::Mailbox element_command(mlx5::prm::Opcode opcode, const ElementFields& fields = {})
    {
        using namespace mlx5;
        const auto* const known = prm::element_commands(opcode);
        const prm::ElementCommands& by = known != nullptr ? *known : prm::kObjectCommands;
        Mailbox command(by.written_bytes);
        set(command, prm::kOpcode, opcode);
        if (by.is_object) {
            set(command, prm::kObjectType, prm::kSchedulingElement);
        }
        set(command, by.hierarchy, prm::element::kHierarchyNic);
        set(command, by.select, fields.flags);
        set(command, at(by.element, prm::element::kBwShare), fields.share);
        set(command, at(by.element, prm::element::kMaxAverageBw), fields.max_rate_mbps);
        return command;
    }
    DevxAnswer make_element(bool leaf, std::uint32_t parent, const ElementFields& fields = {})
    {
        using namespace mlx5;
        Mailbox command = element_command(prm::CreateGeneralObject, fields);
        set(command, at(prm::kObjectCommands.element, prm::element::kType),
            leaf ? prm::element::kQueueGroup : prm::element::kTsar);
        set(command, at(prm::kObjectCommands.element, prm::element::kParent), parent);
        return devx_create(command);
    }
    // RTS2RTS or INIT2INIT with leaves.
    DevxAnswer attach(const QueuePair& queue_pair, std::uint32_t requester, std::uint32_t responder = 0,
                      mlx5::prm::Opcode opcode = mlx5::prm::Rts2Rts)
    {
        using namespace mlx5;
        Mailbox command(464);
        set(command, prm::kOpcode, opcode);
        set(command, prm::kQpn, queue_pair.number);
        set(command, prm::kQpcExt, 1);
        set(command, prm::kOptParamMaskHigh, prm::kOptQueueGroup);
        set(command, prm::kQueueGroupRequester, requester);
        set(command, prm::kQueueGroupResponder, responder);
        return devx_modify(queue_pair.handle, command);
    }

private:
    static UniqueFd connect_to(const std::filesystem::path& directory, unsigned index)
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = (directory / ("uverbs" + std::to_string(index) + ".sock")).string();
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
            throw std::runtime_error("cannot connect to " + path);
        }
        return fd;
    }
    static void must(int error, const char* what)
    {
        if (error != 0) {
            throw std::runtime_error(std::string(what) + ": " + std::strerror(error));
        }
    }

    UniqueFd fd_;
};

// An emulator with two devices of these capabilities.
class EmulatorInProcess {
public:
    explicit EmulatorInProcess(const Capabilities& capabilities = default_capabilities(),
                               Isolation isolation = Isolation::None)
        : server_({dir_.path(), {port("mlx5_0", capabilities, 1), port("mlx5_1", capabilities, 2)}, isolation, true})
    {
    }

    [[nodiscard]] emulator::Server& server() { return server_; }
    [[nodiscard]] emulator::Device& device() { return *server_.devices().front(); }
    [[nodiscard]] Firmware& firmware() { return device().firmware(); }
    [[nodiscard]] std::filesystem::path path() const { return dir_.path(); }

private:
    static SimulatedDevice port(const std::string& name, const Capabilities& capabilities, std::uint64_t guid)
    {
        SimulatedDevice port;
        port.name = name;
        port.node_guid = Guid{0x0200000000000000 + guid};
        port.port_guid = port.node_guid;
        port.link_speed = Bandwidth::from_gbps(100);
        port.gids = {Gid{}};
        port.capabilities = capabilities;
        return port;
    }

    TempDir dir_;
    emulator::Server server_;
};

}    // namespace rdmaqos::test
