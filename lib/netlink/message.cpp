#include "lib/netlink/message.h"

#include <algorithm>

namespace rdmaqos::netlink {

namespace {

void append_bytes(std::vector<std::uint8_t>& attributes, std::uint16_t type, const void* content, std::size_t length)
{
    nlattr header{};
    header.nla_type = type;
    header.nla_len = static_cast<std::uint16_t>(sizeof(header) + length);
    const std::size_t at = attributes.size();
    attributes.resize(at + NLA_ALIGN(header.nla_len));
    std::memcpy(&attributes[at], &header, sizeof(header));
    if (length != 0) {
        std::memcpy(&attributes[at + sizeof(header)], content, length);
    }
}

}    // namespace

void append(std::vector<std::uint8_t>& attributes, std::uint16_t type, std::uint32_t value)
{
    append_bytes(attributes, type, &value, sizeof(value));
}

void append(std::vector<std::uint8_t>& attributes, std::uint16_t type, const std::string& text)
{
    append_bytes(attributes, type, text.c_str(), text.size() + 1);
}

void append(std::vector<std::uint8_t>& attributes, std::uint16_t type, Bytes content)
{
    append_bytes(attributes, type, content.data(), content.size());
}

std::optional<FirstAttribute> first_of(Bytes attributes)
{
    nlattr header{};
    if (attributes.size() < sizeof(header)) {
        return std::nullopt;
    }
    std::memcpy(&header, attributes.data(), sizeof(header));
    if (header.nla_len < sizeof(header) || header.nla_len > attributes.size()) {
        return std::nullopt;
    }
    return FirstAttribute{static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
                          attributes.subspan(sizeof(header), header.nla_len - sizeof(header)),
                          attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()))};
}

Bytes content_of(Bytes attributes, std::uint16_t type)
{
    for (auto next = first_of(attributes); next; next = first_of(next->rest)) {
        if (next->type == type) {
            return next->content;
        }
    }
    return {};
}

namespace {

template <typename Number>
std::optional<Number> value_in(Bytes attributes, std::uint16_t type)
{
    const Bytes content = content_of(attributes, type);
    Number value = 0;
    if (content.size() != sizeof(value)) {
        return std::nullopt;
    }
    std::memcpy(&value, content.data(), sizeof(value));
    return value;
}

}    // namespace

std::optional<std::uint32_t> number_in(Bytes attributes, std::uint16_t type)
{
    return value_in<std::uint32_t>(attributes, type);
}

std::optional<std::uint64_t> wide_number_in(Bytes attributes, std::uint16_t type)
{
    return value_in<std::uint64_t>(attributes, type);
}

std::optional<std::uint16_t> short_number_in(Bytes attributes, std::uint16_t type)
{
    return value_in<std::uint16_t>(attributes, type);
}

std::optional<std::uint8_t> byte_in(Bytes attributes, std::uint16_t type)
{
    const Bytes content = content_of(attributes, type);
    return content.size() == 1 ? std::optional(content.front()) : std::nullopt;
}

std::string text_in(Bytes attributes, std::uint16_t type)
{
    const Bytes content = content_of(attributes, type);
    const std::string text(reinterpret_cast<const char*>(content.data()), content.size());
    return text.substr(0, text.find('\0'));
}

}    // namespace rdmaqos::netlink
