// What one daemon leaves to the next: the record as text, and what becomes of the descriptors.
#include "daemon/handover/handover.h"

#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/journal.h"
#include "tests/support/no_descriptors.h"

namespace rdmaqos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kDevice = "0x0010000000000001/1";

const LeftElement kRoot{ElementId{1}, {ElementPath::root(), ElementKind::Node, {}, {}}, ElementHandle{0x100000011}};
const LeftElement kLeaf{ElementId{3},
                        {ElementPath("/rpc \"x\""), ElementKind::Leaf, ElementId{1}, {40, Bandwidth::from_gbps(10)}},
                        ElementHandle{0x300000012}};
const LeftQueuePair kQueuePair{
    {71}, {4711, 90210}, {ElementId{3}, ElementId{3}, RateLimit{Bandwidth::from_mbps(5), 4096, 1024}}};
const LeftQueuePair kUnplaced{{72}, {4711, 90210}, {}};

TEST(DeviceRecord, IsReadAsItWasWritten)
{
    DeviceRecord record;
    record.elements = {{ElementId{1}, kRoot}, {ElementId{3}, kLeaf}};
    record.queue_pairs = {{{71}, kQueuePair}, {{72}, kUnplaced}};
    record.notes = {{"a \"key\"", "some text"}};
    const auto read = read_record(to_text(record, kDevice), kDevice);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(*read, record);
}

TEST(DeviceRecord, TheLastLineIsWhatIsSo)
{
    LeftElement changed = kLeaf;
    changed.element.attributes.share = 41;
    const std::string text = record_head(kDevice) + record_line(kRoot) + record_line(kLeaf) + record_line(kQueuePair) +
                             record_line(kUnplaced) + record_line(changed) + record_line(QueuePairId{71}) +
                             record_line(ElementId{9}) + "{\"of\":\"a later version\"}\n";
    const auto read = read_record(text, kDevice);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_THAT(read->inheritance().elements, ElementsAre(kRoot, changed));
    EXPECT_THAT(read->inheritance().queue_pairs, ElementsAre(kUnplaced));
}

TEST(DeviceRecord, WhatIsWrongIsNamedByItsLine)
{
    const std::string head = record_head(kDevice);
    const struct {
        std::string text;
        const char* error;
    } cases[] = {
        {"", "it is empty"},
        {"\n", "line 1: it has no head"},
        {head.substr(0, head.size() - 1), "its last line has no end"},
        {record_head("0x0010000000000002/1"), "line 1: it is of 0x0010000000000002/1, not of 0x0010000000000001/1"},
        {"{\"schema\":2,\"device\":\"0x0010000000000001/1\"}\n",
         "line 1: it is of another version of rdma-qosd: schema 2, not 1"},
        {head + "[]\n", "line 2: it is no JSON object"},
        {head + "{\"element\":-1}\n", "line 2: `element` is missing or wrong"},
        {head + "{\"element\":2,\"path\":\"x\",\"kind\":\"leaf\",\"share\":1,\"handle\":4}\n",
         "line 2: `path` is missing or wrong"},
        {head + record_line(kRoot) + "{\"element\":2,\"path\":\"/x\",\"kind\":\"twig\",\"share\":1,\"handle\":4}\n",
         "line 3: `kind` is missing or wrong"},
        {head + "{\"element\":2,\"path\":\"/x\",\"kind\":\"leaf\",\"parent\":2,\"share\":1,\"handle\":4}\n",
         "line 2: `parent` is missing or wrong"},
        {head + "{\"queue-pair\":4294967296}\n", "line 2: `queue-pair` is missing or wrong"},
        {head + "{\"queue-pair\":1,\"pid\":1}\n", "line 2: `start` is missing or wrong"},
    };
    for (const auto& [text, error] : cases) {
        const auto read = read_record(text, kDevice);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().message, error) << text;
    }
}

// A service manager's store, with what it has.
class FakeStore final : public DescriptorStore {
public:
    Result<void> put(const std::string& name, int fd) override
    {
        if (refuses) {
            return fail(ErrorCode::Io, "it is full");
        }
        kept.emplace_back(name, UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)));
        return {};
    }
    void remove(const std::string& name) override
    {
        std::erase_if(kept, [&](const auto& entry) { return entry.first == name; });
    }
    // What the next daemon gets; the store keeps its own.
    [[nodiscard]] NamedDescriptors copies() const
    {
        NamedDescriptors all;
        for (const auto& [name, fd] : kept) {
            all.emplace_back(name, UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)));
        }
        return all;
    }
    [[nodiscard]] std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const auto& [name, fd] : kept) {
            all.push_back(name);
        }
        return all;
    }

    NamedDescriptors kept;
    bool refuses = false;
};

