#include "tools/rdma-qosctl/import/partition_buffer.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rdmaqos {
namespace {

constexpr bool is_stripped(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

}    // namespace

PartitionBuffer::PartitionBuffer(std::shared_ptr<const SourceFile> source) : source_(std::move(source))
{
    lines_.push_back(0);
    for (std::size_t at = 0; (at = source_->text.find('\n', at)) != std::string::npos;) {
        lines_.push_back(++at);
    }
}

bool PartitionBuffer::next()
{
    const std::string& text = source_->text;
    if (next_ >= text.size()) {
        return false;
    }
    begin_ = next_;
    const std::size_t feed = std::min(text.find('\n', begin_), text.size() - 1);
    end_ = std::min(feed + 1 - begin_, kLongestPart);
    for (std::size_t i = 0; i < end_; ++i) {
        bytes_.at(i) = text[begin_ + i];
        origins_.at(i) = begin_ + i;
    }
    bytes_.at(end_) = '\0';
    origins_.at(end_) = begin_ + end_ - (text[begin_ + end_ - 1] == '\n' ? 1U : 0U);
    next_ = begin_ + end_;
    return true;
}

std::string_view PartitionBuffer::part() const
{
    const std::string_view whole = std::string_view(source_->text).substr(begin_, next_ - begin_);
    return whole.substr(0, whole.find('\n'));
}

std::string_view PartitionBuffer::before_part() const
{
    const std::size_t line = *std::prev(std::upper_bound(lines_.begin(), lines_.end(), begin_));
    return std::string_view(source_->text).substr(line, begin_ - line);
}

std::string_view PartitionBuffer::rest_of_line() const
{
    const std::string_view rest = std::string_view(source_->text).substr(begin_, 2 * kLongestPart);
    return rest.substr(0, rest.find('\n'));
}

std::size_t PartitionBuffer::skip_blanks(std::size_t at) const
{
    while (is_stripped(byte(at))) {
        ++at;
    }
    return at;
}

std::optional<std::size_t> PartitionBuffer::cut(std::size_t at, char c)
{
    for (; byte(at) != '\0'; ++at) {
        if (byte(at) == c) {
            bytes_.at(at) = '\0';
            return at;
        }
    }
    return std::nullopt;
}

std::string_view PartitionBuffer::text(std::size_t at) const
{
    std::size_t end = at;
    while (byte(end) != '\0') {
        ++end;
    }
    return view(at, end);
}

PartitionBuffer::Token PartitionBuffer::take_token(std::size_t at)
{
    Token token;
    const auto equals = cut(at, '=');
    std::size_t end = equals.value_or(at);
    while (!equals && byte(end) != '\0') {
        ++end;
    }
    token.name = trim(at, end);
    token.text = token.name;
    if (equals) {
        const std::size_t begin = *equals + 1;
        end = begin;
        while (byte(end) != '\0') {
            ++end;
        }
        token.value = trim(begin, end);
        token.text = {token.name.data(),
                      static_cast<std::size_t>(token.value->data() - token.name.data()) + token.value->size()};
    }
    token.next = end + 1;
    return token;
}

std::string_view PartitionBuffer::view(std::size_t begin, std::size_t end) const
{
    return std::string_view(source_->text).substr(std::min(origin(begin), source_->text.size()), end - begin);
}

std::string_view PartitionBuffer::trim(std::size_t begin, std::size_t end)
{
    begin = skip_blanks(begin);
    while (end > begin && is_stripped(byte(end - 1))) {
        bytes_.at(--end) = '\0';
    }
    return view(begin, std::max(begin, end));
}

Location PartitionBuffer::locate(std::string_view view) const
{
    const auto offset = static_cast<std::size_t>(view.data() - source_->text.data());
    const auto line = std::prev(std::upper_bound(lines_.begin(), lines_.end(), offset));
    return {source_, static_cast<std::uint32_t>(line - lines_.begin()) + 1,
            static_cast<std::uint32_t>(offset - *line) + 1,
            static_cast<std::uint32_t>(std::max<std::size_t>(view.size(), 1))};
}

Location PartitionBuffer::start() const
{
    return source_->text.empty() ? Location{source_, 0, 0, 1} : Location{source_, 1, 1, 1};
}

}    // namespace rdmaqos
