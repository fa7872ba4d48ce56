#include "tools/emulator/uverbs_file.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdmaqos::emulator {
namespace {

struct Pipe {
    UniqueFd read_end;
    UniqueFd write_end;
};

Pipe make_pipe()
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        throw Failure(errno);
    }
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Nobody has the other end of the pipe any more.
bool is_unread(const UniqueFd& write_end)
{
    pollfd look{write_end.get(), 0, 0};
    return poll(&look, 1, 0) == 1 && (look.revents & POLLERR) != 0;
}

}    // namespace

std::string_view to_string(ObjectType type)
{
    switch (type) {
    case ObjectType::ProtectionDomain:
        return "protection-domain";
    case ObjectType::CompletionQueue:
        return "completion-queue";
    case ObjectType::QueuePair:
        return "queue-pair";
    case ObjectType::SharedReceiveQueue:
        return "shared-receive-queue";
    case ObjectType::AddressHandle:
        return "address-handle";
    case ObjectType::MemoryRegion:
        return "memory-region";
    case ObjectType::Uar:
        return "uar";
    case ObjectType::DevxObject:
        return "devx-object";
    case ObjectType::DevxMemory:
        return "devx-memory";
    case ObjectType::PacingEntry:
        return "pacing-entry";
    }
    return "";
}

UverbsFile::UverbsFile(std::shared_ptr<Device> device, UniqueFd socket, std::uint64_t number, pid_t opener)
    : device_(std::move(device)), socket_(std::move(socket)), number_(number), opener_(opener)
{
}

void UverbsFile::make_context(bool devx)
{
    const std::lock_guard lock(mutex_);
    if (dead_) {
        throw Failure(EIO);
    }
    if (context_) {
        throw Failure(EINVAL);
    }
    const auto opened = device_->firmware().open_context();
    if (!opened) {
        throw Failure(EIO);
    }
    context_ = *opened;
    devx_ = devx;
}

std::optional<ContextId> UverbsFile::context() const
{
    const std::lock_guard lock(mutex_);
    return context_;
}

std::uint32_t UverbsFile::add(const std::shared_ptr<Object>& object)
{
    const std::lock_guard lock(mutex_);
    if (dead_) {
        throw Failure(EIO);
    }
    std::uint32_t handle = 0;
    for (const auto& [used, other] : objects_) {
        if (used != handle) {
            break;
        }
        ++handle;
    }
    object->handle = handle;
    object->age = ++added_;
    for (const auto& used : object->uses) {
        ++used->users;
    }
    objects_.emplace(handle, object);
    return handle;
}

std::shared_ptr<Object> UverbsFile::find(std::uint32_t handle) const
{
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
}

void UverbsFile::remove(const Object& object)
{
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(object.handle);
    if (found == objects_.end() || found->second.get() != &object) {
        return;
    }
    const auto removed = found->second;
    objects_.erase(found);
    for (const auto& used : removed->uses) {
        --used->users;
    }
}

void UverbsFile::set_uses(Object& object, std::vector<std::shared_ptr<Object>> uses)
{
    const std::lock_guard lock(mutex_);
    for (const auto& used : uses) {
        ++used->users;
    }
    for (const auto& used : object.uses) {
        --used->users;
    }
    object.uses = std::move(uses);
}

std::vector<std::shared_ptr<Object>> UverbsFile::objects() const
{
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> all;
    all.reserve(objects_.size());
    for (const auto& [handle, object] : objects_) {
        all.push_back(object);
    }
    return all;
}

UniqueFd UverbsFile::open_events(pid_t reader)
{
    Pipe pipe = make_pipe();
    // An open file of its own, since the reader's blocks.
    const std::string again = "/proc/self/fd/" + std::to_string(pipe.read_end.get());
    EventQueue queue{reader, UniqueFd(open(again.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)),
                     std::move(pipe.write_end)};
    fcntl(queue.write_end.get(), F_SETFL, O_NONBLOCK);
    const std::lock_guard lock(mutex_);
    event_queues_.push_back(std::move(queue));
    return std::move(pipe.read_end);
}

UniqueFd UverbsFile::open_object_events()
{
    Pipe pipe = make_pipe();
    const std::lock_guard lock(mutex_);
    object_events_.push_back(std::move(pipe.write_end));
    return std::move(pipe.read_end);
}

