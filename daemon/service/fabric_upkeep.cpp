#include "daemon/service/fabric_upkeep.h"

#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

std::string describe(const Fabric& fabric)
{
    return fmt::format("{} and {}", counted(fabric.ports.size(), "port"),
                       counted(fabric.partitions.size(), "partition"));
}

}    // namespace

bool FabricUpkeep::publish_diagnostics(const Diagnostics& diagnostics)
{
    Diagnostics kept = with_excerpts(diagnostics);
    if (render(kept, Colour::Off) == render(policy_.fabric_diagnostics, Colour::Off)) {
        return false;
    }
    policy_.fabric_diagnostics = std::move(kept);
    context_.notify([](ServiceObserver& observer) { observer.fabric_changed(); });
    return true;
}

void FabricUpkeep::finish(const FabricFile& file, LoopCallback<void()> done)
{
    const FileStamp before = policy_.set_fabric_stamp(file.stamp);
    const std::string text = render(file.read.diagnostics, Colour::Off);
    if (!file.read.value) {
        if (publish_diagnostics(file.read.diagnostics)) {
            log(LogLevel::Error, "the fabric file cannot be used; the fabric known so far stays in use:\n{}", text);
        }
        done();
        return;
    }
    const bool was_wrong = publish_diagnostics({});
    if (*file.read.value == *policy_.rules().fabric) {
        if (was_wrong) {
            log(LogLevel::Notice, "the fabric file can be used again; it says what was known before");
        }
        done();
        return;
    }
    if (file.stamp == FileStamp{} && before != FileStamp{}) {
        log(LogLevel::Notice, "the fabric file is gone: nothing is known of the fabric anymore");
    } else {
        log(file.read.diagnostics.empty() ? LogLevel::Notice : LogLevel::Warning,
            "the fabric file was read again: {}{}{}", describe(*file.read.value), text.empty() ? "" : "\n", text);
    }
    context_.notify([](ServiceObserver& observer) { observer.fabric_changed(); });
    changes_.resolve_again(file.read.value, "the fabric changed", std::move(done));
}

void FabricUpkeep::reread(LoopCallback<void()> done)
{
    context_.loader.run([root = context_.options.root] { return load_fabric(root); },
                        [this, done = std::move(done)](Result<FabricFile> file) mutable {
                            if (file) {
                                finish(*file, std::move(done));
                            } else {
                                done();    // it is logged
                            }
                        });
}

void FabricUpkeep::look(LoopCallback<void()> done)
{
    context_.loader.run([path = fabric_path(context_.options.root)] { return stamp_of(path); },
                        [this, done = std::move(done)](const Result<FileStamp>& stamp) mutable {
                            if (!stamp || *stamp == policy_.fabric_stamp()) {
                                done();
                            } else {
                                reread(std::move(done));
                            }
                        });
}

}    // namespace rdmaqos
