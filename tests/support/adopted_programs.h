// Programs that know nothing of a Service, and what it needs to adopt them, all of it made up: a watch whose news the
// test hands out, device files, and model NICs that know what is in these.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "daemon/adoption/program_files.h"
#include "daemon/service/options.h"
#include "daemon/survey/queue_pair_watch.h"
#include "lib/nic_model/model_backend.h"

namespace rdmaqos::test {

// The queue pairs of all programs, as the kernel has them. Files are named by program and device. Thread-safe.
class Programs {
public:
    struct QueuePair {
        pid_t process = 0;
        FoundQueuePair found;
        // What the device says of it: to find_queue_pairs(), to admit() and, so many times, to place().
        std::optional<Error> not_found;
        std::optional<Error> not_admitted;
        std::pair<int, ErrorCode> not_placed{0, ErrorCode::Busy};
    };
    using Name = std::pair<std::string, std::uint32_t>;    // "mlx5_0", number

    std::shared_ptr<ClientFile> file(pid_t process, const std::string& device)
    {
        const std::lock_guard lock(mutex_);
        return file_of(process, device);
    }
    template <typename Change>
    void change(const Name& name, Change change)
    {
        const std::lock_guard lock(mutex_);
        change(queue_pairs_[name]);
    }
    void end(const Name& name)
    {
        const std::lock_guard lock(mutex_);
        queue_pairs_.erase(name);
    }

    // Those of all devices.
    std::vector<std::shared_ptr<ClientFile>> files_of(pid_t process)
    {
        const std::lock_guard lock(mutex_);
        asked_.push_back(process);
        std::vector<std::shared_ptr<ClientFile>> files;
        for (const auto& [key, file] : files_) {
            if (key.first == process) {
                files.push_back(file);
            }
        }
        return files;
    }
    // Whose files were asked for, in that order.
    [[nodiscard]] std::vector<pid_t> asked() const
    {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    void forget_asked()
    {
        const std::lock_guard lock(mutex_);
        asked_.clear();
    }
    // How often handles were looked at.
    [[nodiscard]] std::size_t looks() const { return looks_; }

    Result<QueuePairSearch> find(const std::string& device, const std::shared_ptr<ClientFile>& file,
                                 const std::vector<SoughtQueuePair>& sought, const std::set<std::uint32_t>& known)
    {
        if (before_search) {
            before_search(device);
        }
        const std::lock_guard lock(mutex_);
        QueuePairSearch search;
        pid_t process = 0;
        for (const auto& [key, its] : files_) {
            process = its == file && key.second == device ? key.first : process;
        }
        if (process == 0) {
            return fail(ErrorCode::WrongDevice, "this file is of another device");
        }
        ++looks_;
        for (const auto& [name, queue_pair] : queue_pairs_) {
            const std::uint32_t handle = queue_pair.found.handle;
            if (name.first != device || queue_pair.process != process || known.contains(handle)) {
                continue;
            }
            if (search.found.size() + search.others.size() >= at_once) {
                search.complete = false;
                return search;
            }
            if (queue_pair.not_found) {
                return fail(*queue_pair.not_found);
            }
            const bool is_sought = std::ranges::any_of(
                sought, [&](const SoughtQueuePair& each) { return each.number == name.second; });
            if (is_sought) {
                search.found.push_back(queue_pair.found);
            } else {
                search.others.push_back(handle);
            }
        }
        return search;
    }
    Result<Admission> admit(const std::string& device, const QueuePairRef& ref)
    {
        if (before_admission) {
            before_admission();
        }
        const std::lock_guard lock(mutex_);
        const auto found = queue_pairs_.find({device, ref.number});
        if (found == queue_pairs_.end()) {
            return ref.file == nullptr ? Result<Admission>(Admission{})    // of a client that registers
                                       : fail(ErrorCode::BadQueuePair, "there is no such queue pair");
        }
        if (found->second.not_admitted) {
            return fail(*found->second.not_admitted);
        }
        const bool is_its = ref.owner_pid == found->second.process &&
                            (ref.file == nullptr ||
                             (ref.file == file_of(ref.owner_pid, device) && ref.handle == found->second.found.handle));
        return is_its ? Result<Admission>(Admission{}) : fail(ErrorCode::NotOwner, "it is another process's");
    }
    Result<void> place(const std::string& device, const QueuePairRef& ref)
    {
        const std::lock_guard lock(mutex_);
        const auto found = queue_pairs_.find({device, ref.number});
        if (found != queue_pairs_.end() && found->second.not_placed.first > 0) {
            --found->second.not_placed.first;
            return fail(found->second.not_placed.second, "not now");
        }
        return {};
    }

    std::atomic<std::size_t> at_once = 100;                          // handles that a search looks at
    std::function<void(const std::string& device)> before_search;    // on its thread; set while it does nothing
    std::function<void()> before_admission;    // on the device's thread; set while it does nothing

private:
    const std::shared_ptr<ClientFile>& file_of(pid_t process, const std::string& device)
    {
        auto& file = files_[{process, device}];
        if (file == nullptr) {
            file = std::make_shared<ClientFile>(UniqueFd(), nullptr);
        }
        return file;
    }

    mutable std::mutex mutex_;
    std::map<Name, QueuePair> queue_pairs_;
    std::map<std::pair<pid_t, std::string>, std::shared_ptr<ClientFile>> files_;
    std::vector<pid_t> asked_;
    std::atomic<std::size_t> looks_ = 0;
};

// The way to their files.
class FakeProgramFiles final : public ProgramFiles {
public:
    explicit FakeProgramFiles(std::shared_ptr<Programs> programs) : programs_(std::move(programs)) {}

