#include "lib/bus/message.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/bus/descriptors.h"

namespace rdmaqos::bus {
namespace {

// One walk through a message; `budget` is shared by everything in it.
class Reader {
public:
    Reader(sd_bus_message* message, const ReadLimits& limits)
        : message_(message), limits_(limits), depth_left_(limits.depth), budget_(limits.values)
    {
    }

    Result<Value> value();
    Result<Dict> dict();
    Result<std::vector<Dict>> dicts();
    Result<InterfaceProperties> interfaces();
    Result<std::vector<std::pair<std::string, InterfaceProperties>>> objects();
    [[nodiscard]] bool at_end() const { return sd_bus_message_at_end(message_, 1) > 0; }

private:
    class Scope;

    Result<Value> basic(char type);
    [[nodiscard]] Result<Value> descriptor(int fd) const;
    Result<Value> array(const char* contents);
    Result<Value> unsupported(char type, const char* contents);
    template <typename List, typename ReadItem>
    Result<List> list(const char* contents, ReadItem read_item);
    Result<std::vector<std::string>> texts();
    Result<Counts> counts();
    Result<Triples> triples();
    Result<std::string> text();

    Result<void> enter(char type, const char* contents);
    // True: one more element is there and was counted.
    Result<bool> more();
    static tl::unexpected<Error> broken(int result)
    {
        return fail(Error{ErrorCode::InvalidArgument, -result, "the message cannot be read"});
    }
    template <typename T>
    Result<Value> number(char type)
    {
        T raw{};
        if (const int result = sd_bus_message_read_basic(message_, type, &raw); result <= 0) {
            return broken(result);
        }
        return Value(raw);
    }

