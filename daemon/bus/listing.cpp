#include "daemon/bus/listing.h"

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "daemon/bus/device_object.h"
#include "daemon/bus/object_paths.h"
#include "daemon/bus/options.h"
#include "daemon/bus/session_object.h"
#include "daemon/bus/slices.h"
#include "daemon/service/session_reports.h"
#include "lib/base/try.h"
#include "lib/bus/names.h"

namespace rdmaqos {
namespace {

namespace names = bus::names;

constexpr std::uint32_t kUnknownUser = UINT32_MAX;
// Most of an answer is what others have: it is not who asks that made it long. What it costs is taken in turns.
constexpr std::size_t kObjectsAtTheCostOfACall = 64;

// Every object has these, without properties.
constexpr std::array kStandardInterfaces{"org.freedesktop.DBus.Peer", "org.freedesktop.DBus.Introspectable",
                                         "org.freedesktop.DBus.Properties"};

// Into an open a{sv}.
void write_entries(BusContext& context, const char* path, std::span<const Property> properties, bus::Writer& writer)
{
    for (const Property& property : properties) {
        writer.open('e', "sv");
        writer.put_known(property.name);
        writer.open('v', property.signature);
        property.write(context, path, writer);
        writer.close();
        writer.close();
    }
}

struct Object {
    std::string path;
    const char* interface;
};

// What is being written; ends when its client does.
class Listing {
public:
    Listing(BusEndpoint& endpoint, const Call& call, Listed listed)
        : endpoint_(endpoint), call_(call), reply_(call.begin_reply())
    {
        if (!call.is_wanted()) {
            return;    // nor is the endpoint there any longer
        }
        for (const auto& key : endpoint.context.device_keys) {
            objects_.push_back({device_path(key), names::kDevice});
        }
        if (listed == Listed::All) {
            for (const auto id : endpoint.context.session_ids) {
                objects_.push_back({session_path(SessionId{id}), names::kSession});
            }
        }
        if (reply_) {
            writer_ = std::make_unique<bus::Writer>(reply_.get());
            writer_->open('a', "{oa{sa{sv}}}");
        }
    }

    // One object, or the end; false when it is done.
    bool step()
    {
        if (!writer_ || !call_.is_wanted()) {
            return false;
        }
        if (next_ == objects_.size()) {
            writer_->close();
            call_.finish_reply(reply_, writer_->result());
            return false;
        }
        const Object& object = objects_[next_++];
        if (still_there(object)) {
            write(object);
        }
        return writer_->result() >= 0;
    }

private:
    [[nodiscard]] bool still_there(const Object& object) const
    {
        const auto& context = endpoint_.context;
        if (object.interface == names::kDevice) {
            const auto key = device_of_path(object.path.c_str());
            return key && context.device_keys.contains(*key);
        }
        const auto id = session_of_path(object.path);
        return id && context.session_ids.contains(static_cast<std::uint64_t>(*id));
    }

    void write(const Object& object)
    {
        endpoint_.context.new_question(endpoint_.known(call_.message()));
        writer_->open('e', "oa{sa{sv}}");
        writer_->put(bus::ObjectPath{object.path});
        writer_->open('a', "{sa{sv}}");
        for (const char* interface : kStandardInterfaces) {
            writer_->open('e', "sa{sv}");
            writer_->put_known(interface);
            writer_->open('a', "{sv}");
            writer_->close();
            writer_->close();
        }
        writer_->open('e', "sa{sv}");
        writer_->put_known(object.interface);
        writer_->open('a', "{sv}");
        write_entries(endpoint_.context, object.path.c_str(),
                      object.interface == names::kDevice ? device_properties() : session_properties(), *writer_);
        writer_->close();
        writer_->close();
        writer_->close();
        writer_->close();
    }

