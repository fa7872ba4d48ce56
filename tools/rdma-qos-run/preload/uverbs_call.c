#include "tools/rdma-qos-run/preload/uverbs_call.h"

#include <stddef.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

/* ---- attributes ---- */

static struct ib_uverbs_attr* find(struct ib_uverbs_ioctl_hdr* header, uint16_t id)
{
    for (unsigned i = 0; i < header->num_attrs; ++i) {
        if (header->attrs[i].attr_id == id) {
            return &header->attrs[i];
        }
    }
    return NULL;
}

static const struct ib_uverbs_attr* find_const(const struct ib_uverbs_ioctl_hdr* header, uint16_t id)
{
    return find((struct ib_uverbs_ioctl_hdr*)header, id);
}

/* What an attribute points to, if that has so many bytes. Up to 8 bytes of input are in the attribute itself; nothing
 * here is that short. */
static void* content(const struct ib_uverbs_attr* attribute, size_t bytes)
{
    const bool there = attribute != NULL && attribute->len >= bytes && attribute->len > sizeof(attribute->data);
    return there ? (void*)(uintptr_t)attribute->data : NULL;    // NOLINT(performance-no-int-to-ptr): the kernel's way
}

/* ---- mailboxes of DEVX: big-endian fields, counted in bits ---- */

struct field {
    unsigned offset;
    unsigned width; /* at most 32 */
};

enum {
    OPCODE_CREATE_QP = 0x500,
    OPCODE_DESTROY_QP = 0x501,
    OPCODE_RST2INIT = 0x502,
    OPCODE_INIT2RTR = 0x503,
    OPCODE_RTR2RTS = 0x504,
    QPC = 192,        /* where the context of a queue pair begins in a command */
    PATH = QPC + 192, /* and in it the primary address path */
    PATH_BITS = 44 * 8,
    SERVICE_DATAGRAM = 2 /* the last of RC, UC, UD */
};
static const struct field kOpcode = {0, 16};
static const struct field kStatus = {0, 8};
static const struct field kQpn = {72, 24};
static const struct field kServiceType = {QPC + 8, 8};
static const struct field kPkeyIndex = {PATH + 16, 16};
static const struct field kRemoteLid = {PATH + 48, 16};
static const struct field kTrafficClass = {PATH + 100, 8};
static const struct field kRemoteGid = {PATH + 128, 0}; /* the GID of the other end: 16 bytes */
static const struct field kDscp = {PATH + 266, 6};
static const struct field kEthPriority = {PATH + 289, 3};
static const struct field kSl = {PATH + 292, 4};
static const struct field kPort = {PATH + 296, 8};

static uint32_t get(const uint8_t* mailbox, struct field field)
{
    uint32_t value = 0;
    for (unsigned bit = field.offset; bit < field.offset + field.width; ++bit) {
        value = value << 1 | (mailbox[bit / 8] >> (7 - bit % 8) & 1U);
    }
    return value;
}

static void set(uint8_t* mailbox, struct field field, uint32_t value)
{
    for (unsigned i = 0; i < field.width; ++i) {
        const unsigned bit = field.offset + field.width - 1 - i;
        const uint8_t mask = (uint8_t)(1U << (7 - bit % 8));
        mailbox[bit / 8] = (uint8_t)((value >> i & 1U) != 0 ? mailbox[bit / 8] | mask : mailbox[bit / 8] & ~mask);
    }
}

/* ---- reading ---- */

