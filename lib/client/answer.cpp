#include "lib/client/answer.h"

#include <cerrno>
#include <cstring>
#include <utility>

const std::string* rdmaqos_answer::text(std::string_view key) const
{
    const auto found = values.find(key);
    return found == values.end() ? nullptr : std::get_if<std::string>(&found->second);
}

std::optional<std::uint64_t> rdmaqos_answer::number(std::string_view key) const
{
    const auto found = values.find(key);
    const auto* number = found == values.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
    return number == nullptr ? std::nullopt : std::optional(*number);
}

namespace rdmaqos::client {
namespace {

template <typename T>
int read_number(sd_bus_message* message, char type, std::uint64_t& number)
{
    T value{};
    const int result = sd_bus_message_read_basic(message, type, &value);
    number = static_cast<std::uint64_t>(value);
    return result;
}

int read_value(sd_bus_message* message, char type, rdmaqos_answer& answer, const char* key)
{
    std::uint64_t number = 0;
    int result = 0;
    switch (type) {
    case SD_BUS_TYPE_STRING:
    case SD_BUS_TYPE_OBJECT_PATH: {
        const char* text = nullptr;
        result = sd_bus_message_read_basic(message, type, &text);
        if (result > 0) {
            answer.values.insert_or_assign(key, std::string(text));
        }
        return result;
    }
    case SD_BUS_TYPE_BOOLEAN:
        result = read_number<int>(message, type, number);
        break;
    case SD_BUS_TYPE_BYTE:
        result = read_number<std::uint8_t>(message, type, number);
        break;
    case SD_BUS_TYPE_UINT16:
        result = read_number<std::uint16_t>(message, type, number);
        break;
    case SD_BUS_TYPE_UINT32:
        result = read_number<std::uint32_t>(message, type, number);
        break;
    case SD_BUS_TYPE_UINT64:
        result = read_number<std::uint64_t>(message, type, number);
        break;
    default:
        return sd_bus_message_skip(message, nullptr);
    }
    if (result > 0) {
        answer.values.insert_or_assign(key, number);
    }
    return result;
}

// A list of texts is kept as one text, with blanks between them.
int read_texts(sd_bus_message* message, rdmaqos_answer& answer, const char* key)
{
    std::string all;
    const char* text = nullptr;
    int result = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "s");
    while (result >= 0 && (result = sd_bus_message_read_basic(message, SD_BUS_TYPE_STRING, &text)) > 0) {
        all += all.empty() ? "" : " ";
        all += text;
    }
    if (result >= 0) {
        answer.values.insert_or_assign(key, std::move(all));
        result = sd_bus_message_exit_container(message);
    }
    return result;
}

// At a variant of this contents.
int read_variant(sd_bus_message* message, const char* contents, rdmaqos_answer& answer, const char* key,
                 std::vector<AnswerRef>* nested)
{
    const bool is_nested = nested != nullptr && std::strcmp(key, "queue-pairs") == 0 &&
                           std::strcmp(contents, "aa{sv}") == 0;
    const bool is_texts = std::strcmp(contents, "as") == 0;
    if (!is_nested && !is_texts && std::strlen(contents) != 1) {
        return sd_bus_message_skip(message, "v");
    }
    int result = sd_bus_message_enter_container(message, SD_BUS_TYPE_VARIANT, contents);
    if (result >= 0) {
        result = is_nested  ? read_answers(message, *nested)
                 : is_texts ? read_texts(message, answer, key)
                            : read_value(message, contents[0], answer, key);
    }
    return result < 0 ? result : sd_bus_message_exit_container(message);
}

}    // namespace

rdmaqos_answer* AnswerRef::share() const
{
    if (answer_ != nullptr) {
        answer_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    return answer_;
}

void AnswerRef::release(rdmaqos_answer* answer)
{
    if (answer != nullptr && answer->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete answer;    // NOLINT: the count is the owner
    }
}

int read_answer(sd_bus_message* message, AnswerRef& answer, std::vector<AnswerRef>* nested)
{
    auto made = std::make_unique<rdmaqos_answer>();
    int result = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (result <= 0) {
        return result == 0 ? -EBADMSG : result;
    }
    while ((result = sd_bus_message_enter_container(message, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
        const char* key = nullptr;
        const char* contents = nullptr;
        if ((result = sd_bus_message_read_basic(message, SD_BUS_TYPE_STRING, &key)) < 0 ||
            (result = sd_bus_message_peek_type(message, nullptr, &contents)) < 0 ||
            (result = read_variant(message, contents, *made, key, nested)) < 0 ||
            (result = sd_bus_message_exit_container(message)) < 0) {
            return result;
        }
    }
    if (result < 0 || (result = sd_bus_message_exit_container(message)) < 0) {
        return result;
    }
    answer = AnswerRef(std::move(made));
    return 0;
}

int read_answers(sd_bus_message* message, std::vector<AnswerRef>& answers)
{
    int result = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "a{sv}");
    if (result <= 0) {
        return result == 0 ? -EBADMSG : result;
    }
    while ((result = sd_bus_message_at_end(message, 0)) == 0) {
        AnswerRef answer;
        if ((result = read_answer(message, answer)) < 0) {
            return result;
        }
        answers.push_back(std::move(answer));
    }
    return result < 0 ? result : sd_bus_message_exit_container(message);
}

Failure refusal_in(const AnswerRef& answer)
{
    const std::string* name = answer->text("error");
    if (name == nullptr) {
        return {};
    }
    const std::string* words = answer->text("message");
    return failure_of_reply(*name, words == nullptr ? std::string() : *words, 0);
}

}    // namespace rdmaqos::client
