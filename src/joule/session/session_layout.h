/* joule/session/session_layout.h - what the shared memory of a session looks like, and how a thread writes into it.
 *
 * Owns the one structure that every process of a session maps, and the lock-free operations of a slot: open, close,
 * push, fold. It holds no pointers, only numbers; whoever reads it checks every number before use.
 * Newcomers: a slot has one owner, but its signal handlers, the ender of a region on another thread and a child right
 * after fork may write too. Every operation is therefore safe for many writers and may be interrupted anywhere.
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

#define SESSION_MAGIC     UINT64_C(0x31734a656c756f4a)
#define SESSION_VERSION   7
#define SESSION_SLOTS     256  /* threads with regions at one time */
#define SESSION_RING      4096 /* finished spans that a slot holds between two readings */
#define SESSION_OPEN      64   /* open regions of a thread; deeper ones are listed when they have ended */
#define SESSION_TAGS      4096
#define SESSION_TAG_INDEX (2 * SESSION_TAGS)
#define SESSION_NAME      48
#define SESSION_BOARD     256 /* entries of each level of the board */
#define SESSION_LEVELS    7
#define SESSION_SPARSER   8 /* a level keeps one of so many of the entries of that below it */
#define SESSION_PAGE      4096

/* The last places of a ring are for spans that took at least this long: a sweep may have seen them open. */
#define SESSION_LONG_NS  1000000
#define SESSION_RESERVED 512
/* Between the test for room and the claim of a place other writers may get in: one for each context that interrupts
 * another, of which there are at most as many as signals. */
#define SESSION_SLACK 64

#define TAG_OTHER 0 /* "(other)": when the table is full, and for numbers that are no tags */

/* Flags of a span: the low bits are JOULE_REGION_... */
enum {
    SPAN_SYNCHRONISED = 8, /* a GPU region with the hook called at both edges */
    SPAN_FOREIGN = 16,     /* stamped by another clock; a thread of its own */
    SPAN_FRAMED = 32,      /* cannot outlive the call that began it */
};

#define SPAN_NOT_LISTED 0xff /* as index: the region never stood in the open table */
#define SPAN_ALL_GPUS   0xff /* as device */

/* A finished region or foreign span. */
struct span {
    int64_t begin_ns, end_ns;
    uint16_t tag;
    uint16_t slot; /* of the thread that began it: not always the one whose ring this is */
    uint8_t index; /* its place in that slot's open table, or SPAN_NOT_LISTED */
    uint8_t flags;
    uint8_t device; /* of a foreign span: GPU number or SPAN_ALL_GPUS */
    uint8_t unused;
    float error_ns; /* foreign span: standard error of its timestamps; others: time of regions nested in it */
    _Atomic uint32_t ready; /* low half of (place + 1), written last */
};
static_assert(sizeof(struct span) == 32, "layout");

/* A running region. begin_ns is also the claim on the place: 0 free, 1 being closed. */
struct open_span {
    _Atomic int64_t begin_ns;
    _Atomic uint64_t what;     /* open_what(); 0: not written yet */
    _Atomic int64_t nested_ns; /* time of the regions that ended directly inside it */
};
#define OPEN_CLOSING  1
#define PARENT_SEARCH 4 /* places below a region's own in which its parent is searched */

static inline uint64_t open_what(uint32_t tag, uint32_t flags)
{
    return UINT64_C(1) << 63 | (uint64_t)(flags & 0xff) << 32 | tag;
}

/* Flag of folds, in addition to those of spans: a GPU region ran without the hook at begin and end. */
#define FOLD_UNSYNCHRONISED 64

/* Regions of one tag that found no place in the ring. The sums only grow: a reader takes differences. */
struct fold {
    _Atomic uint32_t flags; /* union of the regions' flags */
    uint32_t unused;
    _Atomic uint64_t count;
    _Atomic uint64_t duration_ns;
    _Atomic uint64_t own_ns; /* duration less the regions nested in them */
};

/* Tells a reader whether a table of folds has changed, and up to which entry. */
struct fold_mark {
    _Atomic uint64_t changes; /* changes whenever a fold does */
    _Atomic int64_t end_ns;   /* end of the latest folded region */
    _Atomic uint32_t tags;    /* folds at and above were never used */
};

struct slot {
    alignas(SESSION_PAGE) _Atomic uint64_t head; /* places claimed by writers */
    _Atomic uint32_t hint;                       /* where the next free open place probably is */
    _Atomic uint64_t owned_from;                 /* places below were claimed by earlier owners */
    alignas(64) _Atomic uint64_t tail;           /* places emptied by the reader */
    struct fold_mark fold_mark;
    alignas(64) struct open_span open[SESSION_OPEN];
    alignas(64) struct span ring[SESSION_RING];
    alignas(64) struct fold folds[SESSION_TAGS]; /* by tag; pages without folds take no memory */
};

