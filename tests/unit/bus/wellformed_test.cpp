// Which messages are refused before sd-bus sees them; and that sd-bus takes every other one.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "lib/base/descriptor_message.h"
#include "lib/bus/connection.h"
#include "lib/bus/wellformed.h"

namespace rdmaqos::bus {
namespace {

using namespace std::string_literals;

struct HeaderField {
    int code = 0;
    std::string type;
    std::string value;    // as it stands behind the type, without padding
};

std::string number(std::uint32_t value)
{
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
}

HeaderField text(int code, const std::string& value, const std::string& type = "s")
{
    return {code, type, number(static_cast<std::uint32_t>(value.size())) + value + '\0'};
}

HeaderField short_text(int code, const std::string& value)
{
    return {code, "g", std::string(1, static_cast<char>(value.size())) + value + '\0'};
}

struct Written {
    int type = 1;
    std::uint32_t serial = 7;
    std::vector<HeaderField> fields;
    std::string body;

    [[nodiscard]] Written with(const HeaderField& more) const
    {
        Written changed = *this;
        changed.fields.push_back(more);
        return changed;
    }
    [[nodiscard]] Written without(int code) const
    {
        Written changed = *this;
        std::erase_if(changed.fields, [code](const HeaderField& each) { return each.code == code; });
        return changed;
    }
    [[nodiscard]] Written instead(const HeaderField& other) const { return without(other.code).with(other); }
    [[nodiscard]] Written of_type(int other) const
    {
        Written changed = *this;
        changed.type = other;
        return changed;
    }
    [[nodiscard]] std::string bytes() const
    {
        std::string header;
        for (const HeaderField& each : fields) {
            header.resize((header.size() + 7) / 8 * 8);
            header += static_cast<char>(each.code);
            header += static_cast<char>(each.type.size());
            header += each.type + '\0';
            header.resize(each.type == "g" ? header.size() : (header.size() + 3) / 4 * 4);
            header += each.value;
        }
        std::string all{'l', static_cast<char>(type), '\0', '\1'};
        all += number(static_cast<std::uint32_t>(body.size())) + number(serial) +
               number(static_cast<std::uint32_t>(header.size())) + header;
        all.resize((all.size() + 7) / 8 * 8);
        return all + body;
    }
};

Written usual()
{
    return {1,
            7,
            {text(1, "/org/rdmaqos1", "o"),
             text(2, "org.rdmaqos1.Manager"),
             text(3, "Check"),
             short_text(8, "h"),
             {9, "u", number(1)}},
            number(0)};
}

std::string reason(const Written& message, std::size_t descriptors = 1)
{
    return why_malformed(message.bytes(), descriptors);
}

TEST(Wellformed, WhatClientsSendIs)
{
    EXPECT_EQ(reason(usual()), "");
    EXPECT_EQ(reason(usual().without(9), 0), "");
    EXPECT_EQ(reason(usual().without(2)), "") << "a call needs no interface";
    EXPECT_EQ(reason(usual().with(text(6, "org.rdmaqos1")).with(text(7, ":1.7"))), "");
    EXPECT_EQ(reason(usual().of_type(4)), "") << "a signal";
    EXPECT_EQ(reason(Written{2, 7, {{5, "u", number(3)}}, ""}, 0), "") << "an answer";
    EXPECT_EQ(reason(Written{3, 7, {{5, "u", number(3)}, text(4, "a.b")}, ""}, 0), "") << "an error";
    EXPECT_EQ(reason(Written{9, 7, {}, ""}, 0), "") << "a type that is passed over";
    for (const char* signature : {"", "s", "a{sv}", "aa{sv}", "(ss)a(uv)", "a{s(iiu)}v", "a{sa{sv}}"}) {
        EXPECT_EQ(reason(usual().instead(short_text(8, signature))), "") << signature;
    }
}

TEST(Wellformed, FieldsThatNobodyKnowsArePassedOver)
{
    EXPECT_EQ(reason(usual().with(text(10, "x"))), "");
    EXPECT_EQ(reason(usual().with(text(200, "x")).with(text(200, "x"))), "");
    EXPECT_EQ(reason(usual().with({10, "u", number(7)})), "");
    EXPECT_EQ(reason(usual().with(short_text(10, "as"))), "");
    EXPECT_NE(reason(usual().with({10, "as", number(0)})), "");
    EXPECT_NE(reason(usual().with(text(10, "\xff"))), "");
    EXPECT_NE(reason(usual().with({10, "u", "\1"})), "");
}

TEST(Wellformed, AsManyDescriptorsComeAsItSays)
{
    for (const std::size_t came : {0U, 2U, 253U}) {
        EXPECT_NE(reason(usual(), came).find("says that 1 descriptors"), std::string::npos) << came;
    }
    EXPECT_NE(reason(usual().without(9)), "");
    EXPECT_NE(reason(usual().instead({9, "u", number(0)})), "");
    EXPECT_EQ(reason(usual().instead({9, "u", number(0)}), 0), "");
    EXPECT_NE(reason(usual().instead({9, "u", number(UINT32_MAX)})), "");
    EXPECT_NE(reason(usual().instead(text(9, "1"))), "");
}

TEST(Wellformed, NamesAreNames)
{
    for (const char* path : {"", "org", "/org/", "//", "/a b", "/org/freedesktop/DBus/Local"}) {
        EXPECT_NE(reason(usual().instead(text(1, path, "o"))), "") << path;
    }
    for (const char* interface : {"", "one", "a..b", "a.1", "a.b c", "org.freedesktop.DBus.Local"}) {
        EXPECT_NE(reason(usual().instead(text(2, interface))), "") << interface;
        EXPECT_NE(reason(Written{3, 7, {{5, "u", number(3)}, text(4, interface)}, ""}, 0), "") << interface;
    }
    for (const char* member : {"", "Ch ck", "a.b"}) {
        EXPECT_NE(reason(usual().instead(text(3, member))), "") << member;
    }
    for (const int code : {6, 7}) {
        EXPECT_NE(reason(usual().instead(text(code, "a"))), "") << code;
    }
    EXPECT_NE(reason(usual().instead(text(3, "a\0b"s))), "");
    EXPECT_NE(reason(usual().instead(text(1, "/org/rdmaqos1", "s"))), "") << "of another type";
}

TEST(Wellformed, SignaturesAreSignatures)
{
    for (const char* signature : {"(", ")", "()", "a", "{sv}", "a{sv", "a{vs}", "a{s}", "a{sss}", "z", "(s", "a{}"}) {
        EXPECT_NE(reason(usual().instead(short_text(8, signature))), "") << signature;
    }
    EXPECT_EQ(reason(usual().instead(short_text(8, std::string(32, 'a') + "y"))), "");
    EXPECT_NE(reason(usual().instead(short_text(8, std::string(33, 'a') + "y"))), "");
    EXPECT_EQ(reason(usual().instead(short_text(8, std::string(32, '(') + "y" + std::string(32, ')')))), "");
    EXPECT_NE(reason(usual().instead(short_text(8, std::string(33, '(') + "y" + std::string(33, ')')))), "");
    EXPECT_NE(reason(usual().instead(short_text(8, std::string(255, 'y')))), "");
}

TEST(Wellformed, EachTypeHasItsFields)
{
    EXPECT_NE(reason(usual().without(1)), "");
    EXPECT_NE(reason(usual().without(3)), "");
    EXPECT_NE(reason(usual().with({5, "u", number(3)})), "") << "a call answers nothing";
    EXPECT_NE(reason(usual().without(2).of_type(4)), "");
    EXPECT_NE(reason(usual().of_type(2)), "");
    EXPECT_NE(reason(usual().of_type(0)), "");
    EXPECT_NE(reason(Written{2, 7, {{5, "u", number(0)}}, ""}, 0), "");
    EXPECT_NE(reason(Written{3, 7, {{5, "u", number(3)}}, ""}, 0), "") << "no name";
    EXPECT_NE(reason(usual().with({0, "u", number(3)})), "");
    for (const HeaderField& each : usual().fields) {
        EXPECT_NE(reason(usual().with(each)), "") << "twice: " << each.code;
    }
    Written no_serial = usual();
    no_serial.serial = 0;
    EXPECT_NE(reason(no_serial), "");
}

TEST(Wellformed, WhatIsCutOffIsNot)
{
    const std::string bytes = usual().bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_NE(why_malformed(bytes.substr(0, size), 1), "") << size;
    }
}

// ---- sd-bus agrees ----

// An sd_bus of a server, and how many messages it has taken.
class Judge {
public:
    Judge()
    {
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0) {
            client_ = UniqueFd(ends[0]);
            bus_ = std::move(*open_server_bus(UniqueFd(ends[1])));
        }
        sd_bus_add_filter(
            bus_.get(), nullptr,
            [](sd_bus_message*, void* data, sd_bus_error*) {
                ++*static_cast<std::size_t*>(data);
                return 1;
            },
            &taken_);
        feed("\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"s, 0);
    }
    [[nodiscard]] bool takes(const std::string& bytes, std::size_t descriptors)
    {
        const std::size_t before = taken_;
        feed(bytes, descriptors);
        return taken_ == before + 1;
    }

private:
    void feed(const std::string& bytes, std::size_t descriptors)
    {
        const std::vector<int> files(descriptors, file_.get());
        iovec part{const_cast<char*>(bytes.data()), bytes.size()};
        DescriptorRoom room;
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        room.put(message, files);
        ASSERT_EQ(sendmsg(client_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
        while (sd_bus_process(bus_.get(), nullptr) > 0) {
        }
        std::array<char, 4096> answers;
        while (recv(client_.get(), answers.data(), answers.size(), 0) > 0) {
        }
    }

    UniqueFd client_;
    BusPtr bus_;
    std::size_t taken_ = 0;
    const UniqueFd file_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

std::ptrdiff_t open_descriptors()
{
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Changes that leave the lengths in the first bytes alone: those have been looked at before.
std::string changed(std::string bytes, std::mt19937_64& random)
{
    constexpr std::size_t kFixed = 16;
    for (auto changes = random() % 3; changes > 0; --changes) {
        char& byte = bytes[kFixed + random() % (bytes.size() - kFixed)];
        byte = random() % 2 == 0 ? static_cast<char>(byte ^ (1 << random() % 8)) : static_cast<char>(random() % 16);
    }
    bytes[1] = random() % 8 == 0 ? static_cast<char>(random() % 6) : bytes[1];
    return bytes;
}

TEST(Wellformed, SdBusTakesWhatIs)
{
    const std::uint64_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<Written> originals{
        usual(),
        usual().with(text(6, "org.rdmaqos1")).with(text(7, ":1.7")),
        usual().with(text(10, "unknown")).with({11, "u", number(1)}).with(short_text(12, "a{sv}")),
        usual().instead(short_text(8, "a{sa(ssv)}")).without(9),
        Written{3, 7, {{5, "u", number(3)}, text(4, "a.b"), {9, "u", number(2)}}, ""},
        Written{4, 7, {text(1, "/", "o"), text(2, "a.b"), text(3, "c")}, ""},
    };
    Judge judge;
    const auto before = open_descriptors();
    std::size_t wellformed = 0;
    for (int count = 0; count < 100'000; ++count) {
        const std::string bytes = changed(originals[random() % originals.size()].bytes(), random);
        const std::size_t descriptors = random() % 3;
        if (!why_malformed(bytes, descriptors).empty()) {
            continue;
        }
        ++wellformed;
        ASSERT_TRUE(judge.takes(bytes, descriptors)) << testing::PrintToString(bytes);
    }
    EXPECT_GT(wellformed, 5000U);
    EXPECT_EQ(open_descriptors(), before);
}

}    // namespace
}    // namespace rdmaqos::bus
