/* joule/session/session_layout.h - the layout of a session's shared memory, and the lock-free operations of a
 * slot.
 *
 * All processes of a session map the same structure. It contains only numbers, no pointers, and readers check
 * every number before use.
 * Note: a slot belongs to one thread. Signal handlers of that thread, a thread that ends another thread's
 * region, and a child right after fork may write to the slot, too. So every operation is safe for several
 * writers and may be interrupted at any point.
 */
#ifndef JOULE_SESSION_LAYOUT_H
#define JOULE_SESSION_LAYOUT_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <joule/region.h>

#define SESSION_MAGIC   UINT64_C(0x31734a656c756f4a)
#define SESSION_VERSION 7
#define SESSION_SLOTS   256  /* maximum number of threads with regions at the same time */
#define SESSION_RING    4096 /* maximum number of finished spans of a slot that await the reader */
/* maximum number of listed open regions of a thread; further regions become visible when they end */
#define SESSION_OPEN        64
#define SESSION_TAGS        4096
#define SESSION_TAG_INDEX   (2 * SESSION_TAGS)
#define SESSION_NAME        48
#define SESSION_BOARD       256 /* entries per level of the board */
#define SESSION_LEVELS      7
#define SESSION_LEVEL_RATIO 8 /* a level contains every 8th entry of the level below */
#define SESSION_PAGE        4096

/* The last SESSION_RESERVED free places of a ring are reserved for spans of at least SESSION_LONG_NS. A sweep
 * may have seen such a span while it was open, so its end must not be lost. */
#define SESSION_LONG_NS  1000000
#define SESSION_RESERVED 512
/* Number of places that other writers may claim after a writer has found a free place and before it claims
 * one. The other writers are nested signal handlers, of which at most one runs for each signal. */
#define SESSION_SLACK 64

#define TAG_OTHER 0 /* "(other)": used if the table is full, and for invalid numbers */

/* Flags of a span: the low bits are JOULE_REGION_... */
enum {
    SPAN_SYNCHRONISED = 8, /* the hook of joule_set_sync was called when the GPU region began and ended */
    /* a span with timestamps of another clock; it gets energy as if it were a separate thread */
    SPAN_FOREIGN = 16,
    SPAN_FRAMED = 32, /* a region that ends at the latest when the function that began it returns */
};

#define SPAN_NOT_LISTED 0xff /* index of a region that was never in a table of open regions */
#define SPAN_ALL_GPUS   0xff /* value of span.device: all GPUs */

/* A finished region or foreign span. */
struct span {
    int64_t begin_ns, end_ns;
    uint16_t tag;
    uint16_t slot; /* slot of the thread that began the span; may differ from the slot of this ring */
    uint8_t index; /* index in that slot's open table, or SPAN_NOT_LISTED */
    uint8_t flags;
    uint8_t device; /* foreign span: GPU number or SPAN_ALL_GPUS */
    uint8_t unused;
    float error_ns; /* foreign span: standard error of its timestamps; other span: time of nested regions */
    _Atomic uint32_t ready; /* low 32 bits of (place + 1), written last; place counts all spans pushed */
};
static_assert(sizeof(struct span) == 32, "layout");

/* A running region. begin_ns is also the state of this place in the table of open regions. 0 means that the
 * place is free; OPEN_CLOSING means that a region is being removed from it. */
struct open_span {
    _Atomic int64_t begin_ns;
    _Atomic uint64_t what;     /* open_what(); 0: not written yet */
    _Atomic int64_t nested_ns; /* time of the regions that ended directly inside it */
};
#define OPEN_CLOSING  1
#define PARENT_SEARCH 4 /* the parent of a region is searched in this many places before the region's */

/* Returns the value of open_span.what for a region; never 0. */
static inline uint64_t open_what(uint32_t tag, uint32_t flags)
{
    return UINT64_C(1) << 63 | (uint64_t)(flags & 0xff) << 32 | tag;
}

/* Flag of folds, in addition to those of spans: a GPU region ran without the hook being called at its start
 * and end. */
#define FOLD_UNSYNCHRONISED 64

/* Sums over regions of one tag that found no place in the ring. The sums never decrease; a reader uses the
 * differences between two readings. */
