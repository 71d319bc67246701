/* joule/collector/folded.c - see folded.h. */
#include "joule/collector/folded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/collector/collector_state.h"

#define SLICES      64   /* pieces of a batch, spread over its time to affect concurrent regions evenly */
#define MAX_THREADS 4096 /* upper limit of the threads that one batch represents */
/* exceeds the number of regions that a thread can still store after its first fold: SESSION_RESERVED +
 * SESSION_SLACK */
#define MAX_GAPS 640

/* A time in which a thread ran no region that is in the ring buffer. */
struct gap {
    int64_t begin_ns, end_ns;
};

/* Returns true for a fold of calls without timestamps, whose energy is the compiler's estimate. */
static bool is_counted_call(struct collector *c, const struct fold_update *fold)
{
    return fold->duration_s == 0 && !isnan(session_get_expected(c->session, fold->tag).value);
}

/* Adds counts and times of a fold to its tag. */
static void count_fold(struct collector *c, const struct fold_update *fold, const struct fold_time *time)
{
    bool is_counted = is_counted_call(c, fold);
    struct tag_state *tag = regions_get_tag(c, fold->tag);
    c->folded += is_counted ? 0 : fold->count;
    if (!tag)
        return;
    tag->count += fold->count;
    *(is_counted ? &tag->counted : &tag->folded) += fold->count;
    tag->duration_s += fold->duration_s;
    if (is_counted)
        return;
    tag->first_ns = time->begin_ns < tag->first_ns ? time->begin_ns : tag->first_ns;
    tag->last_ns = time->end_ns > tag->last_ns ? time->end_ns : tag->last_ns;
    tag->flags |= fold->flags & (uint8_t) ~(FOLD_UNSYNCHRONISED | REGION_ABANDONED);
    tag->claims |= regions_claims(fold->flags, SPAN_ALL_GPUS);
    if (fold->flags & FOLD_UNSYNCHRONISED)
        tag->unsynchronised += fold->count;
}

/* Returns a batch of the folds whose duration is not 0, which the caller frees; NULL if out of memory. */
static struct batch *make_batch(const struct fold_update *folds, size_t count)
{
    struct batch *batch = malloc(sizeof *batch + count * sizeof *folds);
    if (!batch)
        return NULL;
    *batch = (struct batch){0};
    for (size_t i = 0; i < count; i++) {
        if (!(folds[i].duration_s > 0))
            continue;
        batch->own_s += folds[i].own_s;
        batch->folds[batch->count++] = folds[i];
    }
    return batch;
}

/* Adds `pieces` copies of `model`, spread evenly over [begin_ns, end_ns), that occupy the fraction `part` of
 * this time. */
static void add_pieces(struct collector *c, const struct region *model, int64_t begin_ns, int64_t end_ns,
                       double part, size_t pieces)
{
    int64_t spacing_ns = (end_ns - begin_ns) / (int64_t)pieces;
    int64_t length_ns = (int64_t)((double)spacing_ns * part);
    for (size_t i = 0; i < pieces && length_ns > 0; i++) {
        struct region piece = *model;
        piece.begin_ns = begin_ns + (int64_t)i * spacing_ns;
        piece.end_ns = piece.begin_ns + length_ns;
        piece.batch->left += regions_add(c, &piece) != NO_REGION;
    }
}

static int by_begin(const void *a, const void *b)
{
    int64_t x = ((const struct gap *)a)->begin_ns, y = ((const struct gap *)b)->begin_ns;
    return (x > y) - (x < y);
}

/* Lists the gaps in `time` in which the thread ran no region of time->spans, so that folded regions may have
 * run. A region that spent more than half of its time in nested regions counts as a gap. Returns the number
 * of gaps. */