    [[nodiscard]] std::string why_not() const override { return unavailable; }
    [[nodiscard]] Result<std::vector<std::shared_ptr<ClientFile>>>
    of(const std::shared_ptr<const Identity>& process) override
    {
        auto files = programs_->files_of(process->pid);
        if (before_answer) {
            before_answer();
        }
        return error ? Result<std::vector<std::shared_ptr<ClientFile>>>(fail(*error)) : files;
    }

    std::string unavailable;
    std::optional<Error> error;             // set while nobody is asked
    std::function<void()> before_answer;    // on the thread that asks; set while nobody is asked

private:
    const std::shared_ptr<Programs> programs_;
};

// A model NIC that knows which queue pairs are in which file. `model` is what it is made of.
class NicOfPrograms final : public Backend {
public:
    NicOfPrograms(std::unique_ptr<ModelBackend> model, std::shared_ptr<Programs> programs)
        : model_(std::move(model)), name_(model_->info().name), programs_(std::move(programs))
    {
    }

    [[nodiscard]] DeviceInfo info() const override { return model_->info(); }
    [[nodiscard]] Capabilities capabilities() const override { return model_->capabilities(); }
    [[nodiscard]] AttachReport attach_report() const override { return model_->attach_report(); }
    [[nodiscard]] std::vector<DeviceAttribute> attributes() const override { return model_->attributes(); }
    [[nodiscard]] Result<ElementHandle> create_element(const ElementRequest& request) override
    {
        return model_->create_element(request);
    }
    [[nodiscard]] Result<void> modify_element(ElementHandle element, const ElementChange& change) override
    {
        return model_->modify_element(element, change);
    }
    [[nodiscard]] Result<ElementState> query_element(ElementHandle element) override
    {
        return model_->query_element(element);
    }
    [[nodiscard]] Result<void> destroy_element(ElementHandle element) override
    {
        return model_->destroy_element(element);
    }
    [[nodiscard]] Result<Admission> admit(const QueuePairRef& queue_pair) override
    {
        return programs_->admit(name_, queue_pair);
    }
    [[nodiscard]] Result<QueuePairSearch> find_queue_pairs(const std::shared_ptr<ClientFile>& file,
                                                           const std::vector<SoughtQueuePair>& sought,
                                                           const std::set<std::uint32_t>& known) override
    {
        return programs_->find(name_, file, sought, known);
    }
    [[nodiscard]] Result<void> place(const QueuePairRef& queue_pair, std::optional<ElementHandle> requester,
                                     std::optional<ElementHandle> responder) override
    {
        if (requester) {
            if (auto can = programs_->place(name_, queue_pair); !can) {
                return can;
            }
        }
        return model_->place(queue_pair, requester, responder);
    }
    [[nodiscard]] Result<void> set_rate(const QueuePairRef& queue_pair, const std::optional<RateLimit>& rate) override
    {
        return model_->set_rate(queue_pair, rate);
    }
    [[nodiscard]] Result<QueuePairState> query_queue_pair(const QueuePairRef& queue_pair) override
    {
        return model_->query_queue_pair(queue_pair);
    }
    [[nodiscard]] Result<PortCounters> port_counters() override { return model_->port_counters(); }
    void set_event_handler(EventHandler handler) override { model_->set_event_handler(std::move(handler)); }

private:
    const std::unique_ptr<ModelBackend> model_;
    const std::string name_;
    const std::shared_ptr<Programs> programs_;
};

// RTS queue pairs of type RC are what programs make unless a test says otherwise.
constexpr std::uint8_t kKernelsRc = 2;
constexpr std::uint8_t kKernelsUd = 4;
constexpr std::uint8_t kKernelsRawPacket = 8;

// `owner` makes one that is ready to send, with this handle in its file (0: any). What the watch will tell of it.
inline HostQueuePair make_queue_pair(Programs& programs, const std::shared_ptr<const Identity>& owner,
                                     std::uint32_t number, std::uint32_t handle = 0,
                                     const std::string& device = "mlx5_0", std::uint8_t type = kKernelsRc)
{
    static_cast<void>(programs.file(owner->pid, device));
    programs.change({device, number}, [&](Programs::QueuePair& made) {
        made = {};
        made.process = owner->pid;
        made.found.number = number;
        made.found.handle = handle != 0 ? handle : number + 1000;
        made.found.state = QueuePairState::Rts;
    });
    HostQueuePair seen;
    seen.device = device;
    seen.tracked.number = number;
    seen.tracked.port = 1;
    seen.tracked.type = type;
    seen.tracked.state = QueuePairState::Rts;
    seen.owner = owner;
    return seen;
}

// A watch that tells what a test tells it, on the main loop. The Service destroys it on a thread.
class FakeWatch : public std::enable_shared_from_this<FakeWatch> {
public:
    std::unique_ptr<HostWatch> begin(HostNewsHandler news)
    {
        handler_ = std::move(news);
        ++begun;
        return std::make_unique<Held>(shared_from_this());
    }
    // As long as it is not destroyed, which takes a while.
    void tell(HostNews news)
    {
        if (!is_over()) {
            handler_(std::move(news));
        }
    }
    [[nodiscard]] bool is_over() const { return begun == ended; }

    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
    std::atomic<int> told_again = 0;

private:
    class Held final : public HostWatch {
    public:
        explicit Held(std::shared_ptr<FakeWatch> watch) : watch_(std::move(watch)) {}
        ~Held() override { ++watch_->ended; }
        void tell_again() override { ++watch_->told_again; }

