// crowd [--processes N] [--seconds S] [--kills-per-second N] [--seed N]: processes with four RC queue pairs each, which
// send, write, read and add to each other's memory and look at every byte. Members are killed all the time, and others
// take their place; the partners of one that is killed find out, and get others.
//
// It fails if anything was wrong, or a link between two living processes did not get ahead for 20 s.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "tests/bytes/clients/crowd_board.h"
#include "tests/bytes/clients/crowd_member.h"

namespace {

using namespace crowd;

struct Options {
    unsigned processes = 100;
    double seconds = 60;
    double kills_per_second = 8;
    std::uint64_t seed = 1;
};

class Crowd {
public:
    Crowd(Board& board, const Options& options) : board_(board), options_(options), random_(options.seed)
    {
        places_.resize(options.processes);
    }

    void run()
    {
        const double begin = now();
        const double end = begin + options_.seconds;
        double next_kill = begin + 1;
        for (unsigned place = 0; place < places_.size(); ++place) {
            start(place);
        }
        while (now() < end && bad_ == 0) {
            turn();
            match();
            if (now() >= next_kill) {
                next_kill = now() + std::exponential_distribution(options_.kills_per_second)(random_);
                kill_one();
            }
        }
        seconds_ = now() - begin;
        drain();
        quit();
    }

    // The exit status.
    [[nodiscard]] int report() const
    {
        const Totals& totals = board_.totals;
        std::uint64_t messages = 0;
        for (unsigned kind = 0; kind < kKinds; ++kind) {
            const std::uint64_t count = totals.messages.at(kind);
            std::printf("%-21s %9llu\n", name_of(static_cast<Kind>(kind)), shown(count));
            messages += count;
        }
        double longest = 0;
        for (const auto& lanes : board_.lanes) {
            for (const LaneBoard& lane : lanes) {
                longest = std::max<double>(longest, lane.longest);
            }
        }
        std::printf("%llu links: %llu ends of partners noticed, %llu broken off; %llu requests flushed, %llu events, "
                    "%llu children\n",
                    shown(totals.links), shown(totals.noticed), shown(totals.broken), shown(totals.flushed),
                    shown(totals.events), shown(totals.forks));
        std::printf("%u processes, %u killed, %u terminated, %u others; longest time without progress %.2f s\n",
                    options_.processes, killed_, terminated_, started_ - options_.processes, longest);
        std::printf("%llu messages, %.1f MB looked at in %.1f s (%.0f messages/s, %.1f MB/s), %u wrong\n",
                    shown(messages), static_cast<double>(totals.bytes) / 1e6, seconds_,
                    static_cast<double>(messages) / seconds_, static_cast<double>(totals.bytes) / 1e6 / seconds_, bad_);
        return bad_ == 0 && messages > 0 ? 0 : 1;
    }

private:
    struct Place {
        pid_t process = 0;
        int socket = -1;
        int killed_by = 0;
        bool is_drained = false;
    };
    struct End {
        unsigned place = 0;
        unsigned lane = 0;
        Address address;
    };
    // Until both ends are connected.
    struct Handshake {
        std::array<End, 2> ends;
        unsigned connected = 0;
    };

    void fail(const std::string& why)
    {
        std::fprintf(stderr, "%s\n", why.c_str());
        ++bad_;
    }

