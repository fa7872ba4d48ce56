#include "lib/nic_mlx5/mlx5_backend.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/base/log.h"
#include "lib/base/try.h"
#include "lib/nic/pacing.h"
#include "lib/nic_mlx5/attach_reports.h"
#include "lib/nic_mlx5/attributes.h"
#include "lib/nic_mlx5/commands.h"
#include "lib/nic_mlx5/context.h"
#include "lib/nic_mlx5/errors.h"
#include "lib/nic_mlx5/event_thread.h"
#include "lib/nic_mlx5/find_queue_pairs.h"
#include "lib/nic_mlx5/ownership.h"
#include "lib/nic_mlx5/sysfs.h"
#include "lib/nic_mlx5/uverbs.h"
#include "lib/tree/queue_pair_limit.h"

namespace rdmaqos::mlx5 {
namespace {

// Within this time a queue pair is taken to be in the leaves in which it was found. Its owner may reset it meanwhile,
// as it may behind a placement.
constexpr std::chrono::seconds kMoment(1);

class Mlx5Backend final : public Backend {
public:
    // `advertised`: what the device says it can.
    // `known`: how queue pairs can be attached; empty: that is to be tested.
    Mlx5Backend(Context context, DeviceInfo info, Capabilities advertised, BackendOptions options,
                std::optional<AttachReport> known);

    DeviceInfo info() const override;
    Capabilities capabilities() const override { return capabilities_; }
    AttachReport attach_report() const override { return attach_; }
    void test_attaching() override;
    std::vector<DeviceAttribute> attributes() const override;

    Result<ElementHandle> create_element(const ElementRequest& request) override
    {
        return named(tree_->create(request));
    }
    Result<void> modify_element(ElementHandle element, const ElementChange& change) override
    {
        return named(tree_->modify(element, change));
    }
    Result<ElementState> query_element(ElementHandle element) override { return named(tree_->query(element)); }
    Result<void> destroy_element(ElementHandle element) override { return named(tree_->destroy(element)); }
    Lifeline lifeline() const override { return lifeline_of(attach_.mode, file_of_elements()); }
    Result<void> take_over(const std::vector<KnownElement>& known, const BackendNotes& notes) override
    {
        return named(tree_->take_over(known, notes));
    }
    Result<std::size_t> count_strays(const std::vector<ElementHandle>& known) override
    {
        return named(tree_->count_strays(known));
    }
    Result<std::size_t> destroy_strays(const std::vector<ElementHandle>& known) override
    {
        return named(tree_->destroy_strays(known));
    }
    void set_note_keeper(const NoteKeeper& keeper) override
    {
        keeper_ = keeper;
        tree_->set_note_keeper(keeper_);
    }

    Result<Admission> admit(const QueuePairRef& queue_pair) override;
    Result<QueuePairSearch> find_queue_pairs(const std::shared_ptr<ClientFile>& file,
                                             const std::vector<SoughtQueuePair>& sought,
                                             const std::set<std::uint32_t>& known) override;
    Result<void> place(const QueuePairRef& queue_pair, std::optional<ElementHandle> requester,
                       std::optional<ElementHandle> responder) override;
    Result<void> cap_copy(const std::shared_ptr<ClientFile>& file, ElementHandle leaf,
                          std::optional<Bandwidth> cap) override;
    Result<void> set_rate(const QueuePairRef& queue_pair, const std::optional<RateLimit>& rate) override;
    Result<QueuePairState> query_queue_pair(const QueuePairRef& queue_pair) override;
    Result<std::optional<QueuePairMark>> query_mark(const QueuePairRef& queue_pair) override;
    Result<PortCounters> port_counters() override;
    void set_event_handler(EventHandler handler) override { events_.start(std::move(handler)); }

private:
    // A queue pair as it was when it was last looked at: its owner changes it without a word.
    struct QueuePairFacts {
        QueuePairState state = QueuePairState::Reset;
        std::optional<LeafIds> leaves{};    // in which it was found
        std::chrono::steady_clock::time_point found_at{};
    };
    // What is known of a client's file.
    struct FileFacts {
        std::weak_ptr<ClientFile> file;
        std::unordered_map<std::uint32_t, QueuePairFacts> queue_pairs;    // by handle
    };

