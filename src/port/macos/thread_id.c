/* port/macos/thread_id.c - replaces base/thread_id.c.
 *
 * Note: thread ids of macOS have 64 bits and are unique since boot; these are the lower 32 bits.
 */
#include "base/thread_id.h"

#include <errno.h>
#include <libproc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/proc_info.h>

uint32_t thread_id(void)
{
    uint64_t id = 0;
    pthread_threadid_np(NULL, &id);
    return (uint32_t)id;
}

/* Note: after 2^32 threads the lower 32 bits are ambiguous. A thread then counts as alive as long as its
 * process lives. */
bool thread_is_gone(int32_t process, uint32_t thread)
{
    if (kill(process, 0) != 0)
        return errno == ESRCH;
    uint64_t latest = 0;
    pthread_threadid_np(NULL, &latest);
    struct proc_threadinfo info;
    return latest <= UINT32_MAX &&
           proc_pidinfo(process, PROC_PIDTHREADID64INFO, thread, &info, sizeof info) <= 0 && errno == ESRCH;
}

bool thread_has_ended(int32_t process, uint32_t thread)
{
    return thread_is_gone(process, thread);
}
