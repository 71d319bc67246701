/* joule/collector/reader.c - see reader.h.
 *
 * Other programs can write the mapping at any time. So each entry is copied once through volatile loads, and
 * only the copy is checked and used.
 * Note: open regions are listed before the ring buffer is read. A region that ends in between appears both as
 * open and as finished, which is easy to detect. In the opposite order it would appear as neither.
 */
#include "joule/collector/reader.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include "base/thread_id.h"

#define CHECK_EVERY_NS 1000000000LL

/* Clears the counts of a slot from earlier rounds. */
static void forget(struct read_slot *slot)
{
    memset(slot, 0, offsetof(struct read_slot, folds) + slot->tags * sizeof(struct folded));
}

void reader_start(struct reader *reader, struct session_map *map, int64_t since_ns)
{
    for (uint32_t i = 0; i < reader->slots_touched; i++)
        forget(&reader->slots[i]);
    forget(&reader->slots[READER_SLOTLESS]);
    reader->slots_touched = 0;
    reader->checked_ns = 0;
    reader->map = map;
    reader->since_ns = since_ns;
    reader->implausible = 0;
}

/* Returns the number of slots that were ever used. */
static uint32_t slots_used(const struct session_map *map)
{
    uint32_t used = atomic_load_explicit(&map->slots_used, memory_order_acquire);
    return used < SESSION_SLOTS ? used : SESSION_SLOTS;
}

/* Returns true if a slot has an owner that has prepared it. */
static bool is_readable(uint64_t owner)
{
    return owner != 0 && !(owner & OWNER_PREPARING);
}

/* Returns true if the owner's thread certainly no longer exists. */
static bool owner_is_gone(uint64_t owner)
{
    int32_t pid = (int32_t)(owner >> 32 & 0x7fffffff);
    uint32_t tid = (uint32_t)owner;
    return pid > 0 && tid > 0 && thread_is_gone(pid, tid);
}

/* --- one slot ------------------------------------------------------------------------------------------- */

/* Lists a slot's open regions. */
static void list_open(struct slot *slot, struct slot_update *update)
{
    for (unsigned i = 0; i < SESSION_OPEN; i++) {
        struct open_span *place = &slot->open[i];
        int64_t begin_ns = atomic_load_explicit(&place->begin_ns, memory_order_acquire);
        if (begin_ns <= OPEN_CLOSING)
            continue;
        uint64_t what = atomic_load_explicit(&place->what, memory_order_acquire);
        if (what == 0 || atomic_load_explicit(&place->begin_ns, memory_order_relaxed) != begin_ns)
            continue;
        uint32_t tag = (uint32_t)what;
        update->open[update->open_count++] = (struct open_update){
            .begin_ns = begin_ns,
            .tag = (uint16_t)(tag < SESSION_TAGS ? tag : TAG_OTHER),
            .index = (uint8_t)i,
            .flags = (uint8_t)(what >> 32),
        };
    }
}

/* Copies an entry of a ring buffer, reading each member once. */
static struct span copy(const volatile struct span *cell)
{
    return (struct span){
        .begin_ns = cell->begin_ns,
        .end_ns = cell->end_ns,
        .tag = cell->tag,
        .slot = cell->slot,
        .index = cell->index,
        .flags = cell->flags,
        .device = cell->device,
        .error_ns = cell->error_ns,
    };
}

/* Makes two corrections, then returns true if the span is valid. A foreign span that began before the session
 * begins with the session. The time of nested regions is limited to the span's duration: a signal handler
 * that runs after joule_end took its timestamp can still add nested time. */
static bool makes_sense(struct span *span, int64_t since_ns)
{
    bool is_foreign = span->flags & SPAN_FOREIGN;
    if (is_foreign && span->begin_ns < since_ns)
        span->begin_ns = since_ns;
    if (span->begin_ns <= 0 || span->begin_ns < since_ns || span->end_ns < span->begin_ns)
        return false;
    if (!is_foreign)
        span->error_ns = fminf(span->error_ns, (float)(span->end_ns - span->begin_ns));
    return span->tag < SESSION_TAGS && span->slot < SESSION_SLOTS &&
           (span->index < SESSION_OPEN || span->index == SPAN_NOT_LISTED) && isfinite(span->error_ns) &&
           span->error_ns >= 0;
}

