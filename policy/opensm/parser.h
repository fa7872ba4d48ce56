// Tokens of a native OpenSM policy file -> File.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "policy/opensm/file.h"
#include "policy/opensm/reader.h"
#include "policy/text/context.h"

namespace rdmaqos::opensm {

// Why OpenSM stops, in its words, and what helps, in ours.
struct Refusal {
    Mark at;
    std::string message;    // "syntax error"
    std::string hint;
};

struct Parsed {
    std::shared_ptr<File> file;    // never null
    // OpensmMode::Strict: the syntax error; the file holds what stands before it. In OpensmMode::Default all errors are
    // in the context, and what is wrong is left out.
    std::optional<Refusal> refusal;
};

// Reads file 0 of the context.
[[nodiscard]] Parsed parse_opensm_file(reader::Context& context, OpensmMode mode);

}    // namespace rdmaqos::opensm
