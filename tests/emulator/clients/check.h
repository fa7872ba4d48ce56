// The checks of a program: one line each, `ok NAME` or `FAILED NAME: why`, and a count at the end.
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// In milliseconds: what has not come by then does not come, on a busy machine either (kHung of
// tests/support/patience.h).
enum { HUNG_MS = 120000 };

// What a call that must fail answers when its errno is not defined.
#define ANY_ERRNO (-1)

// The line of a check; returns `good`. The reason is in printf's words.
bool check(bool good, const char* name, const char* reason, ...) __attribute__((format(printf, 3, 4)));

// A call that answers 0 or an errno. `expected` may be ANY_ERRNO.
bool check_errno(int got, int expected, const char* name);

// Equal numbers.
bool check_number(long long got, long long expected, const char* name);

// Not checked, and why; counts as neither.
void skipped(const char* name, const char* reason);

// Every name from here on begins with "PREFIX: ".
void check_group(const char* prefix);

// Prints the counts: the exit status of the program.
int check_result(void);

// `call ? 0 : errno` for functions that return a pointer.
#define ERRNO_OF_POINTER(pointer) ((pointer) != NULL ? 0 : errno)

#ifdef __cplusplus
}
#endif