    private:
        const std::shared_ptr<FakeWatch> watch_;
    };

    HostNewsHandler handler_;
};

// Whose ends are waited for. Outlives the service.
class FakeEnds {
public:
    std::shared_ptr<void> watch(pid_t process, std::function<void()> ended)
    {
        const auto kept = std::make_shared<std::function<void()>>(std::move(ended));
        std::erase_if(watched_, [](const auto& each) { return each.second.expired(); });
        watched_.emplace(process, kept);
        return kept;
    }
    void end(pid_t process)
    {
        const auto [first, last] = watched_.equal_range(process);
        for (const auto& [pid, weak] : std::multimap<pid_t, std::weak_ptr<std::function<void()>>>(first, last)) {
            if (const auto ended = weak.lock()) {
                (*ended)();
            }
        }
    }
    [[nodiscard]] std::vector<pid_t> watched() const
    {
        std::vector<pid_t> all;
        for (const auto& [process, ended] : watched_) {
            if (!ended.expired()) {
                all.push_back(process);
            }
        }
        return all;
    }

private:
    std::multimap<pid_t, std::weak_ptr<std::function<void()>>> watched_;
};

// Has a service adopt such programs, if its settings say so.
inline void adopt_from(ServiceOptions& options, std::shared_ptr<ProgramFiles> files, std::shared_ptr<FakeWatch> watch)
{
    options.program_files = std::move(files);
    options.watch_host = [watch = std::move(watch)](HostNewsHandler news) { return watch->begin(std::move(news)); };
}

}    // namespace rdmaqos::test
