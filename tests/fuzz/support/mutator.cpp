#include "tests/fuzz/support/mutator.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/processor_time.h"

namespace rdmaqos::test {
namespace {

using Random = std::mt19937_64;
using std::chrono::steady_clock;

constexpr std::size_t kLongestInput = 64 * 1024;
constexpr std::chrono::seconds kShortRun{3};
// With sanitizers; what is slower than this is not linear.
constexpr std::chrono::seconds kLongestCase{5};    // of processor time, all threads together

// What a reader treats specially.
constexpr std::array<std::string_view, 40> kTokens{"[",      "]",       "{",         "}",
                                                   ":",      ": ",      ",",         "- ",
                                                   "\n",     "\n  ",    "#",         "&a ",
                                                   "*a",     "<<: ",    "!!str ",    "| ",
                                                   "> ",     "---\n",   "...\n",     "\"",
                                                   "'",      "\t",      "\xff",      "\xc3",
                                                   "0x",     "-1",      "0",         "18446744073709551616",
                                                   "1e9",    "Gbps",    "0Mbps",     "~",
                                                   "null",   "yes",     "unlimited", "remove: true",
                                                   "name: ", "share: ", "level",     "\\x00"};

std::size_t below(Random& random, std::size_t limit)
{
    return limit == 0 ? 0 : static_cast<std::size_t>(random() % limit);
}

void insert_token(Random& random, std::string& text)
{
    text.insert(below(random, text.size() + 1), kTokens.at(below(random, kTokens.size())));
}

void flip_byte(Random& random, std::string& text)
{
    if (!text.empty()) {
        text[below(random, text.size())] = static_cast<char>(random() & 0xFFU);
    }
}

void erase_span(Random& random, std::string& text)
{
    text.erase(below(random, text.size() + 1), below(random, 40));
}

void repeat_span(Random& random, std::string& text)
{
    const auto at = below(random, text.size() + 1);
    const std::string span = text.substr(at, 1 + below(random, 60));
    for (auto times = 1 + below(random, 30); times > 0 && text.size() < kLongestInput; --times) {
        text.insert(at, span);
    }
}

void splice(Random& random, std::string& text, const std::vector<std::string>& seeds)
{
    const std::string& other = seeds.at(below(random, seeds.size()));
    text = text.substr(0, below(random, text.size() + 1)) + other.substr(below(random, other.size() + 1));
}

// Lines keep a text closer to well-formed than bytes do.
void move_line(Random& random, std::string& text)
{
    const auto begin = text.find('\n', below(random, text.size() + 1));
    if (begin == std::string::npos) {
        return;
    }
    const auto end = text.find('\n', begin + 1);
    const std::string line = text.substr(begin, end == std::string::npos ? end : end - begin);
    text.erase(begin, line.size());
    const auto at = text.find('\n', below(random, text.size() + 1));
    text.insert(at == std::string::npos ? text.size() : at, line);
}

std::string mutate(Random& random, const std::vector<std::string>& seeds)
{
    std::string text = seeds.at(below(random, seeds.size()));
    for (auto rounds = 1 + below(random, 6); rounds > 0; --rounds) {
        switch (random() % 6) {
        case 0:
            flip_byte(random, text);
            break;
        case 1:
            erase_span(random, text);
            break;
        case 2:
            repeat_span(random, text);
            break;
        case 3:
            splice(random, text, seeds);
            break;
        case 4:
            move_line(random, text);
            break;
        default:
            insert_token(random, text);
            break;
        }
        text.resize(std::min(text.size(), kLongestInput));
    }
    return text;
}

// The input under test, in a file that is there after a crash too. One open file that is overwritten: opening it anew
// for each input would make the file system wait for the disk.
class LastInput {
public:
    explicit LastInput(std::filesystem::path path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {}
    ~LastInput() { std::fclose(file_); }
    LastInput(const LastInput&) = delete;
    LastInput& operator=(const LastInput&) = delete;

    void store(const std::string& text)
    {
        std::rewind(file_);
        const auto written = std::fwrite(text.data(), 1, text.size(), file_);
        EXPECT_EQ(written, text.size()) << path_;
        std::fflush(file_);
        EXPECT_EQ(ftruncate(fileno(file_), static_cast<off_t>(text.size())), 0) << path_;
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    std::FILE* file_;
};

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise)
{
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

}    // namespace

std::vector<std::string> corpus(const std::vector<std::string>& folders, const std::string& extension)
{
    std::vector<std::string> texts;
    for (const std::string& folder : folders) {
        const auto root = std::filesystem::path(RDMAQOS_SOURCE_DIR) / folder;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
            if (entry.is_regular_file() && entry.path().extension() == extension) {
                std::ifstream file(entry.path(), std::ios::binary);
                texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
            }
        }
    }
    EXPECT_FALSE(texts.empty());
    return texts;
}

void fuzz(const std::string& name, const std::vector<std::string>& seeds,
          const std::function<void(const std::string&)>& target)
{
    const auto duration = std::chrono::seconds(
        number_from_environment("RDMAQOS_FUZZ_SECONDS", static_cast<std::uint64_t>(kShortRun.count())));
    const bool is_long = std::getenv("RDMAQOS_FUZZ_SECONDS") != nullptr;
    const auto seed = number_from_environment(
        "RDMAQOS_FUZZ_SEED",
        is_long ? static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) : 1);
    Random random(seed);
    LastInput last(std::filesystem::absolute(fmt::format("fuzz-{}.input", name)));
    std::uint64_t cases = 0;
    const auto end = steady_clock::now() + duration;
    // However slow the machine is: the corpus, and something beyond it.
    while ((cases <= seeds.size() || steady_clock::now() < end) && !::testing::Test::HasFailure()) {
        const std::string text = cases < seeds.size() ? seeds[cases] : mutate(random, seeds);
        last.store(text);
        const auto started = time_of_clock(CLOCK_PROCESS_CPUTIME_ID);
        target(text);
        EXPECT_LT(time_of_clock(CLOCK_PROCESS_CPUTIME_ID) - started, kLongestCase) << "took too long";
        ++cases;
    }
    if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << "the input is in " << last.path() << ", from seed " << seed;
        return;
    }
    std::filesystem::remove(last.path());
    ::testing::Test::RecordProperty("cases", std::to_string(cases));
    fmt::print("{}: {} inputs from seed {}\n", name, cases, seed);
}

}    // namespace rdmaqos::test
