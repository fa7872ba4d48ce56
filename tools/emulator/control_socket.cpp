#include "tools/emulator/control_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>

#include "lib/base/file.h"

namespace rdmaqos::emulator {
namespace {

UniqueFd connect_to(const std::filesystem::path& directory)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory / "control.sock";
    if (path.size() >= sizeof(address.sun_path)) {
        throw std::runtime_error(path + " is too long for a socket");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    return fd;
}

}    // namespace

Result<void> ask(const std::filesystem::path& directory, const std::vector<std::string>& words,
                 const std::function<void(std::string_view)>& show)
{
    const UniqueFd fd = connect_to(directory);
    const std::string request = nlohmann::json(words).dump() + "\n";
    (void)send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[16384];
    std::optional<bool> is_answer;
    std::string refusal;
    ssize_t length = 0;
    while ((length = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0) {
        std::string_view text(buffer, static_cast<std::size_t>(length));
        if (!is_answer) {
            is_answer = text.front() == '0';
            text.remove_prefix(std::min<std::size_t>(2, text.size()));
        }
        if (*is_answer) {
            show(text);
        } else {
            refusal += text;
        }
    }
    if (!is_answer) {
        throw std::runtime_error("the emulator did not answer");
    }
    return *is_answer ? Result<void>() : fail(ErrorCode::InvalidArgument, std::move(refusal));
}

}    // namespace rdmaqos::emulator
