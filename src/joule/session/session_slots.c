/* joule/session/session_slots.c - who owns which slot of a session's mapping.
 *
 * Owns taking one for a thread; what is written there is region.c's.
 * Newcomers: a thread may come here from a signal handler, and other processes take slots at the same time: atomics alone.
 */
#include <errno.h>
#include "joule/session/session.h"

static void raise_used(struct session_map *map, uint32_t number)
{
    uint32_t used = atomic_load(&map->slots_used);
    while (used <= number && !atomic_compare_exchange_weak(&map->slots_used, &used, number + 1))
        ;
}

/* The slot of an earlier thread with our number, or of the program that called exec in our place: what it had
 * finished stays, what it had open is lost with it. */
static struct slot *adopt(struct session_map *map, uint64_t owner, uint32_t *out_number)
{
    for (uint32_t i = 0; i < SESSION_SLOTS; i++)
        if (atomic_load_explicit(&map->owners[i], memory_order_relaxed) == owner) {
            slot_clear_open(&map->slots[i]);
            *out_number = i;
            return &map->slots[i];
        }
    return NULL;
}

static struct slot *claim(struct session_map *map, uint64_t owner, uint32_t *out_number)
{
    for (uint32_t i = 0; i < SESSION_SLOTS; i++) {
        uint64_t is_free = 0;
        if (atomic_load_explicit(&map->owners[i], memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong(&map->owners[i], &is_free, owner | OWNER_PREPARING))
            continue;
        bool has_memory = session_populate(&map->slots[i], offsetof(struct slot, folds));
        atomic_store_explicit(&map->owners[i], has_memory ? owner : 0, memory_order_release);
        if (!has_memory)
            return NULL;
        raise_used(map, i);
        *out_number = i;
        return &map->slots[i];
    }
    return NULL;
}

struct slot *session_take_slot(struct session *session, uint32_t tid, uint32_t *out_number)
{
    struct session_map *map = session_map(session);
    if (!map)
        return NULL;
    int saved = errno;
    uint32_t pid = session_process(session);
    uint64_t owner = session_owner(pid, tid);
    struct slot *slot = pid ? adopt(map, owner, out_number) : NULL;
    if (!slot)
        slot = claim(map, owner, out_number);
    errno = saved;
    return slot;
}
