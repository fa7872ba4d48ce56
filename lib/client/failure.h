// What a call of the library fails with: an errno for the program, and the sentence behind it.
#pragma once

#include <string>
#include <string_view>

namespace rdmaqos::client {

struct Failure {
    int error = 0;         // positive errno; 0: none
    std::string text;      // a sentence
    std::string name{};    // of D-Bus; empty: the daemon did not say it

    [[nodiscard]] explicit operator bool() const { return error != 0; }
};

// Keeps the failure as the last one of this thread; returns the negative errno.
int report(const Failure& failure) noexcept;
int report(int error, std::string_view text) noexcept;
[[nodiscard]] const char* last_text() noexcept;
[[nodiscard]] const char* last_name() noexcept;

// "text: No such file or directory".
[[nodiscard]] Failure failure_of(int error, std::string_view text);
// Of an error reply.
[[nodiscard]] Failure failure_of_reply(std::string_view name, std::string_view text, int error);
[[nodiscard]] bool is_end_of_connection(int error);
[[nodiscard]] Failure no_daemon(std::string_view where, int error);
// It is there, and does not want the connection.
[[nodiscard]] Failure closed_at_once(std::string_view where);

// Whether the same request may be granted some time later, without anybody doing something about it.
[[nodiscard]] bool may_pass(const Failure& failure);
// Whether there is nobody to talk to any more.
[[nodiscard]] bool is_loss(const Failure& failure);

}    // namespace rdmaqos::client
