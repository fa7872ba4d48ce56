// What each program of a build with sanitizers asks of them; ASAN_OPTIONS and LSAN_OPTIONS may ask otherwise.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the names are the sanitizers'
const char* __asan_default_options();
const char* __lsan_default_options();
const char* __lsan_default_suppressions();

// The emulator's library comes before the sanitizer's, and only passes calls on. A trap is a finding of `undefined`.
const char* __asan_default_options()
{
    return "verify_asan_link_order=0:handle_sigill=1";
}

const char* __lsan_default_options()
{
    return "print_suppressions=0";
}

// What libmlx5 cannot free when its device is gone: destroying fails.
const char* __lsan_default_suppressions()
{
    return "leak:libmlx5.so\nleak:libibverbs.so\n";
}
// NOLINTEND(bugprone-reserved-identifier)
}