    // By its number; a file of this device as it was before a reset may have the same one.
    [[nodiscard]] Result<void> check_file(const ClientFile& file) const;
    // A device that comes back mostly has its old number, and its elements have ids that mean others than ours did. A
    // client may have opened it before this backend's end is known.
    [[nodiscard]] Result<void> check_own_file() const;
    // Of a failed command by this file: it is dead, and the device is not.
    [[nodiscard]] bool is_of_an_earlier_one(const ClientFile& file, const Failure& failure) const
    {
        return is_gone(failure) && answers(context_->cmd_fd) && !answers(file.fd());
    }
    FileFacts& facts_of(const std::shared_ptr<ClientFile>& file);
    // Found there a moment ago, and not placed since. For one placement: what was found is then forgotten.
    bool was_found_in(const LeafIds& leaves, const QueuePairRef& queue_pair);
    // Whether a queue pair's context has its leaves.
    [[nodiscard]] bool tells_leaves() const { return advertised_.attachable.contains(QueuePairType::Rc); }
    [[nodiscard]] Answer<QueuePairAnswer> query(const QueuePairRef& queue_pair) const;
    // The same of one whose file may be closed by now, with an error for people.
    Result<QueuePairAnswer> ask(const QueuePairRef& queue_pair);
    [[nodiscard]] Answer<void> send_place(const QueuePairRef& queue_pair, QueuePairState state,
                                          const LeafIds& leaves) const;
    [[nodiscard]] Result<void> place_in(const QueuePairRef& queue_pair, const LeafIds& leaves);
    // The error of a command by `fd`, with the device's name; DeviceGone only if the device is.
    [[nodiscard]] Error name(Error error, int fd) const;
    [[nodiscard]] Error name(Error error, const QueuePairRef& queue_pair) const
    {
        return name(std::move(error), queue_pair.file->fd());
    }
    template <typename T>
    [[nodiscard]] Result<T> named(Result<T> result) const
    {
        return result ? std::move(result) : fail(name(std::move(result).error(), context_->cmd_fd));
    }

    void take(AttachReport attach);
    [[nodiscard]] int file_of_elements() const
    {
        return options_.elements_file ? options_.elements_file->get() : context_->cmd_fd;
    }

