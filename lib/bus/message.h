// Messages of sd-bus: ownership, strict reading into values, and writing without detours.
//
// Reading is bounded (ReadLimits) and never trusts what it reads: a type that is not part of our API becomes an
// Unsupported value, a key that comes twice is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <systemd/sd-bus.h>

#include "lib/base/result.h"
#include "lib/bus/value.h"

namespace rdmaqos::bus {

struct BusUnref {
    void operator()(sd_bus* bus) const noexcept { sd_bus_close_unref(bus); }
};
// Closes the connection, without waiting for what is queued.
using BusPtr = std::unique_ptr<sd_bus, BusUnref>;

struct SlotUnref {
    void operator()(sd_bus_slot* slot) const noexcept { sd_bus_slot_unref(slot); }
};
using SlotPtr = std::unique_ptr<sd_bus_slot, SlotUnref>;

// A counted reference to a message, copyable so that a callback can hold it. sd-bus counts without atomics: a reference
// may be copied and destroyed on the thread that made it alone. Builds without NDEBUG check that, and abort.
class MessageRef {
public:
    MessageRef() = default;
    // Takes a reference of its own.
    explicit MessageRef(sd_bus_message* message) : message_(sd_bus_message_ref(message)) {}
    // Takes over the caller's reference.
    static MessageRef adopt(sd_bus_message* message);
    MessageRef(const MessageRef& other) : message_(other.message_), thread_(other.thread_)
    {
        check_thread();
        sd_bus_message_ref(message_);
    }
    MessageRef(MessageRef&& other) noexcept : message_(std::exchange(other.message_, nullptr)), thread_(other.thread_)
    {
    }
    MessageRef& operator=(MessageRef other) noexcept
    {
        std::swap(message_, other.message_);
        std::swap(thread_, other.thread_);
        return *this;
    }
    ~MessageRef()
    {
        check_thread();
        sd_bus_message_unref(message_);
    }

    [[nodiscard]] sd_bus_message* get() const { return message_; }
    [[nodiscard]] explicit operator bool() const { return message_ != nullptr; }

private:
    void check_thread() const noexcept;

    sd_bus_message* message_ = nullptr;
    std::thread::id thread_ = std::this_thread::get_id();
};

// An sd_bus_error on the stack.
class BusError {
public:
    BusError() = default;
    BusError(const BusError&) = delete;
    BusError& operator=(const BusError&) = delete;
    ~BusError() { sd_bus_error_free(&error_); }

    [[nodiscard]] sd_bus_error* get() { return &error_; }
    [[nodiscard]] std::string_view name() const { return error_.name == nullptr ? "" : error_.name; }
    [[nodiscard]] std::string_view message() const { return error_.message == nullptr ? "" : error_.message; }

private:
    sd_bus_error error_{};
};

struct SentDescriptor;

struct ReadLimits {
    std::size_t depth = 24;            // containers inside each other
    std::size_t keys = 256;            // of one dictionary; keys are looked up one by one
    std::size_t values = 4'000'000;    // in all containers together
    // What the message's descriptors stand for (client_connection.h); null: for themselves, in a message of a peer that
    // is trusted.
    const std::vector<SentDescriptor>* descriptors = nullptr;
};

// Each reads one complete value at the message's position. Errors: InvalidArgument for what the sender did wrong.
[[nodiscard]] Result<Value> read_value(sd_bus_message* message, const ReadLimits& limits = {});
[[nodiscard]] Result<Dict> read_dict(sd_bus_message* message, const ReadLimits& limits = {});
[[nodiscard]] Result<std::vector<Dict>> read_dicts(sd_bus_message* message, const ReadLimits& limits = {});
// All arguments from the beginning on.
[[nodiscard]] Result<std::vector<Value>> read_arguments(sd_bus_message* message, const ReadLimits& limits = {});
// a{oa{sa{sv}}} / a{sa{sv}}: the answers of an ObjectManager.
using InterfaceProperties = std::vector<std::pair<std::string, Dict>>;
[[nodiscard]] Result<InterfaceProperties> read_interfaces(sd_bus_message* message, const ReadLimits& limits = {});
[[nodiscard]] Result<std::vector<std::pair<std::string, InterfaceProperties>>>
read_objects(sd_bus_message* message, const ReadLimits& limits = {});

// Writes the body of a message; the first failure sticks, so that callers check once, at the end. Strings that D-Bus
// would refuse (invalid UTF-8, NUL) are made printable.
class Writer {
public:
    explicit Writer(sd_bus_message* message) : message_(message) {}
    // Instead of a message: a number that tells what is written from what was written before. It begins as any number.
    explicit Writer(std::uint64_t& digest) : digest_(&digest) {}
    [[nodiscard]] bool digests() const { return digest_ != nullptr; }

