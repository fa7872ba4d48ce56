// librdmaqos in programs that close what they do not know, as daemons do, and use the numbers for files of their own.
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "tests/unit/client/library.h"

namespace rdmaqos::test {
namespace {

constexpr int kLowest = 3;
constexpr int kHighest = 200;    // of the numbers that a child closes and uses

std::string file_behind(int fd)
{
    std::string path(256, '\0');
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
    path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return path;
}

// What a program has of its own, of each kind that the library has too, and a file for each of the other numbers.
class OwnFiles {
public:
    OwnFiles()
    {
        close_range(kLowest, ~0U, 0);
        epoll_ = epoll_create1(0);
        watched_ = eventfd(0, EFD_NONBLOCK);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = 4711;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, watched_, &event);
        all_ = {epoll_, watched_};
        int pair[2];
        while (all_.back() < kHighest) {
            all_.push_back(timerfd_create(CLOCK_MONOTONIC, 0));
            all_.push_back(eventfd(0, EFD_NONBLOCK));
            all_.push_back(epoll_create1(0));
            all_.push_back(memfd_create("own", 0));
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0) {
                sockets_.insert(sockets_.end(), {pair[0], pair[1]});
                all_.insert(all_.end(), {pair[0], pair[1]});
            }
        }
        for (const int fd : all_) {
            files_.push_back(file_behind(fd));
        }
    }
    // How many are not what they were.
    [[nodiscard]] int lost() const
    {
        int count = 0;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            count += file_behind(all_[i]) == files_[i] ? 0 : 1;
        }
        for (const int fd : sockets_) {
            char byte = 0;
            count += recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN ? 0 : 1;    // neither shut nor written to
        }
        eventfd_t events = 0;
        count += eventfd_read(watched_, &events) == 0 ? 1 : 0;
        eventfd_write(watched_, 1);
        epoll_event event{};
        count += epoll_wait(epoll_, &event, 1, 0) == 1 && event.data.u64 == 4711 ? 0 : 1;
        eventfd_read(watched_, &events);
        return count;
    }

private:
    int epoll_ = -1;
    int watched_ = -1;
    std::vector<int> all_;
    std::vector<int> sockets_;
    std::vector<std::string> files_;
};

// The exit status of a child.
int status_of(const std::function<int()>& child)
{
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(child());
    }
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ClientDescriptors : public ClientLibrary, public ::testing::WithParamInterface<std::uint32_t> {};

TEST_P(ClientDescriptors, AChildThatHasClosedThemAllKeepsItsOwn)
{
    daemon_.start();
    const Handle handle = open_at(socket(), GetParam());
    ASSERT_EQ(attach(handle, 1), 0);
    EXPECT_EQ(status_of([&] {
                  const OwnFiles own;
                  const int before = own.lost();
                  rdmaqos_close(handle.get());
                  return before == 0 ? own.lost() : 99;
              }),
              0);
    EXPECT_EQ(attach(handle, 2), 0) << "and the parent notices nothing";
}

TEST_P(ClientDescriptors, AChildThatHasThemStillClosesItsCopies)
{
    daemon_.start();
    const Handle handle = open_at(socket(), GetParam());
    ASSERT_EQ(attach(handle, 1), 0);
    EXPECT_EQ(status_of([&] {
                  const auto count = [] {
                      int open_ones = 0;
                      for (int fd = kLowest; fd < kHighest; ++fd) {
                          open_ones += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
                      }
                      return open_ones;
                  };
                  const int before = count();
                  rdmaqos_close(handle.get());
                  return before - count();
              }),
              (GetParam() & RDMAQOS_OPEN_THREAD) != 0 ? 6 : 5);
    EXPECT_EQ(attach(handle, 2), 0);
}

// It comes back, by numbers that are free.
TEST_P(ClientDescriptors, AProgramThatClosesThemAllKeepsItsOwn)
{
    daemon_.start();
    EXPECT_EQ(status_of([&] {
                  Handle handle = open_at(socket(), GetParam());
                  if (attach(handle, 1) != 0) {
                      return 90;
                  }
                  const OwnFiles own;
                  rdmaqos_dispatch(handle.get());
                  if (!eventually([&] { return attach(handle, 2) == 0; })) {
                      return 91;
                  }
                  const int lost = own.lost();
                  handle.reset();
                  return lost + own.lost();
              }),
              0);
    EXPECT_THAT(like_.attached(), ::testing::IsSupersetOf({1U, 2U}));
}

TEST_P(ClientDescriptors, AClosedHandleClosesNothingOfTheProgram)
{
    daemon_.start();
    EXPECT_EQ(status_of([&] {
                  Handle handle = open_at(socket(), GetParam());
                  const OwnFiles own;
                  handle.reset();
                  return own.lost();
              }),
              0);
}

// Where a program writes to stdout or stderr that it has closed.
TEST_P(ClientDescriptors, NoneIsStdinStdoutOrStderr)
{
    daemon_.start();
    EXPECT_EQ(status_of([&] {
                  close_range(0, 2, 0);
                  const Handle handle = open_at(socket(), GetParam());
                  int failures = attach(handle, 1) == 0 ? 0 : 8;
                  for (int fd = 0; fd <= 2; ++fd) {
                      failures += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
                  }
                  return failures;
              }),
              0);
}

INSTANTIATE_TEST_SUITE_P(WithAThreadAndWithout, ClientDescriptors,
                         ::testing::Values(RDMAQOS_OPEN_DIRECT, RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD));

TEST_F(ClientLibrary, WithoutADescriptorLeftItSaysSo)
{
    daemon_.start();
    EXPECT_EQ(status_of([&] {
                  const std::string path = socket();
                  rdmaqos_open_attr attr;
                  rdmaqos_open_attr_init(&attr);
                  attr.socket = path.c_str();
                  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
                  close(next);
                  int wrong = 0;
                  // An epoll, what is in it, and the connection.
                  for (int left = 0; left < 5; ++left) {
                      const rlimit limit{static_cast<rlim_t>(next + left), 4096};
                      setrlimit(RLIMIT_NOFILE, &limit);
                      rdmaqos_handle* handle = nullptr;
                      wrong += rdmaqos_open(&handle, &attr) == -EMFILE ? 0 : 1;
                      wrong += std::string(rdmaqos_last_error()).ends_with("Too many open files") ? 0 : 10;
                  }
                  return wrong;
              }),
              0);
}

}    // namespace
}    // namespace rdmaqos::test