    void start(unsigned place)
    {
        std::array<int, 2> sockets{};
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
            std::perror("socketpair");
            std::exit(2);
        }
        const std::uint64_t seed = options_.seed * 1'000'003 + started_++;
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            ::close(sockets[0]);
            for (const Place& each : places_) {
                ::close(each.socket);
            }
            std::_Exit(run_member(board_, place, seed, sockets[1]));
        }
        if (child < 0) {
            std::perror("fork");
            std::exit(2);
        }
        ::close(sockets[1]);
        places_[place] = {child, sockets[0], 0, false};
    }

    // Looks at what members say, and who has ended.
    void turn()
    {
        std::vector<pollfd> wanted;
        wanted.reserve(places_.size());
        for (const Place& each : places_) {
            wanted.push_back({each.socket, POLLIN, 0});
        }
        constexpr int kPause = 10;    // ms
        if (poll(wanted.data(), wanted.size(), kPause) > 0) {
            for (unsigned place = 0; place < places_.size(); ++place) {
                if ((wanted[place].revents & POLLIN) != 0) {
                    read_notes(place);
                }
            }
        }
        collect();
        look_for_hangs();
    }

    void read_notes(unsigned place)
    {
        Note note;
        bool ended = false;
        while (receive_note(places_[place].socket, note, ended)) {
            if (note.what == Note::What::Ready) {
                ready_.push_back({place, note.lane, note.address});
            } else if (note.what == Note::What::Connected) {
                connected(note.link);
            } else if (note.what == Note::What::Drained) {
                places_[place].is_drained = true;
            }
        }
    }

    void connected(std::uint64_t link)
    {
        const auto found = handshakes_.find(link);
        if (found == handshakes_.end() || ++found->second.connected < 2) {
            return;
        }
        for (unsigned side = 0; side < 2; ++side) {
            tell(found->second.ends.at(side), Note::What::Go, link, side, {});
        }
        handshakes_.erase(found);
    }

    void tell(const End& end, Note::What what, std::uint64_t link, unsigned side, const Address& address)
    {
        Note note;
        note.what = what;
        note.lane = end.lane;
        note.link = link;
        note.side = side;
        note.address = address;
        (void)send_note(places_[end.place].socket, note);    // who has ended is seen by collect()
    }

    // Any two lanes that are ready, of two processes.
    void match()
    {
        std::shuffle(ready_.begin(), ready_.end(), random_);
        while (ready_.size() > 1) {
            const End first = ready_.back();
            const auto other = std::ranges::find_if(ready_, [&](const End& each) { return each.place != first.place; });
            if (other == ready_.end()) {
                return;
            }
            const End second = *other;
            ready_.pop_back();
            ready_.erase(other);
            const std::uint64_t link = ++links_;
            handshakes_[link] = {{first, second}, 0};
            tell(first, Note::What::Connect, link, 0, second.address);
            tell(second, Note::What::Connect, link, 1, first.address);
        }
    }

    void kill_one()
    {
        Place& victim = places_[random_() % places_.size()];
        if (victim.killed_by != 0) {
            return;
        }
        victim.killed_by = random_() % 5 == 0 ? SIGTERM : SIGKILL;
        ++(victim.killed_by == SIGTERM ? terminated_ : killed_);
        rdmaqos::signal_process(victim.process, victim.killed_by);
    }

    void collect()
    {
        int status = 0;
        for (pid_t process = 0; (process = waitpid(-1, &status, WNOHANG)) > 0;) {
            const auto found = std::ranges::find(places_, process, &Place::process);
            if (found == places_.end()) {
                continue;
            }
            const auto place = static_cast<unsigned>(found - places_.begin());
            // Even one that was about to end by itself, or not ready to be told, may be killed.
            const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == found->killed_by;
            if (!is_killed && (status != 0 || (found->killed_by == 0 && !quitting_))) {
                fail("member " + std::to_string(place) + ", process " + std::to_string(process) +
                     " ended with status " + std::to_string(status));
            }
            forget(place);
            if (!quitting_) {
                start(place);
            }
        }
    }

    void forget(unsigned place)
    {
        std::erase_if(ready_, [&](const End& each) { return each.place == place; });
        std::erase_if(handshakes_, [&](const auto& entry) {
            const auto& [link, handshake] = entry;
            for (unsigned side = 0; side < 2; ++side) {
                if (handshake.ends.at(side).place == place) {
                    tell(handshake.ends.at(1 - side), Note::What::Cancel, link, 1 - side, {});
                    return true;
                }
            }
            return false;
        });
        ::close(places_[place].socket);
        places_[place] = {};
        for (LaneBoard& lane : board_.lanes.at(place)) {
            lane.link = 0;
        }
    }

    // Members look themselves; this is for those that cannot.
    void look_for_hangs()
    {
        constexpr double kMore = 5;
        const double time = now();
        for (unsigned place = 0; place < places_.size(); ++place) {
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                LaneBoard& each = board_.lanes.at(place).at(lane);
                const double last = each.last;
                if (each.link != 0 && time - last > kPatience + kMore && places_[place].killed_by == 0) {
                    fail("member " + std::to_string(place) + ", process " + std::to_string(places_[place].process) +
                         ", hangs: nothing on lane " + std::to_string(lane) + " for " + std::to_string(time - last) +
                         " s");
                    each.last = time;
                }
            }
        }
    }

    void tell_all(Note::What what)
    {
        for (unsigned place = 0; place < places_.size(); ++place) {
            if (places_[place].process > 0) {
                tell({place, 0, {}}, what, 0, 0, {});
            }
        }
    }

    // Whatever was sent is looked at. Members that were killed last are waited for.
    void drain()
    {
        const double end = now() + 2 * kPatience;
        const auto is_dying = [](const Place& each) { return each.killed_by != 0; };
        while (bad_ == 0 && std::ranges::any_of(places_, is_dying) && now() < end) {
            turn();
        }
        tell_all(Note::What::Drain);
        while (bad_ == 0 && !std::ranges::all_of(places_, &Place::is_drained) && now() < end) {
            turn();
        }
        for (unsigned place = 0; bad_ == 0 && place < places_.size(); ++place) {
            if (!places_[place].is_drained) {
                fail("member " + std::to_string(place) + " is not done at the end");
            }
        }
    }

    void quit()
    {
        quitting_ = true;
        tell_all(Note::What::Quit);
        const double end = now() + kPatience;
        const auto is_there = [](const Place& each) { return each.process > 0; };
        while (std::ranges::any_of(places_, is_there)) {
            turn();
            if (now() > end) {
                fail("members do not end");
                for (const Place& each : places_) {
                    if (each.process > 0) {
                        rdmaqos::signal_process(each.process, SIGKILL);
                    }
                }
                return;
            }
        }
    }

    Board& board_;
    const Options options_;
    std::mt19937_64 random_;
    std::vector<Place> places_;
    std::vector<End> ready_;
    std::unordered_map<std::uint64_t, Handshake> handshakes_;
    std::uint64_t links_ = 0;
    unsigned started_ = 0;
    unsigned killed_ = 0;
    unsigned terminated_ = 0;
    unsigned bad_ = 0;
    bool quitting_ = false;
    double seconds_ = 1;
};

bool parse(int argc, char** argv, Options& options)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const char* const value = argv[i + 1];
        if (name == "--processes") {
            options.processes = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
        } else if (name == "--seconds") {
            options.seconds = std::strtod(value, nullptr);
        } else if (name == "--kills-per-second") {
            options.kills_per_second = std::strtod(value, nullptr);
        } else if (name == "--seed") {
            options.seed = std::strtoull(value, nullptr, 10);
        } else {
            return false;
        }
    }
    return argc % 2 == 1 && options.processes > 1 && options.processes <= kMostMembers && options.seconds > 0 &&
           options.kills_per_second > 0;
}

}    // namespace

int main(int argc, char** argv)
{
    Options options;
    options.seed = static_cast<std::uint64_t>(getpid());
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr, "usage: crowd [--processes N] [--seconds S] [--kills-per-second N] [--seed N]\n");
        return 2;
    }
    void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        return 2;
    }
    std::printf("%u processes of %u queue pairs, %.0f seconds, seed %llu\n", options.processes, kLanes, options.seconds,
                shown(options.seed));
    Crowd crowd(*new (memory) Board{}, options);
    crowd.run();
    return crowd.report();
}
