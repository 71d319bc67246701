/* joule/collector/collector_state.h - the internal state of a collector, shared by its source files.
 *
 * regions.c turns slot updates into regions, attribute_energy.c attributes energy to them, collector.c locks
 * and answers queries.
 * Note: a region's number is its index in `regions`, and changes when a sweep removes regions.
 * attribute_energy.c then updates all stored numbers.
 */
#ifndef JOULE_COLLECTOR_STATE_H
#define JOULE_COLLECTOR_STATE_H

#include "base/clock.h"
#include "joule/collector/collector.h"
#include "joule/collector/folded.h"
#include "joule/collector/ledger.h"
#include "joule/collector/reader.h"
#include "joule/session/session.h"

#define MAX_LOST  256  /* maximum number of regions that left the open table before their end arrived */
#define MAX_STEPS 1024 /* maximum number of intervals of constant power in one sweep */
#define NONE_OPEN 0    /* an unused entry of `open_at` */
#define RECENT    8192 /* number of regions whose figures are stored; a power of two */

/* A flag of regions in addition to those of spans: the end of the region will never arrive. */
#define REGION_ABANDONED 0x80

/* The figures of one finished region. */
struct recent {
    int64_t begin_ns, end_ns;
    uint32_t place; /* the region's slot and, from bit 16 on, its index in the open table */
    uint32_t claims;
    double window, attributed, self, cpu, gpu; /* joules */
    double variance;                           /* variance of `window` in J^2; independent errors only */
    double covered_s;
};

/* The sums of one tag. */
struct tag_state {
    char name[SESSION_NAME];
    struct ledger ledger;
    struct share now[GROUPS]; /* shares of the running sweep; close_tags adds them to `ledger` */
    bool is_touched;          /* the tag is listed in collector.touched */
    uint64_t count, folded, waiting;
    uint64_t unattributed; /* the part of `folded` that gets no energy */
    uint64_t counted;      /* calls without timestamps */
    uint64_t unsynchronised, gpu_spans;
    double duration_s, covered_s;
    int64_t first_ns, last_ns;
    uint32_t flags, claims;
};

/* A collector. */
struct collector {
    struct meter_listener listener; /* the first member */
    joule_meter *meter;
    struct session *session;
    struct collector *next; /* list of the hub */
    pthread_mutex_t lock;   /* guards everything below */
    int64_t read_ns;        /* time of the last round of readings */
    int64_t swept_ns;       /* energy is attributed up to this time */
    struct region *regions;
    size_t region_count, region_capacity;
    _Atomic bool knows_regions; /* region_count > 0 */
    /* For each slot and each place in the slot's open table: the number of the open region plus 1; 0 means no
     * region. The array is initially 0, so its unused pages take no memory. */
    uint32_t open_at[SESSION_SLOTS][SESSION_OPEN];
    struct lost {
        uint32_t region;
        int64_t since_ns;
    } lost[MAX_LOST]; /* oldest first */
    size_t lost_count;
    struct share *shares;
    size_t share_capacity;
    struct sweep sweep;
    struct step steps[MAX_STEPS];
    struct group_covers covers;
    int64_t covers_ns;      /* when the covers were chosen */
    size_t covers_channels; /* number of the meter's channels when the covers were chosen */
    int64_t channels_ns;    /* when this number last changed */
    struct sweep_energy energy;
    struct tag_state *tags[SESSION_TAGS];
    uint32_t tags_end;              /* 1 + highest tag seen */
    uint16_t touched[SESSION_TAGS]; /* tags with shares in the running sweep */
    size_t touched_count;
    uint64_t folded, slotless;    /* numbers of regions; slotless: those of threads without a slot */
    uint64_t implausible;         /* impossible entries: times in the future */
    double swept_joules[GROUPS];  /* all energy in swept time, attributed or not */
    int64_t slots_read_ns;        /* when slots were last read; under the hub's lock */
    struct fold_update *overflow; /* spans that did not fit into `regions`, indexed by tag; NULL: none yet */
    uint32_t overflow_tags;       /* 1 + highest tag in `overflow` */
    int64_t overflow_begin_ns, overflow_end_ns; /* 0: empty */
    int64_t hold_ns; /* how long attribution waits for late foreign spans; 0 before the first such span */
    struct recent *recent;
    collector_region_fn on_region; /* NULL: none */
    void *on_region_context;
};

/* regions.c */
/* Adds the regions of one slot's update. */
void regions_read_slot(struct collector *c, const struct slot_update *update);
/* Adds a finished span, or ends the open region that it belongs to. If there are too many regions, folds the
 * span. */
void regions_add_span(struct collector *c, const struct span *span);
/* Abandons regions that have been lost for too long. */
void regions_abandon_lost(struct collector *c, int64_t now_ns);
/* Returns the sums of a tag (below SESSION_TAGS), which are allocated at first use; NULL: out of memory. */
struct tag_state *regions_get_tag(struct collector *c, uint32_t tag);
/* Adds a region. Returns its number, or NO_REGION if there are too many or out of memory. */
uint32_t regions_add(struct collector *c, const struct region *region);
/* Attributes spans that did not fit into `regions`, as a batch. */
void regions_attribute_overflow(struct collector *c);
/* Returns the groups (bits) that a region with these flags claims. device: GPU of a foreign span, or
 * SPAN_ALL_GPUS. */
uint16_t regions_claims(uint8_t flags, uint8_t device);

/* attribute_energy.c */
/* Attributes energy from swept_ns to end_ns, and removes regions that have ended by then. */
void collector_attribute_until(struct collector *c, int64_t end_ns);
/* Chooses the domains of each group again if the last choice is a second old or if channels were added
 * since. */
void collector_choose_covers(struct collector *c, int64_t now_ns);
/* Returns the entry for a region's figures. The entry may contain another region's figures, so compare
 * begin_ns, end_ns and place. */
struct recent *collector_find_recent(struct collector *c, int64_t begin_ns, uint32_t place);

#endif
