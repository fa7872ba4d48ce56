// What the daemon answered, as values: an a{sv} of which the texts, lists of texts and numbers are kept. What is of
// another type, as a later daemon may send, is left out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <systemd/sd-bus.h>

#include "lib/client/failure.h"

// Of the C interface; counted, and never changed after it was made.
struct rdmaqos_answer {
    std::map<std::string, std::variant<std::string, std::uint64_t>, std::less<>> values;
    mutable std::atomic<unsigned> owners = 1;

    [[nodiscard]] const std::string* text(std::string_view key) const;
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
};

namespace rdmaqos::client {

class AnswerRef {
public:
    AnswerRef() = default;
    explicit AnswerRef(std::unique_ptr<rdmaqos_answer> answer) : answer_(answer.release()) {}
    AnswerRef(const AnswerRef& other) : answer_(other.share()) {}
    AnswerRef(AnswerRef&& other) noexcept : answer_(std::exchange(other.answer_, nullptr)) {}
    AnswerRef& operator=(AnswerRef other) noexcept
    {
        std::swap(answer_, other.answer_);
        return *this;
    }
    ~AnswerRef() { release(answer_); }

    [[nodiscard]] const rdmaqos_answer* get() const { return answer_; }
    [[nodiscard]] const rdmaqos_answer* operator->() const { return answer_; }
    [[nodiscard]] explicit operator bool() const { return answer_ != nullptr; }
    // One more owner, of the C interface; null for none.
    [[nodiscard]] rdmaqos_answer* share() const;
    static void release(rdmaqos_answer* answer);

private:
    rdmaqos_answer* answer_ = nullptr;
};

// Of the a{sv} at the message's position; the dictionaries of a key "queue-pairs" go into `nested`, if that is wanted.
// Negative errno: the message is not as it should be.
int read_answer(sd_bus_message* message, AnswerRef& answer, std::vector<AnswerRef>* nested = nullptr);
// Of an aa{sv}.
int read_answers(sd_bus_message* message, std::vector<AnswerRef>& answers);

// What its keys `error` and `message` say; none: it was not refused.
[[nodiscard]] Failure refusal_in(const AnswerRef& answer);

}    // namespace rdmaqos::client
