// A handle of librdmaqos in a test, and a fake daemon that answers as rdma-qosd does.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "lib/client/rdmaqos.h"
#include "tests/support/fake_daemon.h"
#include "tests/support/patience.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

struct CloseHandle {
    void operator()(rdmaqos_handle* handle) const { rdmaqos_close(handle); }
};
using Handle = std::unique_ptr<rdmaqos_handle, CloseHandle>;
struct FreeAnswer {
    void operator()(rdmaqos_answer* answer) const { rdmaqos_answer_free(answer); }
};
using Answer = std::unique_ptr<rdmaqos_answer, FreeAnswer>;

inline Handle open_at(const std::filesystem::path& socket, std::uint32_t flags = RDMAQOS_OPEN_DIRECT,
                      std::uint32_t timeout_ms = kHungMs)
{
    rdmaqos_open_attr attr;
    rdmaqos_open_attr_init(&attr);
    attr.flags = flags;
    attr.timeout_ms = timeout_ms;
    attr.open_timeout_ms = timeout_ms;
    attr.socket = socket.c_str();
    rdmaqos_handle* handle = nullptr;
    EXPECT_EQ(rdmaqos_open(&handle, &attr), 0) << rdmaqos_last_error();
    return Handle(handle);
}

// Of a simulated device.
inline rdmaqos_queue_pair numbered(std::uint32_t number, const char* device = "mlx5_0")
{
    rdmaqos_queue_pair queue_pair;
    rdmaqos_queue_pair_init(&queue_pair);
    queue_pair.device = device;
    queue_pair.number = number;
    return queue_pair;
}

inline rdmaqos_request for_level(const char* level)
{
    rdmaqos_request request;
    rdmaqos_request_init(&request);
    request.level = level;
    return request;
}

// Events of a handle, as words: "lost mlx5_0 17".
class Heard {
public:
    explicit Heard(const Handle& handle) : handle_(handle.get()) { rdmaqos_set_handler(handle_, &Heard::hear, this); }
    ~Heard() { rdmaqos_set_handler(handle_, nullptr, nullptr); }
    Heard(const Heard&) = delete;
    Heard& operator=(const Heard&) = delete;

    [[nodiscard]] std::vector<std::string> all() const
    {
        const std::lock_guard lock(mutex_);
        return words_;
    }
    [[nodiscard]] bool has(const std::string& word) const
    {
        const auto words = all();
        return std::find(words.begin(), words.end(), word) != words.end();
    }
    // As a program's loop does: dispatches when the descriptor says so, until the event comes.
    bool wait_for(const std::string& word, std::chrono::milliseconds patience = kHung)
    {
        const auto until = std::chrono::steady_clock::now() + patience;
        while (!has(word) && std::chrono::steady_clock::now() < until) {
            pollfd ready{rdmaqos_get_fd(handle_), POLLIN, 0};
            if (poll(&ready, 1, 50) > 0) {
                rdmaqos_dispatch(handle_);
            }
        }
        return has(word);
    }

private:
    static void hear(rdmaqos_handle*, const rdmaqos_event* event, void* data)
    {
        static const char* const kWords[] = {"?",       "grant", "detached", "gone",   "back",
                                             "refused", "lost",  "attached", "waiting"};
        auto& self = *static_cast<Heard*>(data);
        const std::lock_guard lock(self.mutex_);
        std::string word = event->type < 9 ? kWords[event->type] : "?";
        if (event->device != nullptr) {
            word += std::string(" ") + event->device + " " + std::to_string(event->number);
        }
        if (event->type == RDMAQOS_EVENT_GRANT_CHANGED) {
            word += std::string(" ") + rdmaqos_answer_level(event->grant);
        }
        self.words_.push_back(word);
    }

    rdmaqos_handle* const handle_;
    mutable std::mutex mutex_;
    std::vector<std::string> words_;
};

// ---- what a fake daemon answers ----

// A text of the a{sv} that is entered next; the rest is skipped.
struct AttachRequest {
    std::string device;
    std::uint32_t number = 0;
    bool has_descriptor = false;
    std::string level;
};

