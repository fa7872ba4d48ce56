// The fabric file, looked after: when it is written, replaced, removed or comes to be, the service reads it again.
//
// inotify tells at once, and is looked past every few seconds for what it does not tell: a file behind a symbolic link,
// a directory that was not there, a file system without events.
//
// Thread: the main loop; the file is read off it (Service).
#pragma once

#include <memory>

#include "daemon/service/service.h"
#include "lib/bus/event.h"

namespace rdmaqos {

class FabricWatch {
public:
    // All must outlive it.
    FabricWatch(Service& service, bus::EventLoop& loop);
    ~FabricWatch();
    FabricWatch(const FabricWatch&) = delete;
    FabricWatch& operator=(const FabricWatch&) = delete;

    void start();

private:
    void watch();
    void happened();
    void look();

    Service& service_;
    bus::EventLoop& loop_;
    std::unique_ptr<bus::EventSource> source_;    // null: the directory is not there
    std::unique_ptr<Timer> settling_;             // something happened, and more may
    std::unique_ptr<Timer> next_look_;
};

}    // namespace rdmaqos
