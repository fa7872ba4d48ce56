// An open uverbs file: one connection, however many descriptors of it there are. It owns objects, by handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "tools/emulator/async_event.h"
#include "tools/emulator/device.h"
#include "tools/emulator/uobject.h"

namespace rdmaqos::emulator {

class UverbsFile {
public:
    UverbsFile(std::shared_ptr<Device> device, UniqueFd socket, std::uint64_t number, pid_t opener);

    [[nodiscard]] Device& device() { return *device_; }
    [[nodiscard]] int socket() const { return socket_.get(); }
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] pid_t opener() const { return opener_; }

    // ---- the context: what GET_CONTEXT makes ----

    // EINVAL: there is one already. EIO: the device is gone.
    void make_context(bool devx);
    [[nodiscard]] std::optional<ContextId> context() const;
    [[nodiscard]] bool has_devx() const { return devx_; }

    // ---- objects ----

    // Gives it the lowest free handle.
    std::uint32_t add(const std::shared_ptr<Object>& object);
    [[nodiscard]] std::shared_ptr<Object> find(std::uint32_t handle) const;    // null: none
    void remove(const Object& object);
    // The object, which the caller has for itself, uses these from now on.
    void set_uses(Object& object, std::vector<std::shared_ptr<Object>> uses);
    [[nodiscard]] std::vector<std::shared_ptr<Object>> objects() const;    // by handle

    // ---- asynchronous events ----

    // A new descriptor to read them from, for the process that asked.
    [[nodiscard]] UniqueFd open_events(pid_t reader);
    // The same for events of DEVX objects, which the emulator does not have: nothing comes until the file closes.
    [[nodiscard]] UniqueFd open_object_events();
    // A new completion channel: the descriptor of the program, which reads from it. This process keeps an end to write
    // to.
    [[nodiscard]] UniqueFd open_channel();
    // The end that was kept of the channel that is this file; empty: it is none of this file's.
    [[nodiscard]] UniqueFd channel(dev_t device, ino_t number) const;
    // To every reader, or to that of the object's creator.
    void send(AsyncEvent event, std::uint64_t element);
    void send(AsyncEvent event, Object& object);
    // Takes back what nobody has read; how many events of the object were read.
    std::uint32_t settle_events(Object& object);

    // The device is gone: nearly every call from now on gives EIO.
    void disassociate();
    // Calls from now on do not come here any more.
    void hang_up();
    // An object that was lost with the device, once; null: there was none of this handle.
    [[nodiscard]] std::shared_ptr<Object> take_lost(std::uint32_t handle);
    [[nodiscard]] bool is_dead() const { return dead_; }
    struct Closed {
        std::map<ObjectType, std::size_t> objects;    // that went
        std::size_t leaked = 0;                       // elements that could not go
    };
    // The last descriptor is gone: destroys everything.
    Closed close();

    // ---- who waits for the last close: conversations of protocol.h ----

    // Ended by release_closers(), or at once if that was called already.
    void add_closer(UniqueFd conversation);
    void release_closers();

    // Calls in flight, bounded: who sends more is not read until some are done.
    std::atomic<int> calls{0};

private:
    struct EventQueue {
        pid_t reader = 0;
        UniqueFd read_end;    // to know what was read, and to take back
        UniqueFd write_end;
    };
    static void send_to(const EventQueue& queue, AsyncEvent event, std::uint64_t element);

    const std::shared_ptr<Device> device_;
    const UniqueFd socket_;
    const std::uint64_t number_;
    const pid_t opener_;
    std::atomic<bool> dead_{false};
    std::atomic<bool> devx_{false};
    mutable std::mutex mutex_;
    std::optional<ContextId> context_;
    std::map<std::uint32_t, std::shared_ptr<Object>> objects_;
    std::map<std::uint32_t, std::shared_ptr<Object>> lost_;    // when the device went
    std::uint64_t added_ = 0;                                  // objects, so far
    std::vector<EventQueue> event_queues_;
    std::vector<UniqueFd> object_events_;                     // the ends that nobody writes to
    std::map<std::pair<dev_t, ino_t>, UniqueFd> channels_;    // the ends that are written to
    std::vector<UniqueFd> closers_;
    bool closers_released_ = false;
};

}    // namespace rdmaqos::emulator
