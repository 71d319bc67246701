/* joule/collector/reader.h - reads the regions that the threads of a session wrote.
 *
 * The reader empties ring buffers, lists open regions, reads the increase of folded counts, and frees the
 * slots of threads that have ended. It checks its output: numbers are in range, times in order.
 * Note: threads continue to write during a round. A region that ends during a round may appear only in the
 * next round. No finished region is lost or delivered twice.
 */
#ifndef JOULE_READER_H
#define JOULE_READER_H

#include "joule/session/session_layout.h"

#define READER_SLOTLESS SESSION_SLOTS /* slot number that represents all threads without a slot */

/* A region that is open. index: its place in the slot's open table. */
struct open_update {
    int64_t begin_ns;
    uint16_t tag;
    uint8_t index, flags;
};

/* Regions of one tag that did not fit into the ring buffer. */
struct fold_update {
    uint16_t tag;
    uint8_t flags; /* union of the regions' flags, and FOLD_UNSYNCHRONISED */
    uint64_t count;
    double duration_s;
    double own_s; /* sum of durations without nested regions, in seconds */
};

/* Changes of one slot since the last round. */
struct slot_update {
    uint32_t slot;
    bool is_over; /* the thread has ended: no region is open, and no update follows */
    struct open_update open[SESSION_OPEN];
    size_t open_count;
    struct span spans[SESSION_RING];
    size_t span_count;
    struct fold_update folds[SESSION_TAGS];
    size_t fold_count;
    int64_t fold_end_ns; /* end of the latest folded region; 0: unknown */
};

/* The reader of one session. */
struct reader {
    struct session_map *map;
    int64_t since_ns;     /* no region began earlier */
    int64_t now_ns;       /* time of this round */
    int64_t checked_ns;   /* when owners were last checked for being alive */
    uint64_t implausible; /* number of impossible entries, which were ignored */
    struct read_slot {
        uint64_t changes; /* fold_mark.changes of the slot at the last round */
        uint32_t tags;    /* 1 + highest tag with a fold */
        struct folded {
            uint64_t count, duration_ns, own_ns;
        } folds[SESSION_TAGS];
    } slots[SESSION_SLOTS + 1]; /* index READER_SLOTLESS: threads without a slot */
    uint32_t slots_touched;     /* slots from this number on are still zero */
    struct slot_update update;
};

/* Starts reading a mapping in which no region began before since_ns. `reader` is zeroed memory, or was
 * started before. */
void reader_start(struct reader *reader, struct session_map *map, int64_t since_ns);
/* Returns true if a slot may contain updates, or if it is time to check whether owners are alive. Costs a few
 * loads per slot. */
bool reader_has_updates(const struct reader *reader, int64_t now_ns);
/* Reads all slots once. Calls `take` for each owned slot, and for READER_SLOTLESS if it has updates.
 * now_ns: CLOCK_MONOTONIC. Checks whether owners are alive if the last check is a second ago, or
 * always if `check_owners` is true. */
void reader_round(struct reader *reader, int64_t now_ns, bool check_owners,
                  void (*take)(void *context, const struct slot_update *update), void *context);

#endif
