/* port/windows/session.c - replaces joule/session/session.c: a session of this process only. */
#include "joule/session/session.h"

#include <windows.h>
#include "base/error.h"

struct session {
    _Atomic(struct session_map *) map;
};

static struct session current;
_Atomic uint32_t session_generation = 1;

static void attach(void)
{
    struct session_map *none = NULL;
    struct session_map *map = VirtualAlloc(NULL, sizeof *map, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (!map)
        return;
    atomic_store(&map->tag_count, TAG_OTHER + 1);
    if (!atomic_compare_exchange_strong(&current.map, &none, map))
        VirtualFree(map, 0, MEM_RELEASE); /* another thread was faster */
}

struct session *session_current(void)
{
    if (!atomic_load_explicit(&current.map, memory_order_acquire))
        attach();
    return &current;
}

struct session_map *session_map(struct session *session)
{
    return atomic_load_explicit(&session->map, memory_order_acquire);
}

bool session_populate(void *start, size_t size)
{
    (void)start, (void)size;
    return true; /* VirtualAlloc has committed the memory */
}

int64_t session_begin_ns(struct session *session)
{
    (void)session;
    return 0;
}

bool session_is_client(struct session *session)
{
    (void)session;
    return false;
}

bool session_has_clients(struct session *session)
{
    (void)session;
    return false;
}

joule_status session_create_shared(char *out_path, size_t size, joule_error *out_error)
{
    (void)out_path, (void)size;
    return error_set(out_error, JOULE_UNSUPPORTED,
                     "cannot share a session between processes: not supported on Windows");
}

void session_remove_leftovers(void) {}

void session_remove_shared(void) {}

uint32_t session_process(struct session *session)
{
    (void)session;
    return GetCurrentProcessId();
}