    void put(bool value);
    void put(std::uint8_t value) { basic('y', &value); }
    void put(std::uint16_t value) { basic('q', &value); }
    void put(std::uint32_t value) { basic('u', &value); }
    void put(std::uint64_t value) { basic('t', &value); }
    void put(std::int32_t value) { basic('i', &value); }
    void put(std::int64_t value) { basic('x', &value); }
    void put(double value) { basic('d', &value); }
    void put(const char* text);
    // A text of ours, known to be valid.
    void put_known(const char* text) { basic('s', text); }
    void put(const std::string& text);
    void put(std::string_view text) { put(std::string(text)); }
    void put(const ObjectPath& path) { basic('o', path.text.c_str()); }
    void put(const FileDescriptor& descriptor);
    void put(const std::vector<std::string>& texts);
    void put(const Counts& counts);
    void put(const Triples& triples);
    void put(const Dict& dict);
    void put(const std::vector<Dict>& dicts);
    // Without a variant around it.
    void put(const Value& value);

    void open(char type, const char* contents);
    void close();

    // 0, or the first failure as -errno.
    [[nodiscard]] int result() const { return result_; }
    [[nodiscard]] sd_bus_message* message() const { return message_; }

    // The outcome of what was written to the message by other means.
    void keep(int result)
    {
        if (result < 0 && result_ == 0) {
            result_ = result;
        }
    }

private:
    void basic(char type, const void* value);

    sd_bus_message* message_ = nullptr;
    std::uint64_t* digest_ = nullptr;
    int result_ = 0;
};

template <typename T>
constexpr const char* signature_of()
{
    using Plain = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<Plain, bool>) {
        return "b";
    } else if constexpr (std::is_same_v<Plain, std::uint8_t>) {
        return "y";
    } else if constexpr (std::is_same_v<Plain, std::uint16_t>) {
        return "q";
    } else if constexpr (std::is_same_v<Plain, std::uint32_t>) {
        return "u";
    } else if constexpr (std::is_same_v<Plain, std::uint64_t>) {
        return "t";
    } else if constexpr (std::is_same_v<Plain, std::vector<std::string>>) {
        return "as";
    } else if constexpr (std::is_same_v<Plain, ObjectPath>) {
        return "o";
    } else {
        static_assert(std::is_convertible_v<Plain, std::string_view>, "not a type of our API");
        return "s";
    }
}

// An a{sv} that is being written; closes it when it goes out of scope.
class DictWriter {
public:
    explicit DictWriter(Writer& writer) : writer_(writer) { writer_.open('a', "{sv}"); }
    DictWriter(const DictWriter&) = delete;
    DictWriter& operator=(const DictWriter&) = delete;
    ~DictWriter() { writer_.close(); }

    template <typename T>
    void set(const char* key, const T& value)
    {
        open(key, signature_of<T>());
        writer_.put(value);
        close();
    }
    void set(const char* key, const Value& value)
    {
        open(key, signature(value).c_str());
        writer_.put(value);
        close();
    }

    // For a value that is itself written piece by piece.
    void open(const char* key, const char* contents)
    {
        writer_.open('e', "sv");
        writer_.put_known(key);
        writer_.open('v', contents);
    }
    void close()
    {
        writer_.close();
        writer_.close();
    }
    [[nodiscard]] Writer& writer() { return writer_; }

private:
    Writer& writer_;
};

}    // namespace rdmaqos::bus