static bool is_zero(const uint8_t* bytes, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static struct uverbs_call read_devx(struct ib_uverbs_ioctl_hdr* header)
{
    struct uverbs_call call = {.kind = CALL_OTHER, .devx = true};
    const struct ib_uverbs_attr* handle = NULL;
    switch (header->method_id) {
    case MLX5_IB_METHOD_DEVX_OBJ_CREATE:
        call.command = find(header, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
        if (content(call.command, (QPC + 64) / 8) != NULL &&
            get(content(call.command, 0), kOpcode) == OPCODE_CREATE_QP) {
            call.kind = CALL_MAKE;
        }
        return call;
    case MLX5_IB_METHOD_DEVX_OBJ_DESTROY:
        handle = find(header, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE);
        if (handle != NULL) {
            call.kind = CALL_DESTROY;
            call.handle = (uint32_t)handle->data;
        }
        return call;
    case MLX5_IB_METHOD_DEVX_OBJ_QUERY:
        call.kind = CALL_USE;
        return call;
    case MLX5_IB_METHOD_DEVX_OBJ_MODIFY:
        call.kind = CALL_USE;
        break;
    default:
        return call;
    }
    handle = find(header, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE);
    call.command = find(header, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN);
    const uint8_t* mailbox = content(call.command, (PATH + PATH_BITS) / 8);
    if (handle == NULL || mailbox == NULL) {
        return call;
    }
    const uint32_t opcode = get(mailbox, kOpcode);
    if (opcode != OPCODE_RST2INIT && opcode != OPCODE_INIT2RTR && opcode != OPCODE_RTR2RTS) {
        return call;
    }
    call.kind = CALL_STEP;
    call.handle = (uint32_t)handle->data;
    call.step = opcode == OPCODE_RST2INIT ? STEP_INIT : opcode == OPCODE_INIT2RTR ? STEP_RTR : STEP_RTS;
    if (call.step != STEP_RTS) {
        call.port = (uint8_t)get(mailbox, kPort);
        call.has_port = call.port != 0;
    }
    call.has_pkey_index = call.step == STEP_INIT;
    call.pkey_index = (uint16_t)get(mailbox, kPkeyIndex);
    if (call.step == STEP_RTR) {
        call.address.present = true;
        memcpy(call.address.gid, mailbox + kRemoteGid.offset / 8, GID_BYTES);
        call.address.has_gid = !is_zero(call.address.gid, GID_BYTES);
        call.address.lid = (uint16_t)get(mailbox, kRemoteLid);
        call.address.sl = (uint8_t)get(mailbox, kSl);
        call.address.traffic_class = (uint8_t)get(mailbox, kTrafficClass);
    }
    return call;
}

/* A command of the old interface, which libibverbs wraps into an ioctl. */
static struct uverbs_call read_write(struct ib_uverbs_ioctl_hdr* header)
{
    struct uverbs_call call = {.kind = CALL_OTHER};
    const struct ib_uverbs_attr* number = find(header, UVERBS_ATTR_WRITE_CMD);
    call.command = find(header, UVERBS_ATTR_CORE_IN);
    if (number == NULL) {
        return call;
    }
    const uint64_t command = number->data;
    if (command == IB_USER_VERBS_CMD_CREATE_QP ||
        command == (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_QP)) {
        call.kind = CALL_MAKE;
    } else if (command == IB_USER_VERBS_CMD_QUERY_QP || command == IB_USER_VERBS_CMD_ATTACH_MCAST ||
               command == IB_USER_VERBS_CMD_DETACH_MCAST) {
        call.kind = CALL_USE;
    } else if (command == IB_USER_VERBS_CMD_DESTROY_QP) {
        const struct ib_uverbs_destroy_qp* request = content(call.command, sizeof(*request));
        if (request != NULL) {
            call.kind = CALL_DESTROY;
            call.handle = request->qp_handle;
        }
    } else if (command == IB_USER_VERBS_CMD_MODIFY_QP ||
               command == (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP)) {
        const struct ib_uverbs_modify_qp* request = content(call.command, sizeof(*request));
        if (request == NULL) {
            return call;
        }
        call.kind = CALL_STEP;
        call.handle = request->qp_handle;
        call.step = STEP_OTHER;
        if ((request->attr_mask & IBV_QP_STATE) != 0) {
            call.step = request->qp_state == IBV_QPS_INIT  ? STEP_INIT
                        : request->qp_state == IBV_QPS_RTR ? STEP_RTR
                        : request->qp_state == IBV_QPS_RTS ? STEP_RTS
                                                           : STEP_OTHER;
        }
        call.has_port = (request->attr_mask & IBV_QP_PORT) != 0;
        call.port = request->port_num;
        call.has_pkey_index = (request->attr_mask & IBV_QP_PKEY_INDEX) != 0;
        call.pkey_index = request->pkey_index;
        if ((request->attr_mask & IBV_QP_AV) != 0) {
            call.address.present = true;
            call.address.has_gid = request->dest.is_global != 0;
            memcpy(call.address.gid, request->dest.dgid, GID_BYTES);
            call.address.lid = request->dest.dlid;
            call.address.sl = request->dest.sl;
            call.address.traffic_class = request->dest.traffic_class;
        }
    }
    return call;
}

struct uverbs_call read_call(struct ib_uverbs_ioctl_hdr* header)
{
    struct uverbs_call call = {.kind = CALL_OTHER};
    if (header->object_id == UVERBS_OBJECT_DEVICE && header->method_id == UVERBS_METHOD_INVOKE_WRITE) {
        return read_write(header);
    }
    if (header->object_id == UVERBS_OBJECT_QP && header->method_id == UVERBS_METHOD_QP_CREATE) {
        call.kind = CALL_MAKE;
    } else if (header->object_id == UVERBS_OBJECT_QP && header->method_id == UVERBS_METHOD_QP_DESTROY) {
        const struct ib_uverbs_attr* handle = find(header, UVERBS_ATTR_DESTROY_QP_HANDLE);
        if (handle != NULL) {
            call.kind = CALL_DESTROY;
            call.handle = (uint32_t)handle->data;
        }
    } else if (header->object_id == MLX5_IB_OBJECT_DEVX_OBJ && header->driver_id == RDMA_DRIVER_MLX5) {
        return read_devx(header);
    }
    return call;
}

/* ---- what was made ---- */

static enum queue_pair_type type_of(uint64_t type)
{
    switch (type) {
    case IB_UVERBS_QPT_RC:
        return TYPE_RC;
    case IB_UVERBS_QPT_UC:
        return TYPE_UC;
    case IB_UVERBS_QPT_UD:
        return TYPE_UD;
    case IB_UVERBS_QPT_RAW_PACKET:
        return TYPE_RAW_PACKET;
    default:
        return TYPE_OTHER;
    }
}

static bool read_made_devx(const struct ib_uverbs_ioctl_hdr* header, const struct uverbs_call* call, uint32_t* handle,
                           uint32_t* number, enum queue_pair_type* type)
{
    const struct ib_uverbs_attr* object = find_const(header, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
    const uint8_t* answer = content(find_const(header, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT), 16);
    if (object == NULL || answer == NULL || get(answer, kStatus) != 0) {
        return false;
    }
    *handle = (uint32_t)object->data;
    *number = get(answer, kQpn);
    *type = get(content(call->command, 0), kServiceType) <= SERVICE_DATAGRAM ? TYPE_DEVX : TYPE_OTHER;
    return true;
}

bool read_made(const struct ib_uverbs_ioctl_hdr* header, const struct uverbs_call* call, uint32_t* handle,
               uint32_t* number, enum queue_pair_type* type)
{
    if (call->devx) {
        return read_made_devx(header, call, handle, number, type);
    }
    if (header->object_id == UVERBS_OBJECT_QP) {
        const struct ib_uverbs_attr* object = find_const(header, UVERBS_ATTR_CREATE_QP_HANDLE);
        const struct ib_uverbs_attr* answer = find_const(header, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM);
        const struct ib_uverbs_attr* kind = find_const(header, UVERBS_ATTR_CREATE_QP_TYPE);
        if (object == NULL || answer == NULL || answer->data == 0 || kind == NULL) {
            return false;
        }
        *handle = (uint32_t)object->data;
        memcpy(number, (const void*)(uintptr_t)answer->data, sizeof(*number));    // NOLINT(performance-no-int-to-ptr)
        *type = type_of(kind->data);
        return true;
    }
    /* Both forms of the old command begin alike in what they answer. */
    const struct ib_uverbs_create_qp_resp* answer = content(find_const(header, UVERBS_ATTR_CORE_OUT), sizeof(*answer));
    const bool extended = (find_const(header, UVERBS_ATTR_WRITE_CMD)->data & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0;
    const size_t place = extended ? offsetof(struct ib_uverbs_ex_create_qp, qp_type)
                                  : offsetof(struct ib_uverbs_create_qp, qp_type);
    const uint8_t* request = content(call->command, place + 1);
    if (answer == NULL || request == NULL) {
        return false;
    }
    *handle = answer->qp_handle;
    *number = answer->qpn;
    *type = type_of(request[place]);
    return true;
}

/* ---- marking ---- */

bool write_marks(const struct uverbs_call* call, const struct new_marks* marks, uint8_t copy[MARKED_BYTES])
{
    if (call->command->len > MARKED_BYTES) {
        return false;
    }
    memcpy(copy, content(call->command, 0), call->command->len);
    if (!call->devx) {
        uint8_t* sl = copy + offsetof(struct ib_uverbs_modify_qp, dest.sl);
        uint8_t* traffic_class = copy + offsetof(struct ib_uverbs_modify_qp, dest.traffic_class);
        *sl = marks->set_sl ? marks->sl : *sl;
        *traffic_class = marks->set_traffic_class ? marks->traffic_class : *traffic_class;
        return true;
    }
    /* As the kernel's driver writes them for a queue pair of verbs. */
    if (marks->set_sl) {
        set(copy, marks->ethernet ? kEthPriority : kSl, marks->sl);
    }
    if (marks->set_traffic_class) {
        set(copy, kTrafficClass, marks->traffic_class);
        set(copy, kDscp, marks->traffic_class >> 2);
    }
    return true;
}
