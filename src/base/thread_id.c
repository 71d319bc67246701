/* base/thread_id.c - see thread_id.h. */
#include "base/thread_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

/* Note: the state follows the name in parentheses, which may contain any characters. */
bool thread_has_ended(int32_t process, uint32_t thread)
{
    char path[64], text[256];
    if (thread_is_gone(process, thread))
        return true;
    snprintf(path, sizeof path, "/proc/%d/task/%u/stat", process, thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *state = strrchr(text, ')');
    return state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}