struct fold {
    _Atomic uint32_t flags; /* union of the regions' flags */
    uint32_t unused;
    _Atomic uint64_t count;
    _Atomic uint64_t duration_ns;
    _Atomic uint64_t own_ns; /* duration minus that of nested regions */
};

/* Shows a reader whether a table of folds has changed, and how many of its entries are in use. */
struct fold_mark {
    _Atomic uint64_t changes; /* changes whenever a fold of the table changes */
    _Atomic int64_t end_ns;   /* end of the latest folded region */
    _Atomic uint32_t tags;    /* folds of this tag and higher tags were never used */
};

struct slot {
    /* number of places of the ring that writers have claimed so far */
    alignas(SESSION_PAGE) _Atomic uint64_t head;
    _Atomic uint32_t hint; /* probable index of the next free place in `open` */
    /* places of the ring with lower numbers were claimed by earlier owners */
    _Atomic uint64_t owned_from;
    alignas(64) _Atomic uint64_t tail; /* number of places of the ring that the reader has emptied so far */
    struct fold_mark fold_mark;
    alignas(64) struct open_span open[SESSION_OPEN];
    alignas(64) struct span ring[SESSION_RING];
    alignas(64) struct fold folds[SESSION_TAGS]; /* indexed by tag; unused pages take no memory */
};

/* Totals of the measuring process for clients: JOULE_TOTAL, JOULE_CPU and JOULE_GPU. `sequence` is odd during
 * a write. Each level has the same number of entries, but higher levels cover more time: with one entry per
 * 50 ms, the levels cover 13 s, 100 s, 14 minutes, ... 39 days. */
#define BOARD_SUMS 3
struct board_entry {
    _Atomic uint64_t sequence;
    _Atomic int64_t time_ns;
    struct {
        _Atomic double joules;  /* NaN: unknown */
        _Atomic double gain_sd; /* relative error */
        _Atomic uint32_t cls;
    } sums[BOARD_SUMS];
};

/* Limits that budgets set for the regions of a tag; 0: no limit. */
struct tag_limits {
    _Atomic double joules;      /* for all regions together */
    _Atomic double call_joules; /* mean for each region */
    /* Expected energy of each call that is counted without timestamps; 0: calls have timestamps. */
    struct {
        _Atomic double joules, low, high;
        _Atomic uint32_t cls;
    } expected;
};

/* Properties in which two builds must agree to share a mapping. */
struct session_shape {
    uint64_t magic;
    uint32_t version;
    uint32_t slots, ring, open, folds, tags, board;
    uint32_t span_size, slot_size, reserved; /* no padding: shapes are compared as bytes */
    uint64_t tags_offset, board_offset, slots_offset, size;
};

static_assert(sizeof(struct session_shape) == 6 * 8 + 4 * 8, "layout");

struct session_map {
    struct session_shape shape;
    int32_t owner_pid;           /* id of the measuring process in its own PID namespace */
    uint64_t pid_namespace;      /* inode of the owner's PID namespace; 0: unknown */
    _Atomic uint32_t slots_used; /* slots with this and higher numbers were never owned */
    _Atomic uint32_t tag_count;
    _Atomic uint32_t clients;     /* number of processes that ever joined */
    _Atomic uint32_t has_budgets; /* 0: tag_limits may have no memory */
    _Atomic double stamp_seconds; /* minimum time between the timestamps of an empty region; 0: unknown */
    _Atomic uint64_t board_count;
    _Atomic uint64_t unnamed_tags; /* names that did not fit into the table */
    _Atomic uint64_t unstored;     /* regions that were lost entirely, including their time */
    /* time of the last failed search for a slot, for each of two kinds of search */
    _Atomic int64_t full_ns[2];
    struct fold_mark slotless_mark;
    /* owner of each slot: result of session_owner(), possibly with the flag OWNER_PREPARING; 0: free */
    alignas(64) _Atomic uint64_t owners[SESSION_SLOTS];
    alignas(SESSION_PAGE) _Atomic uint32_t tag_index[SESSION_TAG_INDEX]; /* hash -> tag; 0: free */
    char tag_names[SESSION_TAGS][SESSION_NAME];
    struct tag_limits tag_limits[SESSION_TAGS];
    alignas(SESSION_PAGE) struct fold slotless_folds[SESSION_TAGS]; /* regions of threads without a slot */
    alignas(64) struct board_entry board[SESSION_LEVELS][SESSION_BOARD];
    struct slot slots[SESSION_SLOTS];
};

