#include "daemon/fabric_watch.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "daemon/service/fabric_upkeep.h"

namespace rdmaqos {
namespace {

// A file that is written in several parts is read once.
constexpr auto kSettle = std::chrono::milliseconds(200);
constexpr auto kFabricInterval = std::chrono::seconds(10);

}    // namespace

FabricWatch::FabricWatch(Service& service, bus::EventLoop& loop) : service_(service), loop_(loop) {}

FabricWatch::~FabricWatch() = default;

void FabricWatch::start()
{
    watch();
    look();    // what was written since the service read it
}

void FabricWatch::watch()
{
    const auto file = service_.fabric().file();
    auto source = loop_.on_directory(file.parent_path(), [this, name = file.filename().string()](std::string_view of) {
        if (of == name) {
            happened();
        } else if (of.empty()) {
            source_.reset();
            watch();
            happened();
        }
    });
    if (source) {
        source_ = std::move(*source);
    }
}

void FabricWatch::happened()
{
    if (!settling_) {
        settling_ = loop_.after(kSettle, [this] {
            settling_.reset();
            service_.fabric().reread([] {});
        });
    }
}

void FabricWatch::look()
{
    if (!source_) {
        watch();
    }
    service_.fabric().look([] {});
    next_look_ = loop_.after(kFabricInterval, [this] { look(); });
}

}    // namespace rdmaqos
