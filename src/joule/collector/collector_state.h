/* joule/collector/collector_state.h - the inside of a collector, for the three files that it is made of.
 *
 * Owns the structure and nothing else. intake.c turns what the reader hands on into regions, payout.c shares energy out
 * among them, collector.c does the rest: life, locks, answers.
 * Newcomers: a region's number changes when a sweep removes regions; whoever keeps one is put right by payout.c.
 */
#ifndef JOULE_COLLECTOR_STATE_H
#define JOULE_COLLECTOR_STATE_H

#include "base/clock.h"
#include "joule/collector/collector.h"
#include "joule/collector/folded.h"
#include "joule/collector/ledger.h"
#include "joule/collector/reader.h"
#include "joule/session/session.h"

#define MAX_LOST  256  /* regions that left the open table and whose end did not come yet */
#define MAX_STEPS 1024 /* stretches of constant power in one sweep */
#define NONE_OPEN 0
#define RECENT    8192 /* regions whose own figures are kept; a power of two */

/* A flag of regions, beside those of spans: it will never finish, its thread is gone. */
#define REGION_ABANDONED 0x80

/* The figures of one finished region. */
struct recent {
    int64_t begin_ns, end_ns;
    uint32_t place;
    uint32_t claims;
    double window, attributed, self, cpu, gpu; /* joules */
    double variance;                           /* J^2, independent, of window */
    double covered_s;
};

struct tag_state {
    char name[SESSION_NAME];
    struct ledger ledger;
    struct share now[GROUPS]; /* of the running sweep, until the tag's presence in it is known */
    bool is_touched;
    uint64_t count, folded, waiting;
    uint64_t unpaid;  /* part of `folded`: regions that get no energy */
    uint64_t counted; /* calls without stamps */
    uint64_t unsynchronised, gpu_spans;
    double duration_s, covered_s;
    int64_t first_ns, last_ns;
    uint32_t flags, claims;
};

struct collector {
    joule_meter *meter;
    struct session *session;
    struct collector *next; /* in the hub */
    pthread_mutex_t lock;   /* everything below */
    int64_t read_ns;        /* last round of readings */
    int64_t swept_ns;       /* shared out up to here */
    struct region *regions;
    size_t region_count, region_capacity;
    _Atomic bool knows_regions; /* region_count > 0 */
    /* Regions by their place in the open tables, counted from 1, so that pages without regions stay untouched. */
    uint32_t open_at[SESSION_SLOTS][SESSION_OPEN];
    struct lost {
        uint32_t region;
        int64_t since_ns;
    } lost[MAX_LOST]; /* the oldest first */
    size_t lost_count;
    struct share *shares;
    size_t share_capacity;
    struct sweep sweep;
    struct step steps[MAX_STEPS];
    struct group_covers covers;
    int64_t covers_ns; /* when they were chosen */
    size_t covers_channels;
    struct sweep_energy energy;
    struct tag_state *tags[SESSION_TAGS];
    uint32_t tags_end; /* tags at and above were never seen */
    uint16_t touched[SESSION_TAGS];
    size_t touched_count;
    uint64_t folded, slotless; /* regions; `slotless`: of threads without a slot, also counted in `folded` */
    uint64_t implausible;      /* impossible entries: times in the future */
    double swept_joules[GROUPS];                /* all that was shared out */
    int64_t looked_ns;                          /* when slots were last looked at; under the hub's lock */
    struct fold_news *overflow;                 /* by tag: spans that found no room to wait; NULL: none yet */
    uint32_t overflow_tags;                     /* entries at and above were never used */
    int64_t overflow_begin_ns, overflow_end_ns; /* 0: empty */
    int64_t hold_ns;                            /* 0 until the first foreign span */
    struct recent *recent;
};

/* intake.c */
void intake_slot(struct collector *c, const struct slot_news *news);
/* A span that has ended. */
void intake_span(struct collector *c, const struct span *span);
/* Gives up regions whose end should have come by now. */
void intake_give_up_lost(struct collector *c, int64_t now_ns);
struct tag_state *intake_tag(struct collector *c, uint32_t tag);
/* Returns the new region's number, or NO_REGION if there are too many. */
uint32_t intake_add_region(struct collector *c, const struct region *region);
/* Adds spans that found no room to the sharing of energy, as a batch. */
void intake_flush(struct collector *c);
uint16_t intake_claims(uint8_t flags, uint8_t device);

/* payout.c: shares energy out from swept_ns to end_ns; removes what has ended by then. */
void payout_until(struct collector *c, int64_t end_ns);
void payout_choose_covers(struct collector *c, int64_t now_ns);
/* Where a region's figures are kept, whether they are this region's or another's. */
struct recent *payout_recent(struct collector *c, int64_t begin_ns, uint32_t place);

#endif
