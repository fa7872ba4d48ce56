#include "lib/nic_mlx5/context.h"

#include <cerrno>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/nic_mlx5/mlx5_backend.h"
#include "lib/nic_mlx5/sysfs.h"
#include "lib/nic_mlx5/uverbs.h"

namespace rdmaqos::mlx5 {
namespace {

struct FreeList {
    void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};

}    // namespace

Result<Context> open_context(const std::string& device)
{
    int count = 0;
    const std::unique_ptr<ibv_device*, FreeList> list(ibv_get_device_list(&count));
    if (!list) {
        // Of a device that is there: it says ENOSYS even for want of descriptors.
        const int error = errno == ENOSYS ? EAGAIN : errno;
        return fail(error_from_errno(ErrorCode::DeviceFailed, error, "the RDMA devices cannot be listed"));
    }
    for (int i = 0; i < count; ++i) {
        ibv_device* found = list.get()[i];
        if (ibv_get_device_name(found) != device) {
            continue;
        }
        if (!mlx5dv_is_supported(found)) {
            return fail(ErrorCode::Unsupported, fmt::format("{} is not driven by mlx5", device));
        }
        mlx5dv_context_attr attributes{};
        attributes.flags = MLX5DV_CONTEXT_FLAGS_DEVX;
        Context context(mlx5dv_open_device(found, &attributes));
        if (!context) {
            const int error = errno;
            return fail(error_from_errno(error == EOPNOTSUPP || error == EINVAL ? ErrorCode::Unsupported
                                                                                : ErrorCode::DeviceFailed,
                                         error, fmt::format("{} cannot be opened with DEVX", device)));
        }
        return context;
    }
    return fail(ErrorCode::UnknownDevice, fmt::format("libibverbs finds no device {}", device));
}

Error not_of_device(dev_t given, dev_t ours, const Result<std::string>& owner, const std::string& device)
{
    if (!owner) {
        return owner.error();
    }
    if (*owner == device) {
        return {ErrorCode::Busy, 0,
                fmt::format("{} was reset, and rdma-qosd has not opened it again yet: try again", device)};
    }
    if (!owner->empty()) {
        return {ErrorCode::WrongDevice, 0, fmt::format("`uverbs` is a file of {}, not of {}", *owner, device)};
    }
    if (major(given) == major(ours)) {
        return {ErrorCode::WrongDevice, 0,
                "`uverbs` is a file of a device that has gone since: open the device again and register again"};
    }
    return {ErrorCode::NotUverbs, 0,
            "`uverbs` is not the file of an RDMA device: pass the descriptor of the open verbs context "
            "(ibv_context.cmd_fd)"};
}

Result<bool> can_take_over(int elements_file, const DeviceInfo& port)
{
    struct stat status {};
    if (fstat(elements_file, &status) != 0 || !S_ISCHR(status.st_mode)) {
        return false;
    }
    const auto device = device_of_number(sysfs_root(), status.st_rdev);
    if (!device) {
        return fail(device.error());
    }
    return *device == port.name && is_attached(elements_file);
}

}    // namespace rdmaqos::mlx5
