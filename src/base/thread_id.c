/* base/thread_id.c - see thread_id.h. */
#include "base/thread_id.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

bool thread_is_gone(int32_t process, uint32_t thread)
{
    return syscall(SYS_tgkill, process, thread, 0) != 0 && errno == ESRCH;
}
