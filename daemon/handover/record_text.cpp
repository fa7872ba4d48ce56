#include "daemon/handover/record_text.h"

#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rdmaqos {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kSchema = 1;

std::string line(const Json& object)
{
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::uint64_t number(ElementId id)
{
    return static_cast<std::uint64_t>(id);
}

Error damaged(std::string_view why)
{
    return {ErrorCode::Io, 0, std::string(why)};
}

// Of a line; what is wrong is kept until the end.
class Fields {
public:
    explicit Fields(const Json& line) : line_(line) {}

    [[nodiscard]] bool has(const char* key) const { return line_.contains(key); }
    template <typename T = std::uint64_t>
    [[nodiscard]] T get(const char* key)
    {
        return get_optional<T>(key).value_or(wrong<T>(key, line_.contains(key)));
    }
    template <typename T = std::uint64_t>
    [[nodiscard]] std::optional<T> get_optional(const char* key)
    {
        const auto found = line_.find(key);
        if (found == line_.end()) {
            return std::nullopt;
        }
        if (!found->is_number_unsigned() ||
            found->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
            return wrong<T>(key, false);
        }
        return static_cast<T>(found->get<std::uint64_t>());
    }
    [[nodiscard]] std::string text(const char* key)
    {
        const auto found = line_.find(key);
        if (found == line_.end() || !found->is_string()) {
            return wrong<std::string>(key, false);
        }
        return found->get<std::string>();
    }
    [[nodiscard]] const std::string& error() const { return error_; }
    // The first one is reported.
    void refuse(const char* key)
    {
        if (error_.empty()) {
            error_ = fmt::format("`{}` is missing or wrong", key);
        }
    }

private:
    template <typename T>
    T wrong(const char* key, bool is_there)
    {
        if (!is_there) {
            refuse(key);
        }
        return {};
    }

    const Json& line_;
    std::string error_;
};

std::optional<ElementId> element_in(Fields& fields, const char* key)
{
    const auto id = fields.get_optional(key);
    return id ? std::optional(ElementId{*id}) : std::nullopt;
}

void read_element(Fields& fields, DeviceRecord& record)
{
    const ElementId id{fields.get("element")};
    if (!fields.has("path")) {
        record.elements.erase(id);
        return;
    }
    LeftElement left{id, {}, ElementHandle{fields.get("handle")}};
    left.element.path = ElementPath(fields.text("path"));
    const std::string kind = fields.text("kind");
    left.element.kind = kind == to_string(ElementKind::Leaf) ? ElementKind::Leaf : ElementKind::Node;
    left.element.parent = element_in(fields, "parent");
    left.element.attributes.share = fields.get<std::uint32_t>("share");
    if (const auto rate = fields.get_optional("max-kbps")) {
        left.element.attributes.max_rate = Bandwidth::from_kbps(*rate);
    }
    if (!left.element.path.text().starts_with('/')) {
        fields.refuse("path");
    }
    if (kind != to_string(left.element.kind)) {
        fields.refuse("kind");
    }
    if (left.element.parent && *left.element.parent >= id) {
        fields.refuse("parent");    // they are made before their children
    }
    record.elements.insert_or_assign(id, std::move(left));
}

void read_queue_pair(Fields& fields, DeviceRecord& record)
{
    const QueuePairId id{fields.get<std::uint32_t>("queue-pair")};
    if (!fields.has("pid")) {
        record.queue_pairs.erase(id);
        return;
    }
    LeftQueuePair left{id, {fields.get<pid_t>("pid"), fields.get("start")}, {}};
    left.placement.requester = element_in(fields, "requester");
    left.placement.responder = element_in(fields, "responder");
    if (const auto rate = fields.get_optional("kbps")) {
        left.placement.rate = RateLimit{Bandwidth::from_kbps(*rate), fields.get_optional("burst"),
                                        fields.get_optional<std::uint32_t>("packet")};
    }
    record.queue_pairs.insert_or_assign(id, left);
}

void read_note(Fields& fields, DeviceRecord& record)
{
    const std::string key = fields.text("note");
    if (fields.has("text")) {
        record.notes.insert_or_assign(key, fields.text("text"));
    } else {
        record.notes.erase(key);
    }
}

Result<void> read_line(std::string_view text, DeviceRecord& record)
{
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) {
        return fail(damaged("it is no JSON object"));
    }
    Fields fields(line);
    if (fields.has("element")) {
        read_element(fields, record);
    } else if (fields.has("queue-pair")) {
        read_queue_pair(fields, record);
    } else if (fields.has("note")) {
        read_note(fields, record);
    }
    return fields.error().empty() ? Result<void>() : fail(damaged(fields.error()));
}

