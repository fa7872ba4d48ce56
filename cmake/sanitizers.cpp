// What each program of a build with sanitizers asks of them, unless ASAN_OPTIONS says otherwise.
extern "C" const char* __asan_default_options();    // NOLINT(bugprone-reserved-identifier): the name is the sanitizer's

// The emulator's library comes before the sanitizer's, and only passes calls on. A trap is a finding of `undefined`.
extern "C" const char* __asan_default_options()    // NOLINT(bugprone-reserved-identifier)
{
    return "verify_asan_link_order=0:handle_sigill=1";
}
