// An ordered map whose copies share what they have in common: a copy costs nothing, and a change of one of them copies
// the few nodes on the way to it.
//
//     before:  d            after erasing e:   d'        Of the two, only d' and g' are not shared.
//             ┌┴┐                             ┌┴┐
//             b g                             b g'
//             │┌┴┐                              │
//            ...e h                             h
//
// A treap whose priorities are hashes of a running number, so that no order of keys makes it deep. Nodes never change
// once they are shared: copies may be read and destroyed by several threads at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rdmaqos {

template <typename Key, typename Value>
class SharedMap {
    struct Node;
    using Link = std::shared_ptr<const Node>;
    struct Node {
        std::pair<const Key, Value> entry;
        std::uint64_t priority;
        Link left;
        Link right;
    };

public:
    using value_type = std::pair<const Key, Value>;

    class const_iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = SharedMap::value_type;
        using difference_type = std::ptrdiff_t;
        using pointer = const value_type*;
        using reference = const value_type&;

        const_iterator() = default;
        reference operator*() const { return way_.back()->entry; }
        pointer operator->() const { return &way_.back()->entry; }
        const_iterator& operator++()
        {
            const Node* node = way_.back();
            way_.pop_back();
            descend(node->right.get());
            return *this;
        }
        const_iterator operator++(int)
        {
            const_iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const const_iterator& a, const const_iterator& b) { return a.at() == b.at(); }

    private:
        friend class SharedMap;
        [[nodiscard]] const Node* at() const { return way_.empty() ? nullptr : way_.back(); }
        void descend(const Node* node)
        {
            for (; node != nullptr; node = node->left.get()) {
                way_.push_back(node);
            }
        }

        std::vector<const Node*> way_;    // the node, below those that come after it
    };
    using iterator = const_iterator;

    SharedMap() = default;
    SharedMap(std::initializer_list<value_type> entries)
    {
        for (const auto& [key, value] : entries) {
            insert_or_assign(key, value);
        }
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] const_iterator begin() const
    {
        const_iterator first;
        first.descend(root_.get());
        return first;
    }
    [[nodiscard]] const_iterator end() const { return {}; }

    // nullptr: it is not there. Valid as long as a copy that has it.
    [[nodiscard]] const Value* find(const Key& key) const
    {
        const Node* node = root_.get();
        while (node != nullptr && (key < node->entry.first || node->entry.first < key)) {
            node = key < node->entry.first ? node->left.get() : node->right.get();
        }
        return node == nullptr ? nullptr : &node->entry.second;
    }
    [[nodiscard]] bool contains(const Key& key) const { return find(key) != nullptr; }
    [[nodiscard]] const Value& at(const Key& key) const
    {
        const Value* value = find(key);
        if (value == nullptr) {
            throw std::out_of_range("SharedMap::at");
        }
        return *value;
    }

    void insert_or_assign(const Key& key, Value value)
    {
        const bool is_new = !contains(key);
        size_ += is_new ? 1 : 0;
        root_ = is_new ? with(root_, key, std::move(value), next_priority()) : assigned(root_, key, std::move(value));
    }
    void erase(const Key& key)
    {
        if (contains(key)) {
            root_ = without(root_, key);
            --size_;
        }
    }
    void clear()
    {
        root_.reset();
        size_ = 0;
    }

    friend bool operator==(const SharedMap& a, const SharedMap& b)
    {
        return a.size_ == b.size_ && (a.root_ == b.root_ || std::equal(a.begin(), a.end(), b.begin()));
    }

    // With a std::map, say.
    template <typename Other>
    friend bool operator==(const SharedMap& a, const Other& b) requires requires
    {
        typename Other::mapped_type;
    }
    {
        return a.size_ == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    // splitmix64
    std::uint64_t next_priority()
    {
        std::uint64_t hash = made_ += 0x9e3779b97f4a7c15U;
        hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
        hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
        return hash ^ (hash >> 31U);
    }

    static Link make(const Node& like, Link left, Link right)
    {
        return std::make_shared<const Node>(Node{like.entry, like.priority, std::move(left), std::move(right)});
    }

    static Link assigned(const Link& node, const Key& key, Value value)
    {
        if (key < node->entry.first) {
            return make(*node, assigned(node->left, key, std::move(value)), node->right);
        }
        if (node->entry.first < key) {
            return make(*node, node->left, assigned(node->right, key, std::move(value)));
        }
        return std::make_shared<const Node>(Node{{key, std::move(value)}, node->priority, node->left, node->right});
    }

    static Link with(const Link& node, const Key& key, Value value, std::uint64_t priority)
    {
        if (node == nullptr || node->priority < priority) {
            auto [left, right] = split(node, key);
            return std::make_shared<const Node>(
                Node{{key, std::move(value)}, priority, std::move(left), std::move(right)});
        }
        return key < node->entry.first ? make(*node, with(node->left, key, std::move(value), priority), node->right)
                                       : make(*node, node->left, with(node->right, key, std::move(value), priority));
    }

    // Those below the key, which is not there, and those above it.
    static std::pair<Link, Link> split(const Link& node, const Key& key)
    {
        if (node == nullptr) {
            return {};
        }
        if (node->entry.first < key) {
            auto [left, right] = split(node->right, key);
            return {make(*node, node->left, std::move(left)), std::move(right)};
        }
        auto [left, right] = split(node->left, key);
        return {std::move(left), make(*node, std::move(right), node->right)};
    }

    static Link without(const Link& node, const Key& key)
    {
        if (key < node->entry.first) {
            return make(*node, without(node->left, key), node->right);
        }
        if (node->entry.first < key) {
            return make(*node, node->left, without(node->right, key));
        }
        return merged(node->left, node->right);
    }

    // All of `left` come before all of `right`.
    static Link merged(const Link& left, const Link& right)
    {
        if (left == nullptr || right == nullptr) {
            return left == nullptr ? right : left;
        }
        return left->priority > right->priority ? make(*left, left->left, merged(left->right, right))
                                                : make(*right, merged(left, right->left), right->right);
    }

    Link root_;
    std::size_t size_ = 0;
    std::uint64_t made_ = 0;
};

}    // namespace rdmaqos
