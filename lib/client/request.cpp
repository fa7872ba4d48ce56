#include "lib/client/request.h"

#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace rdmaqos::client {
namespace {

constexpr std::uint64_t kKnown = RDMAQOS_BY_QOS_CLASS | RDMAQOS_BY_SERVICE_ID | RDMAQOS_BY_TOS |
                                 RDMAQOS_BY_DESTINATION_PORT | RDMAQOS_BY_PKEY | RDMAQOS_BY_PORT | RDMAQOS_BY_SL |
                                 RDMAQOS_BY_MTU | RDMAQOS_BY_RATE | RDMAQOS_BY_PACKET_LIFE;

constexpr std::array kTypes{"rc", "uc", "ud", "raw-packet", "devx"};

void keep(std::optional<std::string>& into, const char* text)
{
    if (text != nullptr && *text != '\0') {
        into = text;
    }
}

// Appends until the first failure.
class Appender {
public:
    explicit Appender(sd_bus_message* message) : message_(message) {}
    void text(const char* key, const std::optional<std::string>& value)
    {
        if (result_ >= 0 && value) {
            result_ = append_text(message_, key, *value);
        }
    }
    template <typename T>
    void number(bool is_set, const char* key, const char* type, T value)
    {
        if (result_ >= 0 && is_set) {
            result_ = append_number(message_, key, type, value);
        }
    }
    [[nodiscard]] int result() const { return result_; }

private:
    sd_bus_message* message_;
    int result_ = 0;
};

}    // namespace

int append_text(sd_bus_message* message, const char* key, const std::string& value)
{
    return sd_bus_message_append(message, "{sv}", key, "s", value.c_str());
}

Failure Request::copy(const rdmaqos_request* from, Request& into)
{
    Request made;
    if (Failure failure = take(from, made.numbers_)) {
        return failure;
    }
    if ((made.numbers_.mask & ~kKnown) != 0) {
        return {EOPNOTSUPP, "this librdmaqos is older than the program and does not know what was asked for"};
    }
    keep(made.level_, made.numbers_.level);
    keep(made.qos_class_name_, made.numbers_.qos_class_name);
    keep(made.device_, made.numbers_.device);
    keep(made.source_, made.numbers_.source);
    keep(made.destination_, made.numbers_.destination);
    keep(made.port_space_, made.numbers_.port_space);
    made.numbers_.level = made.numbers_.qos_class_name = made.numbers_.device = nullptr;
    made.numbers_.source = made.numbers_.destination = made.numbers_.port_space = nullptr;
    into = std::move(made);
    return {};
}

int Request::append(sd_bus_message* message, bool with_device, bool with_components) const
{
    const auto is_set = [&](std::uint64_t bit) { return (numbers_.mask & bit) != 0; };
    Appender to(message);
    to.text("level", level_);
    to.text("qos-class", qos_class_name_);
    to.text("source", source_);
    to.text("destination", destination_);
    to.text("port-space", port_space_);
    to.number(is_set(RDMAQOS_BY_QOS_CLASS) && !qos_class_name_, "qos-class", "u", numbers_.qos_class);
    to.number(is_set(RDMAQOS_BY_SERVICE_ID), "service-id", "t", numbers_.service_id);
    to.number(is_set(RDMAQOS_BY_TOS), "tos", "y", numbers_.tos);
    to.number(is_set(RDMAQOS_BY_DESTINATION_PORT), "destination-port", "q", numbers_.destination_port);
    to.number(is_set(RDMAQOS_BY_PKEY), "pkey", "q", numbers_.pkey);
    if (with_device) {
        to.text("device", device_);
        to.number(is_set(RDMAQOS_BY_PORT), "port", "u", numbers_.port);
    }
    if (with_components) {
        to.number(is_set(RDMAQOS_BY_SL), "sl", "y", numbers_.sl);
        to.number(is_set(RDMAQOS_BY_MTU), "mtu", "u", numbers_.mtu);
        to.number(is_set(RDMAQOS_BY_RATE), "rate", "t", numbers_.rate);
        to.number(is_set(RDMAQOS_BY_PACKET_LIFE), "packet-life", "y", numbers_.packet_life);
    }
    return to.result();
}

std::string device_name(const std::string& device, std::uint32_t port)
{
    return port == 0 || device.find('/') != std::string::npos ? device : device + "/" + std::to_string(port);
}

Failure QueuePair::copy(const rdmaqos_queue_pair* from, QueuePair& into)
{
    rdmaqos_queue_pair known{};
    if (Failure failure = take(from, known)) {
        return failure;
    }
    if (known.device == nullptr || *known.device == '\0') {
        return {EINVAL, "a queue pair needs the name of its device"};
    }
    if (known.type >= kTypes.size()) {
        return {EOPNOTSUPP, "this librdmaqos does not know the type of the queue pair"};
    }
    into.device = device_name(known.device, known.port);
    into.number = known.number;
    into.handle = known.handle;
    into.type = known.type;
    into.sq_number = known.sq_number;
    into.fd = known.fd;
    return into.look_at_file();
}

Failure QueuePair::look_at_file()
{
    struct stat found {};
    if (fd < 0) {
        return {};
    }
    if (fstat(fd, &found) != 0) {
        return failure_of(errno, "the descriptor of the queue pair's device");
    }
    file_device = found.st_dev;
    file = found.st_ino;
    node = found.st_rdev;
    return {};
}

bool QueuePair::is_open() const
{
    struct stat found {};
    return fd < 0 ||
           (fstat(fd, &found) == 0 && found.st_dev == file_device && found.st_ino == file && found.st_rdev == node);
}

int QueuePair::append(sd_bus_message* message, const Request* own, bool with_descriptor) const
{
    int result = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "{sv}");
    if (result < 0) {
        return result;
    }
    Appender to(message);
    to.text("device", device);
    to.number(true, "number", "u", number);
    to.text("type", kTypes.at(type));
    to.number(fd >= 0, "handle", "u", handle);
    to.number(sq_number != 0, "sq-number", "u", sq_number);
    to.number(fd >= 0 && with_descriptor, "uverbs", "h", fd);
    result = to.result();
    if (result >= 0 && own != nullptr) {
        result = own->append(message, false, false);
    }
    return result < 0 ? result : sd_bus_message_close_container(message);
}

}    // namespace rdmaqos::client
