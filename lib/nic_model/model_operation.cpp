#include <fmt/format.h>

#include "lib/nic_model/model_backend.h"

namespace rdmaqos {
namespace {

std::string text_of(std::optional<ElementHandle> element)
{
    return element ? fmt::format("#{}", static_cast<std::uint64_t>(*element)) : "none";
}

std::string text_of(const std::optional<Bandwidth>& max_rate)
{
    return max_rate ? to_string(*max_rate) : "unlimited";
}

std::string text_of(std::uint32_t share)
{
    return share == 0 ? "device default" : std::to_string(share);
}

std::string created(const ModelOperation& operation)
{
    const ElementRequest& request = operation.request.value();
    std::string text = request.kind == ElementKind::Leaf ? "create leaf" : "create node";
    if (operation.element) {
        text += " " + text_of(operation.element);
    }
    text += request.parent ? " below " + text_of(request.parent) : " as root";
    std::string_view separator = ": ";
    if (request.attributes.share != 0) {
        text += fmt::format("{}share {}", separator, request.attributes.share);
        separator = ", ";
    }
    if (request.attributes.max_rate) {
        text += fmt::format("{}max-rate {}", separator, to_string(*request.attributes.max_rate));
    }
    return text;
}

std::string modified(const ModelOperation& operation)
{
    const ElementChange& change = operation.change.value();
    std::string text = "modify " + text_of(operation.element);
    std::string_view separator = ": ";
    if (change.share) {
        text += fmt::format("{}share {}", separator, text_of(*change.share));
        separator = ", ";
    }
    if (change.max_rate) {
        text += fmt::format("{}max-rate {}", separator, text_of(*change.max_rate));
    }
    return text;
}

std::string paced(const ModelOperation& operation)
{
    if (!operation.rate) {
        return fmt::format("set-rate queue pair {}: unlimited", operation.queue_pair);
    }
    std::string text = fmt::format("set-rate queue pair {}: {}", operation.queue_pair, to_string(operation.rate->rate));
    if (operation.rate->max_burst) {
        text += ", burst " + bytes_to_string(*operation.rate->max_burst);
    }
    if (operation.rate->typical_packet) {
        text += ", packet " + bytes_to_string(*operation.rate->typical_packet);
    }
    return text;
}

std::string done(const ModelOperation& operation)
{
    switch (operation.kind) {
    case CommandKind::Create:
        return created(operation);
    case CommandKind::Modify:
        return modified(operation);
    case CommandKind::Query:
        return "query " + text_of(operation.element);
    case CommandKind::Destroy:
        return "destroy " + text_of(operation.element);
    case CommandKind::Attach:
        return fmt::format("attach queue pair {}: requester {}, responder {}", operation.queue_pair,
                           text_of(operation.requester), text_of(operation.responder));
    case CommandKind::SetRate:
        return paced(operation);
    case CommandKind::QueryQueuePair:
        return fmt::format("query queue pair {}", operation.queue_pair);
    }
    return {};
}

}    // namespace

std::string to_string(const ModelOperation& operation)
{
    return operation.error ? fmt::format("{}: failed: {}", done(operation), to_string(*operation.error))
                           : done(operation);
}

}    // namespace rdmaqos
