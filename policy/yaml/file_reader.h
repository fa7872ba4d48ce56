// What the readers of single files (fabric, settings, simulation) have in common.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "policy/text/read_result.h"
#include "policy/text/source_file.h"
#include "policy/yaml/fields.h"
#include "policy/yaml/sections.h"
#include "policy/yaml/yaml_reader.h"

namespace rdmaqos::reader {

// `read` is T(Context&, const Node& document).
template <typename T, typename Read>
[[nodiscard]] ReadResult<T> read_single(std::shared_ptr<const SourceFile> source, Read read)
{
    ReadResult<T> result;
    Context context({std::move(source)}, result.diagnostics);
    if (const auto document = read_yaml(context, 0)) {
        check_version(context, 0, *document);
        T value;
        if (document->kind != NodeKind::Missing) {
            value = read(context, *document);
        }
        if (!context.has_errors()) {
            result.value = std::make_shared<const T>(std::move(value));
        }
    }
    result.diagnostics.sort_by_location();
    result.diagnostics.append(context.take_remarks());
    return result;
}

template <typename T, typename Read>
[[nodiscard]] ReadResult<T> read_file(const std::filesystem::path& path, Read read)
{
    auto source = load(path, path.string());
    if (!source) {
        ReadResult<T> result;
        add_unreadable(result.diagnostics, path.string(), source.error());
        return result;
    }
    return read_single<T>(std::move(*source), std::move(read));
}

// A file that is not there gives the default value.
template <typename T, typename Read>
[[nodiscard]] ReadResult<T> read_optional_file(const std::filesystem::path& path, Read read)
{
    std::error_code error;
    if (std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found) {
        return {std::make_shared<const T>(), {}};
    }
    return read_file<T>(path, std::move(read));
}

}    // namespace rdmaqos::reader
