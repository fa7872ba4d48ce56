#include "daemon/handover/device_handover.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

// A record is rewritten when it is this many times as long as after the last time, unless it is small.
constexpr std::size_t kGrowth = 4;
constexpr std::size_t kSmall = std::size_t{64} * 1024;

// What follows if there is no record that can be used.
constexpr std::string_view kBesideTheOld =
    "a new tree is built beside the old one, which stays while queue pairs are in it, at most until rdma-qosd ends";
constexpr std::string_view kUntilStartedAgain =
    "queue pairs of running programs keep their places and rates until the programs are started again";

}    // namespace

std::string stable_name(const DeviceInfo& port)
{
    std::string address = port.pci_address;
    std::ranges::replace(address, ':', '-');    // which names in the store cannot have
    return fmt::format("{}/{}{}{}", to_string(port.node_guid), port.port, address.empty() ? "" : "/", address);
}

std::string elements_file_name(std::string_view device)
{
    return fmt::format("{} elements", device);
}

std::string record_name(std::string_view device)
{
    return fmt::format("{} record", device);
}

std::uint64_t Openings::begin(const std::string& device)
{
    const std::lock_guard lock(mutex_);
    return newest_[device] = ++last_;
}

void Openings::remove_from(DescriptorStore& store, const std::string& device, std::uint64_t opening)
{
    const std::lock_guard lock(mutex_);
    if (newest_[device] == opening) {
        store.remove(elements_file_name(device));
        store.remove(record_name(device));
    }
}

void Openings::remove_record_from(DescriptorStore& store, const std::string& device, std::uint64_t opening)
{
    const std::lock_guard lock(mutex_);
    if (newest_[device] == opening) {
        store.remove(record_name(device));
    }
}

DeviceHandover::DeviceHandover(std::shared_ptr<DescriptorStore> store, std::shared_ptr<Openings> openings,
                               std::string device, std::string key, KeptDescriptors kept)
    : store_(std::move(store)), openings_(std::move(openings)), device_(std::move(device)), key_(std::move(key)),
      opening_(openings_->begin(device_)), kept_(std::move(kept))
{
}

Result<void> DeviceHandover::read_kept_record()
{
    if (!kept_.record) {
        return fail(ErrorCode::Io, "there is none");
    }
    auto log = TRY(MemoryLog::open(std::move(kept_.record)));
    const auto text = TRY(log.read());
    record_ = TRY(read_record(text, device_));
    log_ = std::move(log);
    return {};
}

Result<std::shared_ptr<const UniqueFd>> DeviceHandover::left_file(MayUse may_use, const DeviceInfo& port)
{
    const bool has_file = static_cast<bool>(kept_.elements_file);    // else its elements are in files of programs
    if (!has_file && !kept_.record) {
        return nullptr;
    }
    const auto is_its = TRY(has_file ? may_use(kept_.elements_file.get(), port) : Result<bool>(true));
    if (!is_its) {
        // Its elements went with the device that it was opened of.
        log(LogLevel::Notice, {{"DEVICE", key_}},
            "{} is not the device that an earlier rdma-qosd left: its tree is rebuilt", key_);
        kept_ = {};
        return nullptr;
    }
    if (const auto read = read_kept_record(); !read) {
        log(LogLevel::Warning, {{"DEVICE", key_}},
            "{}: the record that an earlier rdma-qosd left cannot be used: {}; {}", key_, to_string(read.error()),
            has_file ? kBesideTheOld : kUntilStartedAgain);
        return nullptr;
    }
    if (has_file) {
        left_file_ = std::make_shared<const UniqueFd>(std::move(kept_.elements_file));
    }
    return left_file_;
}

