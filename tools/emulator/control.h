// rdma-qos-emulator ctl and trace: one request a connection, a JSON list of words; the answer is a line "0" or "1",
// then text until the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/result.h"
#include "lib/model/firmware.h"

namespace rdmaqos::emulator {

class Controlled;
class Server;

// Reads the request and answers it. A trace goes on until the other end closes.
void serve_control(Controlled& host, UniqueFd client);
void serve_control(Server& server, UniqueFd client);

// What `words` asks for; its answer, or what is wrong with it.
[[nodiscard]] Result<std::string> control(Controlled& host, const std::vector<std::string>& words);
[[nodiscard]] Result<std::string> control(Server& server, const std::vector<std::string>& words);

// By its word in `set queue-groups`; empty: it is none.
[[nodiscard]] std::optional<Isolation> isolation_of(std::string_view word);

// For --help: a line for each request.
[[nodiscard]] std::string control_help();

}    // namespace rdmaqos::emulator