    const std::filesystem::path sys_ = sysfs_root();
    const BackendOptions options_;    // with what is held: goes after the context
    Context context_;
    dev_t number_ = 0;    // of the device file
    const DeviceInfo info_;
    const Capabilities advertised_;
    Capabilities capabilities_;    // those that are of use
    AttachReport attach_;
    std::unique_ptr<ElementTree> tree_;
    NoteKeeper keeper_;
    QueuePairOwners owners_;
    std::unordered_map<const ClientFile*, FileFacts> files_;
    std::size_t prune_at_ = 64;
    EventThread events_;    // last: ends before what it uses
};

std::unique_ptr<ElementTree> make_tree(const AttachReport& attach, int fd, CapMode caps,
                                       const Capabilities& capabilities)
{
    const Reads reads = attach.unreadable.empty() ? Reads::Device : Reads::Written;
    switch (attach.mode) {
    case AttachMode::PerProcess:
        return make_mirrored_tree(caps, reads, capabilities);
    case AttachMode::SharedNodes:
        return make_shared_nodes_tree(fd, reads, capabilities);
    case AttachMode::SharedLegacy:
        return make_shared_tree(fd, prm::kLegacyCommands, reads, capabilities);
    case AttachMode::Shared:
    case AttachMode::None:
        break;
    }
    return make_shared_tree(fd, prm::kObjectCommands, reads, capabilities);
}

Mlx5Backend::Mlx5Backend(Context context, DeviceInfo info, Capabilities advertised, BackendOptions options,
                         std::optional<AttachReport> known)
    : options_(std::move(options)), context_(std::move(context)), info_(std::move(info)),
      advertised_(std::move(advertised)), owners_(info_.name), events_(*context_)
{
    struct stat status {};
    if (fstat(context_->cmd_fd, &status) == 0) {
        number_ = status.st_rdev;
    }
    if (known) {
        take(std::move(*known));
    } else if (options_.postpone_test) {
        take(postponed_report(options_));
    } else {
        test_attaching();
    }
}

void Mlx5Backend::test_attaching()
{
    AttachReport tested = tested_report(info_, advertised_, options_);
    if (attach_.postponed && was_short(tested)) {
        return;    // nothing was learnt: the next write asks again
    }
    take(std::move(tested));
}

void Mlx5Backend::take(AttachReport attach)
{
    attach_ = std::move(attach);
    attach_.caps = attach_.mode == AttachMode::PerProcess ? options_.caps : CapMode::Whole;
    capabilities_ = advertised_;
    if (attach_.mode == AttachMode::None) {
        capabilities_ = {};
        capabilities_.pacing = advertised_.pacing;
    }
    if (attach_.mode == AttachMode::SharedNodes && capabilities_.max_depth > 1) {
        --capabilities_.max_depth;    // below each leaf that is planned, those of processes
    }
    tree_ = make_tree(attach_, file_of_elements(), options_.caps, capabilities_);
    tree_->set_note_keeper(keeper_);
}

std::vector<DeviceAttribute> Mlx5Backend::attributes() const
{
    ibv_device_attr_ex attributes{};
    return ibv_query_device_ex(context_.get(), nullptr, &attributes) == 0 ? describe(attributes)
                                                                          : std::vector<DeviceAttribute>();
}

DeviceInfo Mlx5Backend::info() const
{
    const auto now = read_port(sys_, info_.name, info_.port);
    if (now && *now && (*now)->node_guid == info_.node_guid) {
        return **now;
    }
    DeviceInfo last = info_;
    last.link_up = last.link_up && !now;    // it is gone, unless it only cannot be read at this time
    return last;
}

Error Mlx5Backend::name(Error error, int fd) const
{
    if (error.code == ErrorCode::DeviceGone && answers(context_->cmd_fd)) {
        error = not_gone(std::move(error), answers(fd));
    }
    return std::move(error).with_context(info_.name);
}

Result<void> Mlx5Backend::check_file(const ClientFile& file) const
{
    struct stat status {};
    if (fstat(file.fd(), &status) != 0) {
        return fail(error_from_errno(ErrorCode::NotUverbs, errno, "`uverbs` cannot be inspected"));
    }
    if (!S_ISCHR(status.st_mode)) {
        return fail(ErrorCode::NotUverbs,
                    "`uverbs` is not a device file: pass the descriptor of the open verbs context "
                    "(ibv_context.cmd_fd)");
    }
    if (status.st_rdev == number_) {
        return {};
    }
    return fail(not_of_device(status.st_rdev, number_, device_of_number(sys_, status.st_rdev), info_.name));
}

Result<void> Mlx5Backend::check_own_file() const
{
    if (!is_attached(context_->cmd_fd)) {
        return fail(ErrorCode::DeviceGone,
                    fmt::format("{} was reset or removed: try again when it is back", info_.name));
    }
    return {};
}

Mlx5Backend::FileFacts& Mlx5Backend::facts_of(const std::shared_ptr<ClientFile>& file)
{
    if (files_.size() >= prune_at_) {
        std::erase_if(files_, [](const auto& entry) { return entry.second.file.expired(); });
        prune_at_ = std::max<std::size_t>(64, files_.size() * 2);
    }
    FileFacts& facts = files_[file.get()];
    if (facts.file.expired()) {
        facts = {file, {}};    // new, or at the address of one that is gone
    }
    return facts;
}

// The kernel answers only if handle and number belong together in this file; of a raw packet queue pair, which this
// query does not number, only that the handle is a queue pair.
Answer<QueuePairAnswer> Mlx5Backend::query(const QueuePairRef& queue_pair) const
{
    const int fd = queue_pair.file->fd();
    if (queue_pair.type == QueuePairType::RawPacket) {
        const auto state = query_state(fd, queue_pair.handle);
        if (!state) {
            // Kernels before 2025 say so too when the owner has a call on it in flight.
            const bool perhaps_busy = state.error().sys_errno == EINVAL;
            return tl::unexpected(perhaps_busy ? Failure{EBUSY, 0, 0} : state.error());
        }
        return QueuePairAnswer{*state, QueuePairType::RawPacket};
    }
    const auto answer = devx_query(fd, queue_pair.handle, mlx5::query_queue_pair(queue_pair.number),
                                   prm::kQueryQpBytes);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    return decode_queue_pair(*answer);
}

Result<Admission> Mlx5Backend::admit(const QueuePairRef& queue_pair)
{
    if (!queue_pair.file) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("a queue pair of {} needs `uverbs`, the descriptor of its open verbs context, and `handle`",
                        info_.name));
    }
    const ClientFile::Use use(*queue_pair.file);
    if (!use.opened()) {
        return fail(use.opened().error());
    }
    TRY(check_file(*queue_pair.file));
    const OwnerAnswer tracked = queue_pair.type == QueuePairType::Devx ? OwnerAnswer{AnswerEnd::Nothing, {}, {}, {}, {}}
                                                                       : owners_.find(info_.port, queue_pair.number);
    Admission admission;
    // The kernel forgets a thread when it ends, as one that only sets up queue pairs soon does.
    admission.owner_verified = tracked.owner ||
                               (tracked.protection_domain &&
                                owners_.is_in_reach_of(queue_pair.owner_pid, *tracked.protection_domain));
    if (tracked.owner && queue_pair.owner_pid != 0 && !is_thread_of(*tracked.owner, queue_pair.owner_pid)) {
        return fail(ErrorCode::NotOwner,
                    fmt::format("queue pair {} of {} was created by thread {}, which does not belong to process {}",
                                queue_pair.number, info_.name, *tracked.owner, queue_pair.owner_pid));
    }
    QueuePairAnswer found{tracked.state, tracked.type};
    if (!tracked.owner) {
        TRY(check_own_file());
        // Nobody vouches for the number: the kernel holds it against the handle. Of an owner's own, it does so when the
        // handle is used.
        const auto answer = query(queue_pair);
        if (!answer && is_of_an_earlier_one(*queue_pair.file, answer.error())) {
            return fail(
                ErrorCode::WrongDevice,
                fmt::format("`uverbs` is a file of {} as it was before it was reset or removed: open the device "
                            "again and register again",
                            info_.name));
        }
        if (!answer) {
            return fail(name(explain(Command::QueryQueuePair, answer.error()), queue_pair));
        }
        found = *answer;
    }
    if (queue_pair.type != QueuePairType::Devx && found.type != queue_pair.type) {
        return fail(ErrorCode::BadQueuePair,
                    fmt::format("queue pair {} of {} is of type {}, not {}", queue_pair.number, info_.name,
                                found.type ? to_string(*found.type) : "(one that cannot be scheduled)",
                                to_string(queue_pair.type)));
    }
    if (found.state) {
        facts_of(queue_pair.file).queue_pairs[queue_pair.handle].state = *found.state;
    }
    return admission;
}

