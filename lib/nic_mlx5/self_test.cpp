#include "lib/nic_mlx5/self_test.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/helper_process.h"
#include "lib/base/log.h"
#include "lib/base/signal_process.h"
#include "lib/nic_mlx5/commands.h"
#include "lib/nic_mlx5/context.h"
#include "lib/nic_mlx5/errors.h"
#include "lib/nic_mlx5/self_test_cache.h"
#include "lib/nic_mlx5/self_test_protocol.h"
#include "lib/nic_mlx5/uverbs.h"

namespace rdmaqos::mlx5 {
namespace {

constexpr timeval kPatience{10, 0};      // of a helper that has to open a device
constexpr int kPatienceOfEnd = 10000;    // ms; of a helper that was killed

struct ModeOfRow {
    const char* row;
    AttachMode mode;
    const char* reason;
};

// The best first.
constexpr ModeOfRow kModesOfRows[] = {
    {row::kSharedLeaf, AttachMode::Shared, "the self-test attached another process's queue pair to a leaf of ours"},
    {row::kSharedLegacy, AttachMode::SharedLegacy,
     "the firmware keeps a leaf that is a general object from queue pairs of other processes, and not one that the "
     "older commands make (self-test)"},
    {row::kSharedNode, AttachMode::SharedNodes,
     "the firmware lets a queue pair use leaves of its own process only, and such a leaf be below a node of ours "
     "(self-test)"},
    {row::kOwnTree, AttachMode::PerProcess,
     "the firmware lets a queue pair use leaves of its own process only (self-test)"},
};

const SelfTestStep* find(const std::vector<SelfTestStep>& steps, std::string_view name, std::string_view row = {})
{
    const auto found = std::ranges::find_if(
        steps, [&](const SelfTestStep& each) { return each.name == name && each.row == row; });
    return found == steps.end() ? nullptr : &*found;
}

// Whether queue pairs can be in such a leaf, and in which state that was found out.
struct Verdict {
    bool works = false;
    bool in_rts = false;
};

Verdict verdict_of(const std::vector<SelfTestStep>& steps, const char* row)
{
    const auto passed = [&](const char* name) {
        const SelfTestStep* found = find(steps, name, row);
        return found != nullptr && found->passed;
    };
    // Queue pairs are attached in RTS for the most part; INIT decides alone only where RTS could not be reached.
    const bool in_rts = passed(step::kAttachRts) && passed(step::kDetachRts);
    const bool in_init = passed(step::kAttachInit) && passed(step::kDetachInit);
    return {in_rts || (in_init && find(steps, step::kAttachRts, row) == nullptr), in_rts};
}

// Null: none does.
const ModeOfRow* best_that_works(const std::vector<SelfTestStep>& steps)
{
    const auto* const found = std::ranges::find_if(
        kModesOfRows, [&](const ModeOfRow& each) { return verdict_of(steps, each.row).works; });
    return found == std::end(kModesOfRows) ? nullptr : found;
}

struct Element {
    std::uint32_t handle = 0;
    ObjectId id = kNoObject;
};

// A leaf of each kind, where it can be made.
struct Row {
    const char* name;
    const ElementCommands* by;
    int fd;             // of the file that it is in
    ObjectId parent;    // kNoObject: it has a root of its own
    Element root{};     // likewise
    Element leaf{};

    [[nodiscard]] bool is_made() const { return leaf.id != kNoObject; }
};

// The helper process; killed and reaped at the end.
class Helper {
public:
    ~Helper() { end(); }

    // Its queue pair is gone then, unless the process hangs in the kernel.
    void end();

    // The errno of what failed.
    int start(const DeviceInfo& port, std::vector<std::string> command);
    int to(HelperRequest state);
    // A second queue pair, in INIT; the number is the `id`.
    Answer<Created> make_devx();

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const HelperHello& hello() const { return hello_; }

private:
    int receive_hello();
    // The errno of what failed.
    template <typename T>
    int ask(HelperRequest request, T& answer);