Result<bool> is_ours(int /*fd*/, const DeviceInfo& /*port*/)
{
    return true;
}

Result<bool> is_of_another(int /*fd*/, const DeviceInfo& /*port*/)
{
    return false;
}

class HandoverTest : public ::testing::Test {
protected:
    HandoverTest()
    {
        port.name = "mlx5_0";
        port.node_guid = Guid{0x0010000000000001};
    }
    [[nodiscard]] std::unique_ptr<DeviceHandover> next_daemon()
    {
        return Handover(store, store->copies()).begin(port).value();
    }
    // A first daemon that has made two elements.
    void leave_two()
    {
        const auto first = next_daemon();
        EXPECT_FALSE(first->left_file(is_ours, port).value());
        EXPECT_TRUE(first->begin({true, file.get()}));
        EXPECT_TRUE(first->is_kept());
        first->element_is(kRoot);
        first->element_is(kLeaf);
        first->queue_pair_is(kQueuePair);
    }

    test::Journal journal;
    std::shared_ptr<FakeStore> store = std::make_shared<FakeStore>();
    DeviceInfo port;
    UniqueFd file{memfd_create("device", MFD_CLOEXEC)};
};

TEST_F(HandoverTest, WhatWasRecordedIsThere)
{
    leave_two();
    EXPECT_THAT(store->names(), ElementsAre("0x0010000000000001/1 record", "0x0010000000000001/1 elements"));
    const auto next = next_daemon();
    const auto left = next->left_file(is_ours, port).value();
    ASSERT_TRUE(left);
    EXPECT_TRUE(next->has_left_elements());
    EXPECT_TRUE(is_same_open_file(left->get(), file.get()));
    EXPECT_TRUE(next->begin({true, left->get()}));
    EXPECT_TRUE(next->is_kept());
    EXPECT_THAT(next->left().elements, ElementsAre(kRoot, kLeaf));
    EXPECT_THAT(next->left().queue_pairs, ElementsAre(kQueuePair));
    EXPECT_EQ(store->kept.size(), 2U) << "as it was";

    next->element_is_gone(kLeaf.id);
    next->queue_pair_is_gone(kQueuePair.queue_pair);
    const auto third = next_daemon();
    ASSERT_TRUE(third->left_file(is_ours, port).value());
    EXPECT_THAT(third->left().elements, ElementsAre(kRoot));
    EXPECT_THAT(third->left().queue_pairs, IsEmpty());
}

// A device may refuse to be opened at first.
TEST_F(HandoverTest, AnOpeningThatFailsLosesNothing)
{
    leave_two();
    Handover all(store, store->copies());
    ASSERT_TRUE(all.begin(port).value()->left_file(is_ours, port).value());
    const auto again = all.begin(port).value();
    const auto left = again->left_file(is_ours, port).value();
    ASSERT_TRUE(left);
    EXPECT_TRUE(again->begin({true, left->get()}));
    all.opened(port);
    EXPECT_THAT(again->left().elements, ElementsAre(kRoot, kLeaf));
    EXPECT_EQ(store->kept.size(), 2U);
    EXPECT_FALSE(all.begin(port).value()->left_file(is_ours, port).value()) << "of the next device of this name";
}

// Nothing that was left is given up only because there is no descriptor at this time.
TEST_F(HandoverTest, WithoutDescriptorsNothingIsLost)
{
    leave_two();
    Handover all(store, store->copies());
    {
        const test::NoDescriptors none;
        EXPECT_EQ(all.begin(port).error().code, ErrorCode::Busy);
    }
    const auto cannot_tell = [](int, const DeviceInfo&) -> Result<bool> { return fail(ErrorCode::Busy, "not now"); };
    EXPECT_EQ(all.begin(port).value()->left_file(cannot_tell, port).error().code, ErrorCode::Busy);
    EXPECT_EQ(store->kept.size(), 2U);
    const auto next = all.begin(port).value();
    ASSERT_TRUE(next->left_file(is_ours, port).value());
    EXPECT_TRUE(next->has_left_elements());
}

