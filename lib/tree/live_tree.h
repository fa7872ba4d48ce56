// compile() for principals that come and go: what does not change is not compiled again.
//
//     /
//     ├── /tenants                         What a principal touches that comes or goes:
//     │   └── /tenants/rpc                   its leaf, which is like `others` of its class,
//     │       ├── /tenants/rpc/others        and what is said of the class's budget.
//     │       ├── /tenants/rpc/pid:17        The leaf of one that goes is given to the first of those that wait for
//     │       └── /tenants/rpc/pid:42  <──   one in `others`, of this class or, if the device is full, of another.
//     └── /bulk                            Nothing beside, above or below changes: weights of siblings are all 1.
//
// That holds where a principal is one leaf directly below a class that is a node on the device (`regular`). For every
// other change all has to be compiled: add() and remove() say so and change nothing. After each step the result is what
// compile() makes of the same principals, in the order of their numbers.
//
// Pure. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/tree/compile.h"
#include "lib/tree/element.h"

namespace rdmaqos {

class LiveTree {
public:
    // In the order of arrival.
    using PrincipalNumber = std::uint64_t;
    using Principals = std::map<PrincipalNumber, const Principal*>;

    // Compiles all of it. Whether the tree differs from the one at the last take_changes() or compile(); then what has
    // changed is not known in detail.
    bool compile(CompileInput input, const Principals& principals);

    // The number is larger than all before. False: compile() has to be called instead; nothing has changed.
    [[nodiscard]] bool add(PrincipalNumber number, const Principal& principal);
    [[nodiscard]] bool remove(PrincipalNumber number);

    // Without `principal_leaves`: leaf() has them.
    [[nodiscard]] const Compiled& compiled() const { return compiled_; }
    // Empty for one that is not there yet.
    [[nodiscard]] const ElementPath& leaf(PrincipalNumber number) const;
    // How many share the leaf `others` of a class.
    [[nodiscard]] std::size_t in_others(const ElementPath& class_path) const;

    // Since the last call, or compile().
    [[nodiscard]] ElementChanges take_changes();
    // Those whose leaf has changed since the last call, new ones included.
    [[nodiscard]] std::set<PrincipalNumber> take_moved();

    // What was done so far: how often all was compiled, and how many principals were placed one by one.
    struct Work {
        std::uint64_t compilations = 0;
        std::uint64_t steps = 0;
    };
    [[nodiscard]] const Work& work() const { return work_; }

private:
    struct Class {
        ElementPath path;
        ElementPath others;
        const SpecElement* spec = nullptr;
        bool can_be_local = false;
        std::uint32_t own_leaves = 0;
        std::set<PrincipalNumber> waiting;    // in `others`; only of regular ones
        std::size_t in_others = 0;            // of all
        std::size_t irregular = 0;
    };
    struct Entry {
        std::string class_path;
        std::string segment;    // the first
        ElementPath leaf;
        bool regular = false;
    };

    [[nodiscard]] bool is_regular(const Class& one, const Principal& principal) const;
    [[nodiscard]] Class* find(const std::string& class_path);
    [[nodiscard]] const char* limit_reached(const Class& one) const;
    [[nodiscard]] bool someone_waits() const { return !waiting_classes_.empty() || irregular_waits_; }
    void set_leaf(PrincipalNumber number, Entry& entry, Class& one, const ElementPath& leaf);
    void grow(PrincipalNumber number, Entry& entry, Class& one, const ElementPath& leaf);
    void note(const ElementPath& path);
    void promote(Class& left);
    void wait(PrincipalNumber number, Class& one, bool waits);
    void report_budget(const Class& one);
    void index_classes();
    void index_principals(const Principals& principals, std::vector<ElementPath> leaves);

    std::shared_ptr<const CompileInput> input_;    // without principals; classes point into it, also those of copies
    Compiled compiled_;
    std::uint32_t leaves_ = 0;
    std::uint32_t leaf_limit_ = 0;
    std::unordered_map<std::string, Class> classes_;
    std::unordered_map<std::string, std::size_t> class_position_;    // in the spec
    std::set<std::size_t> budget_findings_;                          // positions of classes that have one
    std::unordered_map<PrincipalNumber, Entry> principals_;
    std::set<std::string> waiting_classes_;    // where regular ones wait
    std::size_t irregular_ = 0;
    bool irregular_waits_ = false;    // somebody waits of whom nothing is known in detail
    ElementChanges before_;           // of what has changed, as it was
    std::set<PrincipalNumber> moved_;
    Work work_;
};

}    // namespace rdmaqos
