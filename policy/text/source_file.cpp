#include "policy/text/source_file.h"

#include "lib/base/file.h"

namespace rdmaqos::reader {
namespace {

Result<std::shared_ptr<const SourceFile>> as_source(Result<std::string> text, std::string name)
{
    if (!text) {
        return fail(std::move(text).error());
    }
    return std::make_shared<const SourceFile>(SourceFile{std::move(name), std::move(*text)});
}

}    // namespace

Result<std::shared_ptr<const SourceFile>> load(const std::filesystem::path& path, std::string name)
{
    return as_source(read_regular_file(path, kLargestText), std::move(name));
}

Result<std::shared_ptr<const SourceFile>> load(int fd, std::string name)
{
    return as_source(read_regular_file(fd, kLargestText), std::move(name));
}

void add_unreadable(Diagnostics& diagnostics, const std::string& name, const Error& error)
{
    const auto file = std::make_shared<const SourceFile>(SourceFile{name, {}});
    diagnostics.error(Location{file, 0, 0, 1}, to_string(error));
}

}    // namespace rdmaqos::reader
