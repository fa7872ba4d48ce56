// The record of what is on a device, as text: a line for each change, in the order in which they happened. The last
// line about an element or a queue pair is what is so.
//
//     {"schema":1,"device":"0x0010000000000001/1"}
//     {"element":3,"path":"/rpc","kind":"leaf","parent":1,"share":40,"max-kbps":10000000,"handle":4294967311}
//     {"queue-pair":71,"pid":4711,"start":90210,"requester":3,"kbps":1000000}
//     {"note":"file 3 element 12","text":"handle 5 id 18"}     of the backend
//     {"element":3}                 it is gone
//
// Keys that are not known are left alone, for a later version to add some. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/reconcile/inheritance.h"

namespace rdmaqos {

// What is on a device, by what it is known by.
struct DeviceRecord {
    std::map<ElementId, LeftElement> elements;
    std::map<QueuePairId, LeftQueuePair> queue_pairs;
    BackendNotes notes;

    [[nodiscard]] Inheritance inheritance() const;

    friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

[[nodiscard]] std::string record_head(std::string_view device);
[[nodiscard]] std::string record_line(const LeftElement& left);
[[nodiscard]] std::string record_line(ElementId gone);
[[nodiscard]] std::string record_line(const LeftQueuePair& left);
[[nodiscard]] std::string record_line(QueuePairId gone);
// `text` empty: it is gone.
[[nodiscard]] std::string record_note(const std::string& key, const std::string& text);
// All of it, with its head.
[[nodiscard]] std::string to_text(const DeviceRecord& record, std::string_view device);

// Errors (Io): it is of another device or of another version, or a line is damaged; named by its number.
[[nodiscard]] Result<DeviceRecord> read_record(std::string_view text, std::string_view device);

}    // namespace rdmaqos
