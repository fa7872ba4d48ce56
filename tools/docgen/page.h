// A part of a document in Markdown as man(7) has it: for the manual pages that say what the documents say.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rdmaqos::docgen {

// From the heading `first` up to the heading `behind`, or to the end where that is empty. Headings with two # become
// sections, those with more become subsections; a row of a table becomes a paragraph with a tag.
[[nodiscard]] std::string page_of(const std::string& markdown, std::string_view first, std::string_view behind);

// A line of Markdown in man(7)'s escapes: `code` and **bold** are bold, *words* in italics, and a link is its text.
[[nodiscard]] std::string roff_of(std::string_view line);

// A page in which each line `.\" docgen: DOCUMENT from "HEADING" [to "HEADING"]` is replaced by that part of DOCUMENT.
[[nodiscard]] std::string completed_page(const std::string& page,
                                         const std::function<std::string(const std::string& document)>& read);

}    // namespace rdmaqos::docgen
