// A visitor of a std::variant made of one lambda for each alternative. One that is forgotten does not compile.
#pragma once

namespace rdmaqos {

template <typename... Ts>
struct Overloaded : Ts... {
    using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}    // namespace rdmaqos
