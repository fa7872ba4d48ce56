/* One line in the journal, and on stderr if that is one. Part of the launcher, of the preload library and of nothing
 * else. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* What a line is about. A process says each at most once. */
enum complaint {
    COMPLAINT_NOT_GOVERNED, /* of the program: it runs without a class */
    COMPLAINT_QUEUE_PAIR,   /* of one queue pair, which is in no class */
    COMPLAINT_NOT_YET,      /* of one queue pair, which is in none before it may send */
    COMPLAINT_MARKING,      /* of service level and traffic class */
    COMPLAINTS
};

/* A descriptor under a number above those of stdin, stdout and stderr, which the program may have closed, and still
 * use; -1 stays -1. */
int above_stdio(int fd);

/* `root` is what the journal's socket is looked for in, "" for the host. errno is kept. Safe in any thread, also in the
 * child of a fork: it takes no lock and allocates nothing. */
void complain(const char* root, enum complaint about, const char* format, ...) __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
