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

struct Element {
    std::uint32_t handle = 0;
    ObjectId id = kNoObject;
};

// The helper process; killed and reaped at the end.
class Helper {
public:
    ~Helper() { end(); }

    // Its queue pair is gone then, unless the process hangs in the kernel.
    void end();

    // The errno of what failed.
    int start(const DeviceInfo& port, std::vector<std::string> command);
    int to_rts();
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

int Helper::to_rts()
{
    std::int32_t answer = 0;
    const int error = ask(HelperRequest::ReadyToSend, answer);
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

std::string words(const ElementAnswer& element)
{
    const auto& [share, max_rate] = element.attributes;
    return fmt::format("{} below {}, share {}, {}", to_string(element.kind), static_cast<std::uint32_t>(element.parent),
                       share, max_rate ? to_string(*max_rate) : "no cap");
}

class SelfTest {
public:
    SelfTest(const DeviceInfo& port, const Capabilities& can, const SelfTestOptions& options)
        : port_(port), can_(can), options_(options)
    {
    }

    std::vector<SelfTestStep> run();
    std::vector<SelfTestStep> run_read_back();

private:
    bool note(const char* name, bool passed, const Failure& failure, std::string remark);
    bool note(const char* name, const Answer<void>& answer, std::string remark = {});
    bool make_elements(const char* name, int fd, Element& root, Element& leaf);
    void test_read_back(const Element& root);
    void read_back(const char* name, const Created& element, const ElementAnswer& written);
    void test_shared(const Element& leaf);
    void test_state(QueuePairState state, ObjectId leaf, const char* attach, const char* detach);
    void test_devx(const Element& leaf);
    void test_busy_leaf(const Element& leaf);
    void test_foreign();
    // Our own context, with elements in it.
    bool begin(Context& context, Element& root, Element& leaf);
    Answer<void> place(QueuePairState state, ObjectId leaf)
    {
        const auto& hello = helper_.hello();
        return devx_modify(helper_.fd(), hello.handle, place_queue_pair(state, hello.number, leaf, kNoObject));
    }

    const DeviceInfo& port_;
    const Capabilities& can_;
    const SelfTestOptions& options_;
    Helper helper_;
    int fd_ = -1;                                    // of our own context
    QueuePairState state_ = QueuePairState::Init;    // of the helper's queue pair
    std::vector<SelfTestStep> steps_;
};

bool SelfTest::note(const char* name, bool passed, const Failure& failure, std::string remark)
{
    steps_.push_back({name, passed, failure.sys_errno, failure.status, failure.syndrome, std::move(remark)});
    return passed;
}

bool SelfTest::note(const char* name, const Answer<void>& answer, std::string remark)
{
    return note(name, answer.has_value(), answer ? Failure{} : answer.error(), std::move(remark));
}

bool SelfTest::make_elements(const char* name, int fd, Element& root, Element& leaf)
{
    for (Element* element : {&root, &leaf}) {
        const bool is_leaf = element == &leaf;
        const auto made = make_element(fd, is_leaf ? ElementKind::Leaf : ElementKind::Node,
                                       is_leaf ? root.id : kNoObject, {});
        if (!made) {
            return note(name, false, made.error(), is_leaf ? "a leaf" : "the root");
        }
        *element = {made->handle, ObjectId{made->id}};
    }
    return note(name, true, {}, {});
}

void SelfTest::read_back(const char* name, const Created& element, const ElementAnswer& written)
{
    const auto answer = devx_query(fd_, element.handle, query_element(ObjectId{element.id}), kQueryElementBytes);
    if (!answer) {
        note(name, false, answer.error(), "");
        return;
    }
    const ElementAnswer found = decode_element(*answer);
    const bool same = found == written;
    note(name, same, {}, same ? "" : fmt::format("{} instead of {}", words(found), words(written)));
}

// Each is a second child of the root, which also shows whether the device allows one.
void SelfTest::test_read_back(const Element& root)
{
    struct Case {
        const char* name;
        ElementKind kind;
        ElementAttributes attributes;
        bool is_offered;
    };
    constexpr std::uint32_t kShare = 7;
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
        const auto made = make_element(fd_, kind, root.id, attributes);
        if (!made) {
            note(step::kMoreElements, false, made.error(), name);
            continue;
        }
        read_back(name, *made, {kind, root.id, attributes});
        if (attributes.share != 0) {
            constexpr std::uint32_t kNewShare = 9;
            const auto modified = devx_modify(fd_, made->handle,
                                              modify_element(kind, ObjectId{made->id}, {kNewShare, std::nullopt}));
            if (modified) {
                read_back(step::kReadChange, *made, {kind, root.id, {kNewShare, {}}});
            } else {
                note(step::kReadChange, modified, "the change was refused");
            }
        }
        static_cast<void>(devx_destroy(fd_, made->handle));
    }
}

void SelfTest::test_state(QueuePairState state, ObjectId leaf, const char* attach, const char* detach)
{
    if (note(attach, place(state, leaf))) {
        note(detach, place(state, kNoObject));
    }
}

void SelfTest::test_shared(const Element& leaf)
{
    test_state(QueuePairState::Init, leaf.id, step::kAttachInit, step::kDetachInit);
    const int error = helper_.to_rts();
    if (!note(step::kReadyToSend, error == 0, Failure{error, 0, 0},
              error == 0      ? ""
              : port_.link_up ? "not tested in RTS"
                              : "not tested in RTS: the port is down")) {
        return;
    }
    state_ = QueuePairState::Rts;
    test_state(QueuePairState::Rts, leaf.id, step::kAttachRts, step::kDetachRts);
}

// Programs that use UCX make theirs so. A failure says nothing about other queue pairs.
void SelfTest::test_devx(const Element& leaf)
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
    if (note(step::kAttachDevx, place_it(leaf.id))) {
        note(step::kDetachDevx, place_it(kNoObject));
    }
}

