// What a native OpenSM policy file says, as located values: every section in file order, nothing resolved, nothing
// checked but its grammar. The reader (reader.h) makes a Policy of it, the importer a YAML text.
//
// The grammar, the tokens and their oddities are those of OpenSM 3.3.24 (docs/policy-reference.md, "OpenSM's native
// file"). Numbers are kept as they were spelled beside their value, since `010` is 8 and `0x8001` a P_Key of
// partition 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/interval_set.h"
#include "policy/model/ulp_forms.h"
#include "policy/text/ast.h"

namespace rdmaqos::opensm {

using reader::Position;

// Where OpenSM's lexer stands when its parser acts on something, which is where its messages point: behind the token
// read last, 1-based, in bytes. In the order of reading.
struct Mark {
    std::uint32_t line = 0;
    std::uint32_t column = 0;

    friend auto operator<=>(const Mark&, const Mark&) = default;
};

// `name:`, `use:`, an item of `source:`, ... as OpenSM keeps it: the parts joined without the unquoted blanks between
// them (in `use:` with them), quotes taken off, blanks at both ends stripped.
struct Text {
    Position at;    // from its first byte to its last, at most to the end of the line
    std::string value;
    std::string_view spelled;    // as it stands in the file, quotes and blanks included
    bool lost_blanks = false;    // unquoted blanks or line ends that stood inside are not in `value`
    bool is_quoted = false;      // at least a part was
    Mark acted;
};

struct Number {
    Position at;
    std::uint64_t value = 0;
    std::string_view spelled;
    bool is_octal = false;        // more than one digit, the first a 0: "010" is 8
    bool is_too_large = false;    // above 2^64 - 1, which is its value then
    Mark acted;                   // of a number that stands alone
};

// "7" or "7-9". OpenSM swaps reversed bounds.
struct Range {
    Number first;
    std::optional<Number> last;
    Position at;    // of both

    [[nodiscard]] Interval interval() const;
};

[[nodiscard]] IntervalSet intervals_of(const std::vector<Range>& ranges);

// As of mask_pkeys().
[[nodiscard]] IntervalSet pkeys_of(const std::vector<Range>& ranges);

// A tag that may stand once and stands again.
struct Repeated {
    std::string_view tag;    // "name"
    Position at;
    Mark acted;
};

enum class NodeTypeWord : std::uint8_t { Ca, Switch, Router, All, Self };

struct Group {
    Position at;    // the word `port-group`
    std::optional<Text> name;
    std::optional<Text> use;
    std::vector<Range> port_guids;
    std::vector<Text> port_names;
    std::vector<Range> pkeys;
    std::vector<Text> partitions;
    std::vector<NodeTypeWord> node_types;
    std::vector<Repeated> repeated;
    std::optional<Mark> ended;    // empty: `end-port-group` was not reached
};

struct Level {
    Position at;
    std::optional<Text> name;
    std::optional<Text> use;
    std::optional<Number> sl;
    std::optional<Number> mtu_limit;
    std::optional<Number> rate_limit;
    std::optional<Number> packet_life;
    std::vector<Range> path_bits;
    std::vector<Range> pkeys;
    std::vector<Repeated> repeated;
    std::optional<Mark> ended;
};

struct Rule {
    Position at;
    std::optional<Text> use;
    std::optional<Text> level_name;
    std::vector<Text> source;
    std::vector<Text> destination;
    std::vector<Range> qos_class;
    std::vector<Range> service_id;
    std::vector<Range> pkey;
    std::vector<Repeated> repeated;
    std::optional<Mark> ended;
};

// "sdp, port-num 10000-20000 : 2"
struct UlpEntry {
    Position at;    // "sdp, port-num"
    Ulp ulp = Ulp::Default;
    std::optional<UlpCriterion> criterion;
    std::vector<Range> ranges;
    Mark acted;                  // on the ranges, or on the word where there are none
    std::optional<Number> sl;    // empty: the file ends or is wrong before it
};

struct VlarbPair {
    Number vl;
    Number weight;
};

struct VlarbScope {
    Position at;
    std::vector<Text> group;
    std::vector<Text> across;
    std::vector<VlarbPair> high;
    std::vector<VlarbPair> low;
    std::optional<Number> high_limit;    // the last one stated
    std::optional<Mark> ended;
};

// Ports `from:` and `to:`.
struct PortList {
    Position at;         // the tag
    bool all = false;    // `*`
    std::vector<Range> ranges;
    Mark acted;
};

struct Sl2vlTable {
    Position at;    // the tag
    std::vector<Number> values;
    Mark acted;
};

struct Sl2vlScope {
    Position at;
    std::vector<Text> group;
    std::vector<Text> across;
    std::vector<Text> across_from;
    std::vector<Text> across_to;
    std::vector<PortList> from;
    std::vector<PortList> to;
    std::vector<Sl2vlTable> tables;    // more than one is an error
    std::optional<Mark> ended;
};

struct Setup {
    Position at;
    std::vector<VlarbScope> vlarb;
    std::vector<Sl2vlScope> sl2vl;
};

enum class SectionKind : std::uint8_t { Ulps, Groups, Setup, Levels, Rules };

// `count` objects of one kind from `first` on, in the vector of File for that kind.
struct Section {
    SectionKind kind = SectionKind::Groups;
    Position at;    // its first keyword
    std::size_t first = 0;
    std::size_t count = 0;
};

// Objects of every kind stand in file order over all sections, which is the order that counts in OpenSM.
struct File {
    std::shared_ptr<const SourceFile> source;    // `spelled` points into its text
    std::vector<Section> sections;
    std::vector<UlpEntry> ulps;
    std::vector<Group> groups;
    std::vector<Setup> setups;
    std::vector<Level> levels;
    std::vector<Rule> rules;
};

}    // namespace rdmaqos::opensm
