/* port/windows/thread_id.c - replaces base/thread_id.c. Note: thread ids are unique in the whole system. */
#include "base/thread_id.h"

#include <windows.h>

uint32_t thread_id(void)
{
    return GetCurrentThreadId();
}

bool thread_is_gone(int32_t process, uint32_t thread)
{
    (void)process;
    HANDLE handle = OpenThread(SYNCHRONIZE, FALSE, thread);
    if (!handle)
        return GetLastError() == ERROR_INVALID_PARAMETER;
    bool has_ended = WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
    CloseHandle(handle);
    return has_ended;
}

bool thread_has_ended(int32_t process, uint32_t thread)
{
    return thread_is_gone(process, thread);
}
