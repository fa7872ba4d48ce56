#include "tests/bytes/clients/crowd_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace crowd {
namespace {

constexpr std::size_t kMost = kMaxLength + kGaps;

const std::array<std::uint8_t, kMost>& guard_bytes()
{
    static const auto bytes = [] {
        std::array<std::uint8_t, kMost> all{};
        all.fill(kGuardByte);
        return all;
    }();
    return bytes;
}

std::size_t whole_pages(std::size_t bytes)
{
    constexpr std::size_t kPage = 4096;
    return (bytes + kPage - 1) / kPage * kPage;
}

}    // namespace

std::optional<std::size_t> broken_guard(std::span<const std::uint8_t> bytes)
{
    if (std::memcmp(bytes.data(), guard_bytes().data(), std::min(bytes.size(), kMost)) == 0) {
        return std::nullopt;
    }
    const auto is_other = [](std::uint8_t byte) { return byte != kGuardByte; };
    return static_cast<std::size_t>(std::ranges::find_if(bytes, is_other) - bytes.begin());
}

// ---- Area ----

Area::Area(std::size_t blocks, std::size_t bytes)
    : blocks_(blocks), bytes_(bytes), length_(whole_pages(kGuard + blocks * (bytes + kGuard)))
{
    void* const mapped = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        std::perror("memory for messages");
        std::_Exit(1);
    }
    memory_ = static_cast<std::uint8_t*>(mapped);
    std::memset(memory_, kGuardByte, length_);
}

Area::~Area()
{
    munmap(memory_, length_);
}

bool Area::is_guarded(std::size_t number) const
{
    const std::uint8_t* const block = memory_ + place(number);
    return !broken_guard({block - kGuard, kGuard}) && !broken_guard({block + bytes_, kGuard});
}

bool Area::is_guarded() const
{
    for (std::size_t number = 0; number < blocks_; ++number) {
        if (!is_guarded(number)) {
            return false;
        }
    }
    return true;
}

void Area::clear(std::size_t number)
{
    std::memset(memory_ + place(number), kGuardByte, bytes_);
}

// ---- Pieces ----

Pieces::Pieces(std::span<std::uint8_t> block, std::uint32_t length, unsigned most_pieces, std::mt19937_64& random)
    : block_(block)
{
    count_ = std::min<std::size_t>(1 + random() % most_pieces, length);
    std::array<std::size_t, kMaxPieces + 1> cuts{};
    for (std::size_t i = 1; i < count_; ++i) {
        cuts.at(i) = 1 + random() % (length - 1);
    }
    cuts.at(count_) = length;
    std::sort(cuts.begin(), cuts.begin() + static_cast<std::ptrdiff_t>(count_) + 1);
    for (std::size_t i = 0; i < count_; ++i) {
        pieces_.at(i) = block.subspan(cuts.at(i) + i * kGuard, cuts.at(i + 1) - cuts.at(i));
    }
    // A piece without a byte would have the length 0, which some take for 2^31.
    const auto used = std::remove_if(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(count_),
                                     [](const auto& piece) { return piece.empty(); });
    count_ = static_cast<std::size_t>(used - pieces_.begin());
}

ibv_sge* Pieces::list(std::uint32_t key)
{
    for (std::size_t i = 0; i < count_; ++i) {
        list_.at(i) = {reinterpret_cast<std::uintptr_t>(pieces_.at(i).data()),
                       static_cast<std::uint32_t>(pieces_.at(i).size()), key};
    }
    return list_.data();
}

void Pieces::fill(std::uint64_t direction, std::uint64_t number, std::uint64_t offset, std::uint32_t length)
{
    std::size_t done = 0;
    for (std::size_t i = 0; i < count_ && done < length; ++i) {
        const auto part = pieces_.at(i).first(std::min<std::size_t>(pieces_.at(i).size(), length - done));
        crowd::fill(direction, number, offset + done, part);
        done += part.size();
    }
}

std::optional<std::string> Pieces::take(std::uint64_t direction, std::uint64_t number, std::uint64_t offset,
                                        std::uint32_t length, bool thorough)
{
    std::size_t done = 0;
    std::span<std::uint8_t> last = block_.first(0);
    for (std::size_t i = 0; i < count_; ++i) {
        const auto piece = pieces_.at(i);
        const auto part = piece.first(std::min<std::size_t>(piece.size(), length - done));
        if (auto wrong = difference(direction, number, offset + done, part)) {
            return "piece " + std::to_string(i) + " of " + std::to_string(count_) + ": " + *wrong;
        }
        std::ranges::fill(part, kGuardByte);
        done += part.size();
        if (!part.empty()) {
            last = part;
        }
    }
    if (done != length) {
        return "it does not fit the pieces";
    }
    const auto behind = block_.subspan(static_cast<std::size_t>(last.data() + last.size() - block_.data()));
    const auto looked_at = thorough ? block_ : behind.first(std::min(behind.size(), kGuard));
    if (const auto at = broken_guard(looked_at)) {
        return "a byte was written to where none belongs, " + std::to_string(*at) + " bytes into " +
               (thorough ? "the block" : "what is behind its end");
    }
    // The gaps between the pieces.
    for (std::size_t i = 0; i + 1 < count_; ++i) {
        if (broken_guard({pieces_.at(i).data() + pieces_.at(i).size(), kGuard})) {
            return "a byte was written to behind piece " + std::to_string(i);
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Pieces::take_number()
{
    std::uint64_t number = 0;
    std::memcpy(&number, pieces_[0].data(), sizeof(number));
    std::ranges::fill(pieces_[0], kGuardByte);
    return broken_guard(block_) ? std::nullopt : std::optional(number);
}

}    // namespace crowd
