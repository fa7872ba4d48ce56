#include "lib/bus/message.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "tests/support/bus_pair.h"

namespace rdmaqos::bus {
namespace {

using test::LoneBus;

std::string valid_text()
{
    return *rc::gen::map(rc::gen::arbitrary<std::string>(), [](const std::string& text) { return printable(text); });
}

Dict some_dict(int depth);

Value some_value(int depth)
{
    switch (*rc::gen::inRange(0, depth > 0 ? 14 : 11)) {
    case 0:
        return Value(*rc::gen::arbitrary<bool>());
    case 1:
        return Value(*rc::gen::arbitrary<std::uint8_t>());
    case 2:
        return Value(*rc::gen::arbitrary<std::uint16_t>());
    case 3:
        return Value(*rc::gen::arbitrary<std::uint32_t>());
    case 4:
        return Value(*rc::gen::arbitrary<std::uint64_t>());
    case 5:
        return Value(*rc::gen::arbitrary<std::int32_t>());
    case 6:
        return Value(*rc::gen::arbitrary<std::int64_t>());
    case 7:
        return Value(valid_text());
    case 8: {
        std::vector<std::string> texts;
        for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
            texts.push_back(valid_text());
        }
        return Value(texts);
    }
    case 9:
        return Value(ObjectPath{"/org/rdmaqos1/session/" + std::to_string(*rc::gen::inRange(0, 1000))});
    case 10: {
        Triples triples;
        for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
            triples.push_back({valid_text(), valid_text(), valid_text()});
        }
        return Value(triples);
    }
    case 11: {
        Counts counts;
        for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
            counts.emplace_back(valid_text(), *rc::gen::arbitrary<std::uint64_t>());
        }
        return Value(counts);
    }
    case 12: {
        std::vector<Dict> dicts;
        for (int count = *rc::gen::inRange(0, 3); count > 0; --count) {
            dicts.push_back(some_dict(depth - 1));
        }
        return Value(dicts);
    }
    default:
        return Value(some_dict(depth - 1));
    }
}

Dict some_dict(int depth)
{
    Dict dict;
    for (int count = *rc::gen::inRange(0, 5); count > 0; --count) {
        dict.set(valid_text(), some_value(depth));
    }
    return dict;
}

TEST(Message, ReadsWhatWasWritten)
{
    const LoneBus lone;
    EXPECT_TRUE(rc::check("values survive a message", [&] {
        std::vector<Value> values;
        for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
            values.push_back(some_value(3));
        }
        const auto message = lone.written([&](Writer& writer) {
            for (const auto& value : values) {
                writer.put(value);
            }
        });
        const auto read = read_arguments(message.get());
        RC_ASSERT(read.has_value());
        RC_ASSERT(*read == values);
    }));
}

TEST(Message, PassesDescriptors)
{
    const LoneBus lone;
    const auto sent = std::make_shared<UniqueFd>(dup(STDERR_FILENO));
    const auto message = lone.written([&](Writer& writer) { writer.put(FileDescriptor{sent}); });
    const auto read = read_value(message.get());
    ASSERT_TRUE(read) << to_string(read.error());
    const auto* received = read->as<FileDescriptor>();
    ASSERT_NE(received, nullptr);
    struct stat a {};
    struct stat b {};
    ASSERT_EQ(fstat(sent->get(), &a), 0);
    ASSERT_EQ(fstat(received->fd->get(), &b), 0);
    EXPECT_NE(sent->get(), received->fd->get());
    EXPECT_EQ(a.st_ino, b.st_ino);
}

TEST(Message, KeepsTheSignatureOfWhatItDoesNotSupport)
{
    const LoneBus lone;
    const auto message = lone.message();
    ASSERT_GE(sd_bus_message_append(message.get(), "n(is)aiv", 7, 1, "x", 2, 3, 4, "a{ii}", 1, 5, 6), 0);
    ASSERT_GE(sd_bus_message_append(message.get(), "s", "behind"), 0);
    ASSERT_GE(sd_bus_message_seal(message.get(), 1, 0), 0);
    const auto read = read_arguments(message.get());
    ASSERT_TRUE(read) << to_string(read.error());
    const std::vector<Value> expected{Unsupported{"n"}, Unsupported{"(is)"}, Unsupported{"ai"}, Unsupported{"a{ii}"},
                                      "behind"};
    EXPECT_EQ(*read, expected);
}

TEST(Message, RefusesAKeyThatComesTwice)
{
    const LoneBus lone;
    const auto message = lone.message();
    ASSERT_GE(sd_bus_message_append(message.get(), "a{sv}", 2, "level", "s", "a", "level", "s", "b"), 0);
    ASSERT_GE(sd_bus_message_seal(message.get(), 1, 0), 0);
    const auto read = read_dict(message.get());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error(), (Error{ErrorCode::InvalidArgument, 0, "the key `level` is given twice"}));
}

TEST(Message, BoundsDepthKeysAndValues)
{
    const LoneBus lone;
    Dict nested;
    for (int depth = 0; depth < 6; ++depth) {
        Dict outer;
        outer.set("in", nested);
        nested = outer;
    }
    Dict wide;
    for (int key = 0; key < 20; ++key) {
        wide.set("key" + std::to_string(key), key);
    }
    struct Case {
        const Dict& dict;
        ReadLimits limits;
        bool fits;
    };
    for (const auto& [dict, limits, fits] : {
             Case{nested, {.depth = 40, .keys = 5, .values = 100}, true},
             Case{nested, {.depth = 10, .keys = 5, .values = 100}, false},
             Case{wide, {.depth = 10, .keys = 20, .values = 100}, true},
             Case{wide, {.depth = 10, .keys = 19, .values = 100}, false},
             Case{wide, {.depth = 10, .keys = 20, .values = 19}, false},
         }) {
        const auto message = lone.written([&](Writer& writer) { writer.put(dict); });
        const auto read = read_dict(message.get(), limits);
        EXPECT_EQ(read.has_value(), fits);
        if (!read) {
            EXPECT_EQ(read.error().code, ErrorCode::InvalidArgument);
        }
    }
}

TEST(Message, WritesPrintableWhatDBusWouldRefuse)
{
    const LoneBus lone;
    const auto message = lone.written([](Writer& writer) {
        writer.put(std::string("a\xff"
                               "b"));
        DictWriter dict(writer);
        dict.set("key", std::string("\xc3\x28"));
    });
    const auto read = read_arguments(message.get());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->front(), Value("a\\xffb"));
    Dict expected;
    expected.set("key", "\\xc3(");
    EXPECT_EQ(read->back(), Value(expected));
}

TEST(Message, FailsOnTheWrongType)
{
    const LoneBus lone;
    const auto message = lone.written([](Writer& writer) { writer.put("text"); });
    EXPECT_FALSE(read_dict(message.get()));
    EXPECT_FALSE(read_dicts(message.get()));
    EXPECT_FALSE(read_objects(message.get()));
}

TEST(Message, AReferenceOutlivesItsSource)
{
    const LoneBus lone;
    MessageRef copy;
    {
        const auto message = lone.written([](Writer& writer) { writer.put("kept"); });
        copy = message;
    }
    const auto read = read_value(copy.get());
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, Value("kept"));
}

}    // namespace
}    // namespace rdmaqos::bus
