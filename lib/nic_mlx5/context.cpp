#include "lib/nic_mlx5/context.h"

#include <cerrno>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>
#include <sys/stat.h>

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
        return fail(error_from_errno(ErrorCode::DeviceFailed, errno, "the RDMA devices cannot be listed"));
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

bool can_take_over(int elements_file, const DeviceInfo& port)
{
    struct stat status {};
    return fstat(elements_file, &status) == 0 && S_ISCHR(status.st_mode) &&
           device_of_number(sysfs_root(), status.st_rdev) == port.name && is_attached(elements_file);
}

}    // namespace rdmaqos::mlx5