Result<void> DeviceHandover::begin(const Lifeline& lifeline)
{
    const bool is_as_left = !is_kept_ && log_ && lifeline.file == (left_file_ ? left_file_->get() : -1);
    if (lifeline.outlives && (is_as_left || (is_kept_ && lifeline.file == begun_with_))) {
        begun_with_ = lifeline.file;
        is_kept_ = true;    // the store has all of it
        return {};
    }
    if (!record_.elements.empty()) {
        log(LogLevel::Warning, {{"DEVICE", key_}},
            "{}: the elements that an earlier rdma-qosd left are of another attach mode: queue pairs stay in them "
            "until "
            "their programs end. `systemctl stop rdma-qosd`, then `start`, takes all of them out",
            key_);
    }
    record_ = {};
    end();
    if (!lifeline.outlives) {
        return {};
    }
    if (auto kept = keep(lifeline.file); !kept) {
        end();
        if (is_shortage(kept.error().sys_errno)) {
            return fail({ErrorCode::Busy, kept.error().sys_errno, std::move(kept.error().message)});
        }
        log(LogLevel::Warning, {{"DEVICE", key_}}, "what is on {} cannot be handed over to the next rdma-qosd: {}",
            key_, to_string(kept.error()));
    }
    begun_with_ = lifeline.file;
    return {};
}

Result<void> DeviceHandover::keep(int elements_file)
{
    auto created = TRY(MemoryLog::create("rdma-qosd " + device_));
    if (auto begun = created.append(to_text(record_, device_)); !begun) {
        return begun;
    }
    // The record first: a file without one cannot be used.
    if (auto put = store_->put(record_name(device_), created.fd()); !put) {
        return put;
    }
    if (elements_file >= 0) {
        if (auto put = store_->put(elements_file_name(device_), elements_file); !put) {
            return put;
        }
    }
    log_ = std::move(created);
    size_when_short_ = log_->size();
    is_kept_ = true;
    return {};
}

void DeviceHandover::end()
{
    is_kept_ = false;
    log_.reset();
    openings_->remove_from(*store_, device_, opening_);
}

void DeviceHandover::forget()
{
    is_lost_ = false;
    kept_ = {};
    left_file_.reset();
    end();
}

void DeviceHandover::append(std::string_view line)
{
    if (!log_) {
        keep_again();
        return;
    }
    const auto shorten = [this] {
        auto shortened = log_->replace(to_text(record_, device_));
        if (shortened) {
            size_when_short_ = log_->size();
        }
        return shortened;
    };
    if (log_->size() > kSmall && log_->size() > kGrowth * size_when_short_ && shorten()) {
        return;
    }
    auto written = log_->append(line);
    if (!written) {
        written = shorten();
    }
    if (!written) {
        // One that is not true is worse than none.
        log(LogLevel::Error, {{"DEVICE", key_}},
            "what is on {} cannot be recorded at this time ({}): an rdma-qosd that is started now rebuilds its tree",
            key_, to_string(written.error()));
        lose_record();
    }
}

void DeviceHandover::lose_record()
{
    is_kept_ = false;
    log_.reset();
    openings_->remove_record_from(*store_, device_, opening_);
    is_lost_ = true;
}

void DeviceHandover::keep_again()
{
    if (!is_lost_) {
        return;
    }
    if (keep(begun_with_)) {
        is_lost_ = false;
        log(LogLevel::Notice, {{"DEVICE", key_}}, "what is on {} is recorded again", key_);
    } else {
        lose_record();
    }
}

void DeviceHandover::element_is(const LeftElement& element)
{
    record_.elements.insert_or_assign(element.id, element);
    append(record_line(element));
}

void DeviceHandover::element_is_gone(ElementId element)
{
    record_.elements.erase(element);
    append(record_line(element));
}

void DeviceHandover::queue_pair_is(const LeftQueuePair& queue_pair)
{
    record_.queue_pairs.insert_or_assign(queue_pair.queue_pair, queue_pair);
    append(record_line(queue_pair));
}

void DeviceHandover::queue_pair_is_gone(QueuePairId queue_pair)
{
    record_.queue_pairs.erase(queue_pair);
    append(record_line(queue_pair));
}

void DeviceHandover::note_is(const std::string& key, const std::string& text)
{
    if (text.empty()) {
        record_.notes.erase(key);
    } else {
        record_.notes.insert_or_assign(key, text);
    }
    append(record_note(key, text));
}

}    // namespace rdmaqos
