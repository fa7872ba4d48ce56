// garbage [--seconds S] [--seed N] [--files N]: what no well-behaved client does at the emulator's sockets, while a
// good client works beside it and must not notice. On N (60) files 50 calls each are begun and never ended. The last
// line is "N messages of garbage, N good operations, 0 wrong".
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/clients/stress_worker.h"
#include "tools/emulator/protocol.h"

namespace {

using namespace rdmaqos::emulator;
using Clock = std::chrono::steady_clock;

class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor()
    {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    [[nodiscard]] int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

// Fewer messages, or operations of the good client, would show nothing: on a busy machine it lasts longer.
constexpr std::uint64_t kLeast = 100;

class Nuisance {
public:
    Nuisance(std::string directory, std::uint64_t seed) : directory_(std::move(directory)), random_(seed) {}

    void run(const std::function<bool()>& enough)
    {
        while (!enough() || sent_ <= kLeast) {
            switch (below(6)) {
            case 0:
                random_messages(connect_to("uverbs0.sock"));
                break;
            case 1:
                random_messages(below(2) == 0 ? connect_to("netlink.sock") : connect_to("control.sock", SOCK_STREAM));
                break;
            case 2:
                // Opened and kept for a while without a word, or with a call that nobody goes on with.
                keep(connect_to("uverbs0.sock"));
                break;
            default:
                calls(connect_to("uverbs0.sock"));
                break;
            }
        }
        kept_.clear();
    }

    // Calls that the emulator begins, asks the caller for memory, and is never answered. Until the end.
    void leave_calls_open(unsigned files, unsigned calls_each)
    {
        for (unsigned i = 0; i < files; ++i) {
            Descriptor file = connect_to("uverbs0.sock");
            for (unsigned j = 0; j < calls_each && file.get() >= 0; ++j) {
                std::array<int, 2> ends{-1, -1};
                if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
                    return;
                }
                open_.emplace_back(ends[0]);
                Descriptor theirs(ends[1]);
                send(file.get(), context_call(), {theirs.get()});
            }
            open_.push_back(std::move(file));
        }
    }

    [[nodiscard]] std::uint64_t sent() const { return sent_; }

private:
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

