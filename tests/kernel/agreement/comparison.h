// Two transcripts, and the differences between them that are known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos::test::agreement {

// A row of the table in docs/testing.md.
struct KnownDifference {
    std::string probe;     // `*`: any text
    std::string kernel;    // what each says; `...`: any text
    std::string emulator;
    std::string reason;
};

// Whether a pattern is this text. `gap`, which it has once at most, is any text.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view text, std::string_view gap);

// The table's rows: those below the line "<!-- differences -->". Throws std::runtime_error for a row without a reason.
[[nodiscard]] std::vector<KnownDifference> known_differences(std::string_view document);

// A paragraph for each line of the transcripts that differs, or that one of them does not have, and that is not known.
// Empty: they agree. `used`: which rows were needed, by this comparison or one before.
[[nodiscard]] std::vector<std::string> compare(std::string_view kernel, std::string_view emulator,
                                               const std::vector<KnownDifference>& known, std::vector<bool>& used);

// The rows that no comparison needed.
[[nodiscard]] std::vector<std::string> unneeded(const std::vector<KnownDifference>& known,
                                                const std::vector<bool>& used);

// What a newer kernel says other than an older one, as a golden file keeps it: a paragraph for each line. "": they
// agree.
//
//     devx.modify another's number
//       6.1:  EINVAL
//       6.12: EPERM
//
[[nodiscard]] std::string differences(const std::string& older, std::string_view said, const std::string& newer,
                                      std::string_view says);

// Both, and the paragraphs of the second which the first does not have.
[[nodiscard]] std::string merged(const std::string& paragraphs, const std::string& more);

// The transcript of the newer kernel: the older one's, with the paragraphs whose line says there what the older kernel
// says.
[[nodiscard]] std::string with_differences(std::string_view transcript, std::string_view paragraphs);

// The paragraphs that are about no line of these transcripts.
[[nodiscard]] std::vector<std::string> about_nothing(std::string_view paragraphs,
                                                     const std::vector<std::string>& transcripts);

// The names of the lines that differ, known or not.
[[nodiscard]] std::vector<std::string> differing(std::string_view kernel, std::string_view emulator);

}    // namespace rdmaqos::test::agreement
