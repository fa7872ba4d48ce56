#include "tests/unit/policy/generated_files.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rdmaqos::test {
namespace {

using Key = std::pair<std::string, std::string>;    // with a good value

// `{}` in the frame takes the keys of one object, `@` a number; `always` are there whatever else is.
struct Object {
    Format format;
    const char* section;    // the frame is an entry of this list; empty: a file
    const char* frame;
    std::vector<Key> always;
    std::vector<Key> keys;
    bool only_combined = false;    // other objects try the values of these keys
};

const std::vector<Key> kRates{{"share", "60"}, {"min-rate", "1Gbps"}, {"max-rate", "40Gbps"}};

const std::vector<Object>& policy_objects()
{
    static const std::vector<Object> kObjects{
        {Format::Policy, "", "{}", {}, {{"port-groups", "[]"}, {"qos-class-names", "{a: 1}"}, {"qos-setup", "{}"}}},
        {Format::Policy,
         "port-groups",
         "{{{}}}",
         {{"name", "x@"}},
         {{"use", "a"},
          {"remove", "true"},
          {"port-guid", "[0x10, 0x20-0x2f]"},
          {"port-name", "vs1 HCA-1/P1"},
          {"pkey", "0x1234"},
          {"partition", "Part1"},
          {"node-type", "[CA]"},
          {"gid", "\"fd00::/8\""}}},
        {Format::Policy,
         "partitions",
         "{{{}}}",
         {{"name", "x@"}, {"pkey", "@"}},
         {{"remove", "true"}, {"qos-level-name", "l1"}}},
        {Format::Policy,
         "",
         "qos-class-names: {{{}}}",
         {},
         {{"a", "1"}, {"9b", "2"}, {"\"a b\"", "3"}, {"\" c\"", "4"}}},
        {Format::Policy,
         "scheduling-nodes",
         "{{{}}}",
         {{"name", "x@"}},
         {{"use", "a"},
          {"remove", "true"},
          {"parent", "n1"},
          {"share", "1"},
          {"min-rate", "1Gbps"},
          {"max-rate", "2Gbps"}}},
        {Format::Policy,
         "qos-levels",
         "{{{}}}",
         {{"name", "x@"}},
         {{"use", "a"},
          {"remove", "true"},
          {"sl", "3"},
          {"mtu-limit", "4096"},
          {"rate-limit", "40Gbps"},
          {"packet-life", "16"},
          {"path-bits", "1-3"},
          {"pkey", "[0x1234]"},
          {"dscp", "26"},
          {"traffic-class", "104"},
          {"sl-source", "host"},
          {"schedule", "{share: 1}"},
          {"per-queue-pair", "{max-rate: 1Gbps}"},
          {"message-model", "default"},
          {"allow", "{user: alice}"},
          {"mode", "monitor"},
          {"log", "yes"},
          {"adopt", "no"},
          {"renamed-from", "[w@, v@]"}}},
        {Format::Policy, "qos-levels", "{{schedule: {{}}, {}}}", {}, {{"name", "y@"}}},
        {Format::Policy,
         "qos-levels",
         "{{name: x@, schedule: {{{}}}}}",
         {},
         {{"parent", "n1"},
          {"share", "1"},
          {"min-rate", "1Gbps"},
          {"max-rate", "2Gbps"},
          {"fair-by", "process"},
          {"max-rate-each", "1Gbps"},
          {"leaf-budget", "64"},
          {"responder", "{}"}}},
        {Format::Policy, "qos-levels", "{{name: x@, schedule: {{responder: {{{}}}}}}}", {}, kRates},
        {Format::Policy,
         "qos-levels",
         "{{name: x@, per-queue-pair: {{{}}}}}",
         {},
         {{"max-rate", "5Gbps"}, {"max-burst", "64KiB"}, {"typical-packet", "1024"}}},
        {Format::Policy,
         "qos-levels",
         "{{name: x@, allow: {{{}}}}}",
         {},
         {{"user", "alice"},
          {"group", "hpc"},
          {"unit", "a.scope"},
          {"cgroup", "/a"},
          {"executable", "/a"},
          {"command", "a"}}},
    };
    return kObjects;
}

const std::vector<Object>& rule_objects()
{
    static const std::vector<Key> kUlpKeys{{"use", "a"},
                                           {"port-num", "5"},
                                           {"service-id", "7"},
                                           {"pkey", "1"},
                                           {"target-port-guid", "1"},
                                           {"source-port-guid", "1"},
                                           {"source-target-port-guid", "1"},
                                           {"sl", "1"},
                                           {"qos-level-name", "l1"}};
    static const std::vector<Object> kObjects{
        {Format::Policy,
         "qos-match-rules",
         "{{{}}}",
         {{"qos-level-name", "l1"}},
         {{"use", "a"},
          {"source", "g1"},
          {"destination", "[g1]"},
          {"qos-class", "[7-9, c1]"},
          {"service-id", "7"},
          {"ulp-port", "{space: tcp, port: 1}"},
          {"pkey", "1"},
          {"client", "{user: alice}"},
          {"device", "mlx5_0"},
          {"adopt", "no"}}},
        {Format::Policy,
         "qos-match-rules",
         "{{qos-level-name: l1, client: {{{}}}}}",
         {},
         {{"user", "alice"},
          {"group", "hpc"},
          {"unit", "a.scope"},
          {"cgroup", "/a"},
          {"executable", "/a"},
          {"command", "a"}}},
        {Format::Policy,
         "qos-match-rules",
         "{{qos-level-name: l1, ulp-port: {{{}}}}}",
         {{"space", "tcp"}, {"port", "4420"}},
         {}},
        {Format::Policy, "qos-ulps", "{{ulp: default, {}}}", {}, kUlpKeys, true},
        {Format::Policy, "qos-ulps", "{{ulp: SDP, {}}}", {}, kUlpKeys, true},
        {Format::Policy, "qos-ulps", "{{ulp: rds, {}}}", {}, kUlpKeys, true},
        {Format::Policy, "qos-ulps", "{{ulp: iser, {}}}", {}, kUlpKeys, true},
        {Format::Policy, "qos-ulps", "{{ulp: srp, {}}}", {}, kUlpKeys, true},
        {Format::Policy, "qos-ulps", "{{ulp: srp, target-port-guid: 1, {}}}", {}, kUlpKeys},
        {Format::Policy, "qos-ulps", "{{ulp: IPoIB, {}}}", {}, kUlpKeys, true},
        {Format::Policy, "qos-ulps", "{{ulp: any, {}}}", {}, kUlpKeys, true},
        {Format::Policy, "qos-ulps", "{{ulp: any, sl: 1, {}}}", {}, kUlpKeys},
        {Format::Policy, "qos-ulps", "{{ulp: sdp, {}}}", {}, {{"sl", "1"}, {"qos-level-name", "l1"}}},
        {Format::Policy, "qos-ulps", "{{ulp: rds, sl: 1, {}}}", {}, {{"port-num", "1"}}},
        {Format::Policy, "qos-ulps", "{{sl: 1, {}}}", {{"ulp", "ipoib"}}, kUlpKeys, true},
        {Format::Policy,
         "",
         "transient: {{{}}}",
         {},
         {{"until", "2099-11-23T22:00:00Z"}, {"owner", "slurm-job-4711"}, {"cgroup", "/system.slice/job.scope"}}},
        {Format::Policy,
         "",
         "transient: {{}}\nqos-level-overrides: [{{{}}}]",
         {{"name", "l1"}},
         {{"max-rate", "2Gbps"}, {"min-rate", "1Gbps"}, {"share", "3"}, {"per-queue-pair-max-rate", "1Gbps"}}},
        {Format::Policy, "", "qos-setup: {{{}}}", {}, {{"vlarb-tables", "[]"}, {"sl2vl-tables", "[]"}}},
        {Format::Policy,
         "",
         "qos-setup: {{vlarb-tables: [{{{}}}]}}",
         {{"group", "a"}},
         {{"across", "b"}, {"vlarb-high", "\"0:255\""}, {"vlarb-low", "[\"8:255\"]"}, {"vl-high-limit", "10"}}},
        {Format::Policy, "", "qos-setup: {{vlarb-tables: [{{{}}}]}}", {}, {{"across", "b"}, {"vl-high-limit", "10"}}},
        {Format::Policy,
         "",
         "qos-setup: {{sl2vl-tables: [{{{}}}]}}",
         {{"sl2vl-table", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]"}},
         {{"group", "a"}, {"across", "b"}, {"across-from", "c"}, {"across-to", "d"}, {"from", "\"*\""}, {"to", "1-5"}}},
        {Format::Policy,
         "",
         "qos-setup: {{sl2vl-tables: [{{group: a, {}}}]}}",
         {{"sl2vl-table", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16]"}},
         {{"from", "\"*\""}, {"to", "[\"*\"]"}}},
    };
    return kObjects;
}

const std::vector<Object>& other_objects()
{
    static const std::vector<Object> kObjects{
        {Format::Settings,
         "",
         "{}",
         {},
         {{"mode", "monitor"},
          {"on-unsupported", "degrade"},
          {"attach-mode", "shared"},
          {"cap-mode", "divide"},
          {"unregistered", "adopt"},
          {"drift-interval", "60s"},
          {"leaf-reserve", "4"},
          {"limits", "{}"},
          {"metrics", "{}"}}},
        {Format::Settings, "", "metrics: {{{}}}", {}, {{"textfile", "/a/b.prom"}, {"interval", "15s"}}},
        {Format::Settings,
         "",
         "limits: {{{}}}",
         {},
         {{"sessions-per-uid", "1"},
          {"queue-pairs-per-uid", "1"},
          {"queue-pairs-per-session", "1"},
          {"connections-per-uid", "1"},
          {"requests-per-second-per-uid", "1"},
          {"device-queue", "1"}}},
        {Format::Fabric, "", "{}", {}, {{"ports", "[]"}, {"partitions", "[]"}, {"vl15-sls", "[3]"}}},
        {Format::Fabric,
         "ports",
         "{{{}}}",
         {{"guid", "0x@"}},
         {{"port", "1"},
          {"node-guid", "1"},
          {"type", "CA"},
          {"description", "a"},
          {"pkeys", "[1]"},
          {"sm", "true"},
          {"rate", "100Gbps"},
          {"mtu", "4096"}}},
        {Format::Fabric, "ports", "{{{}}}", {{"guid", "0x@"}, {"lid", "@"}}, {{"lmc", "0"}}},
        {Format::Fabric, "partitions", "{{{}}}", {{"name", "a@"}, {"pkey", "@"}}, {{"ipoib", "{}"}}},
        {Format::Fabric,
         "partitions",
         "{{name: a@, pkey: 1, ipoib: {{{}}}}}",
         {},
         {{"sl", "1"}, {"mtu", "4096"}, {"rate", "100Gbps"}, {"packet-life", "18"}}},
        {Format::Devices, "", "{}", {}, {{"devices", "[]"}}},
        {Format::Devices,
         "devices",
         "{{{}}}",
         {{"name", "mlx@"}},
         {{"port", "1"},
          {"node-guid", "1"},
          {"port-guid", "1"},
          {"netdev", "a"},
          {"pci", "b"},
          {"link-layer", "ethernet"},
          {"link-speed", "100Gbps"},
          {"mtu", "4096"},
          {"gids", "\"fd00::1\""},
          {"pkeys", "0xFFFF"},
          {"description", "a"},
          {"capabilities", "{}"}}},
        {Format::Devices,
         "devices",
         "{{name: a@, capabilities: {{{}}}}}",
         {},
         {{"scheduling", "true"},
          {"shares", "true"},
          {"rate-caps", "false"},
          {"max-depth", "4"},
          {"max-leaves", "1"},
          {"max-elements", "1"},
          {"max-share", "1"},
          {"responder-leaf", "false"},
          {"attachable", "[rc]"},
          {"pacing", "{}"}}},
        {Format::Devices,
         "devices",
         "{{name: a@, capabilities: {{pacing: {{{}}}}}}}",
         {},
         {{"types", "[rc]"},
          {"min-rate", "1Gbps"},
          {"max-rate", "1Gbps"},
          {"table-size", "1"},
          {"burst", "true"},
          {"typical-packet", "true"}}},
    };
    return kObjects;
}

// Good for one key, bad for the next; two blanks or a line end between them.
constexpr std::string_view kValues = R"---(
null  ~  "null"  true  FALSE  tRuE  "false"  yes  0  1  -1  2  5  6  15  16  24  25  63  64  127  128  254
255  256  4095  4096  4097  32768  65535  65536  86400  1000000  1000001  10000000  10000001  4294967294
4294967295  4294967296  9223372036854775807  18446744073709551615  18446744073709551616  0x10  0X10  0x  010
0o17  1e1  1.0  1.5  +5  1_000  '1'  '2'  '5'  '16'  '0'  ' 7 '  '0x8000'  '4294967295'
'99999999999999999999'  abc  ""  ' '  ' a'  "a\x01b"  a/b  a/P1  a/P0  a/P255  a/P256  a/p0x1f  /P1  a/Pz
others  Others  x.Responder  x.responder.y  a.service  7-9  9-7  7 - 9  ' 7 - 9 '  7-  7-9-11  0-200
0x0-0xFFFF  0-0x10000  7-99999999999999999999  '1,2'  1Gbps  25 gbps  0Gbps  0.0Gbps  1.5kbps  1kbps  1bps
999kbps  25 Gbit/s  25gbit/S  1 kbit/s  0 bit/s  5 Gbit  4096 bytes  1 byte  8.59 s  131 us  7 us
1Mbps  5Mbpss  1e3Gbps  -5Gbps  2000000Gbps  99999999999999999999Gbps  40Gbps  2.5Gbps  3Gbps
0.0000000001Gbps  1.Gbps  5Tbps  64KiB  64kib  4KiB  1GiB  4GiB  64XB  64 B  0B  0.3KiB  0x40  '0X40'  256B
2 KB  60s  5 min  1MS  25h  0s  1.5s  0.0001s  60  1d  unlimited  UNLIMITED  device-default  Device-Default
none  process  Process  queue-pair  queue_pair  host  subnet-manager  SubNet-Manager  low-latency  default  CA
self  SELF  switch  tcp  UDP  ib  rc  RC  raw-packet  enforce  Monitor  error  degrade  auto  shared
per-process  whole  divide  ignore  count  Adopt  ethernet  InfiniBand  sdp  srp  any  lustre  NVMe-oF  nfs_rdma  nfs-rdma  ceph
"0:255"  0:255  "15:0"  "16:0"  "0:256"
"0xf:0xFF"  "0:"  ":0"  "0:1:2"  "fd00::/8"  "fd00::1"  10.1.0.0/16  10.1.0.0  "gg::"  "fd00::1/8"
"fd00::/129"  "::"  "*"  "a*"  "[x"  "a?"  []  [1]  [1, 2]  [abc, 7-9]  [[1]]  [{a: 1}]  [null]  [""]  {}
{a: 1}  {user: alice}  {share: 2}  {max-rate: 1Gbps}  {space: tcp, port: 1}  [rc, ud]  [CA, SELF]  [true]
[g1, nope]  l1  n1  g1  c1  DEFAULT  nobody  !tag x  &anchor x  "\0"
)---";

std::vector<std::string> split(std::string_view text)
{
    std::vector<std::string> values;
    while (!text.empty()) {
        const auto end = std::min(text.find("  "), text.find('\n'));
        if (end > 0) {
            values.emplace_back(text.substr(0, end));
        }
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + (text[end] == ' ' ? 2 : 1));
    }
    return values;
}

std::string repeated(std::string_view text, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i) {
        all += text;
    }
    return all;
}