/* Moves the finished regions from a slot's ring buffer to the update. Stops at an entry that a living thread
 * claimed but has not filled yet. */
static void empty_ring(struct reader *reader, struct slot *slot, struct slot_update *update)
{
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire);
    uint64_t place = atomic_load_explicit(&slot->tail, memory_order_relaxed);
    if (head - place > SESSION_RING) { /* entries were overwritten; their content is unknown */
        place = head;
        reader->implausible++;
    }
    uint64_t owned_from = atomic_load_explicit(&slot->owned_from, memory_order_relaxed);
    for (; place != head; place++) {
        struct span *cell = &slot->ring[place % SESSION_RING];
        bool is_ready = atomic_load_explicit(&cell->ready, memory_order_acquire) == (uint32_t)place + 1;
        bool is_lost = update->is_over || (int64_t)(place - owned_from) < 0;
        if (!is_ready && !is_lost)
            break;
        struct span span = copy(cell);
        if (is_ready && makes_sense(&span, reader->since_ns))
            update->spans[update->span_count++] = span;
        else
            reader->implausible += is_ready;
    }
    atomic_store_explicit(&slot->tail, place, memory_order_release);
}

/* Maximum ratio of the sum of durations to the elapsed time. It is above 1 because regions nest, and because
 * many threads may count in one slot. */
#define MAX_NESTED 65536

/* Returns true if no sum has decreased, each region took at least a nanosecond, and no region is longer than
 * the session's age life_ns. */
static bool is_plausible(const struct folded *now, const struct folded *before, double life_ns)
{
    double longest_ns = fmin((double)now->count, MAX_NESTED) * life_ns;
    return now->count >= before->count && now->duration_ns >= before->duration_ns &&
           now->own_ns >= before->own_ns && (double)now->count <= life_ns &&
           (double)now->duration_ns <= longest_ns && (double)now->own_ns <= longest_ns;
}

/* Reads the increase of one fold since the last round into *out, and updates *seen. Returns false if there is
 * no increase, or if it is implausible. */
static bool take_fold(struct reader *reader, struct folded *seen, struct fold *fold, double life_ns,
                      struct fold_update *out)
{
    /* Writers update count, duration_ns and own_ns in this order, so the reader loads them in reverse
     * order. */
    struct folded now = {.own_ns = atomic_load_explicit(&fold->own_ns, memory_order_acquire)};
    now.duration_ns = atomic_load_explicit(&fold->duration_ns, memory_order_acquire);
    now.count = atomic_load_explicit(&fold->count, memory_order_acquire);
    struct folded before = *seen;
    if (memcmp(&now, &before, sizeof now) == 0)
        return false;
    *seen = now;
    if (!is_plausible(&now, &before, life_ns)) {
        reader->implausible++;
        return false;
    }
    out->count = now.count - before.count;
    out->duration_s = (double)(now.duration_ns - before.duration_ns) * 1e-9;
    out->own_s = fmin((double)(now.own_ns - before.own_ns) * 1e-9, out->duration_s);
    out->flags = (uint8_t)atomic_load_explicit(&fold->flags, memory_order_relaxed);
    return true;
}

/* Adds the increase of all folds of a slot to the update. */
static void take_folds(struct reader *reader, struct fold_mark *mark, struct fold *folds,
                       struct slot_update *update)
{
    struct read_slot *seen = &reader->slots[update->slot];
    uint64_t changes = atomic_load_explicit(&mark->changes, memory_order_acquire);
    if (changes == seen->changes && !update->is_over)
        return;
    seen->changes = changes;
    double life_ns = (double)(reader->now_ns - reader->since_ns);
    uint32_t tags = atomic_load_explicit(&mark->tags, memory_order_relaxed);
    if (seen->tags < tags)
        seen->tags = tags < SESSION_TAGS ? tags : SESSION_TAGS;
    for (uint32_t tag = 0; tag < seen->tags; tag++) {
        struct fold_update *fold = &update->folds[update->fold_count];
        fold->tag = (uint16_t)tag;
        update->fold_count += take_fold(reader, &seen->folds[tag], &folds[tag], life_ns, fold);
    }
    update->fold_end_ns = atomic_load_explicit(&mark->end_ns, memory_order_relaxed);
}