static inline struct session_shape session_shape(void)
{
    return (struct session_shape){
        .magic = SESSION_MAGIC,
        .version = SESSION_VERSION,
        .slots = SESSION_SLOTS,
        .ring = SESSION_RING,
        .open = SESSION_OPEN,
        .folds = SESSION_TAGS,
        .tags = SESSION_TAGS,
        .board = SESSION_LEVELS * SESSION_BOARD,
        .span_size = sizeof(struct span),
        .slot_size = sizeof(struct slot),
        .tags_offset = offsetof(struct session_map, tag_names),
        .board_offset = offsetof(struct session_map, board),
        .slots_offset = offsetof(struct session_map, slots),
        .size = sizeof(struct session_map),
    };
}

/* Flag of an owner: the slot's pages are being allocated, and no other thread may access them. */
#define OWNER_PREPARING (UINT64_C(1) << 63)

/* Returns the value that identifies the owner of a slot. pid 0: a thread in another PID namespace; the
 * measuring process cannot know whether such a thread lives. */
static inline uint64_t session_owner(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

/* Adds a region to the slot's table of open regions. Returns its index in the table, or SPAN_NOT_LISTED if
 * the table is full. */
static inline unsigned slot_open(struct slot *slot, int64_t begin_ns, uint64_t what)
{
    unsigned hint = atomic_load_explicit(&slot->hint, memory_order_relaxed);
    for (unsigned i = 0; i < SESSION_OPEN; i++) {
        unsigned index = (hint + i) % SESSION_OPEN;
        struct open_span *place = &slot->open[index];
        int64_t is_free = 0;
        if (atomic_load_explicit(&place->begin_ns, memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong_explicit(&place->begin_ns, &is_free, begin_ns,
                                                     memory_order_acq_rel, memory_order_relaxed))
            continue;
        atomic_store_explicit(&place->nested_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&place->what, what, memory_order_release);
        atomic_store_explicit(&slot->hint, index + 1, memory_order_relaxed);
        return index;
    }
    return SPAN_NOT_LISTED;
}

/* Removes a region from the table of open regions and stores the time of its nested regions, in nanoseconds.
 * Returns false if the region is not in the table because it was ended before. If several threads or signal
 * handlers call this function at the same time, it returns true to only one caller, which then ends the
 * region. is_owner: the calling thread owns the slot. */
static inline bool slot_close(struct slot *slot, unsigned index, int64_t begin_ns, bool is_owner,
                              int64_t *out_nested_ns)
{
    struct open_span *place = &slot->open[index % SESSION_OPEN];
    if (!atomic_compare_exchange_strong_explicit(&place->begin_ns, &begin_ns, OPEN_CLOSING,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false;
    *out_nested_ns = atomic_load_explicit(&place->nested_ns, memory_order_relaxed);
    atomic_store_explicit(&place->what, 0, memory_order_relaxed);
    atomic_store_explicit(&place->begin_ns, 0, memory_order_release);
    if (is_owner)
        atomic_store_explicit(&slot->hint, index, memory_order_relaxed);
    return true;
}

/* Adds the duration of a closed region to the nested time of the region that contained it. That region has
 * one of the PARENT_SEARCH places before `index`. */
static inline void slot_add_nested(struct slot *slot, unsigned index, int64_t begin_ns, int64_t duration_ns)
{
    for (unsigned i = 1; i <= PARENT_SEARCH; i++) {
        struct open_span *parent = &slot->open[(index - i) % SESSION_OPEN];
        int64_t parent_ns = atomic_load_explicit(&parent->begin_ns, memory_order_relaxed);
        if (parent_ns <= OPEN_CLOSING)
            continue;
        if (parent_ns <= begin_ns)
            atomic_fetch_add_explicit(&parent->nested_ns, duration_ns, memory_order_relaxed);
        return;
    }
}

/* Clears the table of open regions. Call it if the slot's thread has ended or belongs to the parent
 * process. */
static inline void slot_clear_open(struct slot *slot)
{
    for (unsigned i = 0; i < SESSION_OPEN; i++) {
        atomic_store_explicit(&slot->open[i].what, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->open[i].begin_ns, 0, memory_order_release);
    }
}

/* Clears a table of folds. No other thread may use the table during the call. */
static inline void folds_clear(struct fold_mark *mark, struct fold folds[SESSION_TAGS])
{
    uint32_t tags = atomic_load_explicit(&mark->tags, memory_order_relaxed);
    memset(folds, 0, (tags < SESSION_TAGS ? tags : SESSION_TAGS) * sizeof folds[0]);
    atomic_store_explicit(&mark->tags, 0, memory_order_relaxed);
}

/* Adds a finished span to the ring. Returns false if the ring is full. */
static inline bool slot_push(struct slot *slot, const struct span *span)
{
    bool is_long = span->end_ns - span->begin_ns >= SESSION_LONG_NS;
    uint64_t limit = SESSION_RING - SESSION_SLACK - (is_long ? 0 : SESSION_RESERVED);
    uint64_t tail = atomic_load_explicit(&slot->tail, memory_order_acquire);
    if (atomic_load_explicit(&slot->head, memory_order_relaxed) - tail >= limit)
        return false;
    uint64_t place = atomic_fetch_add_explicit(&slot->head, 1, memory_order_relaxed);
    struct span *cell = &slot->ring[place % SESSION_RING];
    cell->begin_ns = span->begin_ns;
    cell->end_ns = span->end_ns;
    cell->tag = span->tag;
    cell->slot = span->slot;
    cell->index = span->index;
    cell->flags = span->flags;
    cell->device = span->device;
    cell->error_ns = span->error_ns;
    atomic_store_explicit(&cell->ready, (uint32_t)place + 1, memory_order_release);
    return true;
}

/* Adds a region that found no place in the ring or, with duration 0, a call without timestamps. own_ns:
 * duration without nested regions. */
static inline void fold_add(struct fold_mark *mark, struct fold folds[SESSION_TAGS], const struct span *span,
                            int64_t own_ns)
{
    struct fold *fold = &folds[span->tag];
    int64_t duration_ns = span->end_ns - span->begin_ns;
    bool is_unsynchronised =
        (span->flags & JOULE_REGION_GPU) && !(span->flags & (SPAN_SYNCHRONISED | SPAN_FOREIGN));
    uint32_t flags = span->flags | (is_unsynchronised ? FOLD_UNSYNCHRONISED : 0);
    if (~atomic_load_explicit(&fold->flags, memory_order_relaxed) & flags)
        atomic_fetch_or_explicit(&fold->flags, flags, memory_order_relaxed);
    /* A reader loads these values in the reverse order, so it never sees the time of a region that it has not
     * counted. */
    atomic_fetch_add_explicit(&fold->count, 1, memory_order_release);
    if (duration_ns > 0) {
        atomic_fetch_add_explicit(&fold->duration_ns, (uint64_t)duration_ns, memory_order_release);
        atomic_fetch_add_explicit(&fold->own_ns, (uint64_t)(own_ns > 0 ? own_ns : 0), memory_order_release);
        atomic_store_explicit(&mark->end_ns, span->end_ns, memory_order_relaxed);
    }
    uint32_t tags = atomic_load_explicit(&mark->tags, memory_order_relaxed);
    while (tags <= span->tag &&
           !atomic_compare_exchange_weak_explicit(&mark->tags, &tags, span->tag + UINT32_C(1),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
    /* The value only signals a change, so a lost increment is harmless. */
    uint64_t changes = atomic_load_explicit(&mark->changes, memory_order_relaxed);
    atomic_store_explicit(&mark->changes, changes + 1, memory_order_release);
}

/* Adds a region to the slot's table of folds. */
static inline void slot_fold(struct slot *slot, const struct span *span, int64_t own_ns)
{
    fold_add(&slot->fold_mark, slot->folds, span, own_ns);
}

#endif
