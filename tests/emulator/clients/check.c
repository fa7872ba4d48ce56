#include "tests/emulator/clients/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char* group = "";
static int passed;
static int failed;

void check_group(const char* prefix)
{
    group = prefix;
}

static void print_name(const char* word, const char* name)
{
    printf("%s %s%s%s", word, group, *group != '\0' ? ": " : "", name);
}

bool check(bool good, const char* name, const char* reason, ...)
{
    if (good) {
        ++passed;
        print_name("ok", name);
    } else {
        ++failed;
        print_name("FAILED", name);
        va_list arguments;
        va_start(arguments, reason);
        printf(": ");
        vprintf(reason, arguments);
        va_end(arguments);
    }
    printf("\n");
    fflush(stdout);
    return good;
}

bool check_errno(int got, int expected, const char* name)
{
    if (expected == ANY_ERRNO) {
        return check(got != 0, name, "succeeded");
    }
    if (expected == 0) {
        return check(got == 0, name, "%d (%s)", got, strerror(got));
    }
    return check(got == expected, name, "%d (%s), not %d (%s)", got, strerror(got), expected, strerror(expected));
}

bool check_number(long long got, long long expected, const char* name)
{
    return check(got == expected, name, "%lld, not %lld", got, expected);
}

void skipped(const char* name, const char* reason)
{
    print_name("skipped", name);
    printf(": %s\n", reason);
}

int check_result(void)
{
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
