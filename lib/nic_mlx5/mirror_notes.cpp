#include "lib/nic_mlx5/mirror_notes.h"

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/base/units.h"

namespace rdmaqos::mlx5 {
namespace {

std::string key_of(const MirroredFile& file)
{
    return fmt::format("file {}", file.number);
}

std::string key_of(const MirroredFile& file, ElementHandle element)
{
    return fmt::format("file {} element {}", file.number, static_cast<std::uint64_t>(element));
}

std::string key_of(const MirroredFile& file, std::uint32_t queue_pair)
{
    return fmt::format("file {} queue-pair {}", file.number, queue_pair);
}

// "pid 4711 start 90210" by its words; empty if it has others, or no numbers.
template <std::size_t Count>
std::optional<std::array<std::uint64_t, Count>> numbers_of(std::string_view text,
                                                           const std::array<std::string_view, Count>& words)
{
    std::array<std::uint64_t, Count> numbers{};
    for (std::size_t i = 0; i < Count; ++i) {
        if (i > 0 && !text.starts_with(' ')) {
            return std::nullopt;
        }
        text.remove_prefix(i > 0 ? 1 : 0);
        if (!text.starts_with(words[i]) || !text.substr(words[i].size()).starts_with(' ')) {
            return std::nullopt;
        }
        text.remove_prefix(words[i].size() + 1);
        const auto end = std::min(text.find(' '), text.size());
        const auto number = parse_number(text.substr(0, end));
        if (!number) {
            return std::nullopt;
        }
        numbers[i] = *number;
        text.remove_prefix(end);
    }
    return text.empty() ? std::optional(numbers) : std::nullopt;
}

bool is_small(std::uint64_t number)
{
    return number <= std::numeric_limits<std::uint32_t>::max();
}

std::optional<ElementHandle> side(std::uint64_t element)
{
    return element == 0 ? std::nullopt : std::optional(ElementHandle{element});
}

std::uint64_t number_of(const std::optional<ElementHandle>& element)
{
    return element ? static_cast<std::uint64_t>(*element) : 0;
}

MirroredFile& file_in(std::map<std::uint64_t, MirroredFile>& files, std::uint64_t number)
{
    MirroredFile& file = files[number];
    file.number = number;
    return file;
}

void read_note(const std::string& key, const std::string& text, std::map<std::uint64_t, MirroredFile>& files)
{
    if (const auto file = numbers_of<1>(key, {"file"})) {
        const auto owner = numbers_of<2>(text, {"pid", "start"});
        if (owner && (*owner)[0] <= static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max())) {
            file_in(files, (*file)[0]).owner = ClientFile::Owner{static_cast<pid_t>((*owner)[0]), (*owner)[1]};
        }
    } else if (const auto element = numbers_of<2>(key, {"file", "element"})) {
        const auto mirror = numbers_of<2>(text, {"handle", "id"});
        if (mirror && is_small((*mirror)[0]) && is_small((*mirror)[1])) {
            file_in(files, (*element)[0])
                .mirrors.insert_or_assign(ElementHandle{(*element)[1]},
                                          Mirror{static_cast<std::uint32_t>((*mirror)[0]),
                                                 ObjectId{static_cast<std::uint32_t>((*mirror)[1])}});
        }
    } else if (const auto queue_pair = numbers_of<2>(key, {"file", "queue-pair"})) {
        const auto sides = numbers_of<2>(text, {"requester", "responder"});
        if (sides && is_small((*queue_pair)[1])) {
            file_in(files, (*queue_pair)[0])
                .queue_pairs.insert_or_assign(static_cast<std::uint32_t>((*queue_pair)[1]),
                                              Sides{side((*sides)[0]), side((*sides)[1])});
        }
    }
}

}    // namespace

void MirroredFile::add(ElementHandle element, const Mirror& mirror, const NoteKeeper& keeper)
{
    if (keeper && owner) {
        if (mirrors.empty()) {
            keeper(key_of(*this), fmt::format("pid {} start {}", owner->pid, owner->start_time));
        }
        keeper(key_of(*this, element),
               fmt::format("handle {} id {}", mirror.handle, static_cast<std::uint32_t>(mirror.id)));
    }
    mirrors.insert_or_assign(element, mirror);
}

void MirroredFile::remove(ElementHandle element, const NoteKeeper& keeper)
{
    if (mirrors.erase(element) > 0 && keeper && owner) {
        keeper(key_of(*this, element), {});
        if (mirrors.empty()) {
            keeper(key_of(*this), {});
        }
    }
}

void MirroredFile::place(std::uint32_t handle, const Sides& sides, const NoteKeeper& keeper)
{
    const bool had = queue_pairs.contains(handle);
    if (sides.empty()) {
        queue_pairs.erase(handle);
    } else {
        queue_pairs.insert_or_assign(handle, sides);
    }
    if (keeper && owner && (had || !sides.empty())) {
        keeper(key_of(*this, handle),
               sides.empty()
                   ? std::string()
                   : fmt::format("requester {} responder {}", number_of(sides.requester), number_of(sides.responder)));
    }
}

void MirroredFile::forget_notes(const NoteKeeper& keeper) const
{
    if (!keeper || !owner) {
        return;
    }
    for (const auto& [handle, sides] : queue_pairs) {
        keeper(key_of(*this, handle), {});
    }
    for (const auto& [element, mirror] : mirrors) {
        keeper(key_of(*this, element), {});
    }
    keeper(key_of(*this), {});
}

std::vector<MirroredFile> read_mirror_notes(const BackendNotes& notes)
{
    std::map<std::uint64_t, MirroredFile> files;
    for (const auto& [key, text] : notes) {
        read_note(key, text, files);
    }
    std::vector<MirroredFile> read;
    for (auto& [number, file] : files) {
        if (file.owner && !file.mirrors.empty()) {
            read.push_back(std::move(file));
        }
    }
    return read;
}

}    // namespace rdmaqos::mlx5
