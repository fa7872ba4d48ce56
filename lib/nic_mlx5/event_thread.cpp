#include "lib/nic_mlx5/event_thread.h"

#include <cerrno>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "lib/base/log.h"

namespace rdmaqos::mlx5 {

EventThread::EventThread(ibv_context& context) : context_(context), stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

EventThread::~EventThread()
{
    if (thread_.joinable()) {
        eventfd_write(stop_.get(), 1);
        thread_.join();
    }
}

void EventThread::start(Backend::EventHandler handler)
{
    if (!stop_) {
        log(LogLevel::Error, "{}: its events cannot be received: no descriptor", ibv_get_device_name(context_.device));
        return;    // a thread that cannot be stopped must not begin
    }
    thread_ = std::thread([this, handler = std::move(handler)] { listen(handler); });
}

void EventThread::listen(const Backend::EventHandler& handler)
{
    fcntl(context_.async_fd, F_SETFL, fcntl(context_.async_fd, F_GETFL) | O_NONBLOCK);
    while (true) {
        pollfd fds[] = {{context_.async_fd, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
        if (poll(fds, std::size(fds), -1) < 0) {
            if (errno == EINTR) {
                continue;
            }
            log(LogLevel::Error, "{}: its events can no longer be received: {}", ibv_get_device_name(context_.device),
                std::generic_category().message(errno));
            return;
        }
        if (fds[1].revents != 0) {
            return;
        }
        if (!take(handler)) {
            handler({DeviceEventKind::Removed});
            return;
        }
    }
}

bool EventThread::take(const Backend::EventHandler& handler)
{
    ibv_async_event event{};
    errno = 0;    // the end of the file sets none
    if (ibv_get_async_event(&context_, &event) != 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    ibv_ack_async_event(&event);
    switch (event.event_type) {
    case IBV_EVENT_DEVICE_FATAL:
        return false;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_LID_CHANGE:
        handler({DeviceEventKind::LinkChanged});
        return true;
    default:
        return true;    // nothing of ours can have an event of its own
    }
}

}    // namespace rdmaqos::mlx5
