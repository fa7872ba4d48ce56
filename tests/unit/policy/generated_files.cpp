#include "tests/unit/policy/generated_files.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/keys/objects.h"

namespace rdmaqos::test {
namespace {

using keys::Key;
using keys::Kind;
using Values = std::vector<std::pair<std::string, std::string>>;    // keys, each with a good value

// `%` in the frame takes the keys of one object, `@` a number; `always` are there whatever else is.
struct Frame {
    Format format;
    std::string section;    // the frame is an entry of this list; empty: a file
    std::string frame;
    Values always{};
    Values keys{};
    bool only_combined = false;    // other frames try the values of these keys
    bool is_of_rows = false;       // so that each key with its example is good
};

std::string filled(const std::string& frame, const std::string& keys)
{
    const auto at = frame.find('%');
    return frame.substr(0, at) + keys + frame.substr(at + 1);
}

std::string keys_text(const Values& keys)
{
    std::vector<std::string> parts;
    for (const auto& [key, value] : keys) {
        parts.push_back(fmt::format("{}: {}", key, value));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

// What is there once, or refers to what the context has.
std::string value_of(const keys::Object& object, const Key& key)
{
    if (key.value.kind == Kind::Guid && key.required) {
        return "0x@";
    }
    if (key.name == "pkey" && key.value.kind != Kind::PKeyRange) {
        return "@";
    }
    if (&object != &keys::kLevelOverride && (key.value.kind == Kind::Name || key.value.kind == Kind::PlainName)) {
        return fmt::format("{}@", key.name.front());
    }
    return example_of(key);
}

// What the rows do not say of an object: a key that it needs besides the required ones.
bool is_needed(const keys::Object& object, const Key& key)
{
    return key.required || (&object == &keys::kPartition && key.name == "pkey") ||
           ((&object == &keys::kVlarbTable || &object == &keys::kSl2vlTable) && key.name == "group") ||
           (&object == &keys::kDevice && key.name == "netdev") ||
           (&object == &keys::kPerQueuePair && key.name == "max-rate");
}

// The object in its frame, and those below it, each once.
void add_objects(const keys::Object& object, Frame at, std::vector<const keys::Object*>& seen,
                 std::vector<Frame>& frames)
{
    if (std::ranges::find(seen, &object) != seen.end()) {
        return;
    }
    seen.push_back(&object);
    const bool is_file = at.frame == "%";
    // Those that change what else a file may have stand in frames of their own.
    for (const Key& key : object.keys) {
        if (key.value.kind != Kind::Version && key.name != "transient" && key.name != "qos-level-overrides") {
            (is_needed(object, key) ? at.always : at.keys).emplace_back(key.name, value_of(object, key));
        }
    }
    for (const Key& key : object.keys) {
        if (key.value.object == nullptr) {
            continue;
        }
        const bool is_list = key.value.kind == Kind::Mapping && key.value.count != keys::Count::One;
        Frame below{at.format, at.section,
                    is_list ? fmt::format("{}: [{{%}}]", key.name) : fmt::format("{}: {{%}}", key.name)};
        if (is_file && key.name == "qos-level-overrides") {
            below.frame = "transient: {}\n" + below.frame;
        } else if (is_file && is_list) {
            below.section = key.name;
            below.frame = "{%}";
        } else if (!is_file) {
            const std::string others = keys_text(at.always);
            below.frame = filled(at.frame, others + (others.empty() ? "" : ", ") + below.frame);
        }
        add_objects(*key.value.object, below, seen, frames);
    }
    if (&object != &keys::kUlp) {
        at.is_of_rows = true;
        frames.push_back(std::move(at));
    }
}

// What rows do not know: keys that depend on a word, or on one another.
void add_special_frames(std::vector<Frame>& frames)
{
    Values of_ulp;
    for (const Key& key : keys::kUlp.keys) {
        if (key.name != "ulp") {
            of_ulp.emplace_back(key.name, example_of(key));
        }
    }
    for (const char* ulp : {"default", "SDP", "rds", "iser", "srp", "IPoIB", "any"}) {
        frames.push_back({Format::Policy, "qos-ulps", fmt::format("{{ulp: {}, %}}", ulp), {}, of_ulp, true});
    }
    const std::vector<Frame> special{
        {Format::Policy, "qos-ulps", "{ulp: srp, target-port-guid: 1, %}", {}, of_ulp},
        {Format::Policy, "qos-ulps", "{ulp: any, sl: 1, %}", {}, of_ulp},
        {Format::Policy, "qos-ulps", "{ulp: sdp, %}", {}, {{"sl", "1"}, {"qos-level-name", "storage"}}},
        {Format::Policy, "qos-ulps", "{ulp: rds, sl: 1, %}", {}, {{"port-num", "1"}}},
        {Format::Policy, "qos-ulps", "{sl: 1, %}", {{"ulp", "ipoib"}}, of_ulp, true},
        {Format::Policy, "qos-levels", "{schedule: {}, %}", {}, {{"name", "y@"}}},
        {Format::Policy, "qos-levels", "{name: x@, %}", {}, {{"per-queue-pair", "{max-burst: 64KiB}"}}},
        {Format::Policy, "", "qos-class-names: {%}", {}, {{"a", "1"}, {"9b", "2"}, {"\"a b\"", "3"}, {"\" c\"", "4"}}},
        {Format::Policy, "", "qos-setup: {vlarb-tables: [{%}]}", {}, {{"across", "b"}, {"vl-high-limit", "10"}}},
        {Format::Policy,
         "",
         "qos-setup: {sl2vl-tables: [{%}]}",
         {{"sl2vl-table", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16]"}},
         {{"from", "\"*\""}, {"to", "[\"*\"]"}, {"across", "b"}, {"across-to", "b"}}},
        {Format::Fabric, "ports", "{guid: 0x@, lid: 1, %}", {}, {{"lmc", "0"}}},
        {Format::Devices, "devices", "{name: mlx@, %}", {}, {{"bond", "b@"}, {"netdev", "a@"}}},
    };
    frames.insert(frames.end(), special.begin(), special.end());
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
[storage-nodes, nope]  storage  tenants  storage-nodes  c1  DEFAULT  nobody  !tag x  &anchor x  "\0"
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

class Generator {
public:
    void add(const Frame& frame)
    {
        if (frame.is_of_rows) {
            add_examples(frame);
        }
        with_keys(frame, frame.always);
        for (std::size_t i = 0; i < frame.always.size(); ++i) {
            Values without = frame.always;
            without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
            with_keys(frame, without);
            flush();
            with_values(frame, without, frame.always[i].first, 1);
        }
        for (auto key = frame.keys.begin(); key != frame.keys.end(); ++key) {
            if (!frame.only_combined) {
                with_values(frame, frame.always, key->first, kAtOnce);
            }
            for (auto other = key; other != frame.keys.end(); ++other) {
                pair(frame, *key, *other);
            }
        }
        pair(frame, {"zzz", "1"}, {"zzz", "1"});
        flush();
    }
    std::vector<GeneratedFile> take() { return std::move(files_); }

private:
    // Entries of one file: reading many small ones takes long. Names that are tried stand alone, lest they meet.
    static constexpr std::size_t kAtOnce = 20;

    void with_keys(const Frame& frame, const Values& keys)
    {
        const bool is_entry = !frame.section.empty();
        std::string text;
        if (frame.frame == "%") {
            for (const auto& [key, value] : keys) {
                text += fmt::format("{}: {}\n", key, value);
            }
        } else {
            text = filled(frame.frame, keys_text(keys)) + '\n';
        }
        const auto number = std::to_string(++counter_);
        for (auto at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
            text.replace(at, 1, number);
        }
        if (entries_ == 0) {
            files_.push_back({frame.format, is_entry ? fmt::format("{}:\n", frame.section) : ""});
        }
        files_.back().body += (is_entry ? "  - " : "") + text;
        entries_ = is_entry && entries_ + 1 < kAtOnce ? entries_ + 1 : 0;
    }
    void flush() { entries_ = 0; }

    // They need another key, or an earlier file.
    static bool is_excused(std::string_view key) { return key == "remove" || key == "lmc"; }
    // Each key with what its row gives as an example, in a file of its own.
    void add_examples(const Frame& frame)
    {
        for (const auto& key : frame.keys) {
            if (key.second.empty()) {
                continue;    // refused here
            }
            Values keys = frame.always;
            keys.push_back(key);
            with_keys(frame, keys);
            flush();
            files_.back().is_example = !is_excused(key.first);
        }
    }

    void with_values(const Frame& frame, Values keys, const std::string& key, std::size_t at_once)
    {
        keys.emplace_back(key, "");
        for (const std::string& value : values()) {
            keys.back().second = value;
            with_keys(frame, keys);
            if (at_once == 1) {
                flush();
            }
        }
    }
    // Each key alone, with every other, and twice.
    void pair(const Frame& frame, const Values::value_type& one, const Values::value_type& other)
    {
        Values keys = frame.always;
        keys.push_back(one);
        with_keys(frame, keys);
        keys.push_back(other);
        with_keys(frame, keys);
    }

    std::vector<GeneratedFile> files_;
    std::size_t entries_ = 0;    // in the last file, if it takes more
    std::size_t counter_ = 0;
};

}    // namespace

const char* const kGeneratedContext = "qos-levels: [{name: DEFAULT}, {name: storage, schedule: {}}]\n"
                                      "scheduling-nodes: [{name: tenants}]\n"
                                      "port-groups: [{name: storage-nodes, node-type: CA}]\n"
                                      "qos-class-names: {c1: 1}\n";

const std::vector<GeneratedFile>& generated_files()
{
    static const std::vector<GeneratedFile> kFiles = [] {
        std::vector<Frame> frames;
        std::vector<const keys::Object*> seen;
        for (std::size_t i = 0; i < keys::kFormats.size(); ++i) {
            add_objects(*keys::kFormats[i].document, {static_cast<Format>(i), "", "%"}, seen, frames);
        }
        add_special_frames(frames);
        Generator generator;
        for (const Frame& frame : frames) {
            generator.add(frame);
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
