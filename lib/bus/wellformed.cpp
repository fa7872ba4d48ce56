#include "lib/bus/wellformed.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <systemd/sd-bus.h>

#include "lib/base/text.h"
#include "lib/bus/framing.h"

namespace rdmaqos::bus {
namespace {

constexpr std::uint32_t kMostSignature = 254;
constexpr unsigned kMostNesting = 32;    // of arrays, and of structures

namespace type {
enum : std::uint8_t { Call = 1, Return = 2, Error = 3, Signal = 4 };
}    // namespace type

namespace field {
enum Code : std::uint8_t {
    Invalid = 0,
    Path = 1,
    Interface = 2,
    Member = 3,
    ErrorName = 4,
    ReplySerial = 5,
    Destination = 6,
    Sender = 7,
    Signature = 8,
    Descriptors = 9,
    Unknown = 10,    // and all above
};
}    // namespace field

// Bytes of a value of a basic type that has a fixed size, which is its alignment, too; 0: it has none.
std::size_t fixed_size(char type)
{
    switch (type) {
    case 'y':
        return 1;
    case 'n':
    case 'q':
        return 2;
    case 'b':
    case 'i':
    case 'u':
    case 'h':
        return 4;
    case 'x':
    case 't':
    case 'd':
        return 8;
    default:
        return 0;
    }
}

bool is_basic(char type)
{
    return fixed_size(type) > 0 || type == 's' || type == 'o' || type == 'g';
}

// Takes one complete type from the front; false: there is none.
bool take_type(std::string_view& signature, unsigned arrays, unsigned structures, bool in_array)
{
    if (signature.empty()) {
        return false;
    }
    const char type = signature.front();
    signature.remove_prefix(1);
    if (type == 'a') {
        return arrays < kMostNesting && take_type(signature, arrays + 1, structures, true);
    }
    if (type != '(' && (type != '{' || !in_array)) {
        return is_basic(type) || type == 'v';
    }
    const char end = type == '(' ? ')' : '}';
    const bool key_is_basic = !signature.empty() && is_basic(signature.front());
    std::size_t members = 0;
    while (!signature.empty() && signature.front() != end) {
        if (structures >= kMostNesting || !take_type(signature, arrays, structures + 1, false)) {
            return false;
        }
        ++members;
    }
    if (signature.empty() || members == 0 || (type == '{' && (members != 2 || !key_is_basic))) {
        return false;
    }
    signature.remove_prefix(1);
    return true;
}

bool is_signature(std::string_view signature)
{
    while (!signature.empty()) {
        if (!take_type(signature, 0, 0, false)) {
            return false;
        }
    }
    return true;
}

// Values in the header's fields, one after another; empty: there is no such value.
class Fields {
public:
    Fields(std::string_view bytes, bool big_endian)
        : bytes_(bytes), swapped_(big_endian != (std::endian::native == std::endian::big))
    {
    }

    [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
    std::optional<std::string_view> raw(std::size_t size, std::size_t alignment)
    {
        const std::size_t begin = (at_ + alignment - 1) / alignment * alignment;
        if (begin > bytes_.size() || size > bytes_.size() - begin) {
            return std::nullopt;
        }
        for (; at_ < begin; ++at_) {
            if (bytes_[at_] != '\0') {
                return std::nullopt;
            }
        }
        at_ += size;
        return bytes_.substr(begin, size);
    }
    std::optional<std::uint8_t> byte(std::size_t alignment)
    {
        const auto found = raw(1, alignment);
        return found ? std::optional(static_cast<std::uint8_t>(found->front())) : std::nullopt;
    }
    std::optional<std::uint32_t> number()
    {
        const auto found = raw(sizeof(std::uint32_t), sizeof(std::uint32_t));
        if (!found) {
            return std::nullopt;
        }
        std::uint32_t value = 0;
        std::memcpy(&value, found->data(), sizeof(value));
        return swapped_ ? __builtin_bswap32(value) : value;
    }
    std::optional<std::string> text()
    {
        const auto size = number();
        return size ? ended_by_nul(*size) : std::nullopt;
    }
    std::optional<std::string> signature()
    {
        const auto size = byte(1);
        auto found = size && *size <= kMostSignature ? ended_by_nul(*size) : std::nullopt;
        return found && is_signature(*found) ? found : std::nullopt;
    }

private:
    std::optional<std::string> ended_by_nul(std::size_t size)
    {
        const auto found = raw(size + 1, 1);
        if (!found || found->find('\0') != size) {
            return std::nullopt;
        }
        return std::string(found->substr(0, size));
    }

    std::string_view bytes_;
    bool swapped_;
    std::size_t at_ = 0;
};

class Header {
public:
    Header(std::string_view fields, bool big_endian) : fields_(fields, big_endian) {}

