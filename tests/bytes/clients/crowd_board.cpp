#include "tests/bytes/clients/crowd_board.h"

#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <sys/socket.h>
#include <unistd.h>

namespace crowd {
namespace {

unsigned own_place = 0;

}    // namespace

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void introduce(unsigned place)
{
    own_place = place;
}

void wrong(const char* format, ...)
{
    std::array<char, 1024> text{};
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "WRONG: member %u, process %d: %s\n", own_place, static_cast<int>(getpid()), text.data());
    std::_Exit(1);
}

bool send_note(int socket, const Note& note)
{
    return send(socket, &note, sizeof(note), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(note));
}

bool receive_note(int socket, Note& note, bool& ended)
{
    const ssize_t got = recv(socket, &note, sizeof(note), MSG_DONTWAIT);
    ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return got == static_cast<ssize_t>(sizeof(note));
}

}    // namespace crowd
