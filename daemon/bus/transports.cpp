#include "daemon/bus/transports.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "daemon/bus/bus_object.h"
#include "daemon/bus/objects.h"
#include "daemon/bus/polkit.h"
#include "daemon/service/context.h"
#include "daemon/service/limits.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_calls.h"
#include "lib/base/try.h"
#include "lib/bus/descriptor_helper.h"
#include "lib/bus/names.h"
#include "lib/bus/process_helper.h"

namespace rdmaqos {
namespace {

constexpr auto kRetryInterval = std::chrono::seconds(10);

bool may_use_socket(const Settings& settings, const Identity& client)
{
    return settings.socket_group.empty() || client.administrator ||
           (settings.socket_gid && std::ranges::binary_search(client.gids, *settings.socket_gid));
}

std::vector<std::string> helper_command(const std::string& program, const char* word)
{
    return program.empty() ? std::vector<std::string>{} : std::vector<std::string>{program, word};
}

}    // namespace

// A client of the direct socket: known before its first message.
class BusTransports::Direct final : public BusEndpoint {
public:
    Direct(BusContext& shared, std::shared_ptr<bus::Connection> connected, Peer peer)
        : BusEndpoint(shared, std::move(connected)), peer_(std::move(peer))
    {
    }

    [[nodiscard]] const Peer* known(sd_bus_message* /*message*/) override { return &peer_; }
    void find_out(sd_bus_message* /*message*/, Known done) override { done(&peer_); }
    [[nodiscard]] bool is_system_bus() const override { return false; }
    [[nodiscard]] Result<void> admit(sd_bus_message* /*message*/) override
    {
        const Settings& settings = context.service.in_force().settings();
        if (!may_use_socket(settings, *peer_.identity)) {
            return fail(ErrorCode::AuthorizationRequired,
                        fmt::format("only root and the group `{}` may use this socket (`socket-group` in "
                                    "rdma-qosd.yaml)",
                                    settings.socket_group));
        }
        return context.service.limits().take_request(peer_.identity->account());
    }