    BusEndpoint& endpoint_;
    Call call_;
    bus::MessageRef reply_;
    std::unique_ptr<bus::Writer> writer_;
    std::vector<Object> objects_;
    std::size_t next_ = 0;
};

constexpr std::uint32_t kPage = 100;
constexpr std::uint32_t kLargestPage = 1000;
// To look at a session costs little beside writing it.
constexpr std::size_t kSessionsLookedAtForACall = 1024;

struct PageOptions {
    SessionFilter filter;
    SessionId after{};    // 0: from the first one on
    std::uint32_t limit = kPage;
};

Result<PageOptions> read_page_options(const Call& call)
{
    PageOptions options;
    std::uint64_t after = 0;
    const Option places[] = {
        {"after", &after},
        {"limit", &options.limit},
        {"pid", &options.filter.pid},
        {"uid", &options.filter.uid},
        {"level", &options.filter.level},
    };
    TRY(read_options(call, "ListSessions", places));
    options.after = SessionId{after};
    if (options.limit == 0 || options.limit > kLargestPage) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`limit` is {}, and must be from 1 to {}", options.limit, kLargestPage));
    }
    return options;
}

// What is being written; ends when its client does.
class SessionPage {
public:
    SessionPage(BusEndpoint& endpoint, const Call& call, PageOptions options)
        : endpoint_(endpoint), call_(call), options_(std::move(options)), at_(options_.after),
          reply_(call.begin_reply())
    {
        if (reply_) {
            writer_ = std::make_unique<bus::Writer>(reply_.get());
            writer_->open('a', "a{sv}");
        }
    }

    // One session, or the end; false when it is done.
    bool step()
    {
        if (!writer_ || !call_.is_wanted()) {
            return false;
        }
        const SessionReports& sessions = endpoint_.context.service.sessions();
        const auto next = written_ == options_.limit ? std::nullopt : sessions.next_after(at_);
        if (!next) {
            writer_->close();
            call_.finish_reply(reply_, writer_->result());
            return false;
        }
        at_ = *next;
        if (endpoint_.context.session_ids.contains(static_cast<std::uint64_t>(at_)) &&
            sessions.passes(at_, options_.filter)) {
            write();
            ++written_;
        }
        return writer_->result() >= 0;
    }

private:
    void write()
    {
        endpoint_.context.new_question(endpoint_.known(call_.message()));
        const std::string path = session_path(at_);
        writer_->open('a', "{sv}");
        writer_->open('e', "sv");
        writer_->put_known("Path");
        writer_->open('v', "o");
        writer_->put(bus::ObjectPath{path});
        writer_->close();
        writer_->close();
        write_entries(endpoint_.context, path.c_str(), session_properties(), *writer_);
        writer_->close();
    }

    BusEndpoint& endpoint_;
    Call call_;
    PageOptions options_;
    SessionId at_;    // looked at last
    std::uint32_t written_ = 0;
    bus::MessageRef reply_;
    std::unique_ptr<bus::Writer> writer_;
};

}    // namespace

std::optional<Listed> listed_objects(sd_bus_message* message)
{
    const char* path = sd_bus_message_get_path(message);
    if (path == nullptr ||
        sd_bus_message_is_method_call(message, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects") <= 0) {
        return std::nullopt;
    }
    const std::string_view of = path;
    return of == names::kRoot      ? std::optional(Listed::All)
           : of == names::kDevices ? std::optional(Listed::Devices)
                                   : std::nullopt;
}

void list_objects(BusEndpoint& endpoint, const Call& call, Listed listed)
{
    auto& context = endpoint.context;
    const std::size_t sessions = listed == Listed::All ? context.session_ids.size() : 0;
    endpoint.charge(call.message(), (context.device_keys.size() + sessions) / kObjectsAtTheCostOfACall);
    const Peer* peer = endpoint.known(call.message());
    const auto taken = context.long_answers.write(peer == nullptr ? kUnknownUser : peer->identity->account(),
                                                  [&endpoint, call, listed] {
                                                      auto listing = std::make_shared<Listing>(endpoint, call, listed);
                                                      return [listing] { return listing->step(); };
                                                  });
    if (!taken) {
        call.refuse(taken.error());
    }
}

void on_list_sessions(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    auto options = read_page_options(call);
    if (!options) {
        call.refuse(options.error());
        return;
    }
    const bool picks = options->filter != SessionFilter();
    endpoint.charge(call.message(), options->limit / kObjectsAtTheCostOfACall +
                                        (picks ? endpoint.context.session_ids.size() / kSessionsLookedAtForACall : 0));
    const auto taken = endpoint.context.long_answers.write(peer.identity->account(), [&endpoint, call, options] {
        auto page = std::make_shared<SessionPage>(endpoint, call, *options);
        return [page] { return page->step(); };
    });
    if (!taken) {
        call.refuse(taken.error());
    }
}

}    // namespace rdmaqos