inline AttachRequest read_attach(sd_bus_message* message)
{
    AttachRequest request;
    sd_bus_message_enter_container(message, 'a', "{sv}");
    while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
        const char* key = nullptr;
        const char* contents = nullptr;
        sd_bus_message_read(message, "s", &key);
        sd_bus_message_peek_type(message, nullptr, &contents);
        if (std::string(key) == "number") {
            sd_bus_message_read(message, "v", "u", &request.number);
        } else if (std::string(key) == "level") {
            const char* level = nullptr;
            sd_bus_message_read(message, "v", "s", &level);
            request.level = level;
        } else if (std::string(key) == "device") {
            const char* device = nullptr;
            sd_bus_message_read(message, "v", "s", &device);
            request.device = device;
        } else {
            request.has_descriptor = request.has_descriptor || std::string(key) == "uverbs";
            sd_bus_message_skip(message, "v");
        }
        sd_bus_message_exit_container(message);
    }
    sd_bus_message_exit_container(message);
    return request;
}

inline std::vector<AttachRequest> read_attaches(sd_bus_message* message)
{
    std::vector<AttachRequest> all;
    sd_bus_message_enter_container(message, 'a', "a{sv}");
    while (sd_bus_message_at_end(message, 0) == 0) {
        all.push_back(read_attach(message));
    }
    sd_bus_message_exit_container(message);
    return all;
}

// The queue pairs of a Register, and its level.
inline std::vector<AttachRequest> read_register(sd_bus_message* message, std::string* level = nullptr)
{
    std::vector<AttachRequest> all;
    sd_bus_message_enter_container(message, 'a', "{sv}");
    while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
        const char* key = nullptr;
        sd_bus_message_read(message, "s", &key);
        if (std::string(key) == "queue-pairs") {
            sd_bus_message_enter_container(message, 'v', "aa{sv}");
            all = read_attaches(message);
            sd_bus_message_exit_container(message);
        } else if (std::string(key) == "level" && level != nullptr) {
            const char* text = nullptr;
            sd_bus_message_read(message, "v", "s", &text);
            *level = text;
        } else {
            sd_bus_message_skip(message, "v");
        }
        sd_bus_message_exit_container(message);
    }
    sd_bus_message_exit_container(message);
    return all;
}

// One result for each, refused with `error` where that is not empty.
inline void append_results(sd_bus_message* reply, const std::vector<AttachRequest>& requests,
                           const std::string& error = {})
{
    sd_bus_message_open_container(reply, 'a', "a{sv}");
    for (const auto& each : requests) {
        if (error.empty()) {
            sd_bus_message_append(reply, "a{sv}", 4, "device", "s", (each.device + "/1").c_str(), "number", "u",
                                  each.number, "leaf", "s", ("/leaf/" + std::to_string(each.number)).c_str(),
                                  "enforced", "b", 1);
        } else {
            sd_bus_message_append(reply, "a{sv}", 3, "number", "u", each.number, "error", "s", error.c_str(), "message",
                                  "s", "as the test says");
        }
    }
    sd_bus_message_close_container(reply);
}

inline sd_bus_message* reply_to(sd_bus_message* call)
{
    sd_bus_message* reply = nullptr;
    sd_bus_message_new_method_return(call, &reply);
    return reply;
}

inline int send_reply(sd_bus_message* reply)
{
    const int result = sd_bus_message_send(reply);
    sd_bus_message_unref(reply);
    return result < 0 ? result : 1;
}

// As rdma-qosd answers, in short; remembers which queue pairs were attached how often.
class LikeTheDaemon {
public:
    explicit LikeTheDaemon(FakeDaemon& daemon)
    {
        daemon.on("Register", [this](sd_bus_message* call) {
            std::string level;
            const auto requests = read_register(call, &level);
            note(requests);
            note_level(level);
            sd_bus_message* reply = reply_to(call);
            sd_bus_message_append(reply, "o", "/org/rdmaqos1/session/1");
            sd_bus_message_open_container(reply, 'a', "{sv}");
            sd_bus_message_append(reply, "{sv}", "level", "s", "rpc");
            sd_bus_message_append(reply, "{sv}", "sl", "y", 3);
            if (!requests.empty()) {
                sd_bus_message_open_container(reply, 'e', "sv");
                sd_bus_message_append(reply, "s", "queue-pairs");
                sd_bus_message_open_container(reply, 'v', "aa{sv}");
                append_results(reply, requests);
                sd_bus_message_close_container(reply);
                sd_bus_message_close_container(reply);
            }
            sd_bus_message_close_container(reply);
            return send_reply(reply);
        });
        daemon.on("Attach", [this](sd_bus_message* call) {
            const auto requests = read_attaches(call);
            note(requests);
            sd_bus_message* reply = reply_to(call);
            append_results(reply, requests);
            return send_reply(reply);
        });
        for (const char* method : {"Detach", "Release", "SetRate"}) {
            daemon.on(method, [](sd_bus_message* call) { return sd_bus_reply_method_return(call, ""); });
        }
    }