    [[nodiscard]] PeerId id() const { return peer_.id; }
    [[nodiscard]] const Identity& identity() const { return *peer_.identity; }

private:
    Peer peer_;
    CountedConnection counted_{context.counters};
};

BusTransports::BusTransports(Service& service, bus::EventLoop& loop, TransportOptions options)
    : context_(service, loop), options_(std::move(options)),
      processes_(loop, {helper_command(options_.helper, bus::kProcessHelperCommand)}), signals_(context_, *this)
{
    service.context().add_observer(*this);
}

BusTransports::~BusTransports()
{
    context_.service.context().remove_observer(*this);
    context_.polkit->leave();
    server_.reset();
    while (!clients_.empty()) {
        closed(clients_.begin()->first);
    }
}

bus::ServerLimits BusTransports::server_limits() const
{
    bus::ServerLimits limits;
    limits.connections_per_uid = context_.service.in_force().settings().limits.connections_per_uid;
    return limits;
}

Result<void> BusTransports::open(std::function<void()> ready)
{
    bus::ServerOptions options;
    options.path = options_.socket;
    options.limits = server_limits();
    options.descriptors.command = helper_command(options_.helper, bus::kDescriptorHelperCommand);
    options.close = context_.close_counted();
    server_ = TRY(bus::Server::listen(context_.loop, context_.turns, std::move(options), *this));
    ready_ = std::move(ready);
    if (!options_.system_bus) {
        tell_ready();
    } else if (auto connected = connect_system_bus(); !connected) {
        without_system_bus(to_string(connected.error()));
    }
    return {};
}

void BusTransports::tell_ready()
{
    if (ready_) {
        std::exchange(ready_, nullptr)();
    }
}

void BusTransports::policy_changed()
{
    if (server_) {
        server_->set_limits(server_limits());
    }
}

// ---- the direct socket ----

Result<void> BusTransports::connected(std::uint64_t id, const bus::PeerProcess& process,
                                      const std::shared_ptr<bus::Connection>& connection)
{
    auto identity = TRY(identify(process));
    const Peer peer{context_.next_peer(), std::move(identity)};
    auto client = std::make_unique<Direct>(context_, connection, peer);
    TRY(install_objects(*client));
    TRY(install_bus_object(*client));
    by_peer_.emplace(static_cast<std::uint64_t>(peer.id), client.get());
    clients_.emplace(id, std::move(client));
    return {};
}

void BusTransports::closed(std::uint64_t id)
{
    const auto node = clients_.extract(id);
    if (node.empty()) {
        return;
    }
    const PeerId peer = node.mapped()->id();
    context_.polkit->left(node.mapped()->identity());
    by_peer_.erase(static_cast<std::uint64_t>(peer));
    context_.new_question();
    context_.service.session_calls().peer_gone(peer);
}

std::vector<BusEndpoint*> BusTransports::listeners() const
{
    std::vector<BusEndpoint*> result(context_.subscribers.begin(), context_.subscribers.end());
    if (name_owned_) {
        result.push_back(system_.get());
    }
    return result;
}

BusEndpoint* BusTransports::direct_endpoint(PeerId peer) const
{
    const auto client = by_peer_.find(static_cast<std::uint64_t>(peer));
    return client == by_peer_.end() ? nullptr : client->second;
}

// ---- the system bus ----

Result<void> BusTransports::connect_system_bus()
{
    auto bus = bus::BusConnection::open_system_bus();
    if (!bus) {
        return fail(std::move(bus).error());
    }
    sd_bus* raw = bus->get();
    auto connection = bus::BusConnection::create(context_.loop, std::move(*bus),
                                                 [this] { without_system_bus("the connection ended"); });
    if (!connection) {
        return fail(std::move(connection).error());
    }
    system_ = TRY(SystemEndpoint::create(context_, processes_, std::move(*connection)));
    context_.polkit->use(system_->connection);
    // Last: who sees the name can use everything.
    const int result = sd_bus_request_name_async(raw, nullptr, bus::names::kService, 0, &BusTransports::on_name_answer,
                                                 this);
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Io, -result, "the name cannot be requested"));
    }
    system_->connection->flush();
    return {};
}

int BusTransports::on_name_answer(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept
{
    try {
        std::uint32_t answer = 0;
        const auto* error = sd_bus_message_get_error(reply);
        const sd_bus_error taken{"", "another program owns it", 0};
        constexpr std::uint32_t kPrimaryOwner = 1;
        if (error == nullptr && (sd_bus_message_read_basic(reply, 'u', &answer) <= 0 || answer != kPrimaryOwner)) {
            error = &taken;
        }
        static_cast<BusTransports*>(userdata)->name_answered(error);
    } catch (const std::exception& problem) {
        write_log(LogLevel::Error, {}, problem.what());
    }
    return 1;
}

void BusTransports::name_answered(const sd_bus_error* error)
{
    if (error == nullptr) {
        name_owned_ = true;
        absence_logged_ = false;
        log(LogLevel::Info, "on the system bus as {}", bus::names::kService);
        tell_ready();
        return;
    }
    // Not from within the connection's own callback: it goes away.
    context_.loop.post([this, why = std::string(error->message == nullptr ? error->name : error->message)] {
        without_system_bus("the name " + std::string(bus::names::kService) + " was not given: " + why);
    });
}

void BusTransports::without_system_bus(const std::string& why)
{
    name_owned_ = false;
    context_.polkit->leave();
    system_.reset();
    if (!std::exchange(absence_logged_, true)) {
        log(LogLevel::Warning, "not on the system bus ({}): serving only {}, trying again every {} s", why,
            options_.socket.string(), kRetryInterval.count());
    }
    tell_ready();
    retry_ = context_.loop.after(kRetryInterval, [this] {
        if (auto connected = connect_system_bus(); !connected) {
            without_system_bus(to_string(connected.error()));
        }
    });
}

}    // namespace rdmaqos
