// Random requests and ports, the same for each seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

#include "tests/unit/port_classes/support.h"

namespace rdmaqos::port_classes::test {

class RandomPolicies {
public:
    explicit RandomPolicies(std::uint32_t seed) : numbers_(seed) {}

    std::uint32_t number(std::uint32_t first, std::uint32_t last)
    {
        return first + static_cast<std::uint32_t>(numbers_() % (last - first + 1));
    }
    bool one_in(std::uint32_t n) { return number(1, n) == 1; }

    // Guarantees sum to 90 % of the link at most.
    Requests requests(Bandwidth link, bool with_strict = false)
    {
        Requests requests;
        double left = 0.9;
        const std::uint32_t children = number(1, 9);
        for (std::uint32_t index = 0; index < children; ++index) {
            ClassRequest child = test::child(fmt::format("c{}", index), number(1, one_in(4) ? 300 : 20), {});
            child.levels.clear();
            const std::uint32_t levels = number(1, 3);
            for (std::uint32_t level = 0; level < levels; ++level) {
                LevelMark mark{fmt::format("c{}l{}", index, level), {}};
                if (!one_in(8)) {
                    mark.dscp = static_cast<std::uint8_t>(number(0, 63));
                }
                child.levels.push_back(mark);
            }
            if (one_in(4)) {
                const double part = left * number(1, 50) / 100;
                left -= part;
                child.min_rate = Bandwidth::from_mbps(
                    std::max<std::uint64_t>(static_cast<std::uint64_t>(part * static_cast<double>(link.mbps())), 1));
            }
            if (one_in(3)) {
                const auto most = static_cast<std::uint32_t>(link.mbps() / (one_in(4) ? 100 : 1));
                child.max_rate = std::max(Bandwidth::from_mbps(number(1, most)), child.min_rate.value_or(Bandwidth()));
            }
            child.strict = with_strict && one_in(6);
            requests.children.push_back(child);
        }
        if (one_in(3)) {
            requests.elsewhere.push_back({"elsewhere", static_cast<std::uint8_t>(number(0, 63))});
        }
        return requests;
    }

    // Set by somebody else.
    dcb::PortSettings port(std::string_view driver)
    {
        dcb::PortSettings port = started(driver);
        const Rules rules = test::rules(driver);
        if (one_in(2)) {
            for (std::uint16_t dscp = 0; dscp < 64; ++dscp) {
                if (!one_in(3)) {
                    port.apps.push_back(
                        {dcb::Selector::Dscp, dscp, static_cast<std::uint8_t>(number(0, port.ets->classes - 1U))});
                }
            }
        }
        for (auto& lossless : port.pfc->lossless) {
            lossless = one_in(6);
        }
        if (rules.sets_dcbx() && one_in(3)) {
            port.dcbx->host = false;
        }
        if (rules.max_rates && one_in(2)) {
            port.ets->traffic_class.at(number(0, 7)).max_rate = gbps(number(1, 200));
        }
        return port;
    }

    Options options(Bandwidth link)
    {
        Options options;
        options.link_speed = link;
        options.others_percent = static_cast<std::uint8_t>(number(1, 20));
        if (one_in(2)) {
            options.cnp_dscp = 48;
        }
        return options;
    }

private:
    std::mt19937 numbers_;
};

}    // namespace rdmaqos::port_classes::test