UniqueFd UverbsFile::open_channel()
{
    Pipe pipe = make_pipe();
    // Open for both, or a reader would find the end of the file.
    const std::string both = "/proc/self/fd/" + std::to_string(pipe.write_end.get());
    UniqueFd theirs(open(both.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    if (!theirs || fstat(theirs.get(), &status) != 0) {
        throw Failure(errno);
    }
    fcntl(pipe.write_end.get(), F_SETFL, O_NONBLOCK);
    const std::lock_guard lock(mutex_);
    std::erase_if(channels_, [](const auto& channel) { return is_unread(channel.second); });
    channels_.insert_or_assign({status.st_dev, status.st_ino}, std::move(pipe.write_end));
    return theirs;
}

UniqueFd UverbsFile::channel(dev_t device, ino_t number) const
{
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find({device, number});
    if (found == channels_.end()) {
        return {};
    }
    // Open for both, or writing would be a SIGPIPE when the program has gone.
    const std::string kept = "/proc/self/fd/" + std::to_string(found->second.get());
    return UniqueFd(open(kept.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

void UverbsFile::send_to(const EventQueue& queue, AsyncEvent event, std::uint64_t element)
{
    ib_uverbs_async_event_desc description{};
    description.element = element;
    description.event_type = static_cast<std::uint32_t>(event);
    // A reader that never reads loses what does not fit; the kernel would keep it.
    (void)!write(queue.write_end.get(), &description, sizeof(description));
}

void UverbsFile::send(AsyncEvent event, std::uint64_t element)
{
    const std::lock_guard lock(mutex_);
    for (const auto& queue : event_queues_) {
        send_to(queue, event, element);
    }
}

void UverbsFile::send(AsyncEvent event, Object& object)
{
    const std::lock_guard lock(mutex_);
    const auto own = std::find_if(event_queues_.begin(), event_queues_.end(),
                                  [&](const EventQueue& queue) { return queue.reader == object.creator.process; });
    if (own != event_queues_.end()) {
        send_to(*own, event, object.user_handle);
        ++object.events;
    } else if (!event_queues_.empty()) {
        send_to(event_queues_.front(), event, object.user_handle);
        ++object.events;
    }
}

std::uint32_t UverbsFile::settle_events(Object& object)
{
    const std::lock_guard lock(mutex_);
    if (object.events == 0) {
        return 0;
    }
    std::uint32_t unread = 0;
    for (const auto& queue : event_queues_) {
        int bytes = 0;
        ioctl(queue.read_end.get(), FIONREAD, &bytes);
        std::vector<ib_uverbs_async_event_desc> others;
        for (std::size_t left = static_cast<std::size_t>(bytes) / sizeof(ib_uverbs_async_event_desc); left > 0;
             --left) {
            ib_uverbs_async_event_desc description{};
            if (read(queue.read_end.get(), &description, sizeof(description)) != sizeof(description)) {
                break;    // the reader was faster
            }
            if (description.element == object.user_handle) {
                ++unread;
            } else {
                others.push_back(description);
            }
        }
        for (const auto& description : others) {
            (void)!write(queue.write_end.get(), &description, sizeof(description));
        }
    }
    return object.events - std::min(unread, object.events);
}

namespace {

// The newest first, as the kernel does it: a queue pair goes before the memory that it uses, and a queue pair that
// sends to it finds nobody.
void end_all(const std::map<std::uint32_t, std::shared_ptr<Object>>& objects)
{
    std::vector<std::shared_ptr<Object>> by_age;
    by_age.reserve(objects.size());
    for (const auto& [handle, object] : objects) {
        by_age.push_back(object);
    }
    std::ranges::sort(by_age, std::ranges::greater(), &Object::age);
    for (const auto& object : by_age) {
        object->end();
    }
}

}    // namespace

void UverbsFile::disassociate()
{
    std::map<std::uint32_t, std::shared_ptr<Object>> ended;
    {
        const std::lock_guard lock(mutex_);
        dead_ = true;
        event_queues_.clear();
        object_events_.clear();
        channels_.clear();
        ended = objects_;
        lost_.merge(objects_);
        objects_.clear();
        context_.reset();
    }
    end_all(ended);
}

void UverbsFile::hang_up()
{
    shutdown(socket_.get(), SHUT_RDWR);
}

std::shared_ptr<Object> UverbsFile::take_lost(std::uint32_t handle)
{
    const std::lock_guard lock(mutex_);
    const auto lost = lost_.extract(handle);
    return lost.empty() ? nullptr : lost.mapped();
}

UverbsFile::Closed UverbsFile::close()
{
    Closed closed;
    std::optional<ContextId> context;
    std::map<std::uint32_t, std::shared_ptr<Object>> ended;
    {
        const std::lock_guard lock(mutex_);
        dead_ = true;
        event_queues_.clear();
        object_events_.clear();
        channels_.clear();
        for (const auto& [handle, object] : objects_) {
            ++closed.objects[object->type];
        }
        ended = std::exchange(objects_, {});
        lost_.clear();
        context = std::exchange(context_, std::nullopt);
    }
    end_all(ended);
    closed.leaked = context ? device_->firmware().close_context(*context) : 0;
    return closed;
}

void UverbsFile::add_closer(UniqueFd conversation)
{
    const std::lock_guard lock(mutex_);
    if (!closers_released_) {
        closers_.push_back(std::move(conversation));
    }
}

void UverbsFile::release_closers()
{
    const std::lock_guard lock(mutex_);
    closers_released_ = true;
    closers_.clear();
}

}    // namespace rdmaqos::emulator
