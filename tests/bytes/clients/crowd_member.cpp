#include "tests/bytes/clients/crowd_member.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bytes/clients/crowd_lane.h"

namespace crowd {
namespace {

volatile std::sig_atomic_t terminated = 0;

void terminate(int)
{
    terminated = 1;
}

void check(int failure, const char* what)
{
    if (failure != 0) {
        wrong("%s: %s", what, std::strerror(failure));
    }
}

class Member {
public:
    Member(Board& board, unsigned place, std::uint64_t seed, int socket)
        : board_(board), socket_(socket), random_(seed), with_events_(random_() % 2 == 0), forks_(random_() % 4 == 0)
    {
        open_device();
        const unsigned queues = random_() % 2 == 0 ? 1 : kLanes;
        for (unsigned i = 0; i < queues; ++i) {
            constexpr int kEntries = 64;    // more than a lane has requests
            queues_.push_back(
                {ibv_create_cq(verbs_.context, kEntries * static_cast<int>(kLanes / queues), nullptr, channel_, 0)});
            if (queues_.back().queue == nullptr) {
                wrong("ibv_create_cq: %s", std::strerror(errno));
            }
            arm(queues_.back());
        }
        for (unsigned i = 0; i < kLanes; ++i) {
            lanes_.push_back(std::make_unique<Lane>(verbs_, queues_[i % queues].queue, i, board, place, random_()));
        }
    }

    void run()
    {
        for (unsigned i = 0; i < kLanes; ++i) {
            make_ready(i);
        }
        while (terminated == 0 && !quit_) {
            bool is_busy = read_notes();
            if (!with_events_) {
                for (Queue& queue : queues_) {
                    is_busy = poll_all(queue) || is_busy;
                }
            }
            for (unsigned i = 0; i < kLanes; ++i) {
                if (lanes_[i]->work()) {
                    make_ready(i);
                }
            }
            tell_drained();
            mind_children();
            if (with_events_) {
                wait_for_event();
            } else {
                rest(is_busy);
            }
        }
    }