static size_t list_gaps(const struct fold_time *time, struct gap gaps[MAX_GAPS])
{
    struct gap busy[MAX_GAPS];
    size_t busy_count = 0, count = 0;
    for (size_t i = 0; i < time->span_count && busy_count < MAX_GAPS - 1; i++) {
        const struct span *span = &time->spans[i];
        double length_ns = (double)(span->end_ns - span->begin_ns);
        if (!(span->flags & SPAN_FOREIGN) && span->end_ns > time->begin_ns && span->error_ns < length_ns / 2)
            busy[busy_count++] = (struct gap){span->begin_ns, span->end_ns};
    }
    qsort(busy, busy_count, sizeof *busy, by_begin);
    int64_t free_ns = time->begin_ns;
    busy[busy_count++] = (struct gap){time->end_ns, time->end_ns};
    for (size_t i = 0; i < busy_count; i++) {
        int64_t until_ns = busy[i].begin_ns < time->end_ns ? busy[i].begin_ns : time->end_ns;
        if (until_ns > free_ns)
            gaps[count++] = (struct gap){free_ns, until_ns};
        free_ns = busy[i].end_ns > free_ns ? busy[i].end_ns : free_ns;
    }
    return count;
}

/* Places one thread's batch in the gaps between its other regions, or in the whole time if the gaps are too
 * short. */
static void add_thread(struct collector *c, const struct region *model, const struct fold_time *time)
{
    struct gap gaps[MAX_GAPS];
    double own_ns = model->batch->own_s * 1e9, gap_ns = 0;
    size_t count = list_gaps(time, gaps);
    for (size_t i = 0; i < count; i++)
        gap_ns += (double)(gaps[i].end_ns - gaps[i].begin_ns);
    if (gap_ns < own_ns) {
        gaps[0] = (struct gap){time->begin_ns, time->end_ns};
        gap_ns = (double)(time->end_ns - time->begin_ns);
        count = 1;
    }
    double part = fmin(1, own_ns / gap_ns);
    for (size_t i = 0; i < count; i++) {
        double length_ns = (double)(gaps[i].end_ns - gaps[i].begin_ns);
        size_t pieces = part < 1 ? (size_t)fmin(ceil(SLICES * length_ns / gap_ns), length_ns) : 1;
        add_pieces(c, model, gaps[i].begin_ns, gaps[i].end_ns, part, pieces);
    }
}

/* Adds regions for the batch of several threads. Each region occupies the same part of the whole time. */
static void add_threads(struct collector *c, const struct region *model, const struct fold_time *time)
{
    double parts = model->batch->own_s * 1e9 / (double)(time->end_ns - time->begin_ns);
    size_t threads = (size_t)fmin(ceil(parts), MAX_THREADS);
    for (size_t i = 0; i < threads; i++)
        add_pieces(c, model, time->begin_ns, time->end_ns, fmin(1, parts / (double)threads), 1);
}

/* Adds the regions that represent a batch. Adds none if the batch's own time is 0. */
static void add_representatives(struct collector *c, uint16_t track, struct batch *batch,
                                const struct fold_time *time)
{
    if (time->end_ns <= time->begin_ns || !(batch->own_s * 1e9 >= 1))
        return;
    struct region model = {.tag = TAG_OTHER, .track = track, .batch = batch};
    for (size_t i = 0; i < batch->count; i++)
        model.claims |= regions_claims(batch->folds[i].flags, SPAN_ALL_GPUS);
    if (track == TRACK_ALONE)
        add_threads(c, &model, time);
    else
        add_thread(c, &model, time);
}

void folded_add(struct collector *c, uint16_t track, const struct fold_update *folds, size_t count,
                const struct fold_time *time)
{
    for (size_t i = 0; i < count; i++)
        count_fold(c, &folds[i], time);
    struct batch *batch = make_batch(folds, count);
    if (batch)
        add_representatives(c, track, batch, time);
    bool is_shared = batch && batch->left > 0;
    for (size_t i = 0; i < count; i++) {
        struct tag_state *tag = c->tags[folds[i].tag];
        if (!tag || is_counted_call(c, &folds[i]))
            continue;
        bool has_part = is_shared && folds[i].duration_s > 0;
        *(has_part ? &tag->waiting : &tag->unattributed) += folds[i].count;
    }
    if (!is_shared)
        free(batch);
}

void folded_release(struct collector *c, struct batch *batch)
{
    if (--batch->left > 0)
        return;
    for (size_t i = 0; i < batch->count; i++) {
        struct tag_state *tag = c->tags[batch->folds[i].tag];
        uint64_t count = batch->folds[i].count;
        if (tag)
            tag->waiting -= tag->waiting < count ? tag->waiting : count;
    }
    free(batch);
}
