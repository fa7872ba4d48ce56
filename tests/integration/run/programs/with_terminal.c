// with_terminal COMMAND...: runs COMMAND with a terminal as its standard input.
//
// ucx_perftest of Debian 13 is also a program of MPI, and asks for mpirun where its input is no terminal.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// -1: none. The other end stays open as long as the program runs.
static int open_terminal(void)
{
    const int other = posix_openpt(O_RDWR | O_NOCTTY);
    if (other >= 0 && grantpt(other) == 0 && unlockpt(other) == 0) {
        return open(ptsname(other), O_RDWR | O_NOCTTY);
    }
    return open("/dev/console", O_RDWR | O_NOCTTY);    // in a machine that has little more
}

int main(int argc, char** argv)
{
    const int terminal = open_terminal();
    if (argc < 2 || terminal < 0 || dup2(terminal, STDIN_FILENO) < 0) {
        perror("with_terminal: no terminal, or no command");
        return 1;
    }
    if (terminal != STDIN_FILENO) {
        close(terminal);
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
