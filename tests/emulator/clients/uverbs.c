#include "tests/emulator/clients/uverbs.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

enum { MOST_ATTRIBUTES = 4 };

struct command {
    _Alignas(
        8) unsigned char bytes[sizeof(struct ib_uverbs_ioctl_hdr) + MOST_ATTRIBUTES * sizeof(struct ib_uverbs_attr)];
};

static struct ib_uverbs_ioctl_hdr* header_of(struct command* command)
{
    return (struct ib_uverbs_ioctl_hdr*)command->bytes;
}

static void begin(struct command* command, uint16_t object, uint16_t method)
{
    memset(command, 0, sizeof(*command));
    struct ib_uverbs_ioctl_hdr* header = header_of(command);
    header->object_id = object;
    header->method_id = method;
    header->driver_id = RDMA_DRIVER_MLX5;
}

static struct ib_uverbs_attr* add(struct command* command, uint16_t id)
{
    struct ib_uverbs_attr* attribute = &header_of(command)->attrs[header_of(command)->num_attrs++];
    attribute->attr_id = id;
    attribute->flags = UVERBS_ATTR_F_MANDATORY;
    return attribute;
}

static struct ib_uverbs_attr* add_handle(struct command* command, uint16_t id, uint32_t handle)
{
    struct ib_uverbs_attr* attribute = add(command, id);
    attribute->data = handle;
    return attribute;
}

static void add_in(struct command* command, uint16_t id, const void* data, size_t length)
{
    struct ib_uverbs_attr* attribute = add(command, id);
    attribute->len = (uint16_t)length;
    if (length <= sizeof(attribute->data)) {
        memcpy(&attribute->data, data, length);
    } else {
        attribute->data = (uintptr_t)data;
    }
}

static void add_out(struct command* command, uint16_t id, void* data, size_t length)
{
    struct ib_uverbs_attr* attribute = add(command, id);
    attribute->len = (uint16_t)length;
    attribute->data = (uintptr_t)data;
}

static int run(int fd, struct command* command)
{
    struct ib_uverbs_ioctl_hdr* header = header_of(command);
    header->length = (uint16_t)(sizeof(*header) + header->num_attrs * sizeof(header->attrs[0]));
    return ioctl(fd, RDMA_VERBS_IOCTL, header) == 0 ? 0 : errno;
}

int uverbs_devx_create(int fd, uint32_t* handle, const struct uverbs_buffer* in, const struct uverbs_buffer* out)
{
    struct command command;
    begin(&command, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
    const struct ib_uverbs_attr* made = add_handle(&command, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, 0);
    add_in(&command, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in->data, in->length);
    add_out(&command, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, out->data, out->length);
    const int result = run(fd, &command);
    *handle = (uint32_t)made->data;
    return result;
}

int uverbs_devx_modify(int fd, uint32_t handle, const struct uverbs_buffer* in, const struct uverbs_buffer* out)
{
    struct command command;
    begin(&command, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
    add_handle(&command, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, handle);
    add_in(&command, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, in->data, in->length);
    add_out(&command, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, out->data, out->length);
    return run(fd, &command);
}

int uverbs_devx_query(int fd, uint32_t handle, const struct uverbs_buffer* in, const struct uverbs_buffer* out)
{
    struct command command;
    begin(&command, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY);
    add_handle(&command, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, handle);
    add_in(&command, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, in->data, in->length);
    add_out(&command, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out->data, out->length);
    return run(fd, &command);
}

int uverbs_devx_destroy(int fd, uint32_t handle)
{
    struct command command;
    begin(&command, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY);
    add_handle(&command, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle);
    return run(fd, &command);
}

int uverbs_query_qp_state(int fd, uint32_t handle, unsigned* state)
{
    struct ib_uverbs_query_qp in = {.qp_handle = handle, .attr_mask = 1};
    struct ib_uverbs_query_qp_resp out;
    memset(&out, 0, sizeof(out));
    const uint64_t number = IB_USER_VERBS_CMD_QUERY_QP;
    struct command command;
    begin(&command, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    add_in(&command, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
    add_out(&command, UVERBS_ATTR_CORE_OUT, &out, sizeof(out));
    add_in(&command, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number));
    const int result = run(fd, &command);
    *state = out.qp_state;
    return result;
}
