// The methods of the uverbs ioctl that are played, and the rules the kernel applies to all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/emulator/call.h"
#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::emulator {

enum class Access : std::uint8_t {
    Read,       // others may use it meanwhile
    Write,      // nobody else may
    Destroy,    // the same, and it is gone if the call succeeds
};

// A call while it holds its objects.
class Context {
public:
    Context(Call& of_call, UverbsFile& of_file, const Behaviour& kernel)
        : call(of_call), file(of_file), device(of_file.device()), behaviour(kernel)
    {
    }
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // As rdma_lookup_get_uobject(). ENOENT: no such handle; EINVAL: it is of another type; EBUSY: somebody else's call
    // is on it.
    std::shared_ptr<Object> take(std::uint32_t handle, std::optional<ObjectType> type, Access access);
    // Of a handle attribute that the method's table has taken.
    [[nodiscard]] Object& object(std::uint16_t attribute) const;
    [[nodiscard]] std::shared_ptr<Object> object_or_null(std::uint16_t attribute) const;
    void bind(std::uint16_t attribute, const std::shared_ptr<Object>& object);

    [[nodiscard]] ContextId context() const;
    // Of a port of the device; 0, which is none, is like the first.
    [[nodiscard]] bool is_infiniband(std::uint32_t port) const;
    // On the device, in RESET. EIO: the file is from before a reset.
    void create_queue_pair(std::uint32_t number, QueuePairType type);
    // For the data path, as long as the object has not ended.
    [[nodiscard]] std::function<void(AsyncEvent)> sender_for(Object& object) const
    {
        return [&to = file, &object](AsyncEvent event) { to.send(event, object); };
    }
    // The object exists from now on.
    std::uint32_t publish(const std::shared_ptr<Object>& object);
    // What was taken for its end goes; to be called when the call has succeeded.
    void complete();

    Call& call;
    UverbsFile& file;
    Device& device;
    const Behaviour& behaviour;

private:
    struct Taken {
        std::shared_ptr<Object> object;
        Access access;
    };
    std::vector<Taken> taken_;
    std::vector<std::pair<std::uint16_t, std::shared_ptr<Object>>> bound_;
};

struct HandleAttribute {
    std::uint16_t attribute = 0;
    std::optional<ObjectType> type;    // empty: any
    Access access = Access::Read;
    bool optional = false;
};

struct Method {
    std::uint16_t object = 0;
    std::uint16_t method = 0;
    std::string_view name;                    // for the trace: "devx-object.create"
    std::vector<std::uint16_t> attributes;    // that it knows, besides those of `handles`
    std::vector<HandleAttribute> handles;
    void (*run)(Context&) = nullptr;    // throws Failure
    bool needs_context = true;
};

// Of a method that needs no more than its objects taken.
inline void nothing(Context&) {}

// Each part of the kernel brings its own.
[[nodiscard]] std::vector<Method> device_methods();
[[nodiscard]] std::vector<Method> resource_methods();
[[nodiscard]] std::vector<Method> queue_pair_methods();
[[nodiscard]] std::vector<Method> devx_methods();

// The old commands, which travel inside INVOKE_WRITE.
struct WriteCommand {
    std::uint32_t command = 0;
    std::string_view name;
    std::size_t request = 0;    // bytes at least
    std::size_t response = 0;
    void (*run)(Context&) = nullptr;
    bool needs_context = true;
};
[[nodiscard]] std::vector<WriteCommand> device_commands();
[[nodiscard]] std::vector<WriteCommand> resource_commands();
[[nodiscard]] std::vector<WriteCommand> queue_pair_commands();

// Runs a call to its errno. `name` becomes what the trace calls it.
[[nodiscard]] int run_call(Call& call, UverbsFile& file, const Behaviour& behaviour, std::string& name);

// Of INVOKE_WRITE.
constexpr std::uint16_t kCoreIn = UVERBS_ATTR_CORE_IN;
constexpr std::uint16_t kCoreOut = UVERBS_ATTR_CORE_OUT;

}    // namespace rdmaqos::emulator
