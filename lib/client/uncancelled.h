// A thread that is cancelled is unwound from where it waits. It would leave locks taken and queue pairs half attached,
// and it meets functions that throw nothing, which end the process.
#pragma once

#include <pthread.h>

namespace rdmaqos::client {

// Calls what does not throw. The thread is cancelled after that has returned: by the second call here, if its
// cancellation is asynchronous. So nothing above may need a destructor, or promise not to throw.
template <typename Function>
auto uncancelled(const Function& function)
{
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    const auto result = function();
    pthread_setcancelstate(before, nullptr);
    return result;
}

}    // namespace rdmaqos::client