// The last close of its file would leave elements in the firmware that are in use.
TEST_F(HandoverTest, WithoutRoomForTheRecordTheFileIsKept)
{
    const auto first = next_daemon();
    EXPECT_TRUE(first->begin({true, file.get()}));
    {
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit before{};
        getrlimit(RLIMIT_FSIZE, &before);
        const rlimit small{8, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        first->element_is(kRoot);
        setrlimit(RLIMIT_FSIZE, &before);
    }
    EXPECT_FALSE(first->is_kept());
    EXPECT_THAT(store->names(), ElementsAre("0x0010000000000001/1 elements"));
    EXPECT_FALSE(next_daemon()->left_file(is_ours, port).value()) << "nobody knows what is in it";
    first->element_is(kLeaf);
    EXPECT_TRUE(first->is_kept());
    const auto next = next_daemon();
    const auto left = next->left_file(is_ours, port).value();
    ASSERT_TRUE(left);
    EXPECT_TRUE(next->begin({true, left->get()}));
    EXPECT_THAT(next->left().elements, ElementsAre(kRoot, kLeaf));
}

// Of a device that is new: it is not opened, rather than managed without a record.
TEST_F(HandoverTest, ARecordThatCannotBeMadeNowIsMadeLater)
{
    const auto first = next_daemon();
    {
        const test::NoDescriptors none;
        EXPECT_EQ(first->begin({true, file.get()}).error().code, ErrorCode::Busy);
    }
    EXPECT_TRUE(store->kept.empty());
    EXPECT_FALSE(first->is_kept());
    EXPECT_TRUE(first->begin({true, file.get()}));
    EXPECT_TRUE(first->is_kept());
}

// It waits for a device that was reset, while that has come back and is managed.
TEST_F(HandoverTest, AnOpeningThatEndsLateRemovesNothingOfTheNext)
{
    Handover all(store, {});
    const auto old = all.begin(port).value();
    EXPECT_TRUE(old->begin({true, file.get()}));
    const auto next = all.begin(port).value();
    EXPECT_TRUE(next->begin({true, file.get()}));
    next->element_is(kRoot);
    old->forget();
    EXPECT_EQ(store->kept.size(), 2U);
    const auto of_next_daemon = next_daemon();
    ASSERT_TRUE(of_next_daemon->left_file(is_ours, port).value());
    EXPECT_THAT(of_next_daemon->left().elements, ElementsAre(kRoot));
    next->forget();
    EXPECT_THAT(store->kept, IsEmpty());
}

// What was put off finds the mode when the first class is made.
TEST_F(HandoverTest, TheModeThatATestFindsCounts)
{
    const auto first = next_daemon();
    EXPECT_TRUE(first->begin({true, file.get()}));
    EXPECT_TRUE(first->begin({true, file.get()}));
    EXPECT_EQ(store->kept.size(), 2U);
    EXPECT_TRUE(first->begin({true, -1}));
    EXPECT_TRUE(first->is_kept());
    EXPECT_THAT(store->names(), ElementsAre("0x0010000000000001/1 record"));
    first->note_is("file 1", "pid 4711 start 9");
    const auto next = next_daemon();
    EXPECT_FALSE(next->left_file(is_ours, port).value());
    EXPECT_TRUE(next->begin({true, -1}));
    EXPECT_EQ(next->left().notes.size(), 1U);
}

TEST_F(HandoverTest, FunctionsOfOneCardAreToldApart)
{
    port.pci_address = "0000:3b:00.1";
    EXPECT_EQ(stable_name(port), "0x0010000000000001/1/0000-3b-00.1");
}

TEST_F(HandoverTest, WhatIsForgottenIsClosed)
{
    leave_two();
    const auto next = next_daemon();
    EXPECT_TRUE(next->begin({true, next->left_file(is_ours, port).value()->get()}));
    next->forget();
    EXPECT_THAT(store->kept, IsEmpty());
    EXPECT_FALSE(next->is_kept());
    next->element_is(kRoot);    // late news
    EXPECT_FALSE(next_daemon()->left_file(is_ours, port).value());
}

TEST_F(HandoverTest, AFileOfADeviceThatIsNotThereAnyLongerIsNotUsed)
{
    leave_two();
    const auto next = next_daemon();
    EXPECT_FALSE(next->left_file(is_of_another, port).value());
    EXPECT_THAT(journal.lines(), ElementsAre(HasSubstr("is not the device that an earlier rdma-qosd left")));
    EXPECT_TRUE(next->begin({true, file.get()}));
    EXPECT_TRUE(next->left().empty());
    EXPECT_EQ(store->kept.size(), 2U) << "new ones";
    const auto third = next_daemon();
    ASSERT_TRUE(third->left_file(is_ours, port).value());
    EXPECT_FALSE(third->has_left_elements());
}

TEST_F(HandoverTest, ARecordThatCannotBeReadIsReplaced)
{
    leave_two();
    for (auto& [name, fd] : store->kept) {
        if (name == record_name(kDevice)) {
            auto log = MemoryLog::open(UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)));
            ASSERT_TRUE(log);
            ASSERT_TRUE(log->append("{\"element\":\"x\"}\n"));
        }
    }
    const auto next = next_daemon();
    EXPECT_FALSE(next->left_file(is_ours, port).value());
    EXPECT_THAT(journal.lines(), ElementsAre(HasSubstr("line 5: `element` is missing or wrong")));
    EXPECT_TRUE(next->begin({true, file.get()}));
    EXPECT_TRUE(next->left().empty());
    EXPECT_TRUE(next_daemon()->left_file(is_ours, port).value()) << "the new one";
}

