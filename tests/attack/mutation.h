// Real calls of the daemon's API, changed at random: bytes, lengths, signatures, header fields, pieces of others. The
// same seed gives the same changes.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/attack/wire.h"

namespace rdmaqos::attack {

// Some messages that go out with one write, descriptors with the first of them.
struct Piece {
    std::string bytes;
    std::uint32_t descriptors = 0;
};

class Mutator {
public:
    explicit Mutator(std::uint64_t seed);

    // `count` calls that are wrong inside only: each can be read, and is answered on its own. `session`: the path of
    // one that the sender has. Their serials count from 1.
    [[nodiscard]] std::vector<Piece> wrong_inside(std::size_t count, const std::string& session);
    // One that is wrong as a message, and may well end its connection; perhaps with descriptors of which it says
    // nothing.
    [[nodiscard]] Piece wrong_outside(const std::string& session);

private:
    struct Field {
        std::uint8_t code;
        std::string type;
        std::string value;
    };
    struct Call {
        Method method;
        Body body;
        std::uint8_t type = 1;
        std::uint8_t flags = 0;
        std::uint32_t serial = 1;
        std::vector<Field> more{};    // header fields besides the usual ones
    };

    [[nodiscard]] std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
    [[nodiscard]] const Call& any() { return real_[below(static_cast<std::uint32_t>(real_.size()))]; }
    [[nodiscard]] std::uint32_t telling_number();
    [[nodiscard]] std::string noise(std::size_t most);
    void flip(std::string& bytes, std::uint32_t most);
    void put_number(std::string& bytes);
    void change_inside(Call& call);
    void nest(Call& call);
    void change_bytes(std::string& message);
    [[nodiscard]] static std::string serialised(const Call& call, const std::string& session);

    std::mt19937_64 random_;
    std::vector<Call> real_;
};

}    // namespace rdmaqos::attack