Result<void> read_head(std::string_view text, std::string_view device)
{
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) {
        return fail(damaged("it has no head"));
    }
    Fields fields(line);
    const auto schema = fields.get("schema");
    const auto of = fields.text("device");
    if (!fields.error().empty()) {
        return fail(damaged(fields.error()));
    }
    if (schema != kSchema) {
        return fail(damaged(fmt::format("it is of another version of rdma-qosd: schema {}, not {}", schema, kSchema)));
    }
    if (of != device) {
        return fail(damaged(fmt::format("it is of {}, not of {}", of, device)));
    }
    return {};
}

}    // namespace

Inheritance DeviceRecord::inheritance() const
{
    Inheritance left;
    for (const auto& [id, element] : elements) {
        left.elements.push_back(element);
    }
    for (const auto& [id, queue_pair] : queue_pairs) {
        left.queue_pairs.push_back(queue_pair);
    }
    left.notes = notes;
    return left;
}

std::string record_head(std::string_view device)
{
    return line({{"schema", kSchema}, {"device", device}});
}

std::string record_line(const LeftElement& left)
{
    const ActualElement& element = left.element;
    Json object{{"element", number(left.id)},
                {"path", element.path.text()},
                {"kind", to_string(element.kind)},
                {"share", element.attributes.share},
                {"handle", static_cast<std::uint64_t>(left.handle)}};
    if (element.parent) {
        object["parent"] = number(*element.parent);
    }
    if (element.attributes.max_rate) {
        object["max-kbps"] = element.attributes.max_rate->kbps();
    }
    return line(object);
}

std::string record_line(ElementId gone)
{
    return line({{"element", number(gone)}});
}

std::string record_line(const LeftQueuePair& left)
{
    Json object{{"queue-pair", left.queue_pair.number}, {"pid", left.owner.pid}, {"start", left.owner.start_time}};
    if (left.placement.requester) {
        object["requester"] = number(*left.placement.requester);
    }
    if (left.placement.responder) {
        object["responder"] = number(*left.placement.responder);
    }
    if (const auto& rate = left.placement.rate) {
        object["kbps"] = rate->rate.kbps();
        if (rate->max_burst) {
            object["burst"] = *rate->max_burst;
        }
        if (rate->typical_packet) {
            object["packet"] = *rate->typical_packet;
        }
    }
    return line(object);
}

std::string record_line(QueuePairId gone)
{
    return line({{"queue-pair", gone.number}});
}

std::string record_note(const std::string& key, const std::string& text)
{
    return text.empty() ? line({{"note", key}}) : line({{"note", key}, {"text", text}});
}

std::string to_text(const DeviceRecord& record, std::string_view device)
{
    std::string text = record_head(device);
    for (const auto& [id, element] : record.elements) {
        text += record_line(element);
    }
    for (const auto& [id, queue_pair] : record.queue_pairs) {
        text += record_line(queue_pair);
    }
    for (const auto& [key, note] : record.notes) {
        text += record_note(key, note);
    }
    return text;
}

Result<DeviceRecord> read_record(std::string_view text, std::string_view device)
{
    DeviceRecord record;
    std::size_t count = 0;
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (end == std::string_view::npos) {
            return fail(damaged("its last line has no end"));
        }
        const std::string_view one = text.substr(0, end);
        text.remove_prefix(end + 1);
        const auto read = ++count == 1 ? read_head(one, device) : read_line(one, record);
        if (!read) {
            return fail(read.error().with_context(fmt::format("line {}", count)));
        }
    }
    return count == 0 ? fail(damaged("it is empty")) : Result<DeviceRecord>(std::move(record));
}

}    // namespace rdmaqos