    pid_t pid_ = 0;
    UniqueFd socket_;
    UniqueFd fd_;
    HelperHello hello_;
};

void Helper::end()
{
    fd_.reset();
    socket_.reset();
    if (pid_ <= 0) {
        return;
    }
    signal_process(pid_, SIGKILL);
    const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    pollfd wait{ended.get(), POLLIN, 0};
    // It may be waiting for firmware, where no signal reaches it; its owner must not wait for ever.
    if (ended && poll(&wait, 1, kPatienceOfEnd) == 0) {
        log(LogLevel::Warning, "the helper of the self-test, process {}, hangs in the kernel and is left behind", pid_);
    } else {
        while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    pid_ = 0;
}

int Helper::start(const DeviceInfo& port, std::vector<std::string> command)
{
    if (!command.empty()) {
        command.insert(command.end(), {port.name, std::to_string(port.port)});
    }
    auto started = start_helper(std::move(command), "the helper of the self-test");
    if (!started) {
        return started.error().sys_errno;
    }
    pid_ = started->pid;
    socket_ = std::move(started->socket);
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    return receive_hello();
}

int Helper::receive_hello()
{
    iovec part{&hello_, sizeof(hello_)};
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    room.offer(message);
    const ssize_t length = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (length < 0) {
        return errno;
    }
    if (auto descriptors = take_descriptors(message); descriptors.size() == 1) {
        fd_ = std::move(descriptors.front());
    }
    if (length != sizeof(hello_)) {
        return EPIPE;
    }
    return hello_.error != 0 ? hello_.error : fd_ ? 0 : EPROTO;
}

template <typename T>
int Helper::ask(HelperRequest request, T& answer)
{
    if (send(socket_.get(), &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request)) {
        return errno;
    }
    const ssize_t length = recv(socket_.get(), &answer, sizeof(answer), 0);
    return length == sizeof(answer) ? 0 : length < 0 ? errno : EPIPE;
}

int Helper::to(HelperRequest state)
{
    std::int32_t answer = 0;
    const int error = ask(state, answer);
    return error != 0 ? error : answer;
}

Answer<Created> Helper::make_devx()
{
    HelperDevx made;
    if (const int error = ask(HelperRequest::MakeDevx, made); error != 0) {
        return tl::unexpected(Failure{error, 0, 0});
    }
    if (made.error != 0) {
        return tl::unexpected(Failure{made.error, static_cast<std::uint8_t>(made.status), made.syndrome});
    }
    return Created{made.handle, made.number};
}

class SelfTest {
public:
    SelfTest(const DeviceInfo& port, const Capabilities& can, const SelfTestOptions& options)
        : port_(port), can_(can), options_(options)
    {
    }

    std::vector<SelfTestStep> run();
    std::vector<SelfTestStep> run_read_back(AttachMode mode);

private:
    bool note(const char* name, bool passed, const Failure& failure, std::string remark, const char* row = "");
    bool note(const char* name, const Answer<void>& answer, std::string remark = {}, const char* row = "");
    // A context of our own, for the rows' elements; empty: that failed.
    Context open(const char* row);
    // Adds it, with its elements if they can be made.
    Row& make(const char* name, const ElementCommands& by, int fd, ObjectId parent = kNoObject);
    void make_rows_of_helper();
    void test_change(const Row& row);
    void test_state(QueuePairState state, const char* attach, const char* detach);
    void test_states();
    // The one that judge() would choose.
    [[nodiscard]] Row* best();
    void test_devx(const Row& row);
    void test_busy_leaf(Row& row);
    void destroy(const Row& row);
    void test_read_back(const Row& row);
    void read_back(const char* name, const Row& row, const Created& element, const ElementAnswer& written);
    Answer<void> place(QueuePairState state, ObjectId leaf)
    {
        const auto& hello = helper_.hello();
        return devx_modify(helper_.fd(), hello.handle, place_queue_pair(state, hello.number, leaf, kNoObject));
    }

    const DeviceInfo& port_;
    const Capabilities& can_;
    const SelfTestOptions& options_;
    Context context_;
    Context legacy_context_;    // a context has one root
    Helper helper_;
    QueuePairState state_ = QueuePairState::Init;    // of the helper's queue pair
    std::vector<Row> rows_;
    std::vector<SelfTestStep> steps_;
};

bool SelfTest::note(const char* name, bool passed, const Failure& failure, std::string remark, const char* row)
{
    steps_.push_back({name, passed, failure.sys_errno, failure.status, failure.syndrome, std::move(remark), row});
    return passed;
}

bool SelfTest::note(const char* name, const Answer<void>& answer, std::string remark, const char* row)
{
    return note(name, answer.has_value(), answer ? Failure{} : answer.error(), std::move(remark), row);
}

Context SelfTest::open(const char* row)
{
    auto opened = open_context(port_.name);
    if (!opened) {
        note(step::kElements, false, Failure{opened.error().sys_errno, 0, 0}, opened.error().message, row);
        return nullptr;
    }
    return std::move(*opened);
}

Row& SelfTest::make(const char* name, const ElementCommands& by, int fd, ObjectId parent)
{
    Row& row = rows_.emplace_back(Row{name, &by, fd, parent});
    for (Element* element : {&row.root, &row.leaf}) {
        const bool is_leaf = element == &row.leaf;
        if (!is_leaf && parent != kNoObject) {
            continue;
        }
        const ObjectId above = !is_leaf ? kNoObject : parent != kNoObject ? parent : row.root.id;
        const auto made = make_element(fd, is_leaf ? ElementKind::Leaf : ElementKind::Node, above, {}, by);
        if (!made) {
            note(step::kElements, false, made.error(), is_leaf ? "a leaf" : "the root", name);
            return row;
        }
        *element = {made->handle, ObjectId{made->id}};
    }
    note(step::kElements, true, {}, {}, name);
    return row;
}

void SelfTest::make_rows_of_helper()
{
    const auto root_of = [&](std::size_t row) { return row < rows_.size() ? rows_[row].root.id : kNoObject; };
    for (const auto& [name, by, root] : {std::tuple(row::kSharedNode, &prm::kObjectCommands, root_of(0)),
                                         {row::kSharedNodeLegacy, &prm::kLegacyCommands, root_of(1)}}) {
        if (root != kNoObject) {
            make(name, *by, helper_.fd(), root);
        }
    }
    make(row::kOwnTree, prm::kObjectCommands, helper_.fd());
}

void SelfTest::test_change(const Row& row)
{
    constexpr std::uint32_t kShare = 3;
    if (!can_.shares) {
        return;
    }
    const ElementChange change{kShare, std::nullopt};
    if (!note(step::kChange,
              devx_modify(row.fd, row.leaf.handle, modify_element(ElementKind::Leaf, row.leaf.id, change, *row.by)), {},
              row.name)) {
        return;
    }
    const auto found = read_element(row.fd, {row.leaf.handle, static_cast<std::uint32_t>(row.leaf.id)}, *row.by);
    const bool same = found && found->attributes.share == kShare;
    note(step::kRead, same, found ? Failure{} : found.error(),
         same || !found ? "" : fmt::format("share {} instead of {}", found->attributes.share, kShare), row.name);
}

void SelfTest::test_state(QueuePairState state, const char* attach, const char* detach)
{
    state_ = state;
    for (const Row& row : rows_) {
        if (row.is_made() && note(attach, place(state, row.leaf.id), {}, row.name)) {
            note(detach, place(state, kNoObject), {}, row.name);
        }
    }
}

void SelfTest::test_states()
{
    test_state(QueuePairState::Init, step::kAttachInit, step::kDetachInit);
    for (const auto& [request, state, reach, attach, detach] :
         {std::tuple(HelperRequest::ReadyToReceive, QueuePairState::Rtr, step::kReadyToReceive, step::kAttachRtr,
                     step::kDetachRtr),
          {HelperRequest::ReadyToSend, QueuePairState::Rts, step::kReadyToSend, step::kAttachRts, step::kDetachRts}}) {
        const int error = helper_.to(request);
        if (error != 0) {
            const char* const remark = port_.link_up ? "not tested in RTS" : "not tested in RTS: the port is down";
            note(step::kReadyToSend, false, Failure{error, 0, 0}, remark);
            return;
        }
        note(reach, true, {}, {});
        test_state(state, attach, detach);
    }
}

Row* SelfTest::best()
{
    const ModeOfRow* const works = best_that_works(steps_);
    const auto found = works == nullptr ? rows_.end() : std::ranges::find(rows_, works->row, &Row::name);
    return found == rows_.end() ? nullptr : &*found;
}

// Programs that use UCX make theirs so. A failure says nothing about other queue pairs.
void SelfTest::test_devx(const Row& row)
{
    if (!can_.attachable.contains(QueuePairType::Devx)) {
        return;
    }
    const auto made = helper_.make_devx();
    if (!made) {
        note(step::kDevxQueuePair, false, made.error(), "whether one can be attached is not known");
        return;
    }
    note(step::kDevxQueuePair, true, {}, {});
    const auto place_it = [&](ObjectId id) {
        return devx_modify(helper_.fd(), made->handle, place_queue_pair(QueuePairState::Init, made->id, id, kNoObject));
    };
    if (note(step::kAttachDevx, place_it(row.leaf.id))) {
        note(step::kDetachDevx, place_it(kNoObject));
    }
}

void SelfTest::test_busy_leaf(Row& row)
{
    if (!row.is_made() || !place(state_, row.leaf.id)) {
        return;    // refused above already
    }
    const auto destroyed = devx_destroy(row.fd, row.leaf.handle);
    note(step::kBusyLeaf, !destroyed, destroyed ? Failure{} : destroyed.error(),
         destroyed ? "it was destroyed under its queue pair; rdma-qosd empties a leaf before it destroys it" : "");
    static_cast<void>(place(state_, kNoObject));
    if (destroyed) {
        row.leaf = {};
    }
}

void SelfTest::destroy(const Row& row)
{
    if (row.is_made()) {
        note(step::kDestroy, devx_destroy(row.fd, row.leaf.handle), {}, row.name);
    }
    if (row.root.id != kNoObject) {
        static_cast<void>(devx_destroy(row.fd, row.root.handle));
    }
}

std::string words(const ElementAnswer& element)
{
    const auto& [share, max_rate] = element.attributes;
    return fmt::format("{} below {}, share {}, {}", to_string(element.kind), static_cast<std::uint32_t>(element.parent),
                       share, max_rate ? to_string(*max_rate) : "no cap");
}

void SelfTest::read_back(const char* name, const Row& row, const Created& element, const ElementAnswer& written)
{
    const auto found = read_element(row.fd, element, *row.by);
    if (!found) {
        note(name, false, found.error(), "");
        return;
    }
    const bool same = *found == written;
    note(name, same, {}, same ? "" : fmt::format("{} instead of {}", words(*found), words(written)));
}

// Each is a second child of the root, which also shows whether the device allows one.
void SelfTest::test_read_back(const Row& row)
{
    struct Case {
        const char* name;
        ElementKind kind;
        ElementAttributes attributes;
        bool is_offered;
    };
    constexpr std::uint32_t kShare = 7;
    const ObjectId root = row.root.id;
    const Case cases[] = {
        {step::kReadNode, ElementKind::Node, {}, true},
        {step::kReadLeaf, ElementKind::Leaf, {}, true},
        {step::kReadShare, ElementKind::Leaf, {kShare, {}}, can_.shares},
        {step::kReadCap, ElementKind::Leaf, {0, Bandwidth::from_gbps(5)}, can_.rate_caps},
        {step::kReadOddCap, ElementKind::Leaf, {0, Bandwidth::from_mbps(1237)}, can_.rate_caps},
    };
    for (const auto& [name, kind, attributes, is_offered] : cases) {
        if (!is_offered) {
            continue;
        }
        const auto made = make_element(row.fd, kind, root, attributes, *row.by);
        if (!made) {
            note(step::kMoreElements, false, made.error(), name);
            continue;
        }
        read_back(name, row, *made, {kind, root, attributes});
        if (attributes.share != 0) {
            constexpr std::uint32_t kNewShare = 9;
            const ElementChange change{kNewShare, std::nullopt};
            const auto modified = devx_modify(row.fd, made->handle,
                                              modify_element(kind, ObjectId{made->id}, change, *row.by));
            if (modified) {
                read_back(step::kReadChange, row, *made, {kind, root, {kNewShare, {}}});
            } else {
                note(step::kReadChange, modified, "the change was refused");
            }
        }
        static_cast<void>(devx_destroy(row.fd, made->handle));
    }
}

std::vector<SelfTestStep> SelfTest::run_read_back(AttachMode mode)
{
    const bool is_legacy = mode == AttachMode::SharedLegacy;
    const char* const name = is_legacy ? row::kSharedLegacy : row::kSharedLeaf;
    if (context_ = open(name); context_) {
        const Row& made = make(name, is_legacy ? prm::kLegacyCommands : prm::kObjectCommands, context_->cmd_fd);
        if (made.root.id != kNoObject) {
            test_read_back(made);
        }
    }
    return std::move(steps_);
}

std::vector<SelfTestStep> SelfTest::run()
{
    context_ = open(row::kSharedLeaf);
    legacy_context_ = context_ ? open(row::kSharedLegacy) : nullptr;
    if (!legacy_context_) {
        return std::move(steps_);
    }
    rows_.reserve(5);
    make(row::kSharedLeaf, prm::kObjectCommands, context_->cmd_fd);
    make(row::kSharedLegacy, prm::kLegacyCommands, legacy_context_->cmd_fd);
    const int error = helper_.start(port_, options_.helper);
    if (note(step::kHelper, error == 0, Failure{error, 0, 0}, error == 0 ? "" : "no answer is possible without it")) {
        make_rows_of_helper();
        for (const Row& row : rows_) {
            if (row.is_made()) {
                test_change(row);
            }
        }
        test_states();
        Row* const chosen = best();
        if (chosen != nullptr) {
            test_devx(*chosen);
        }
        test_busy_leaf(chosen != nullptr ? *chosen : rows_.front());
        // A leaf of the helper's goes before the node it is below.
        std::for_each(rows_.rbegin(), rows_.rend() - 2, [&](const Row& row) { destroy(row); });
        const Row& read = chosen != nullptr && chosen->by == &prm::kLegacyCommands ? rows_[1] : rows_[0];
        if (read.root.id != kNoObject) {
            test_read_back(read);
        }
        std::for_each(rows_.begin(), rows_.begin() + 2, [&](const Row& row) { destroy(row); });
    }
    // The elements go with the contexts: a queue pair that could not be taken out of them has to go first.
    helper_.end();
    return std::move(steps_);
}

bool is_read_back(const SelfTestStep& each)
{
    return std::ranges::find(step::kReadBack, each.name) != step::kReadBack.end();
}

std::string words(const SelfTestStep& step)
{
    return fmt::format("{}: {}{}{}", step.name, to_string(Failure{step.sys_errno, step.status, step.syndrome}),
                       step.remark.empty() ? "" : "; ", step.remark);
}

}    // namespace

AttachReport judge(std::vector<SelfTestStep> steps)
{
    AttachReport report;
    if (const ModeOfRow* const best = best_that_works(steps)) {
        report.mode = best->mode;
        report.reason = fmt::format("{}{}", best->reason,
                                    verdict_of(steps, best->row).in_rts ? "" : "; RTS could not be tested");
    } else {
        report.mode = AttachMode::None;
        // What the other rows were refused is in the matrix.
        const auto failed = std::ranges::find_if(steps, [](const auto& each) {
            return !each.passed && !is_read_back(each) && each.name != step::kMoreElements &&
                   (each.row.empty() || each.row == row::kSharedLeaf);
        });
        report.reason = failed == steps.end() ? std::string("the self-test could not be run")
                                              : fmt::format("the self-test failed: {}", words(*failed));
    }
    report.unreadable = why_unreadable(steps);
    report.devx_refused = why_devx_refused(steps);
    report.steps = std::move(steps);
    return report;
}

std::string why_unreadable(const std::vector<SelfTestStep>& steps)
{
    const auto failed = std::ranges::find_if(steps,
                                             [](const auto& each) { return !each.passed && is_read_back(each); });
    if (failed == steps.end()) {
        return {};
    }
    return failed->sys_errno == 0 ? fmt::format("{}: {}", failed->name, failed->remark) : words(*failed);
}

std::string why_devx_refused(const std::vector<SelfTestStep>& steps)
{
    const SelfTestStep* found = find(steps, step::kAttachDevx);
    return found == nullptr || found->passed ? std::string() : words(*found);
}

bool is_final(const AttachReport& report)
{
    constexpr int kPassing[] = {EBUSY, EAGAIN, ENOMEM, EIO, ENODEV, ENXIO, ETIMEDOUT};
    const SelfTestStep* const rts = find(report.steps, step::kReadyToSend);
    return rts != nullptr && rts->passed && std::ranges::none_of(report.steps, [&](const SelfTestStep& each) {
               return !each.passed && each.name != step::kBusyLeaf && each.name != step::kDevxQueuePair &&
                      each.status == 0 && std::ranges::find(kPassing, each.sys_errno) != std::end(kPassing);
           });
}

std::vector<SelfTestStep> run_read_back(const DeviceInfo& port, const Capabilities& can, AttachMode mode)
{
    const SelfTestOptions none;
    return SelfTest(port, can, none).run_read_back(mode);
}

AttachReport run_self_test(const DeviceInfo& port, const Capabilities& can, const SelfTestOptions& options)
{
    return judge(SelfTest(port, can, options).run());
}

Result<std::optional<AttachReport>> kept_self_test(const DeviceInfo& port, const SelfTestOptions& options)
{
    return load_self_test(options.cache, self_test_key(port));
}

AttachReport self_test(const DeviceInfo& port, const Capabilities& can, const SelfTestOptions& options)
{
    AttachReport report = run_self_test(port, can, options);
    // In mode none nothing is enforced.
    log_event(report.mode == AttachMode::None ? LogLevel::Warning : LogLevel::Notice, LogEvent::SelfTest,
              LogOrigin::device(port.key()),
              {{"DEVICE", port.key()}, {"ATTACH_MODE", std::string(to_string(report.mode))}},
              "{}: the self-test finds attach mode {}: {}", port.key(), to_string(report.mode), report.reason);
    if (is_final(report)) {
        if (const auto kept = save_self_test(options.cache, self_test_key(port), report); !kept) {
            report.not_kept = to_string(kept.error());
            log(LogLevel::Warning, "the result of the self-test cannot be saved; it will run again: {}",
                report.not_kept);
        }
    }
    return report;
}

}    // namespace rdmaqos::mlx5
