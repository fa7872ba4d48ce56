#include "lib/bus/framing.h"

#include <bit>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace rdmaqos::bus {
namespace {

constexpr std::size_t kMostAuthBytes = 4096;
constexpr std::size_t kAlignment = 8;    // of the body, and of the structures in the header
constexpr std::uint8_t kMethodCall = 1;
constexpr std::uint8_t kError = 3;
constexpr std::uint8_t kNoReplyExpected = 0x1;
constexpr std::uint8_t kProtocolVersion = 1;
// Codes of header fields.
constexpr std::uint8_t kErrorName = 4;
constexpr std::uint8_t kReplySerial = 5;
constexpr std::uint8_t kSignature = 8;

std::uint32_t number_at(std::string_view bytes, std::size_t at, bool big_endian)
{
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return big_endian == (std::endian::native == std::endian::big) ? value : __builtin_bswap32(value);
}

std::size_t padded(std::size_t size)
{
    return (size + kAlignment - 1) / kAlignment * kAlignment;
}

void pad(std::string& bytes, std::size_t alignment)
{
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

void put(std::string& bytes, std::uint32_t value)
{
    pad(bytes, sizeof(value));
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    bytes.append(raw, sizeof(raw));
}

void put(std::string& bytes, std::string_view text)
{
    put(bytes, static_cast<std::uint32_t>(text.size()));
    bytes.append(text);
    bytes.push_back('\0');
}

// A header field's code and the signature of its variant; the value follows.
void begin_field(std::string& bytes, std::uint8_t code, char type)
{
    pad(bytes, kAlignment);
    bytes.push_back(static_cast<char>(code));
    bytes.push_back('\1');
    bytes.push_back(type);
    bytes.push_back('\0');
}

std::string to_hex(std::string_view text)
{
    std::string hex;
    for (const char c : text) {
        hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    }
    return hex;
}

std::optional<std::string> from_hex(std::string_view hex)
{
    std::string text;
    for (std::size_t at = 0; at < hex.size(); at += 2) {
        unsigned value = 0;
        const auto* const end = hex.data() + at + 2;
        if (hex.size() - at < 2 || std::from_chars(hex.data() + at, end, value, 16).ptr != end) {
            return std::nullopt;
        }
        text.push_back(static_cast<char>(value));
    }
    return text;
}

}    // namespace

std::optional<MessageHead> parse_head(std::string_view bytes)
{
    constexpr std::size_t kType = 1;
    constexpr std::size_t kFlags = 2;
    constexpr std::size_t kVersion = 3;
    constexpr std::size_t kBodyLength = 4;
    constexpr std::size_t kSerial = 8;
    constexpr std::size_t kFieldsLength = 12;
    if (bytes.size() < kHeadSize || (bytes[0] != 'l' && bytes[0] != 'B') || bytes[kVersion] != kProtocolVersion) {
        return std::nullopt;
    }
    const bool big_endian = bytes[0] == 'B';
    MessageHead head;
    head.fields = padded(number_at(bytes, kFieldsLength, big_endian));
    head.body = number_at(bytes, kBodyLength, big_endian);
    head.serial = number_at(bytes, kSerial, big_endian);
    head.is_call = bytes[kType] == kMethodCall;
    head.expects_reply = head.is_call && head.serial != 0 &&
                         (static_cast<std::uint8_t>(bytes[kFlags]) & kNoReplyExpected) == 0;
    return head;
}

std::string error_reply(std::uint32_t serial, std::string_view name, std::string_view text)
{
    std::string fields;
    begin_field(fields, kErrorName, 's');
    put(fields, name);
    begin_field(fields, kReplySerial, 'u');
    put(fields, serial);
    begin_field(fields, kSignature, 'g');
    fields.append("\1s\0", 3);
    std::string body;
    put(body, text);

    std::string bytes;
    bytes.push_back(std::endian::native == std::endian::big ? 'B' : 'l');
    bytes.push_back(static_cast<char>(kError));
    bytes.push_back(static_cast<char>(kNoReplyExpected));
    bytes.push_back(static_cast<char>(kProtocolVersion));
    put(bytes, static_cast<std::uint32_t>(body.size()));
    // A serial is never 0. sd-bus counts its own up from 1, and who reads an error looks at the serial it answers
    // alone.
    put(bytes, UINT32_MAX);
    put(bytes, static_cast<std::uint32_t>(fields.size()));
    bytes += fields;
    pad(bytes, kAlignment);
    return bytes + body;
}

Result<std::string> AuthDialogue::take(std::string_view& input)
{
    std::string pass_on;
    while (!done_ && !input.empty()) {
        if (!greeted_) {
            if (input.front() != '\0') {
                return fail(ErrorCode::InvalidArgument, "does not speak D-Bus");
            }
            greeted_ = true;
            pass_on.push_back('\0');
            input.remove_prefix(1);
            continue;
        }
        const auto end = input.find('\n');
        const auto piece = input.substr(0, end == std::string_view::npos ? end : end + 1);
        taken_ += piece.size();
        if (taken_ > kMostAuthBytes) {
            return fail(ErrorCode::LimitReached, fmt::format("authenticates with more than {} bytes", kMostAuthBytes));
        }
        line_ += piece;
        input.remove_prefix(piece.size());
        if (end == std::string_view::npos) {
            break;
        }
        auto line = translate(line_);
        if (!line) {
            return line;
        }
        pass_on += *line;
        done_ = line_ == "BEGIN\r\n";
        line_.clear();
    }
    return pass_on;
}

std::size_t AuthDialogue::part_of(std::string_view bytes) const
{
    AuthDialogue ahead = *this;
    std::string_view rest = bytes;
    const auto taken = ahead.take(rest);
    return taken ? bytes.size() - rest.size() : bytes.size();
}

Result<std::string> AuthDialogue::translate(std::string_view line) const
{
    if (!line.ends_with("\r\n")) {
        return fail(ErrorCode::InvalidArgument, "does not speak D-Bus");
    }
    for (const std::string_view command : {std::string_view("AUTH EXTERNAL "), std::string_view("DATA ")}) {
        if (!line.starts_with(command)) {
            continue;
        }
        if (!claims_itself(line.substr(command.size(), line.size() - command.size() - 2))) {
            return fail(ErrorCode::InvalidArgument, "claims to be another user");
        }
        return fmt::format("{}{}\r\n", command, to_hex(std::to_string(own_uid_)));
    }
    return std::string(line);
}

bool AuthDialogue::claims_itself(std::string_view hex) const
{
    return hex.empty() || from_hex(hex) == std::to_string(uid_);
}

}    // namespace rdmaqos::bus