    // In the order that verbs want.
    void close()
    {
        for (const auto& lane : lanes_) {
            lane->look_at_guards();
        }
        lanes_.clear();
        for (const Queue& queue : queues_) {
            ibv_ack_cq_events(queue.queue, queue.events);
            check(ibv_destroy_cq(queue.queue), "ibv_destroy_cq");
        }
        if (channel_ != nullptr) {
            check(ibv_destroy_comp_channel(channel_), "ibv_destroy_comp_channel");
        }
        check(ibv_dealloc_pd(verbs_.pd), "ibv_dealloc_pd");
        check(ibv_close_device(verbs_.context), "ibv_close_device");
        while (child_ > 0 && waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }

private:
    struct Queue {
        ibv_cq* queue = nullptr;
        unsigned events = 0;    // that are to be acknowledged
    };

    void open_device()
    {
        check(ibv_fork_init(), "ibv_fork_init");
        int count = 0;
        ibv_device** const devices = ibv_get_device_list(&count);
        if (devices == nullptr || count == 0) {
            wrong("there is no device");
        }
        verbs_.context = ibv_open_device(devices[random_() % static_cast<unsigned>(count)]);
        ibv_free_device_list(devices);
        if (verbs_.context == nullptr || (verbs_.pd = ibv_alloc_pd(verbs_.context)) == nullptr) {
            wrong("a device with a protection domain: %s", std::strerror(errno));
        }
        ibv_gid gid{};
        check(ibv_query_gid(verbs_.context, 1, 0, &gid), "ibv_query_gid");
        std::ranges::copy(gid.raw, verbs_.gid.begin());
        if (with_events_) {
            channel_ = ibv_create_comp_channel(verbs_.context);
            if (channel_ == nullptr || fcntl(channel_->fd, F_SETFL, O_NONBLOCK) != 0) {
                wrong("a completion channel: %s", std::strerror(errno));
            }
        }
    }

    void arm(const Queue& queue)
    {
        if (with_events_) {
            check(ibv_req_notify_cq(queue.queue, 0), "ibv_req_notify_cq");
        }
    }

    void make_ready(unsigned lane)
    {
        Note note;
        note.what = Note::What::Ready;
        note.lane = lane;
        note.address = lanes_[lane]->make_ready();
        tell(note);
    }

    void tell(const Note& note) { quit_ = !send_note(socket_, note) || quit_; }

    bool read_notes()
    {
        Note note;
        bool is_any = false;
        bool ended = false;
        for (; !quit_ && receive_note(socket_, note, ended); is_any = true) {
            follow(note);
        }
        quit_ = quit_ || ended;
        return is_any;
    }

    void follow(Note& note)
    {
        Lane& lane = *lanes_.at(note.lane);
        switch (note.what) {
        case Note::What::Connect:
            lane.connect(note);
            note.what = Note::What::Connected;
            tell(note);
            break;
        case Note::What::Go:
            lane.go();
            break;
        case Note::What::Cancel:
            lane.cancel();
            break;
        case Note::What::Drain:
            draining_ = true;
            std::ranges::for_each(lanes_, [](const auto& each) { each->drain(); });
            break;
        case Note::What::Quit:
            quit_ = true;
            break;
        default:
            wrong("a note that is none for members");
        }
    }

    void tell_drained()
    {
        if (draining_ && !told_drained_ &&
            std::ranges::all_of(lanes_, [](const auto& each) { return each->is_drained(); })) {
            told_drained_ = true;
            Note note;
            note.what = Note::What::Drained;
            tell(note);
        }
    }

    bool poll_all(Queue& queue)
    {
        std::array<ibv_wc, 16> completions{};
        bool is_any = false;
        while (true) {
            const int count = ibv_poll_cq(queue.queue, completions.size(), completions.data());
            if (count < 0) {
                wrong("ibv_poll_cq: %d", count);
            }
            for (int i = 0; i < count; ++i) {
                const unsigned lane = Lane::lane_of(completions.at(static_cast<unsigned>(i)).wr_id);
                if (lane >= kLanes) {
                    wrong("a completion of an unknown request");
                }
                lanes_[lane]->complete(completions.at(static_cast<unsigned>(i)));
            }
            is_any = is_any || count > 0;
            if (static_cast<std::size_t>(count) < completions.size()) {
                return is_any;
            }
        }
    }

    // A queue is polled only after its event: one that is lost is seen, by a lane that gets no further.
    void wait_for_event()
    {
        constexpr int kLookAtMemory = 5;    // ms: no event tells of what was released
        std::array<pollfd, 2> wanted{pollfd{channel_->fd, POLLIN, 0}, pollfd{socket_, POLLIN, 0}};
        if (poll(wanted.data(), wanted.size(), kLookAtMemory) <= 0 || wanted[0].revents == 0) {
            return;
        }
        ibv_cq* rung = nullptr;
        void* context = nullptr;
        while (ibv_get_cq_event(channel_, &rung, &context) == 0) {
            const auto queue = std::ranges::find(queues_, rung, &Queue::queue);
            if (queue == queues_.end()) {
                wrong("an event of an unknown completion queue");
            }
            ++board_.totals.events;
            if (++queue->events == 100) {
                ibv_ack_cq_events(rung, std::exchange(queue->events, 0));
            }
            arm(*queue);
            poll_all(*queue);
        }
    }

    // Two processors for all: who finds nothing lets others run.
    void rest(bool is_busy)
    {
        constexpr unsigned kPatient = 20;
        idle_ = is_busy ? 0 : idle_ + 1;
        if (idle_ > kPatient) {
            const timespec pause{0, 500'000};
            nanosleep(&pause, nullptr);
        } else if (idle_ > 0) {
            sched_yield();
        }
    }

    // Children that leave verbs alone, and may live longer than their parent.
    void mind_children()
    {
        if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) == child_) {
            child_ = 0;
        }
        if (!forks_ || child_ > 0 || now() < next_fork_) {
            return;
        }
        next_fork_ = now() + 0.5 + static_cast<double>(random_() % 1000) / 1000;
        child_ = fork();
        if (child_ == 0) {
            std::vector<std::uint8_t> own(100'000, 1);
            const timespec pause{0, static_cast<long>(random_() % 200) * 1'000'000};
            nanosleep(&pause, nullptr);
            _exit(own[random_() % own.size()] == 1 ? 0 : 1);
        }
        if (child_ < 0) {
            wrong("fork: %s", std::strerror(errno));
        }
        ++board_.totals.forks;
    }

    Board& board_;
    const int socket_;
    std::mt19937_64 random_;
    const bool with_events_;
    const bool forks_;
    Verbs verbs_;
    ibv_comp_channel* channel_ = nullptr;
    std::vector<Queue> queues_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    bool quit_ = false;
    bool draining_ = false;
    bool told_drained_ = false;
    unsigned idle_ = 0;
    pid_t child_ = 0;
    double next_fork_ = 0;
};

}    // namespace

int run_member(Board& board, unsigned place, std::uint64_t seed, int socket)
{
    introduce(place);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sigaction action {};
    action.sa_handler = terminate;
    sigaction(SIGTERM, &action, nullptr);
    Member member(board, place, seed, socket);
    member.run();
    member.close();
    return 0;
}

}    // namespace crowd