/* The measuring process's totals so far, for clients: JOULE_TOTAL, JOULE_CPU and JOULE_GPU. `sequence` is odd while it
 * is written. Levels reach back ever further, ever more sparsely: at 50 ms an entry 13 s, 100 s, 14 minutes, ... 39 days. */
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

/* What budgets allow the regions of a tag; 0: no such limit. */
struct tag_limits {
    _Atomic double joules;      /* all together */
    _Atomic double call_joules; /* each, in the mean */
    /* What each is expected to take, of calls that are only counted; 0: they are not. */
    struct {
        _Atomic double joules, low, high;
        _Atomic uint32_t cls;
    } expected;
};

/* What two builds must agree on before they share a mapping. */
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
    int32_t owner_pid;           /* the process that measures, as it sees itself */
    uint64_t pid_namespace;      /* inode of its PID namespace; 0: unknown */
    _Atomic uint32_t slots_used; /* slots at and above were never owned */
    _Atomic uint32_t tag_count;
    _Atomic uint32_t clients;     /* processes that joined, ever */
    _Atomic uint32_t has_budgets; /* 0: there may be no memory behind tag_limits */
    _Atomic double
        stamp_seconds; /* between the stamps of a region with nothing in it, at least; 0: unknown */
    _Atomic uint64_t board_count;
    _Atomic uint64_t unnamed_tags; /* names for which there was no place in the table */
    _Atomic uint64_t unstored;     /* lost regions: not even their time could be kept */
    _Atomic int64_t full_ns[2];    /* when all slots were last found taken, by each of two ways to search */
    struct fold_mark crowd_mark;
    alignas(
        64) _Atomic uint64_t owners[SESSION_SLOTS]; /* session_owner(), or with OWNER_PREPARING; 0: free */
    alignas(SESSION_PAGE) _Atomic uint32_t tag_index[SESSION_TAG_INDEX]; /* hash -> tag; 0: free */
    char tag_names[SESSION_TAGS][SESSION_NAME];
    struct tag_limits tag_limits[SESSION_TAGS];
    alignas(SESSION_PAGE) struct fold crowd[SESSION_TAGS]; /* regions of threads that have no slot */
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

/* The slot's pages are not there yet: nobody else may touch them. */
#define OWNER_PREPARING (UINT64_C(1) << 63)

/* pid 0: a thread of another PID namespace, of which nobody here can tell whether it lives. */
static inline uint64_t session_owner(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

/* Lists a region as open; its place, or SPAN_NOT_LISTED. */
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

/* Removes a region from the list and stores the time of the regions nested in it. Returns false if it is not
 * in the list because it was ended before. The caller that removes it ends the region, also if the owner's
 * thread, its signal handlers and other threads try at the same time. */
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

/* Adds the duration of a closed region to the region that contained it, which is below it in the list. */
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

/* Forgets what is listed as open: its thread is gone, or was the parent's. */
static inline void slot_clear_open(struct slot *slot)
{
    for (unsigned i = 0; i < SESSION_OPEN; i++) {
        atomic_store_explicit(&slot->open[i].what, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->open[i].begin_ns, 0, memory_order_release);
    }
}

/* Clears the folds. No other thread may use the table. */
static inline void folds_clear(struct fold_mark *mark, struct fold folds[SESSION_TAGS])
{
    uint32_t tags = atomic_load_explicit(&mark->tags, memory_order_relaxed);
    memset(folds, 0, (tags < SESSION_TAGS ? tags : SESSION_TAGS) * sizeof folds[0]);
    atomic_store_explicit(&mark->tags, 0, memory_order_relaxed);
}

/* Puts a finished span into the ring. False when there is no room for it. */
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

/* Adds a region that found no room or, with duration 0, a call without timestamps. own_ns: duration less
 * nested regions. */
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
    /* Stores in this order; a reader loads in the reverse order and so never sees time without its region. */
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
    /* Says only that there is something to look for, so a step lost to a signal does no harm. */
    uint64_t changes = atomic_load_explicit(&mark->changes, memory_order_relaxed);
    atomic_store_explicit(&mark->changes, changes + 1, memory_order_release);
}

static inline void slot_fold(struct slot *slot, const struct span *span, int64_t own_ns)
{
    fold_add(&slot->fold_mark, slot->folds, span, own_ns);
}

#endif