    Descriptor connect_to(const char* name, int type = SOCK_SEQPACKET)
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = directory_ + "/" + name;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        Descriptor descriptor(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
        if (connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
            return Descriptor();
        }
        // Nobody need read what is sent here: no send and no receive may last.
        const timeval patience{0, 50'000};
        setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        setsockopt(descriptor.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        return descriptor;
    }

    std::vector<unsigned char> random_bytes(std::size_t length)
    {
        std::vector<unsigned char> bytes(length);
        for (unsigned char& byte : bytes) {
            byte = static_cast<unsigned char>(random_());
        }
        return bytes;
    }

    // With `fds` by SCM_RIGHTS.
    bool send(int socket, const std::vector<unsigned char>& bytes, const std::vector<int>& fds)
    {
        iovec part{const_cast<unsigned char*>(bytes.data()), bytes.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (!fds.empty()) {
            message.msg_control = control.data();
            message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
            cmsghdr* rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
            std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
        }
        ++sent_;
        return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
    }

    void random_messages(Descriptor socket)
    {
        for (std::uint32_t i = below(8); i > 0 && socket.get() >= 0; --i) {
            std::vector<Descriptor> own;
            std::vector<int> fds;
            for (std::uint32_t count = below(4) == 0 ? below(16) : 0; count > 0; --count) {
                own.emplace_back(open("/dev/null", O_RDWR | O_CLOEXEC));
                fds.push_back(own.back().get());
            }
            if (!send(socket.get(), random_bytes(below(4) == 0 ? 1 + below(60'000) : 1 + below(200)), fds)) {
                return;
            }
        }
    }

    void keep(Descriptor socket)
    {
        std::array<int, 2> ends{-1, -1};
        if (below(2) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0) {
            send(socket.get(), random_call(), {ends[1]});
            kept_.emplace_back(ends[0]);
            Descriptor other(ends[1]);
        }
        kept_.push_back(std::move(socket));
        while (kept_.size() > 40) {
            kept_.pop_front();
        }
    }

    // A right one: its input is somewhere in the caller's memory.
    static std::vector<unsigned char> context_call()
    {
        const CallHeader call;
        const ib_uverbs_attr input{UVERBS_ATTR_UHW_IN, 32, UVERBS_ATTR_F_MANDATORY, {}, {4096}};
        ib_uverbs_ioctl_hdr header{};
        header.length = sizeof(header) + sizeof(input);
        header.object_id = UVERBS_OBJECT_DEVICE;
        header.method_id = UVERBS_METHOD_GET_CONTEXT;
        header.num_attrs = 1;
        header.driver_id = RDMA_DRIVER_MLX5;
        std::vector<unsigned char> bytes;
        append(bytes, &call, sizeof(call));
        append(bytes, &header, sizeof(header));
        append(bytes, &input, sizeof(input));
        return bytes;
    }

    static void append(std::vector<unsigned char>& bytes, const void* data, std::size_t length)
    {
        const auto* first = static_cast<const unsigned char*>(data);
        bytes.insert(bytes.end(), first, first + length);
    }

    std::uint64_t random_number()
    {
        constexpr std::array<std::uint64_t, 8> kOften{
            0, 1, 8, 0xffff, 0xffffffff, ~std::uint64_t{0}, 0x7fffffffffffffff, 4096};
        return below(2) == 0 ? kOften[below(kOften.size())] : random_();
    }

    // A header, and attributes that are nearly right.
    std::vector<unsigned char> random_call()
    {
        CallHeader call;
        if (below(16) == 0) {
            call.magic = static_cast<std::uint32_t>(random_());
        }
        call.address = random_number();
        constexpr std::array<std::uint16_t, 12> kObjects{
            UVERBS_OBJECT_DEVICE,    UVERBS_OBJECT_PD,          UVERBS_OBJECT_CQ,    UVERBS_OBJECT_QP,
            UVERBS_OBJECT_MR,        UVERBS_OBJECT_ASYNC_EVENT, MLX5_IB_OBJECT_DEVX, MLX5_IB_OBJECT_DEVX_OBJ,
            MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_OBJECT_UAR,        UVERBS_OBJECT_SRQ,   0xffff};
        std::array<ib_uverbs_attr, 64> attributes{};
        const std::uint32_t count = below(8) == 0 ? below(attributes.size()) : below(6);
        ib_uverbs_ioctl_hdr header{};
        header.object_id = kObjects[below(kObjects.size())];
        header.method_id = static_cast<std::uint16_t>(below(8) + (below(2) == 0 ? 0x1000 : 0));
        header.num_attrs = static_cast<std::uint16_t>(below(10) == 0 ? random_() : count);
        header.driver_id = static_cast<std::uint32_t>(below(3));
        header.length = static_cast<std::uint16_t>(below(10) == 0 ? random_()
                                                                  : sizeof(header) + count * sizeof(attributes[0]));
        for (std::uint32_t i = 0; i < count; ++i) {
            attributes[i].attr_id = static_cast<std::uint16_t>(below(16) + (below(2) == 0 ? 0x1000 : 0));
            attributes[i].len = static_cast<std::uint16_t>(below(2) == 0 ? below(600) : random_number());
            attributes[i].flags = static_cast<std::uint16_t>(below(4));
            attributes[i].data = below(2) == 0 ? below(64) : random_number();
        }
        std::vector<unsigned char> bytes;
        append(bytes, &call, sizeof(call));
        append(bytes, &header, sizeof(header));
        append(bytes, attributes.data(), count * sizeof(attributes[0]));
        if (below(16) == 0) {
            bytes.resize(below(static_cast<std::uint32_t>(bytes.size())) + 1);
        }
        return bytes;
    }

    void calls(Descriptor file)
    {
        for (std::uint32_t i = 1 + below(10); i > 0 && file.get() >= 0; --i) {
            std::array<int, 2> ends{-1, -1};
            if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
                return;
            }
            Descriptor mine(ends[0]);
            {
                Descriptor theirs(ends[1]);
                if (!send(file.get(), random_call(), {theirs.get()})) {
                    return;
                }
            }
            converse(mine.get());
        }
    }

    // Answers as it likes, or leaves in the middle.
    void converse(int socket)
    {
        for (int steps = 0; steps < 12; ++steps) {
            pollfd wait{socket, POLLIN, 0};
            std::array<unsigned char, 70'000> buffer;
            if (below(10) == 0 || poll(&wait, 1, 100) != 1) {
                return;
            }
            const ssize_t length = recv(socket, buffer.data(), buffer.size(), 0);
            Step step;
            if (length < static_cast<ssize_t>(sizeof(step))) {
                return;
            }
            std::memcpy(&step, buffer.data(), sizeof(step));
            if (step.kind == StepKind::Done) {
                return;
            }
            if (step.kind == StepKind::Read) {
                send(socket, random_answer(step.length), {});
            }
        }
    }

    std::vector<unsigned char> random_answer(std::uint32_t wanted)
    {
        Data data;
        data.error = below(8) == 0 ? static_cast<std::int32_t>(random_()) : 0;
        data.length = below(8) == 0 ? static_cast<std::uint32_t>(random_number()) : wanted;
        std::uint32_t given = below(8) == 0 ? below(60'000) : std::min<std::uint32_t>(wanted, 65'536);
        std::vector<unsigned char> bytes;
        append(bytes, &data, sizeof(data));
        const std::vector<unsigned char> content = below(2) == 0 ? random_bytes(given) : nearly_a_command(given);
        append(bytes, content.data(), content.size());
        if (below(16) == 0) {
            bytes.resize(below(sizeof(data)) + 1);
        }
        return bytes;
    }

    // A firmware command's opcode and object type, then zeros and a few random bytes.
    std::vector<unsigned char> nearly_a_command(std::uint32_t length)
    {
        constexpr std::array<std::uint16_t, 9> kOpcodes{0xa00, 0xa01, 0xa02, 0xa03, 0x100, 0x500, 0x505, 0x50e, 0x905};
        std::vector<unsigned char> bytes(length);
        if (length >= 8) {
            const std::uint16_t opcode = kOpcodes[below(kOpcodes.size())];
            bytes[0] = static_cast<unsigned char>(opcode >> 8U);
            bytes[1] = static_cast<unsigned char>(opcode & 0xffU);
            bytes[7] = 0x26;
            for (int i = 0; i < 6; ++i) {
                bytes[below(length)] = static_cast<unsigned char>(random_());
            }
        }
        return bytes;
    }

    std::string directory_;
    std::mt19937_64 random_;
    std::deque<Descriptor> kept_;
    std::vector<Descriptor> open_;
    std::uint64_t sent_ = 0;
};

}    // namespace

int main(int argc, char** argv)
{
    constexpr unsigned kCallsEach = 50;
    unsigned files = 60;
    double seconds = 3;
    std::uint64_t seed = static_cast<std::uint64_t>(getpid());
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--seconds") == 0) {
            seconds = std::strtod(argv[i + 1], nullptr);
        } else if (std::strcmp(argv[i], "--seed") == 0) {
            seed = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (std::strcmp(argv[i], "--files") == 0) {
            files = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
        }
    }
    const char* directory = std::getenv(kDirectoryVariable);
    if (directory == nullptr) {
        std::fprintf(stderr, "garbage: run it below rdma-qos-emulator run\n");
        return 2;
    }
    std::printf("%.0f seconds, seed %llu\n", seconds, static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    const auto until = Clock::now() +
                       std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));

    Nuisance first(directory, seed + 1);
    Nuisance second(directory, seed + 2);
    // The good client is a process of its own: the emulator bounds what one process may begin.
    auto* shared = mmap(nullptr, sizeof(stress::Totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        std::perror("mmap");
        return 2;
    }
    auto& totals = *new (shared) stress::Totals{};
    const auto enough = [&] { return Clock::now() >= until && totals.operations > kLeast; };
    const pid_t good = fork();
    if (good == 0) {
        const stress::Options options;
        stress::Worker(totals, options, seed, nullptr).run(enough);
        _exit(0);
    }
    const auto enough_or_alone = [&] {
        siginfo_t ended{};
        waitid(P_PID, static_cast<id_t>(good), &ended, WEXITED | WNOHANG | WNOWAIT);
        return enough() || ended.si_pid == good;
    };
    first.leave_calls_open(files, kCallsEach);
    std::thread other([&] { second.run(enough_or_alone); });
    first.run(enough_or_alone);
    other.join();
    int status = -1;
    waitpid(good, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        std::printf("the good client ended badly (%d)\n", status);
        return 1;
    }
    std::printf("%llu messages of garbage, %llu good operations, %llu wrong\n",
                static_cast<unsigned long long>(first.sent() + second.sent()),
                static_cast<unsigned long long>(totals.operations), static_cast<unsigned long long>(totals.wrong));
    return totals.wrong == 0 && totals.operations > kLeast ? 0 : 1;
}