/* Prevents new threads from taking over the slot of `owner`. Returns false if a thread has already done
 * so. */
static bool lock_slot(struct session_map *map, uint32_t number, uint64_t owner)
{
    return atomic_compare_exchange_strong(&map->owners[number], &owner, OWNER_PREPARING);
}

/* Returns a slot that lock_slot locked to the session. */
static void free_slot(struct session_map *map, uint32_t number)
{
    slot_clear_open(&map->slots[number]);
    atomic_store_explicit(&map->owners[number], 0, memory_order_release);
}

/* --- all slots ------------------------------------------------------------------------------------------ */

/* Returns true if threads without a slot have folded regions since the last round. */
static bool has_slotless_folds(const struct reader *reader)
{
    return reader->map && atomic_load_explicit(&reader->map->slotless_mark.changes, memory_order_relaxed) !=
                              reader->slots[READER_SLOTLESS].changes;
}

bool reader_has_updates(const struct reader *reader, int64_t now_ns)
{
    const struct session_map *map = reader->map;
    uint32_t used = map ? slots_used(map) : 0;
    if ((used && now_ns - reader->checked_ns >= CHECK_EVERY_NS) || has_slotless_folds(reader))
        return true;
    for (uint32_t i = 0; i < used; i++) {
        if (!is_readable(atomic_load_explicit(&map->owners[i], memory_order_acquire)))
            continue;
        const struct slot *slot = &map->slots[i];
        if (atomic_load_explicit(&slot->head, memory_order_relaxed) !=
                atomic_load_explicit(&slot->tail, memory_order_relaxed) ||
            atomic_load_explicit(&slot->fold_mark.changes, memory_order_relaxed) != reader->slots[i].changes)
            return true;
        for (unsigned k = 0; k < SESSION_OPEN; k++)
            if (atomic_load_explicit(&slot->open[k].begin_ns, memory_order_relaxed) != 0)
                return true;
    }
    return false;
}

/* Reads one slot into reader->update. is_over: the slot's thread has ended. */
static void read_slot(struct reader *reader, uint32_t number, bool is_over)
{
    struct slot *slot = &reader->map->slots[number];
    struct slot_update *update = &reader->update;
    update->slot = number;
    update->is_over = is_over;
    update->open_count = update->span_count = update->fold_count = 0;
    update->fold_end_ns = 0;
    if (!is_over)
        list_open(slot, update);
    empty_ring(reader, slot, update);
    take_folds(reader, &slot->fold_mark, slot->folds, update);
}

/* Reads the folds of threads without a slot into reader->update. Returns false if there are none. */
static bool read_slotless_folds(struct reader *reader)
{
    struct slot_update *update = &reader->update;
    if (!has_slotless_folds(reader))
        return false;
    update->slot = READER_SLOTLESS;
    update->is_over = false;
    update->open_count = update->span_count = update->fold_count = 0;
    take_folds(reader, &reader->map->slotless_mark, reader->map->slotless_folds, update);
    return update->fold_count > 0;
}

void reader_round(struct reader *reader, int64_t now_ns, bool check_owners,
                  void (*take)(void *context, const struct slot_update *update), void *context)
{
    struct session_map *map = reader->map;
    uint32_t used = map ? slots_used(map) : 0;
    reader->now_ns = now_ns;
    if (now_ns - reader->checked_ns >= CHECK_EVERY_NS) {
        check_owners = true;
        reader->checked_ns = now_ns;
    }
    if (reader->slots_touched < used)
        reader->slots_touched = used;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t owner = atomic_load_explicit(&map->owners[i], memory_order_acquire);
        bool is_over = check_owners && owner != 0 && owner_is_gone(owner) && lock_slot(map, i, owner);
        if (is_readable(owner)) {
            read_slot(reader, i, is_over);
            take(context, &reader->update);
        }
        if (is_over)
            free_slot(map, i);
    }
    if (read_slotless_folds(reader))
        take(context, &reader->update);
}
