// The device files of programs, as adoption asks for them: a seam, behind which tests put programs of their own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/adoption/taken_file.h"
#include "lib/base/result.h"
#include "lib/nic/backend.h"
#include "policy/model/identity.h"

namespace rdmaqos {

class ProgramFiles {
public:
    virtual ~ProgramFiles() = default;

    // Why none can be had, a sentence with what to do; empty: they can.
    [[nodiscard]] virtual std::string why_not() const = 0;
    // Those a process has open, of whatever RDMA device; the same object for the same file as long as it is in use.
    // Waits for the kernel; called on one thread at a time. Errors: those of list_verbs_files().
    [[nodiscard]] virtual Result<std::vector<std::shared_ptr<ClientFile>>>
    of(const std::shared_ptr<const Identity>& process) = 0;
};

// Of this host. `close(uid, descriptor)` must not wait.
class HostProgramFiles final : public ProgramFiles {
public:
    explicit HostProgramFiles(std::function<void(std::uint32_t uid, UniqueFd)> close);

    [[nodiscard]] std::string why_not() const override;
    [[nodiscard]] Result<std::vector<std::shared_ptr<ClientFile>>>
    of(const std::shared_ptr<const Identity>& process) override;

private:
    struct Known {
        std::weak_ptr<const Program> program;
        std::vector<std::weak_ptr<TakenFile>> files;
    };

    const std::function<void(std::uint32_t, UniqueFd)> close_;
    const std::shared_ptr<RestingFiles> resting_;
    std::map<pid_t, Known> cached_;
    std::size_t prune_at_ = 64;
};

}    // namespace rdmaqos
