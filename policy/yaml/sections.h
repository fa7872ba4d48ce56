// The sections of all policy files, merged: what build.h turns into a Policy.
//
// Named objects merge by name and key: a later file's key replaces an earlier one's, `key: null` takes it back, and
// `remove: true` takes back the object. The mappings `schedule`, `responder` and `per-queue-pair` merge key by key;
// everything else, `allow` and every list included, is replaced as a whole. Rules and ulps are concatenated. Overrides
// are put into the merged levels last (level_overrides.h).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/keys/key.h"
#include "policy/text/ast.h"
#include "policy/text/context.h"

namespace rdmaqos::reader {

enum class NameCase : bool { Ignored, Matters };

struct NamedObject {
    std::string name;    // as first written
    Position name_at;
    Node mapping;    // merged
    bool removed = false;
    bool has_unknown_keys = false;    // what it lacks may be a typing mistake
};

class NamedObjects {
public:
    NamedObjects(const keys::Object& object, NameCase name_case) : object_(&object), case_(name_case) {}

    // Merges one file's list. Reports entries without a name, and names that the file states twice.
    void merge(Context& context, Node list);

    // In the order of first appearance, without removed ones.
    [[nodiscard]] const std::vector<NamedObject>& objects() const { return objects_; }
    [[nodiscard]] NamedObject& object(std::size_t index) { return objects_.at(index); }
    void drop_removed();
    struct Removal {
        std::string name;    // as written where it was removed
        Position at;
    };
    // Where the object of this name was removed, if it was.
    [[nodiscard]] const Position* removed_at(std::string_view name) const;
    // Of objects that no later file defines again; in no order.
    [[nodiscard]] std::vector<Removal> removals() const;
    // As in messages: "qos-level".
    [[nodiscard]] std::string_view kind() const { return object_->name; }
    [[nodiscard]] std::string key_of(std::string_view name) const;

private:
    struct Name {
        std::string_view name;
    };

    [[nodiscard]] std::vector<Name> present() const;
    void merge_one(Context& context, Node entry, std::unordered_map<std::string, Position>& in_this_file);
    void remove(Context& context, const Node& entry, const std::string& key, const Node& name);

    const keys::Object* object_;
    NameCase case_;
    std::vector<NamedObject> objects_;
    std::unordered_map<std::string, std::size_t> index_;
    std::unordered_map<std::string, Removal> removed_;
};

// Entries of `qos-class-names`; names ignore case.
class ClassNames {
public:
    struct Entry {
        Node name;    // of a removed one: where it was removed
        Node number;
        bool removed = false;
    };

    void merge(Context& context, Node names);
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

private:
    std::vector<Entry> entries_;
    std::unordered_map<std::string, std::size_t> index_;
};

// `qos-level-overrides` of one file.
struct OverrideSection {
    Node key;
    Node list;
};

// A value that now stands in the place of a level's own.
struct AppliedOverride {
    std::size_t level = 0;        // index into Sections::levels.objects()
    std::string_view property;    // "max-rate", as in the section
    Position at;                  // of the value
    std::string value;            // in words
    std::string in_place_of;
};

struct Sections {
    Sections();

    NamedObjects groups;
    NamedObjects partitions;
    NamedObjects nodes;
    NamedObjects levels;
    ClassNames class_names;
    std::vector<Node> rules;
    std::vector<Node> ulps;
    std::vector<Node> setups;
    std::vector<Node> transients;              // at most one of each file
    std::vector<OverrideSection> overrides;    // likewise; what is applied is moved out of them
    std::vector<AppliedOverride> applied_overrides;
    std::optional<Position> levels_at;    // the key `qos-levels` of the first file that has one
    // A file could not be read as YAML: what it defines is not known, so unknown names mean nothing.
    bool incomplete = false;
};

// Checks `version` and adds the sections of one file's document to `sections`.
void add_document(Context& context, std::uint32_t file, Node document, Sections& sections);

// All files of the context, merged. `incomplete`: others could not even be opened.
[[nodiscard]] Sections read_sections(Context& context, bool incomplete);

// `version: 1`, in every file of every kind.
void check_version(Context& context, std::uint32_t file, const Node& document);

}    // namespace rdmaqos::reader