    sd_bus_message* message_;
    ReadLimits limits_;
    std::size_t depth_left_;
    std::size_t budget_;
};

// Leaves a container on every way out.
class Reader::Scope {
public:
    explicit Scope(Reader& reader) : reader_(reader) { --reader_.depth_left_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope()
    {
        ++reader_.depth_left_;
        sd_bus_message_exit_container(reader_.message_);
    }

private:
    Reader& reader_;
};

Result<void> Reader::enter(char type, const char* contents)
{
    if (depth_left_ == 0) {
        return fail(ErrorCode::InvalidArgument, "the message nests its containers too deeply");
    }
    if (const int result = sd_bus_message_enter_container(message_, type, contents); result <= 0) {
        return broken(result);
    }
    return {};
}

Result<bool> Reader::more()
{
    const int result = sd_bus_message_at_end(message_, 0);
    if (result < 0) {
        return broken(result);
    }
    if (result > 0) {
        return false;
    }
    if (budget_ == 0) {
        return fail(ErrorCode::InvalidArgument, "the message holds more values than are read");
    }
    --budget_;
    return true;
}

Result<std::string> Reader::text()
{
    const char* raw = nullptr;
    if (const int result = sd_bus_message_read_basic(message_, 's', &raw); result <= 0) {
        return broken(result);
    }
    return std::string(raw);
}

Result<Value> Reader::basic(char type)
{
    switch (type) {
    case 'b': {
        int raw = 0;
        if (const int result = sd_bus_message_read_basic(message_, type, &raw); result <= 0) {
            return broken(result);
        }
        return Value(raw != 0);
    }
    case 'y':
        return number<std::uint8_t>(type);
    case 'q':
        return number<std::uint16_t>(type);
    case 'u':
        return number<std::uint32_t>(type);
    case 't':
        return number<std::uint64_t>(type);
    case 'i':
        return number<std::int32_t>(type);
    case 'x':
        return number<std::int64_t>(type);
    case 'd':
        return number<double>(type);
    case 's':
    case 'o': {
        const char* raw = nullptr;
        if (const int result = sd_bus_message_read_basic(message_, type, &raw); result <= 0) {
            return broken(result);
        }
        return type == 's' ? Value(raw) : Value(ObjectPath{raw});
    }
    case 'h': {
        int fd = -1;    // the message's own
        if (const int result = sd_bus_message_read_basic(message_, type, &fd); result <= 0) {
            return broken(result);
        }
        return descriptor(fd);
    }
    default:
        return unsupported(type, nullptr);
    }
}

Result<Value> Reader::descriptor(int fd) const
{
    if (limits_.descriptors != nullptr) {
        const auto index = index_of_stand_in(fd);
        if (!index || *index >= limits_.descriptors->size()) {
            return broken(-EBADMSG);
        }
        const SentDescriptor& sent = (*limits_.descriptors)[*index];
        return Value(FileDescriptor{sent.fd, sent.name, sent.refusal, sent.over_limit});
    }
    UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!copy) {
        return fail(error_from_errno(ErrorCode::Io, errno, "a descriptor of the message cannot be taken"));
    }
    return Value(FileDescriptor{std::make_shared<UniqueFd>(std::move(copy))});
}

Result<Value> Reader::unsupported(char type, const char* contents)
{
    std::string text;
    switch (type) {
    case 'a':
        text = fmt::format("a{}", contents);
        break;
    case 'r':
        text = fmt::format("({})", contents);
        break;
    case 'e':
        text = fmt::format("{{{}}}", contents);
        break;
    default:
        text = std::string(1, type);
    }
    if (const int result = sd_bus_message_skip(message_, text.c_str()); result < 0) {
        return broken(result);
    }
    return Value(Unsupported{std::move(text)});
}

// An array into a list; `read_item` reads one of it.
template <typename List, typename ReadItem>
Result<List> Reader::list(const char* contents, ReadItem read_item)
{
    TRY(enter('a', contents));
    const Scope scope(*this);
    List result;
    while (true) {
        const auto next = TRY(more());
        if (!next) {
            return result;
        }
        Result<typename List::value_type> item = read_item();
        if (!item) {
            return fail(std::move(item).error());
        }
        result.push_back(std::move(*item));
    }
}

Result<std::vector<std::string>> Reader::texts()
{
    return list<std::vector<std::string>>("s", [this] { return text(); });
}

Result<Counts> Reader::counts()
{
    return list<Counts>("{st}", [this]() -> Result<Counts::value_type> {
        const char* key = nullptr;
        std::uint64_t count = 0;
        if (const int got = sd_bus_message_read(message_, "{st}", &key, &count); got <= 0) {
            return broken(got);
        }
        return Counts::value_type(key, count);
    });
}

Result<Triples> Reader::triples()
{
    return list<Triples>("(sss)", [this]() -> Result<Triples::value_type> {
        const char* first = nullptr;
        const char* second = nullptr;
        const char* third = nullptr;
        if (const int got = sd_bus_message_read(message_, "(sss)", &first, &second, &third); got <= 0) {
            return broken(got);
        }
        return Triples::value_type{first, second, third};
    });
}

Result<Value> Reader::array(const char* contents)
{
    const std::string_view kind = contents;
    const auto as_value = [](auto result) -> Result<Value> {
        if (!result) {
            return fail(std::move(result).error());
        }
        return Value(std::move(*result));
    };
    if (kind == "s") {
        return as_value(texts());
    }
    if (kind == "{sv}") {
        return as_value(dict());
    }
    if (kind == "a{sv}") {
        return as_value(dicts());
    }
    if (kind == "{st}") {
        return as_value(counts());
    }
    if (kind == "(sss)") {
        return as_value(triples());
    }
    return unsupported('a', contents);
}

Result<Value> Reader::value()
{
    char type = 0;
    const char* contents = nullptr;
    if (const int result = sd_bus_message_peek_type(message_, &type, &contents); result <= 0) {
        return broken(result);
    }
    if (type == 'a') {
        return array(contents);
    }
    if (type == 'r' || type == 'e') {
        return unsupported(type, contents);
    }
    if (type != 'v') {
        return basic(type);
    }
    // A variant stands for what is in it.
    TRY(enter('v', contents));
    const Scope scope(*this);
    return value();
}

Result<Dict> Reader::dict()
{
    TRY(enter('a', "{sv}"));
    const Scope scope(*this);
    Dict result;
    while (true) {
        const auto next = TRY(more());
        if (!next) {
            return result;
        }
        TRY(enter('e', "sv"));
        const Scope entry(*this);
        auto key = text();
        if (!key) {
            return fail(std::move(key).error());
        }
        auto item = TRY(value());
        if (result.entries().size() == limits_.keys) {
            return fail(ErrorCode::InvalidArgument, fmt::format("a dictionary has more than {} keys", limits_.keys));
        }
        if (result.contains(*key)) {
            return fail(ErrorCode::InvalidArgument, fmt::format("the key `{}` is given twice", printable(*key)));
        }
        result.append(std::move(*key), std::move(item));
    }
}

Result<std::vector<Dict>> Reader::dicts()
{
    return list<std::vector<Dict>>("a{sv}", [this] { return dict(); });
}

Result<InterfaceProperties> Reader::interfaces()
{
    return list<InterfaceProperties>("{sa{sv}}", [this]() -> Result<InterfaceProperties::value_type> {
        TRY(enter('e', "sa{sv}"));
        const Scope entry(*this);
        auto name = TRY(text());
        auto properties = TRY(dict());
        return InterfaceProperties::value_type(std::move(name), std::move(properties));
    });
}

Result<std::vector<std::pair<std::string, InterfaceProperties>>> Reader::objects()
{
    using Objects = std::vector<std::pair<std::string, InterfaceProperties>>;
    return list<Objects>("{oa{sa{sv}}}", [this]() -> Result<Objects::value_type> {
        TRY(enter('e', "oa{sa{sv}}"));
        const Scope entry(*this);
        const char* path = nullptr;
        if (const int got = sd_bus_message_read_basic(message_, 'o', &path); got <= 0) {
            return broken(got);
        }
        std::string name = path;
        auto found = TRY(interfaces());
        return Objects::value_type(std::move(name), std::move(found));
    });
}

}    // namespace

void MessageRef::check_thread() const noexcept
{
#ifndef NDEBUG
    if (message_ != nullptr && thread_ != std::this_thread::get_id()) {
        write_log(LogLevel::Error, {}, "a D-Bus message was touched off the loop's thread");
        std::abort();
    }
#endif
}

MessageRef MessageRef::adopt(sd_bus_message* message)
{
    MessageRef result;
    result.message_ = message;
    return result;
}

Result<Value> read_value(sd_bus_message* message, const ReadLimits& limits)
{
    return Reader(message, limits).value();
}

Result<Dict> read_dict(sd_bus_message* message, const ReadLimits& limits)
{
    return Reader(message, limits).dict();
}

Result<std::vector<Dict>> read_dicts(sd_bus_message* message, const ReadLimits& limits)
{
    return Reader(message, limits).dicts();
}

Result<InterfaceProperties> read_interfaces(sd_bus_message* message, const ReadLimits& limits)
{
    return Reader(message, limits).interfaces();
}

Result<std::vector<std::pair<std::string, InterfaceProperties>>> read_objects(sd_bus_message* message,
                                                                              const ReadLimits& limits)
{
    return Reader(message, limits).objects();
}

Result<std::vector<Value>> read_arguments(sd_bus_message* message, const ReadLimits& limits)
{
    if (const int result = sd_bus_message_rewind(message, 1); result < 0) {
        return fail(Error{ErrorCode::InvalidArgument, -result, "the message cannot be read"});
    }
    Reader reader(message, limits);
    std::vector<Value> arguments;
    while (!reader.at_end()) {
        auto argument = TRY(reader.value());
        arguments.push_back(std::move(argument));
    }
    return arguments;
}

void Writer::basic(char type, const void* value)
{
    if (digest_ == nullptr) {
        keep(sd_bus_message_append_basic(message_, type, value));
        return;
    }
    const auto* bytes = static_cast<const char*>(value);
    // A text with its end: "a", "b" is not "ab", "".
    const std::size_t size = type == 's' || type == 'o'                  ? std::strlen(bytes) + 1
                             : type == 'y'                               ? 1
                             : type == 'q'                               ? 2
                             : type == 't' || type == 'x' || type == 'd' ? 8
                                                                         : 4;
    *digest_ = fnv1a({bytes, size}, *digest_);
}

void Writer::open(char type, const char* contents)
{
    if (digest_ == nullptr) {
        keep(sd_bus_message_open_container(message_, type, contents));
    } else {
        *digest_ = fnv1a({&type, 1}, *digest_);
    }
}

void Writer::close()
{
    if (digest_ == nullptr) {
        keep(sd_bus_message_close_container(message_));
    } else {
        *digest_ = fnv1a("}", *digest_);
    }
}

void Writer::put(bool value)
{
    const int wide = value ? 1 : 0;
    basic('b', &wide);
}

void Writer::put(const char* text)
{
    if (is_valid_utf8(text)) {
        basic('s', text);
    } else {
        basic('s', printable(text).c_str());
    }
}

void Writer::put(const std::string& text)
{
    if (is_valid_utf8(text)) {
        basic('s', text.c_str());
    } else {
        basic('s', printable(text).c_str());
    }
}

void Writer::put(const FileDescriptor& descriptor)
{
    const int fd = descriptor.fd ? descriptor.fd->get() : -1;
    basic('h', &fd);
}

void Writer::put(const std::vector<std::string>& texts)
{
    open('a', "s");
    for (const auto& text : texts) {
        put(text);
    }
    close();
}

void Writer::put(const Counts& counts)
{
    open('a', "{st}");
    for (const auto& [name, count] : counts) {
        open('e', "st");
        put(name);
        put(count);
        close();
    }
    close();
}

void Writer::put(const Triples& triples)
{
    open('a', "(sss)");
    for (const auto& triple : triples) {
        open('r', "sss");
        for (const auto& text : triple) {
            put(text);
        }
        close();
    }
    close();
}

void Writer::put(const Dict& dict)
{
    open('a', "{sv}");
    for (const auto& [key, value] : dict.entries()) {
        open('e', "sv");
        put(key);
        open('v', signature(value).c_str());
        put(value);
        close();
        close();
    }
    close();
}

void Writer::put(const std::vector<Dict>& dicts)
{
    open('a', "a{sv}");
    for (const auto& dict : dicts) {
        put(dict);
    }
    close();
}

void Writer::put(const Value& value)
{
    std::visit(
        [this](const auto& content) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(content)>, Unsupported>) {
                keep(-EOPNOTSUPP);
            } else {
                put(content);
            }
        },
        value.data);
}

}    // namespace rdmaqos::bus