// In mode per-process they are in those of programs.
TEST_F(HandoverTest, ElementsInOtherFilesHaveARecordAlone)
{
    const auto first = next_daemon();
    EXPECT_TRUE(first->begin({true, -1}));
    EXPECT_TRUE(first->is_kept());
    EXPECT_THAT(store->names(), ElementsAre("0x0010000000000001/1 record"));
    first->element_is(kRoot);
    first->note_is("file 1", "pid 4711 start 9");
    first->note_is("file 2", "pid 4712 start 9");
    first->note_is("file 1", "");
    const auto next = next_daemon();
    EXPECT_FALSE(next->left_file(is_ours, port).value());
    EXPECT_TRUE(next->has_left_elements());
    EXPECT_TRUE(next->begin({true, -1}));
    EXPECT_TRUE(next->is_kept());
    EXPECT_THAT(next->left().elements, ElementsAre(kRoot));
    EXPECT_THAT(next->left().notes, ElementsAre(std::pair("file 2", "pid 4712 start 9")));

    // The mode is another one now: handles of then mean nothing.
    const auto third = next_daemon();
    EXPECT_FALSE(third->left_file(is_ours, port).value());
    EXPECT_TRUE(third->begin({true, file.get()}));
    EXPECT_THAT(journal.lines(), ElementsAre(HasSubstr("are of another attach mode")));
    EXPECT_TRUE(third->left().empty());
    EXPECT_EQ(store->kept.size(), 2U);
}

TEST_F(HandoverTest, ElementsThatDoNotOutliveTheDaemonAreNotKept)
{
    leave_two();
    const auto next = next_daemon();
    const auto left = next->left_file(is_ours, port).value();
    ASSERT_TRUE(left);
    EXPECT_TRUE(next->begin({}));
    EXPECT_FALSE(next->is_kept());
    EXPECT_THAT(store->kept, IsEmpty());
    EXPECT_TRUE(next->left().empty());
}

TEST_F(HandoverTest, AStoreThatRefusesIsToldOnce)
{
    store->refuses = true;
    const auto first = next_daemon();
    EXPECT_TRUE(first->begin({true, file.get()}));
    EXPECT_FALSE(first->is_kept());
    EXPECT_THAT(journal.lines(), ElementsAre(HasSubstr("cannot be handed over to the next rdma-qosd: it is full")));
    first->element_is(kRoot);
    EXPECT_EQ(journal.lines().size(), 1U);
}

TEST_F(HandoverTest, WithoutAStoreNothingIsKept)
{
    EXPECT_EQ(Handover(nullptr, {}).begin(port).value(), nullptr);
}

TEST_F(HandoverTest, PortsThatAreGoneAreForgotten)
{
    leave_two();
    NamedDescriptors kept = store->copies();
    kept.emplace_back("somebody's socket", UniqueFd(memfd_create("socket", MFD_CLOEXEC)));
    Handover all(store, std::move(kept));
    all.forget_all_but({port});
    EXPECT_EQ(store->kept.size(), 2U);
    all.forget_all_but({});
    EXPECT_THAT(store->kept, IsEmpty());
    EXPECT_FALSE(all.begin(port).value()->left_file(is_ours, port).value());
}

// It stays as short as what it says.
TEST_F(HandoverTest, TheRecordIsShortened)
{
    const auto first = next_daemon();
    EXPECT_TRUE(first->begin({true, file.get()}));
    first->element_is(kRoot);
    LeftElement leaf = kLeaf;
    for (std::uint32_t share = 1; share <= 20'000; ++share) {
        leaf.element.attributes.share = share;
        first->element_is(leaf);
    }
    struct stat status {};
    ASSERT_EQ(fstat(store->kept.front().second.get(), &status), 0);
    EXPECT_LT(status.st_blocks * 512, 300'000);
    const auto next = next_daemon();
    ASSERT_TRUE(next->left_file(is_ours, port).value());
    EXPECT_THAT(next->left().elements, ElementsAre(kRoot, leaf));
}

}    // namespace
}    // namespace rdmaqos