Result<QueuePairSearch> Mlx5Backend::find_queue_pairs(const std::shared_ptr<ClientFile>& file,
                                                      const std::vector<SoughtQueuePair>& sought,
                                                      const std::set<std::uint32_t>& known)
{
    const ClientFile::Use use(*file);
    if (!use.opened()) {
        return fail(use.opened().error());
    }
    TRY(check_file(*file));
    auto found = mlx5::find_queue_pairs(file->fd(), {sys_, info_.name, info_.port, info_.link_layer}, tells_leaves(),
                                        sought, known);
    if (!found) {
        const int error = found.error().sys_errno;
        const bool too_old = error == EOPNOTSUPP || error == EPROTONOSUPPORT || error == ENOTTY;
        return too_old ? fail(Error{ErrorCode::Unsupported, error,
                                    "this kernel does not list the queue pairs in a device file (Linux 5.0 does)"})
                       : fail(name(explain(Command::QueryQueuePair, found.error()), file->fd()));
    }
    auto& facts = facts_of(file).queue_pairs;
    const auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < found->search.found.size(); ++i) {
        const FoundQueuePair& each = found->search.found[i];
        facts[each.handle] = {each.state, found->leaves[i], now};
    }
    return std::move(found->search);
}

bool Mlx5Backend::was_found_in(const LeafIds& leaves, const QueuePairRef& queue_pair)
{
    auto& facts = facts_of(queue_pair.file).queue_pairs;
    const auto known = facts.find(queue_pair.handle);
    if (known == facts.end()) {
        return false;
    }
    const auto found = std::exchange(known->second.leaves, std::nullopt);
    return found == leaves && std::chrono::steady_clock::now() - known->second.found_at < kMoment;
}

