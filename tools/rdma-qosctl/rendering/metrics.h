// Metrics in the text format of Prometheus, taken apart again for those who want JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/json.h"

namespace rdmaqos::ctl {

struct MetricSample {
    std::string name;    // the family's, for histograms with "_bucket", "_sum" or "_count"
    std::vector<std::pair<std::string, std::string>> labels;
    double value = 0;

    friend bool operator==(const MetricSample&, const MetricSample&) = default;
};

struct MetricFamily {
    std::string name;
    std::string type;    // "counter", "gauge", "histogram"
    std::string help;
    std::vector<MetricSample> samples;

    friend bool operator==(const MetricFamily&, const MetricFamily&) = default;
};

// Internal, with the line, if it is not the format.
[[nodiscard]] Result<std::vector<MetricFamily>> parse_metrics(std::string_view text);
[[nodiscard]] Json metrics_json(const std::vector<MetricFamily>& families);

}    // namespace rdmaqos::ctl
