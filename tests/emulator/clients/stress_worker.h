// One thread of random verbs. It knows what it made, so it knows what each call must answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/emulator/clients/stress_tree.h"

namespace stress {

// In memory that all processes share.
struct Totals {
    std::atomic<std::uint64_t> operations;
    std::atomic<std::uint64_t> wrong;
    std::atomic<std::uint64_t> refused;    // calls that failed where faults were to be expected
};

struct Options {
    unsigned processes = 2;
    unsigned threads = 4;
    double seconds = 2;
    bool faults = false;    // scheduling commands may fail at any time, without an effect
    bool kills = false;
    std::uint64_t seed = 1;
};

// An open device and the root of its tree.
struct Device {
    ibv_context* context = nullptr;
    Way way = Way::Library;
    Element root;
};

struct QueuePair {
    ibv_qp* qp = nullptr;
    ibv_qp_state state = IBV_QPS_RESET;
    Element* requester = nullptr;
    Element* responder = nullptr;
};

class Worker {
public:
    // Uses `shared` if given, which outlives it; or else a context of its own, which it opens ever again.
    Worker(Totals& totals, const Options& options, std::uint64_t seed, Device* shared);

    // Until it is `enough`.
    void run(const std::function<bool()>& enough);

    // Also for the one who makes the shared device. False: it could not be opened.
    bool open(Device& device);
    void close(Device& device);

private:
    enum class Fault { Impossible, Possible };

    // Counts, and says whether the answer is `wanted`. Any other error is none of ours where a fault is possible.
    bool expect(int answer, int wanted, const char* what, Fault fault = Fault::Impossible);
    bool expect_refusal(int answer, const char* what);
    void wrong(const char* what, int answer, int wanted);

    void begin();
    void end(bool abandon);
    void some_operation();

    void ask_device();
    void use_memory();
    void use_completion();
    void create_queue_pair();
    void step_queue_pair();
    void step_wrongly();
    void ask_queue_pair();
    void attach_queue_pair();
    void pace_queue_pair();
    void destroy_queue_pair(std::size_t index);
    void create_element();
    void modify_element();
    void ask_element();
    void destroy_element(std::size_t index);

    // True once it went; faults are tried against.
    bool destroy_at_last(const Element& element);
    void put(QueuePair& pair, Element* requester, Element* responder);
    QueuePair* some_queue_pair();
    Element* some_element();
    Element* some_leaf();
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

    Totals& totals_;
    const Options& options_;
    std::mt19937_64 random_;
    std::size_t most_leaves_;
    Device own_;
    Device* device_;
    bool shared_;
    ibv_pd* pd_ = nullptr;
    ibv_cq* cq_ = nullptr;
    std::vector<QueuePair> queue_pairs_;
    std::vector<std::unique_ptr<Element>> elements_;    // without the root; parents before children
};

}    // namespace stress