Answer<void> Mlx5Backend::send_place(const QueuePairRef& queue_pair, QueuePairState state, const LeafIds& leaves) const
{
    const Mailbox command = queue_pair.type == QueuePairType::RawPacket
                                ? place_send_queue(queue_pair.sq_number, leaves.requester)
                                : place_queue_pair(state, queue_pair.number, leaves.requester, leaves.responder);
    return devx_modify(queue_pair.file->fd(), queue_pair.handle, command);
}

// Tries with the state it had when it was last looked at: mostly that is still so, and asking costs the owner a chance
// of EBUSY.
Result<void> Mlx5Backend::place_in(const QueuePairRef& queue_pair, const LeafIds& leaves)
{
    auto& facts = facts_of(queue_pair.file).queue_pairs;
    const bool leaving = leaves.requester == kNoObject && leaves.responder == kNoObject;
    const auto placeable = [&](QueuePairState state) {
        return state == QueuePairState::Rts ||
               (state == QueuePairState::Init && queue_pair.type != QueuePairType::RawPacket);
    };
    std::optional<Failure> failure;
    const auto known = facts.find(queue_pair.handle);
    if (known != facts.end() && placeable(known->second.state)) {
        const auto answer = send_place(queue_pair, known->second.state, leaves);
        if (answer) {
            return {};
        }
        failure = answer.error();
        if (errno_of(*failure) == EBUSY) {
            return fail(explain(Command::Place, *failure));
        }
    }
    const auto now = query(queue_pair);
    if (!now) {
        const Error error = explain(Command::QueryQueuePair, now.error());
        facts.erase(queue_pair.handle);
        // Destroyed by its owner: it is in no leaf.
        return leaving && error.code == ErrorCode::BadQueuePair ? Result<void>() : fail(error);
    }
    const QueuePairState state = now->state.value_or(QueuePairState::Error);
    const bool as_known = failure && known != facts.end() && known->second.state == state;
    facts[queue_pair.handle] = {state};
    if (as_known) {
        return fail(explain(Command::Place, *failure));
    }
    if (!placeable(state)) {
        if (leaving && state == QueuePairState::Reset) {
            return {};    // a reset takes it out
        }
        return fail(bad_state(queue_pair.number, queue_pair.type, state));
    }
    const auto answer = send_place(queue_pair, state, leaves);
    return answer ? Result<void>() : fail(explain(Command::Place, answer.error()));
}