    // Queue pairs by number, each as often as it was attached.
    [[nodiscard]] std::multiset<std::uint32_t> attached() const
    {
        const std::lock_guard lock(mutex_);
        return attached_;
    }
    // What sessions asked for by name, one after the other.
    [[nodiscard]] std::vector<std::string> levels() const
    {
        const std::lock_guard lock(mutex_);
        return levels_;
    }
    [[nodiscard]] int descriptors() const
    {
        const std::lock_guard lock(mutex_);
        return descriptors_;
    }
    [[nodiscard]] std::size_t largest() const
    {
        const std::lock_guard lock(mutex_);
        return largest_;
    }
    void forget()
    {
        const std::lock_guard lock(mutex_);
        attached_.clear();
        descriptors_ = 0;
    }

private:
    void note_level(const std::string& level)
    {
        const std::lock_guard lock(mutex_);
        levels_.push_back(level);
    }
    void note(const std::vector<AttachRequest>& requests)
    {
        const std::lock_guard lock(mutex_);
        largest_ = std::max(largest_, requests.size());
        for (const auto& each : requests) {
            attached_.insert(each.number);
            descriptors_ += each.has_descriptor ? 1 : 0;
        }
    }

    mutable std::mutex mutex_;
    std::multiset<std::uint32_t> attached_;
    std::vector<std::string> levels_;
    int descriptors_ = 0;
    std::size_t largest_ = 0;
};

// A device took queue pairs of the session along: those that went, and those of them that are back.
inline void tell_losses(FakeDaemon& daemon, std::uint32_t losses, std::vector<std::string> detached,
                        std::vector<std::string> returned, const char* cause = "")
{
    daemon.each([=](sd_bus* bus) {
        sd_bus_message* signal = nullptr;
        sd_bus_message_new_signal(bus, &signal, "/org/rdmaqos1/session/1", "org.rdmaqos1.Session", "GrantChanged");
        sd_bus_message_open_container(signal, 'a', "{sv}");
        sd_bus_message_append(signal, "{sv}", "losses", "u", losses);
        sd_bus_message_append(signal, "{sv}", "cause", "s", cause);
        for (const auto& [key, list] :
             {std::pair("detached-devices", &detached), std::pair("returned-devices", &returned)}) {
            sd_bus_message_open_container(signal, 'e', "sv");
            sd_bus_message_append(signal, "s", key);
            sd_bus_message_open_container(signal, 'v', "as");
            sd_bus_message_open_container(signal, 'a', "s");
            for (const auto& each : *list) {
                sd_bus_message_append(signal, "s", each.c_str());
            }
            sd_bus_message_close_container(signal);
            sd_bus_message_close_container(signal);
            sd_bus_message_close_container(signal);
        }
        sd_bus_message_close_container(signal);
        sd_bus_send(bus, signal, nullptr);
        sd_bus_message_unref(signal);
    });
}

class ClientLibrary : public ::testing::Test {
protected:
    [[nodiscard]] std::filesystem::path socket() const { return dir_.path() / "bus"; }
    int attach(const Handle& handle, std::uint32_t number, const rdmaqos_request* request = nullptr)
    {
        const auto queue_pair = numbered(number);
        return rdmaqos_attach_number(handle.get(), &queue_pair, request, nullptr);
    }

    TempDir dir_;
    FakeDaemon daemon_{socket()};
    LikeTheDaemon like_{daemon_};
};

}    // namespace rdmaqos::test