    // Why they cannot be read; empty: they have been.
    std::string read();
    [[nodiscard]] std::string why_not_of(std::uint8_t kind) const;
    [[nodiscard]] std::uint32_t descriptors() const { return descriptors_; }

private:
    [[nodiscard]] bool has(field::Code code) const { return has_.at(code); }
    bool read_value(std::uint8_t code, std::string_view signature);
    bool read_name(std::uint8_t code, std::string_view signature);
    bool read_number(std::uint8_t code, std::string_view signature);
    bool skip(std::string_view signature);

    Fields fields_;
    std::array<bool, field::Unknown> has_{};
    std::uint32_t descriptors_ = 0;
};

std::string Header::read()
{
    while (!fields_.at_end()) {
        const auto code = fields_.byte(8);
        const auto signature = code ? fields_.signature() : std::nullopt;
        if (!signature) {
            return "has a header that cannot be read";
        }
        if (*code < field::Unknown && std::exchange(has_.at(*code), true)) {
            return fmt::format("has header field {} twice", *code);
        }
        if (!read_value(*code, *signature)) {
            return fmt::format("has a header field {} that is wrong", *code);
        }
    }
    return {};
}

bool Header::read_value(std::uint8_t code, std::string_view signature)
{
    switch (code) {
    case field::Invalid:
        return false;
    case field::ReplySerial:
    case field::Descriptors:
        return read_number(code, signature);
    case field::Signature:
        return signature == "g" && fields_.signature();
    default:
        return code < field::Unknown ? read_name(code, signature) : skip(signature);
    }
}

bool Header::read_name(std::uint8_t code, std::string_view signature)
{
    const auto name = signature == (code == field::Path ? "o" : "s") ? fields_.text() : std::nullopt;
    if (!name) {
        return false;
    }
    // What only the library that receives it may say of itself.
    if (*name == "/org/freedesktop/DBus/Local" || *name == "org.freedesktop.DBus.Local") {
        return false;
    }
    switch (code) {
    case field::Path:
        return sd_bus_object_path_is_valid(name->c_str()) > 0;
    case field::Member:
        return sd_bus_member_name_is_valid(name->c_str()) > 0;
    case field::Destination:
    case field::Sender:
        return sd_bus_service_name_is_valid(name->c_str()) > 0;
    default:    // the names of errors are like those of interfaces
        return sd_bus_interface_name_is_valid(name->c_str()) > 0;
    }
}

bool Header::read_number(std::uint8_t code, std::string_view signature)
{
    const auto number = signature == "u" ? fields_.number() : std::nullopt;
    if (code == field::Descriptors) {
        descriptors_ = number.value_or(0);
        return number.has_value();
    }
    return number.value_or(0) != 0;
}

// A field of no known kind. Nobody puts more than one basic value in it either.
bool Header::skip(std::string_view signature)
{
    if (signature == "s" || signature == "o") {
        const auto text = fields_.text();
        return text && (signature == "s" ? is_valid_utf8(*text) : sd_bus_object_path_is_valid(text->c_str()) > 0);
    }
    if (signature == "g") {
        return fields_.signature().has_value();
    }
    const std::size_t size = signature.size() == 1 ? fixed_size(signature.front()) : 0;
    return size > 0 && fields_.raw(size, size);
}

std::string Header::why_not_of(std::uint8_t kind) const
{
    if ((kind == type::Call || kind == type::Signal) && (!has(field::Path) || !has(field::Member))) {
        return "has no path or no member";
    }
    if (kind == type::Signal && !has(field::Interface)) {
        return "is a signal without interface";
    }
    if ((kind == type::Call || kind == type::Signal) && has(field::ReplySerial)) {
        return "answers another though it is no answer";
    }
    if ((kind == type::Return || kind == type::Error) && !has(field::ReplySerial)) {
        return "is an answer to nothing";
    }
    return kind == type::Error && !has(field::ErrorName) ? "is an error without name" : "";
}

}    // namespace

std::string why_malformed(std::string_view message, std::size_t descriptors)
{
    constexpr std::size_t kType = 1;
    constexpr std::size_t kFieldsLength = 12;
    const auto head = parse_head(message);
    if (!head || head->size() != message.size()) {
        return "is none";
    }
    const bool big_endian = message.front() == 'B';
    const auto kind = static_cast<std::uint8_t>(message[kType]);
    if (kind == 0 || head->serial == 0) {
        return kind == 0 ? "has type 0" : "has serial 0";
    }
    // parse_head() counts their padding, too.
    const auto size = Fields(message.substr(kFieldsLength, sizeof(std::uint32_t)), big_endian).number();
    Header header(message.substr(kHeadSize, size.value_or(0)), big_endian);
    if (std::string why = header.read(); !why.empty()) {
        return why;
    }
    if (std::string why = header.why_not_of(kind); !why.empty()) {
        return why;
    }
    if (header.descriptors() != descriptors) {
        return fmt::format("says that {} descriptors come with it, and {} came", header.descriptors(), descriptors);
    }
    return {};
}

}    // namespace rdmaqos::bus
