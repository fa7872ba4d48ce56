// docgen SOURCE BUILD: writes what is drawn from tables and documents below BUILD, while the project is built. It is
// not installed.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/file.h"
#include "policy/keys/objects.h"
#include "tools/docgen/page.h"
#include "tools/docgen/schema.h"

namespace rdmaqos::docgen {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path)
{
    auto text = read_regular_file(path, kMaxConfigFileSize);
    if (!text) {
        throw std::runtime_error(to_string(text.error()));
    }
    return std::move(*text);
}

void write(const fs::path& path, const std::string& text)
{
    fs::create_directories(path.parent_path());
    if (const auto written = write_file_atomically(path, text); !written) {
        throw std::runtime_error(to_string(written.error()));
    }
}

void write_pages(const fs::path& source, const fs::path& build)
{
    for (const auto& entry : fs::directory_iterator(source / "docs/man")) {
        if (entry.path().extension() == ".in") {
            write(build / "docs/man" / entry.path().stem(),
                  completed_page(read(entry.path()),
                                 [&source](const std::string& document) { return read(source / document); }));
        }
    }
}

void write_schemas(const fs::path& build)
{
    for (const keys::Format& format : keys::kFormats) {
        write(build / "config" / fmt::format("{}.schema.json", format.schema), schema_of(format).dump(2) + '\n');
    }
    write(build / "tests/libfuzzer/dictionaries/yaml_policy.dict", dictionary_of(*keys::kFormats.begin()));
}

}    // namespace
}    // namespace rdmaqos::docgen

int main(int argc, char** argv)
{
    if (argc != 3) {
        std::fputs("usage: docgen SOURCE BUILD\n", stderr);
        return 2;
    }
    try {
        rdmaqos::docgen::write_pages(argv[1], argv[2]);
        rdmaqos::docgen::write_schemas(argv[2]);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "docgen: {}\n", error.what());
        return 1;
    }
}
