#include "tools/rdma-qos-run/program_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace rdmaqos::run {
namespace {

constexpr int kMostInterpreters = 4;    // of scripts whose interpreter is a script; the kernel's own bound

bool can_run(const std::string& path)
{
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// What is this process's own, and so must be of what it loads.
Elf64_Ehdr own_header()
{
    Elf64_Ehdr header{};
    std::ifstream("/proc/self/exe", std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof(header));
    return header;
}

// Of a file of the same class as this program, so that the structures fit.
bool has_interpreter(std::ifstream& file, const Elf64_Ehdr& header)
{
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
        if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) {
            return true;    // not for us to judge
        }
        if (segment.p_type == PT_INTERP) {
            return true;
        }
    }
    return false;
}

// Of "#!/usr/bin/env -S python3 -u": the program that will read the script.
std::string interpreter_of(const std::string& line)
{
    std::istringstream words(line.substr(2));
    std::string word;
    words >> word;
    if (word.ends_with("/env")) {
        std::string next;
        while (words >> next && (next.starts_with("-") || next.find('=') != std::string::npos)) {
        }
        if (!next.empty() && !next.starts_with("-")) {
            return find_program(next);
        }
    }
    return word;
}

std::optional<std::string> reason_by_rights(const std::string& path)
{
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        return std::nullopt;
    }
    const bool other_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
    const bool other_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getgid();
    if (other_user || other_group) {
        return "it runs as another user or group (setuid, setgid), and such programs load no preload library";
    }
    if (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
        return "it has file capabilities, and such programs load no preload library";
    }
    return std::nullopt;
}

}    // namespace

std::string find_program(const std::string& name)
{
    if (name.find('/') != std::string::npos) {
        return can_run(name) ? name : "";
    }
    const char* path = std::getenv("PATH");    // NOLINT(concurrency-mt-unsafe): one thread
    std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string candidate = (folder.empty() ? std::string(".") : folder) + "/" + name;
        if (can_run(candidate)) {
            return candidate;
        }
    }
    return "";
}

std::optional<std::string> reason_without_preload(const std::string& path)
{
    std::string current = path;
    for (int depth = 0; depth < kMostInterpreters; ++depth) {
        std::ifstream file(current, std::ios::binary);
        std::string start(sizeof(Elf64_Ehdr), '\0');
        file.read(start.data(), static_cast<std::streamsize>(start.size()));
        start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
        if (start.starts_with("#!")) {
            file.clear();
            file.seekg(0);
            std::string line;
            std::getline(file, line);
            current = interpreter_of(line);
            continue;
        }
        if (start.size() < sizeof(Elf64_Ehdr) || !start.starts_with(ELFMAG)) {
            return std::nullopt;
        }
        if (auto reason = reason_by_rights(current)) {
            return reason;
        }
        Elf64_Ehdr header{};
        std::memcpy(&header, start.data(), sizeof(header));
        const Elf64_Ehdr own = own_header();
        if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || header.e_machine != own.e_machine) {
            return "it is for another kind of machine than the preload library";
        }
        if (!has_interpreter(file, header)) {
            return "it is statically linked, and such programs load no preload library";
        }
        return std::nullopt;
    }
    return std::nullopt;
}

}    // namespace rdmaqos::run
