#include "daemon/handover/descriptor_store.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

constexpr std::uint64_t kTimeToAnswer = std::chrono::microseconds(std::chrono::seconds(5)).count();

// Again while it fails for want of descriptors or memory, which it needs; for 5 s at most.
template <typename F>
int with_patience(F call)
{
    constexpr auto kPause = std::chrono::milliseconds(20);
    int result = call();
    for (auto tries = std::chrono::seconds(5) / kPause; result < 0 && is_shortage(-result) && tries > 0; --tries) {
        std::this_thread::sleep_for(kPause);
        result = call();
    }
    return result;
}

class SystemdStore final : public DescriptorStore {
public:
    Result<void> put(const std::string& name, int fd) override
    {
        // Nobody is to look whether something can be read from it: it would be closed when its device goes.
        const std::string message = fmt::format("FDSTORE=1\nFDNAME={}\nFDPOLL=0", name);
        if (const int sent = sd_pid_notify_with_fds(0, 0, message.c_str(), &fd, 1); sent <= 0) {
            return fail(error_from_errno(ErrorCode::Io, -sent, "systemd's descriptor store"));
        }
        if (const int seen = sd_notify_barrier(0, kTimeToAnswer); seen < 0) {
            return fail(error_from_errno(ErrorCode::Io, -seen, "systemd's descriptor store"));
        }
        return {};
    }

    void remove(const std::string& name) override
    {
        // What stays there keeps the device open.
        const std::string message = fmt::format("FDSTOREREMOVE=1\nFDNAME={}", name);
        if (const int sent = with_patience([&] { return sd_notify(0, message.c_str()); }); sent < 0) {
            const auto error = error_from_errno(ErrorCode::Io, -sent, "it cannot be told otherwise");
            log(LogLevel::Warning, "systemd keeps `{}` until rdma-qosd is stopped: {}", name, to_string(error));
        }
        // If systemd does not answer, there is nothing that could be done about it.
        (void)with_patience([] { return sd_notify_barrier(0, kTimeToAnswer); });
    }
};

}    // namespace

std::shared_ptr<DescriptorStore> systemd_store()
{
    return std::getenv("NOTIFY_SOCKET") == nullptr ? nullptr : std::make_shared<SystemdStore>();
}

NamedDescriptors take_kept_descriptors()
{
    char** names = nullptr;
    const int count = sd_listen_fds_with_names(1, &names);
    NamedDescriptors kept;
    for (int i = 0; i < count; ++i) {
        kept.emplace_back(names[i], UniqueFd(SD_LISTEN_FDS_START + i));
        std::free(names[i]);    // NOLINT(cppcoreguidelines-no-malloc): as sd-daemon(3) says
    }
    std::free(names);    // NOLINT(cppcoreguidelines-no-malloc)
    return kept;
}

}    // namespace rdmaqos