void SelfTest::test_busy_leaf(const Element& leaf)
{
    if (!place(state_, leaf.id)) {
        return;    // refused above already
    }
    const auto destroyed = devx_destroy(fd_, leaf.handle);
    note(step::kBusyLeaf, !destroyed, destroyed ? Failure{} : destroyed.error(),
         destroyed ? "it was destroyed under its queue pair; rdma-qosd empties a leaf before it destroys it" : "");
    static_cast<void>(place(state_, kNoObject));
}

void SelfTest::test_foreign()
{
    Element root;
    Element leaf;
    if (make_elements(step::kForeignElements, helper_.fd(), root, leaf) &&
        note(step::kAttachForeign, place(state_, leaf.id))) {
        static_cast<void>(place(state_, kNoObject));
        test_devx(leaf);
    }
    for (const Element& element : {leaf, root}) {
        if (element.id != kNoObject) {
            static_cast<void>(devx_destroy(helper_.fd(), element.handle));
        }
    }
}

bool SelfTest::begin(Context& context, Element& root, Element& leaf)
{
    auto opened = open_context(port_.name);
    if (!opened) {
        return note(step::kElements, false, Failure{opened.error().sys_errno, 0, 0}, opened.error().message);
    }
    context = std::move(*opened);
    fd_ = context->cmd_fd;
    return make_elements(step::kElements, fd_, root, leaf);
}

std::vector<SelfTestStep> SelfTest::run_read_back()
{
    Context context;
    Element root;
    Element leaf;
    if (begin(context, root, leaf)) {
        test_read_back(root);
    }
    return std::move(steps_);
}

std::vector<SelfTestStep> SelfTest::run()
{
    Context context;
    Element root;
    Element leaf;
    if (begin(context, root, leaf)) {
        test_read_back(root);
        const int error = helper_.start(port_, options_.helper);
        if (note(step::kHelper, error == 0, Failure{error, 0, 0},
                 error == 0 ? "" : "no answer is possible without it")) {
            test_shared(leaf);
            const bool is_shared = judge(steps_).mode == AttachMode::Shared;
            if (is_shared) {
                test_devx(leaf);
            }
            test_busy_leaf(leaf);
            if (!is_shared) {
                test_foreign();
            }
        }
    }
    // The elements go with the context: a queue pair that could not be taken out of them has to go first.
    helper_.end();
    return std::move(steps_);
}

const SelfTestStep* find(const std::vector<SelfTestStep>& steps, std::string_view name)
{
    const auto found = std::ranges::find(steps, name, &SelfTestStep::name);
    return found == steps.end() ? nullptr : &*found;
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
    const auto passed = [&](const char* name) {
        const SelfTestStep* found = find(steps, name);
        return found != nullptr && found->passed;
    };
    // Queue pairs are attached in RTS for the most part; INIT decides alone only where RTS could not be reached.
    const bool in_rts = passed(step::kAttachRts) && passed(step::kDetachRts);
    const bool in_init = passed(step::kAttachInit) && passed(step::kDetachInit);
    const bool rts_tested = find(steps, step::kAttachRts) != nullptr;
    AttachReport report;
    if (in_rts || (in_init && !rts_tested)) {
        report.mode = AttachMode::Shared;
        report.reason = in_rts ? "the self-test attached another process's queue pair to a leaf of ours"
                               : "the self-test attached another process's queue pair in INIT; RTS could not be tested";
    } else if (passed(step::kAttachForeign)) {
        report.mode = AttachMode::PerProcess;
        report.reason = "the firmware lets a queue pair use leaves of its own process only (self-test)";
    } else {
        report.mode = AttachMode::None;
        const auto failed = std::ranges::find_if(steps, [](const auto& each) {
            return !each.passed && !is_read_back(each) && each.name != step::kMoreElements;
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
    return find(report.steps, step::kAttachRts) != nullptr &&
           std::ranges::none_of(report.steps, [&](const SelfTestStep& each) {
               return !each.passed && each.name != step::kBusyLeaf && each.name != step::kDevxQueuePair &&
                      each.status == 0 && std::ranges::find(kPassing, each.sys_errno) != std::end(kPassing);
           });
}

std::vector<SelfTestStep> run_read_back(const DeviceInfo& port, const Capabilities& can)
{
    const SelfTestOptions none;
    return SelfTest(port, can, none).run_read_back();
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
