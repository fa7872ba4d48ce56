#include "daemon/adoption/program_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/adoption/ability.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

// Longer than from one queue pair of a program to the next, much shorter than anybody waits for a program's memory.
constexpr auto kRest = std::chrono::milliseconds(5);

}    // namespace

HostProgramFiles::HostProgramFiles(std::function<void(std::uint32_t, UniqueFd)> close)
    : close_(std::move(close)), resting_(std::make_shared<RestingFiles>(kRest))
{
}

std::string HostProgramFiles::why_not() const
{
    return rdmaqos::why_not(adoption_ability());
}

Result<std::vector<std::shared_ptr<ClientFile>>> HostProgramFiles::of(const std::shared_ptr<const Identity>& process)
{
    if (cached_.size() >= prune_at_) {
        std::erase_if(cached_, [](const auto& entry) { return entry.second.program.expired(); });
        prune_at_ = std::max<std::size_t>(64, cached_.size() * 2);
    }
    Known& known = cached_[process->pid];
    auto program = known.program.lock();
    if (program == nullptr || program->identity().start_time != process->start_time) {
        auto opened = Program::open(process);
        if (!opened) {
            cached_.erase(process->pid);
            return fail(opened.error());
        }
        program = std::move(*opened);
        known = {program, {}};
    }
    const auto listed = TRY(list_verbs_files(*program));
    std::vector<std::shared_ptr<ClientFile>> files;
    for (const auto& each : listed) {
        std::shared_ptr<TakenFile> taken;
        for (const auto& before : known.files) {
            const auto alive = before.lock();
            taken = alive != nullptr && alive->file() == each ? alive : taken;
        }
        if (taken == nullptr) {
            taken = std::make_shared<TakenFile>(
                program, each, resting_,
                [close = close_, uid = process->uid](UniqueFd fd) { close(uid, std::move(fd)); });
            std::erase_if(known.files, [](const auto& before) { return before.expired(); });
            known.files.push_back(taken);
        }
        files.push_back(std::move(taken));
    }
    return files;
}

}    // namespace rdmaqos