const std::vector<std::string>& values()
{
    static const std::vector<std::string> kAll = [] {
        auto all = split(kValues);
        all.insert(all.end(), {"", repeated("a", 128), repeated("a", 129), repeated("\u00fc", 100)});
        return all;
    }();
    return kAll;
}

std::string keys_text(const std::vector<Key>& keys)
{
    std::vector<std::string> parts;
    for (const auto& [key, value] : keys) {
        parts.push_back(fmt::format("{}: {}", key, value));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

class Generator {
public:
    void add(const Object& object)
    {
        with_keys(object, object.always);
        for (std::size_t i = 0; i < object.always.size(); ++i) {
            std::vector<Key> without = object.always;
            without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
            with_keys(object, without);
            flush();
            with_values(object, without, object.always[i].first, 1);
        }
        for (auto key = object.keys.begin(); key != object.keys.end(); ++key) {
            if (!object.only_combined) {
                with_values(object, object.always, key->first, kAtOnce);
            }
            for (auto other = key; other != object.keys.end(); ++other) {
                pair(object, *key, *other);
            }
        }
        pair(object, {"zzz", "1"}, {"zzz", "1"});
        flush();
    }
    std::vector<GeneratedFile> take() { return std::move(files_); }

private:
    // Entries of one file: reading many small ones takes long. Names that are tried stand alone, lest they meet.
    static constexpr std::size_t kAtOnce = 20;

    void with_keys(const Object& object, const std::vector<Key>& keys)
    {
        const bool is_entry = *object.section != '\0';
        std::string text;
        if (std::string_view(object.frame) == "{}") {
            for (const auto& [key, value] : keys) {
                text += fmt::format("{}: {}\n", key, value);
            }
        } else {
            text = fmt::format(fmt::runtime(object.frame), keys_text(keys)) + '\n';
        }
        const auto number = std::to_string(++counter_);
        for (auto at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
            text.replace(at, 1, number);
        }
        if (entries_ == 0) {
            files_.push_back({object.format, is_entry ? fmt::format("{}:\n", object.section) : ""});
        }
        files_.back().body += (is_entry ? "  - " : "") + text;
        entries_ = is_entry && entries_ + 1 < kAtOnce ? entries_ + 1 : 0;
    }
    void flush() { entries_ = 0; }

    void with_values(const Object& object, std::vector<Key> keys, const std::string& key, std::size_t at_once)
    {
        keys.emplace_back(key, "");
        for (const std::string& value : values()) {
            keys.back().second = value;
            with_keys(object, keys);
            if (at_once == 1) {
                flush();
            }
        }
    }
    // Each key alone, with every other, and twice.
    void pair(const Object& object, const Key& one, const Key& other)
    {
        std::vector<Key> keys = object.always;
        keys.push_back(one);
        with_keys(object, keys);
        keys.push_back(other);
        with_keys(object, keys);
    }

    std::vector<GeneratedFile> files_;
    std::size_t entries_ = 0;    // in the last file, if it takes more
    std::size_t counter_ = 0;
};

}    // namespace

const char* const kGeneratedContext = "qos-levels: [{name: DEFAULT}, {name: l1}]\nscheduling-nodes: [{name: "
                                      "n1}]\nport-groups: [{name: g1, node-type: CA}]\n"
                                      "qos-class-names: {c1: 1}\n";

const std::vector<GeneratedFile>& generated_files()
{
    static const std::vector<GeneratedFile> kFiles = [] {
        Generator generator;
        for (const auto* objects : {&policy_objects(), &rule_objects(), &other_objects()}) {
            for (const Object& object : *objects) {
                generator.add(object);
            }
        }
        auto files = generator.take();
        files.push_back({Format::Policy, "qos-levels: [{name: x, use: " + repeated("x", 4096) + "}]\n"});
        files.push_back({Format::Policy, "qos-levels: [{name: x, use: " + repeated("x", 4097) + "}]\n"});
        files.push_back({Format::Policy, "qos-levels: [{name: x, use: " + repeated("ü", 4000) + "}]\n"});
        // Objects that contradict each other: only the reader sees it.
        files.push_back({Format::Policy, "scheduling-nodes: [{name: a, parent: b}, {name: b, parent: a}]\n"});
        files.push_back(
            {Format::Policy, "scheduling-nodes: [{name: a, share: device-default}, {name: b, min-rate: 1Gbps}]\n"});
        std::string deep = "scheduling-nodes: [{name: d0}";
        for (int i = 1; i <= 33; ++i) {
            deep += fmt::format(", {{name: d{}, parent: d{}}}", i, i - 1);
        }
        files.push_back({Format::Policy, deep + "]\n"});
        return files;
    }();
    return kFiles;
}

}    // namespace rdmaqos::test
