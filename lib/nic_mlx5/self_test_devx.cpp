#include "lib/nic_mlx5/self_test_devx.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <infiniband/mlx5dv.h>

#include "lib/mlx5/prm.h"

namespace rdmaqos::mlx5 {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kLogReceives = 2;    // of them,
constexpr std::uint64_t kLogStride = 2;      // each 16 << that bytes
constexpr std::uint64_t kLogSendBlocks = 2;
constexpr std::uint64_t kMigrated = 3;

int error_now()
{
    return errno != 0 ? errno : EIO;
}

}    // namespace

void DevxQueuePair::Free::operator()(void* memory) const
{
    std::free(memory);    // NOLINT(*-no-malloc): aligned_alloc has no other end
}

int DevxQueuePair::make_parts(ibv_context& context)
{
    memory_.reset(std::aligned_alloc(kPage, 2 * kPage));
    if (!memory_) {
        return ENOMEM;
    }
    std::memset(memory_.get(), 0, 2 * kPage);
    errno = 0;
    uar_ = mlx5dv_devx_alloc_uar(&context, MLX5DV_UAR_ALLOC_TYPE_NC);
    if (uar_ == nullptr) {
        uar_ = mlx5dv_devx_alloc_uar(&context, MLX5DV_UAR_ALLOC_TYPE_BF);    // older kernels have only these
    }
    if (uar_ == nullptr) {
        return error_now();
    }
    queue_ = mlx5dv_devx_umem_reg(&context, memory_.get(), kPage, IBV_ACCESS_LOCAL_WRITE);
    doorbell_ = queue_ == nullptr ? nullptr
                                  : mlx5dv_devx_umem_reg(&context, static_cast<char*>(memory_.get()) + kPage, 64,
                                                         IBV_ACCESS_LOCAL_WRITE);
    return doorbell_ == nullptr ? error_now() : 0;
}

Answer<Created> DevxQueuePair::make(ibv_pd& domain, ibv_cq& queue, std::uint8_t port)
{
    using namespace prm;
    mlx5dv_pd pd{};
    mlx5dv_cq cq{};
    mlx5dv_obj objects{};
    objects.pd = {&domain, &pd};
    objects.cq = {&queue, &cq};
    int error = make_parts(*domain.context);
    error = error != 0 ? error : mlx5dv_init_obj(&objects, MLX5DV_OBJ_PD | MLX5DV_OBJ_CQ);
    if (error != 0) {
        return tl::unexpected(Failure{error, 0, 0});
    }
    Mailbox command(kCreateQpBytes);
    set(command, kOpcode, CreateQp);
    const auto put = [&command](Field field, std::uint64_t value) { set(command, at(kQpc, field), value); };
    put(qpc::kPathMigration, kMigrated);
    put(qpc::kPd, pd.pdn);
    put(qpc::kLogReceives, kLogReceives);
    put(qpc::kLogReceiveStride, kLogStride);
    put(qpc::kLogSendBlocks, kLogSendBlocks);
    put(qpc::kUarPage, uar_->page_id);
    put(qpc::kSendCq, cq.cqn);
    put(qpc::kReceiveCq, cq.cqn);
    put(qpc::kDoorbellMemoryValid, 1);
    put(qpc::kDoorbellMemory, doorbell_->umem_id);
    set(command, kQueueMemory, queue_->umem_id);
    set(command, kQueueMemoryValid, 1);
    const int fd = domain.context->cmd_fd;
    auto made = devx_create(fd, command);
    if (!made) {
        return made;
    }
    fd_ = fd;
    handle_ = made->handle;
    made->id &= 0xffffff;

    Mailbox to_init(kCreateQpBytes);
    set(to_init, kOpcode, Rst2Init);
    set(to_init, kQpn, made->id);
    set(to_init, at(kQpc, qpc::kPathMigration), kMigrated);
    set(to_init, at(kQpc, qpc::kPort), port);
    if (const auto done = devx_modify(fd, made->handle, to_init); !done) {
        return tl::unexpected(done.error());
    }
    return made;
}

void DevxQueuePair::reset()
{
    if (fd_ >= 0) {
        static_cast<void>(devx_destroy(fd_, handle_));
        fd_ = -1;
    }
    for (auto** memory : {&doorbell_, &queue_}) {
        if (*memory != nullptr) {
            mlx5dv_devx_umem_dereg(*memory);
            *memory = nullptr;
        }
    }
    if (uar_ != nullptr) {
        mlx5dv_devx_free_uar(uar_);
        uar_ = nullptr;
    }
    memory_.reset();
}

}    // namespace rdmaqos::mlx5
