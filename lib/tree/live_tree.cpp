#include "lib/tree/live_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/tree/compile_draft.h"

namespace rdmaqos {
namespace {

std::optional<Element> element_at(const Tree& tree, const ElementPath& path)
{
    const auto found = tree.find(path);
    return found == tree.end() ? std::nullopt : std::optional(found->second);
}

// Its principals have no rate of their own but a cap.
bool has_plain_principals(const SpecElement& element, const Capabilities& capabilities)
{
    const RateSpec& each = element.principal;
    const bool is_capped = each.max_rate || each.max_part;
    return each.share == 1U && !each.has_guarantee() && (capabilities.rate_caps || !is_capped);
}

}    // namespace

LiveTree::Class* LiveTree::find(const std::string& class_path)
{
    const auto found = classes_.find(class_path);
    return found == classes_.end() ? nullptr : &found->second;
}

bool LiveTree::compile(CompileInput input, const Principals& principals)
{
    ++work_.compilations;
    Tree before = std::move(compiled_.tree);
    for (auto& [path, element] : before_) {
        if (element) {
            before.insert_or_assign(path, std::move(*element));
        } else {
            before.erase(path);
        }
    }
    before_.clear();
    input.principals.clear();
    input.principals.reserve(principals.size());
    for (const auto& [number, principal] : principals) {
        input.principals.push_back(*principal);
    }
    compiled_ = rdmaqos::compile(input);
    input.principals = {};
    input_ = std::make_shared<const CompileInput>(std::move(input));
    const auto& capabilities = input_->capabilities;
    leaf_limit_ = capabilities.max_leaves - std::min(capabilities.max_leaves, input_->leaf_reserve);
    leaves_ = leaf_count(compiled_.tree);
    index_classes();
    index_principals(principals, std::exchange(compiled_.principal_leaves, {}));
    return compiled_.tree != before;
}

void LiveTree::index_classes()
{
    classes_.clear();
    class_position_.clear();
    waiting_classes_.clear();
    budget_findings_.clear();
    irregular_ = 0;
    irregular_waits_ = false;
    const auto& capabilities = input_->capabilities;
    for (const auto& element : input_->spec.elements) {
        const auto leaves = compiled_.classes.find(element.path);
        if (!element.is_class || leaves == compiled_.classes.end()) {
            continue;
        }
        Class& one = classes_[element.path.text()];
        one.path = element.path;
        one.others = leaves->second.shared_leaf;
        one.spec = &element;
        const auto node = compiled_.tree.find(element.path);
        const auto others = compiled_.tree.find(one.others);
        one.can_be_local = element.fair_by != FairBy::None && capabilities.shares && capabilities.max_share > 0 &&
                           node != compiled_.tree.end() && node->second.kind == ElementKind::Node &&
                           others != compiled_.tree.end() && others->second.parent == element.path &&
                           has_plain_principals(element, capabilities);
        class_position_.emplace(element.path.text(), class_position_.size());
    }
    for (const auto& finding : compiled_.findings) {
        if (finding.kind == FindingKind::BudgetExceeded) {
            budget_findings_.insert(class_position_.at(finding.path.text()));
        }
    }
}

void LiveTree::index_principals(const Principals& principals, std::vector<ElementPath> leaves)
{
    auto gone = std::exchange(principals_, {});
    std::erase_if(moved_, [&](PrincipalNumber number) { return !principals.contains(number); });
    std::size_t index = 0;
    for (const auto& [number, principal] : principals) {
        ElementPath& leaf = leaves.at(index++);
        Entry& entry = principals_[number];
        entry.class_path = principal->class_path.text();
        entry.leaf = std::move(leaf);
        const auto before = gone.find(number);
        if (before == gone.end() || before->second.leaf != entry.leaf) {
            moved_.insert(number);
        }
        Class* one = find(entry.class_path);
        entry.segment = principal->segments.empty() ? std::string() : principal->segments.front();
        entry.regular = one != nullptr && one->can_be_local && principal->segments.size() == 1 &&
                        !principal->max_rate && entry.segment != compiling::kOthers &&
                        !compiled_.requested.contains(entry.leaf);
        irregular_ += entry.regular ? 0 : 1;
        if (one == nullptr) {
            continue;
        }
        const bool waits = entry.leaf == one->others;
        one->irregular += entry.regular ? 0 : 1;
        one->in_others += waits ? 1 : 0;
        one->own_leaves += waits ? 0 : 1;
        if (waits && entry.regular) {
            wait(number, *one, true);
        }
        irregular_waits_ = irregular_waits_ || (waits && !entry.regular);
    }
}

void LiveTree::wait(PrincipalNumber number, Class& one, bool waits)
{
    if (waits) {
        one.waiting.insert(number);
        waiting_classes_.insert(one.path.text());
        return;
    }
    one.waiting.erase(number);
    if (one.waiting.empty()) {
        waiting_classes_.erase(one.path.text());
    }
}

bool LiveTree::is_regular(const Class& one, const Principal& principal) const
{
    return one.can_be_local && one.irregular == 0 && principal.segments.size() == 1 && !principal.max_rate &&
           !compiled_.tree.contains(one.path.child(principal.segments.front()));
}

// As compile() asks it of the next principal, in the same order.
const char* LiveTree::limit_reached(const Class& one) const
{
    if (one.spec->leaf_budget && one.own_leaves >= *one.spec->leaf_budget) {
        return compiling::kBudgetUsedUp;
    }
    if (leaves_ + 1 > leaf_limit_) {
        return compiling::kLeavesUsedUp;
    }
    return compiled_.tree.size() + 1 > input_->capabilities.max_elements ? compiling::kElementsUsedUp : nullptr;
}

void LiveTree::note(const ElementPath& path)
{
    before_.try_emplace(path, element_at(compiled_.tree, path));
}

void LiveTree::set_leaf(PrincipalNumber number, Entry& entry, Class& one, const ElementPath& leaf)
{
    entry.leaf = leaf;
    moved_.insert(number);
    const bool waits = leaf == one.others;
    one.in_others += waits ? 1 : 0;
    one.own_leaves += waits ? 0 : 1;
    wait(number, one, waits);
}

// A leaf of its own.
void LiveTree::grow(PrincipalNumber number, Entry& entry, Class& one, const ElementPath& leaf)
{
    note(leaf);
    compiled_.tree.emplace(leaf, compiled_.tree.at(one.others));
    ++leaves_;
    set_leaf(number, entry, one, leaf);
}

bool LiveTree::add(PrincipalNumber number, const Principal& principal)
{
    Class* one = find(principal.class_path.text());
    if (one == nullptr || !is_regular(*one, principal) || (irregular_ != 0 && someone_waits())) {
        return false;
    }
    ++work_.steps;
    Entry& entry = principals_[number];
    entry.class_path = principal.class_path.text();
    entry.regular = true;
    entry.segment = principal.segments.front();
    if (limit_reached(*one) == nullptr) {
        grow(number, entry, *one, one->path.child(entry.segment));
    } else {
        set_leaf(number, entry, *one, one->others);
    }
    report_budget(*one);
    return true;
}

bool LiveTree::remove(PrincipalNumber number)
{
    const auto found = principals_.find(number);
    if (found == principals_.end()) {
        return false;
    }
    Entry& entry = found->second;
    Class* one = find(entry.class_path);
    if (one == nullptr || !entry.regular || one->irregular != 0 || (irregular_ != 0 && someone_waits())) {
        return false;
    }
    ++work_.steps;
    const bool waited = entry.leaf == one->others;
    if (waited) {
        --one->in_others;
        wait(number, *one, false);
    } else {
        note(entry.leaf);
        compiled_.tree.erase(entry.leaf);
        --leaves_;
        --one->own_leaves;
    }
    principals_.erase(found);
    moved_.erase(number);
    if (!waited) {
        promote(*one);
    }
    report_budget(*one);
    return true;
}

// The first to come of those that the new room is enough for. Of the class itself that is the first that waits; of
// another, if the device was full and the class's own budget is not used up.
void LiveTree::promote(Class& left)
{
    Class* best = left.waiting.empty() ? nullptr : &left;
    for (const auto& path : waiting_classes_) {
        Class& one = classes_.at(path);
        const bool has_budget = !one.spec->leaf_budget || one.own_leaves < *one.spec->leaf_budget;
        if (has_budget && (best == nullptr || *one.waiting.begin() < *best->waiting.begin())) {
            best = &one;
        }
    }
    if (best == nullptr || limit_reached(*best) != nullptr) {
        return;
    }
    const PrincipalNumber number = *best->waiting.begin();
    Entry& entry = principals_.at(number);
    --best->in_others;
    grow(number, entry, *best, best->path.child(entry.segment));
    if (best != &left) {
        report_budget(*best);
    }
}

// Where the class's finding is or should be among all.
void LiveTree::report_budget(const Class& one)
{
    const std::size_t position = class_position_.at(one.path.text());
    const auto before = std::distance(budget_findings_.begin(), budget_findings_.lower_bound(position));
    const auto place = compiled_.findings.begin() + static_cast<std::ptrdiff_t>(compiled_.fixed_findings) + before;
    const bool is_there = budget_findings_.contains(position);
    if (one.waiting.empty()) {
        if (is_there) {
            compiled_.findings.erase(place);
            budget_findings_.erase(position);
        }
        return;
    }
    const char* limit = limit_reached(one);
    Finding finding = compiling::budget_exceeded(
        *one.spec, {one.own_leaves, static_cast<std::uint32_t>(one.waiting.size()), limit, one.others}, *input_);
    if (is_there) {
        *place = std::move(finding);
    } else {
        compiled_.findings.insert(place, std::move(finding));
        budget_findings_.insert(position);
    }
}

const ElementPath& LiveTree::leaf(PrincipalNumber number) const
{
    static const ElementPath kNowhere;
    const auto found = principals_.find(number);
    return found == principals_.end() ? kNowhere : found->second.leaf;
}

std::size_t LiveTree::in_others(const ElementPath& class_path) const
{
    const auto found = classes_.find(class_path.text());
    return found == classes_.end() ? 0 : found->second.in_others;
}

ElementChanges LiveTree::take_changes()
{
    ElementChanges changes;
    for (auto& [path, before] : before_) {
        auto now = element_at(compiled_.tree, path);
        if (now != before) {
            changes.emplace(path, std::move(now));
        }
    }
    before_.clear();
    return changes;
}

std::set<LiveTree::PrincipalNumber> LiveTree::take_moved()
{
    return std::exchange(moved_, {});
}

}    // namespace rdmaqos
