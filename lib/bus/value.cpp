#include "lib/bus/value.h"

#include <algorithm>

#include "lib/base/overloaded.h"

namespace rdmaqos::bus {
namespace {

template <typename T>
std::optional<std::uint64_t> non_negative(T number)
{
    if (number < 0) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(number);
}

}    // namespace

void Dict::set(std::string_view key, Value value)
{
    for (auto& [name, present] : entries_) {
        if (name == key) {
            present = std::move(value);
            return;
        }
    }
    entries_.emplace_back(std::string(key), std::move(value));
}

void Dict::append(std::string key, Value value)
{
    entries_.emplace_back(std::move(key), std::move(value));
}

const Value* Dict::find(std::string_view key) const
{
    const auto entry = std::ranges::find(entries_, key, &Entry::first);
    return entry == entries_.end() ? nullptr : &entry->second;
}

bool operator==(const Dict& a, const Dict& b)
{
    return a.entries_ == b.entries_;
}

std::optional<std::uint64_t> Value::as_unsigned() const
{
    return std::visit(Overloaded{
                          [](std::uint8_t number) { return std::optional<std::uint64_t>(number); },
                          [](std::uint16_t number) { return std::optional<std::uint64_t>(number); },
                          [](std::uint32_t number) { return std::optional<std::uint64_t>(number); },
                          [](std::uint64_t number) { return std::optional<std::uint64_t>(number); },
                          [](std::int32_t number) { return non_negative(number); },
                          [](std::int64_t number) { return non_negative(number); },
                          [](const auto&) { return std::optional<std::uint64_t>(); },
                      },
                      data);
}

std::string signature(const Value& value)
{
    return std::visit(Overloaded{
                          [](bool) { return std::string("b"); },
                          [](std::uint8_t) { return std::string("y"); },
                          [](std::uint16_t) { return std::string("q"); },
                          [](std::uint32_t) { return std::string("u"); },
                          [](std::uint64_t) { return std::string("t"); },
                          [](std::int32_t) { return std::string("i"); },
                          [](std::int64_t) { return std::string("x"); },
                          [](double) { return std::string("d"); },
                          [](const std::string&) { return std::string("s"); },
                          [](const ObjectPath&) { return std::string("o"); },
                          [](const FileDescriptor&) { return std::string("h"); },
                          [](const std::vector<std::string>&) { return std::string("as"); },
                          [](const Dict&) { return std::string("a{sv}"); },
                          [](const std::vector<Dict>&) { return std::string("aa{sv}"); },
                          [](const Counts&) { return std::string("a{st}"); },
                          [](const Triples&) { return std::string("a(sss)"); },
                          [](const Unsupported& unsupported) { return unsupported.signature; },
                      },
                      value.data);
}

}    // namespace rdmaqos::bus