Result<void> Mlx5Backend::cap_copy(const std::shared_ptr<ClientFile>& file, ElementHandle leaf,
                                   std::optional<Bandwidth> cap)
{
    const ClientFile::Use use(*file);
    if (!use.opened()) {
        return use.opened();
    }
    return named(tree_->cap_copy(file, leaf, cap));
}

Result<void> Mlx5Backend::place(const QueuePairRef& queue_pair, std::optional<ElementHandle> requester,
                                std::optional<ElementHandle> responder)
{
    if (!queue_pair.file) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("queue pair {} of {} has no file", queue_pair.number, info_.name));
    }
    const ClientFile::Use use(*queue_pair.file);
    if (!use.opened()) {
        return use.opened();
    }
    const auto leaves = tree_->leaves_for(queue_pair.file, requester, responder);
    if (!leaves) {
        tree_->not_placed(queue_pair.file);
        return fail(name(leaves.error(), queue_pair));
    }
    if (!was_found_in(*leaves, queue_pair)) {
        // Group 0 is the same on every device.
        const bool has_leaves = requester || responder;
        if (auto is_there = has_leaves ? check_own_file() : Result<void>(); !is_there) {
            tree_->not_placed(queue_pair.file);
            return is_there;
        }
        if (const auto done = place_in(queue_pair, *leaves); !done) {
            tree_->not_placed(queue_pair.file);
            return fail(name(done.error(), queue_pair));
        }
    }
    tree_->placed(queue_pair.file, queue_pair.handle, requester, responder);
    return {};
}

Result<void> Mlx5Backend::set_rate(const QueuePairRef& queue_pair, const std::optional<RateLimit>& rate)
{
    if (!queue_pair.file) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("queue pair {} of {} has no file", queue_pair.number, info_.name));
    }
    if (rate) {
        if (auto fits = check_range(*rate); !fits) {
            return fits;
        }
    }
    const ClientFile::Use use(*queue_pair.file);
    if (!use.opened()) {
        return use.opened();
    }
    const auto answer = modify_rate(queue_pair.file->fd(), queue_pair.handle, rate);
    if (answer) {
        return {};
    }
    // The kernel refuses a state, a rate and a queue pair that is not there with one errno.
    const auto now = errno_of(answer.error()) == EBUSY ? tl::unexpected(answer.error()) : query(queue_pair);
    if (!now) {
        const bool busy = errno_of(now.error()) == EBUSY;
        return fail(name(explain(busy ? Command::SetRate : Command::QueryQueuePair, now.error()), queue_pair));
    }
    const QueuePairState state = now->state.value_or(QueuePairState::Error);
    if (!rate && (state == QueuePairState::Reset || state == QueuePairState::Error)) {
        return {};    // a rate does not survive these
    }
    if (state != QueuePairState::Rts && errno_of(answer.error()) == EINVAL) {
        return fail(name({ErrorCode::BadState, EINVAL,
                          fmt::format("queue pair {} is in {}, and only in RTS can it be paced: try again when it is",
                                      queue_pair.number, to_string(state))},
                         queue_pair));
    }
    const int error = errno_of(answer.error());
    if (error == EINVAL || error == ENOSPC || error == EOPNOTSUPP || error == ENOSYS) {
        return fail(explain_rate_refusal(error, rate, queue_pair.type, capabilities_.pacing).with_context(info_.name));
    }
    return fail(name(explain(Command::SetRate, answer.error()), queue_pair));
}

Result<QueuePairAnswer> Mlx5Backend::ask(const QueuePairRef& queue_pair)
{
    const ClientFile::Use use(*queue_pair.file);
    if (!use.opened()) {
        return fail(use.opened().error());
    }
    const auto answer = query(queue_pair);
    if (!answer) {
        return fail(name(explain(Command::QueryQueuePair, answer.error()), queue_pair));
    }
    return *answer;
}

