/* joule/session/session_slots.c - assigns slots of a session's mapping to threads.
 *
 * Note: this code runs in signal handlers, and in several processes at the same time. So it uses only atomics
 * and system calls.
 */
#include <errno.h>
#include "base/clock.h"
#include "base/thread_id.h"
#include "joule/session/session.h"

/* Raises slots_used so that it includes slot `number`. */
static void raise_used(struct session_map *map, uint32_t number)
{
    uint32_t used = atomic_load(&map->slots_used);
    while (used <= number && !atomic_compare_exchange_weak(&map->slots_used, &used, number + 1))
        ;
}

/* Assigns slot i to `owner` if `from` owns it. Finished regions of earlier owners stay for the reader; their
 * open regions are removed. Returns the slot and writes i to *out_number. Returns NULL if another thread was
 * faster, or if out of memory. */
static struct slot *take_over(struct session_map *map, uint32_t i, uint64_t from, uint64_t owner,
                              uint32_t *out_number)
{
    struct slot *slot = &map->slots[i];
    if (!atomic_compare_exchange_strong(&map->owners[i], &from, owner | OWNER_PREPARING))
        return NULL;
    if (!session_populate(slot, offsetof(struct slot, folds))) {
        atomic_store_explicit(&map->owners[i], 0, memory_order_release);
        return NULL;
    }
    slot_clear_open(slot);
    atomic_store_explicit(&slot->owned_from, atomic_load(&slot->head), memory_order_relaxed);
    atomic_store_explicit(&map->owners[i], owner, memory_order_release);
    raise_used(map, i);
    *out_number = i;
    return slot;
}

/* Returns the slot that already has this owner: from an earlier thread with the same thread id, or from the
 * program that this program replaced by exec. Returns NULL if there is no such slot. */
static struct slot *adopt(struct session_map *map, uint64_t owner, uint32_t *out_number)
{
    for (uint32_t i = 0; i < SESSION_SLOTS; i++)
        if (atomic_load_explicit(&map->owners[i], memory_order_relaxed) == owner)
            return take_over(map, i, owner, owner, out_number);
    return NULL;
}

/* Assigns and returns a slot that no thread owns, or returns NULL if there is none. */
static struct slot *claim(struct session_map *map, uint64_t owner, uint32_t *out_number)
{
    for (uint32_t i = 0; i < SESSION_SLOTS; i++) {
        if (atomic_load_explicit(&map->owners[i], memory_order_relaxed) != 0)
            continue;
        struct slot *slot = take_over(map, i, 0, owner, out_number);
        if (slot)
            return slot;
    }
    return NULL;
}

typedef bool has_ended_fn(int32_t process, uint32_t thread);

/* Takes over and returns the slot of a thread that has ended, without waiting until the reader frees the
 * slot. Returns NULL if there is no such slot. */
static struct slot *inherit(struct session_map *map, uint64_t owner, has_ended_fn *has_ended,
                            uint32_t *out_number)
{
    for (uint32_t i = 0; i < SESSION_SLOTS; i++) {
        uint64_t old = atomic_load_explicit(&map->owners[i], memory_order_relaxed);
        int32_t process = (int32_t)((old & ~OWNER_PREPARING) >> 32);
        if (process == 0 || (uint32_t)old == 0 || !has_ended(process, (uint32_t)old))
            continue;
        struct slot *slot = take_over(map, i, old, owner, out_number);
        if (slot)
            return slot;
    }
    return NULL;
}

#define WAYS 2

/* Takes over and returns the slot of a thread that has ended, or returns NULL if there is none. A search
 * takes up to two system calls for each owner, so a search that found no slot is not repeated for some
 * time. */
static struct slot *inherit_any(struct session_map *map, uint64_t owner, uint32_t *out_number)
{
    static has_ended_fn *const ways[WAYS] = {thread_is_gone, thread_has_ended};
    static const int64_t pauses_ns[WAYS] = {10 * 1000000, 200 * 1000000};
    for (int i = 0; i < WAYS; i++) {
        int64_t now_ns = clock_now_ns(), age_ns = now_ns - atomic_load(&map->full_ns[i]);
        if (age_ns >= 0 && age_ns < pauses_ns[i])
            continue;
        struct slot *slot = inherit(map, owner, ways[i], out_number);
        if (slot)
            return slot;
        atomic_store(&map->full_ns[i], now_ns);
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
    if (!slot && pid)
        slot = inherit_any(map, owner, out_number);
    errno = saved;
    return slot;
}
