// Rows of the device's table of rates that programs take for themselves (mlx5dv_pp_alloc). A row is free when its last
// owner is gone; programs share one unless they want it alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace rdmaqos::emulator {

struct PacingRow {
    std::uint32_t index = 0;    // from 1 on: row 0 is no limit
    std::vector<std::uint8_t> rate;
    bool alone = false;
};

class PacingRows {
public:
    explicit PacingRows(std::uint32_t size) : size_(size) {}

    // Null: the table is full.
    [[nodiscard]] std::shared_ptr<PacingRow> take(const std::vector<std::uint8_t>& rate, bool alone)
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(rows_, [](const auto& row) { return row.second.expired(); });
        for (const auto& [index, held] : rows_) {
            if (auto row = held.lock(); row && !alone && !row->alone && row->rate == rate) {
                return row;
            }
        }
        std::uint32_t index = 1;
        while (rows_.contains(index)) {
            ++index;
        }
        if (index > size_) {
            return nullptr;
        }
        auto row = std::make_shared<PacingRow>(PacingRow{index, rate, alone});
        rows_[index] = row;
        return row;
    }

    // The table is a new one; rows that somebody still has are of the old one.
    void forget()
    {
        const std::lock_guard lock(mutex_);
        rows_.clear();
    }

private:
    const std::uint32_t size_;
    std::mutex mutex_;
    std::map<std::uint32_t, std::weak_ptr<PacingRow>> rows_;
};

}    // namespace rdmaqos::emulator