Result<QueuePairState> Mlx5Backend::query_queue_pair(const QueuePairRef& queue_pair)
{
    const QueuePairAnswer answer = TRY(ask(queue_pair));
    if (!answer.state) {
        return fail(ErrorCode::BadState,
                    fmt::format("queue pair {} of {} is suspended", queue_pair.number, info_.name));
    }
    return *answer.state;
}

Result<std::optional<QueuePairMark>> Mlx5Backend::query_mark(const QueuePairRef& queue_pair)
{
    if (!queue_pair.file || queue_pair.type == QueuePairType::RawPacket) {
        return std::nullopt;    // its program makes the headers itself
    }
    return TRY(ask(queue_pair)).mark;
}

Result<PortCounters> Mlx5Backend::port_counters()
{
    return read_counters(sys_, info_.name, info_.port);
}

// ---- opening ----

Result<Capabilities> query_all_capabilities(ibv_context& context)
{
    Mailbox answers[2];
    const std::uint64_t types[] = {prm::kGeneralCapabilities, prm::kQosCapabilities};
    for (std::size_t i = 0; i < std::size(types); ++i) {
        const auto answer = devx_command(context.cmd_fd, query_capabilities(types[i]), prm::kCapabilityBytes);
        if (!answer) {
            return fail(explain(Command::QueryCapabilities, answer.error()));
        }
        answers[i] = *answer;
    }
    Capabilities can = decode_capabilities(answers[0], answers[1]);
    ibv_device_attr_ex attributes{};
    if (const int error = ibv_query_device_ex(&context, nullptr, &attributes); error != 0) {
        return fail(error_from_errno(ErrorCode::DeviceFailed, error, "query device"));
    }
    const auto& pacing = attributes.packet_pacing_caps;
    for (const auto& [type, bit] : {std::pair(QueuePairType::Rc, IBV_QPT_RC),
                                    {QueuePairType::Uc, IBV_QPT_UC},
                                    {QueuePairType::Ud, IBV_QPT_UD},
                                    {QueuePairType::RawPacket, IBV_QPT_RAW_PACKET}}) {
        if ((pacing.supported_qpts >> bit & 1U) != 0) {
            can.pacing.supported_types.insert(type);
        }
    }
    // Some devices say 0 for both: not known, rather than nothing allowed.
    if (pacing.qp_rate_limit_max != 0) {
        can.pacing.min_rate = Bandwidth::from_kbps(pacing.qp_rate_limit_min);
        can.pacing.max_rate = Bandwidth::from_kbps(pacing.qp_rate_limit_max);
    }
    return can;
}

}    // namespace

bool is_mlx5(const DeviceInfo& port)
{
    return port.driver == "mlx5";
}

Result<std::unique_ptr<Backend>> open_backend(const DeviceInfo& port, const BackendOptions& options)
{
    auto context = TRY(open_context(port.name));
    auto can = query_all_capabilities(*context);
    if (!can) {
        return fail(can.error().with_context(port.name));
    }
    if (options.elements_file) {
        // As it is now that the device is open: it may have been reset since somebody looked.
        const auto can_be = can_take_over(options.elements_file->get(), port);
        if (!can_be || !*can_be) {
            return fail(!can_be ? can_be.error()
                                : Error{ErrorCode::Busy, 0, fmt::format("{} was reset meanwhile", port.name)});
        }
    }
    if (options.before_writing) {
        TRY(options.before_writing());
    }
    auto known = TRY(known_report(port, *can, options));
    BackendOptions kept = options;
    kept.before_writing = nullptr;
    auto backend = std::make_unique<Mlx5Backend>(std::move(context), port, std::move(*can), std::move(kept),
                                                 std::move(known));
    if (const auto& attach = backend->attach_report(); attach.mode == AttachMode::None && was_short(attach)) {
        return fail({ErrorCode::Busy, 0, fmt::format("{}: {}", port.name, attach.reason)});
    }
    return backend;
}

}    // namespace rdmaqos::mlx5
