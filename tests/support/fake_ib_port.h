// An InfiniBand port that answers packets of subnet management by tables that a test sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/smp/lanes.h"

namespace rdmaqos::test {

struct FakeIbPort {
    smp::PortLanes lanes;
    std::uint8_t entries_of_table = 8;     // that each of its arbitration tables has, used or not
    std::uint16_t refuses = 0;             // this attribute
    std::vector<std::uint32_t> asked{};    // modifiers, of arbitration tables

    Result<smp::Packet> answer(const smp::Packet& question)
    {
        smp::Packet answer = question;
        answer[3] = 0x81;
        answer[4] = 0x80;    // on its way back
        const auto attribute = static_cast<std::uint16_t>(question[16] << 8U | question[17]);
        if (attribute == refuses) {
            answer[5] = 0x0c;
            return answer;
        }
        std::uint8_t* const data = answer.data() + 64;
        switch (static_cast<smp::Attribute>(attribute)) {
        case smp::Attribute::PortInfo: {
            const std::vector<std::uint8_t> numbers{0, 1, 2, 4, 8, 15};
            const auto code = std::find(numbers.begin(), numbers.end(), lanes.data_vls) - numbers.begin();
            data[38] = lanes.high_limit;
            data[39] = data[40] = entries_of_table;
            data[43] = static_cast<std::uint8_t>(code << 4U | 0x3U);
            break;
        }
        case smp::Attribute::SlToVl:
            for (std::size_t sl = 0; sl < lanes.vl_of_sl.size(); sl += 2) {
                data[sl / 2] = static_cast<std::uint8_t>(lanes.vl_of_sl[sl] << 4U | lanes.vl_of_sl[sl + 1]);
            }
            break;
        case smp::Attribute::VlArbitration: {
            asked.push_back(question[20] << 24U | question[21] << 16U | question[22] << 8U | question[23]);
            const unsigned block = question[21];
            const auto& table = block <= 2 ? lanes.low : lanes.high;
            for (std::size_t i = 0; i < 32; ++i) {
                const std::size_t at = (block - 1) % 2 * 32 + i;
                if (at < table.size() && at < entries_of_table) {
                    data[2 * i] = static_cast<std::uint8_t>(0xf0U | table[at].vl);    // the upper half is reserved
                    data[2 * i + 1] = table[at].weight;
                }
            }
            break;
        }
        }
        return answer;
    }
};

}    // namespace rdmaqos::test
