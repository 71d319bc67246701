/* joulec/work/overlap.c - see overlap.h. */
#include "joulec/work/overlap.h"

#include <math.h>

#define MAX_ACCESSES 64 /* per loop */

struct regular_access {
    struct address at;
    const struct access *access;
    double stride[LOOPS_MAX_DEPTH + 1];
};

struct search {
    const struct loops *loops;
    const struct trips *trips;
    struct regular_access list[MAX_ACCESSES];
    size_t count;
};

/* A range of bytes, relative to the address when the loop is entered. */
struct extent {
    double low, high;
};

static bool is_regular(const struct regular_access *t, unsigned depth)
{
    if (t->at.irregular_depth >= (int)depth || t->at.monotonic_phis)
        return false;
    for (unsigned d = 0; d < depth; d++)
        if (!isfinite(t->stride[d]))
            return false;
    return true;
}

/* Reads the regular accesses of the loop's blocks. Returns false if there are too many. */
static bool read_accesses(struct search *s, const struct addresses *addresses, size_t l)
{
    const struct loop *loop = &s->loops->list[l];
    s->count = 0;
    for (uint32_t i = loop->first; i < loop->end; i++) {
        uint32_t b = s->loops->members[i];
        const struct block *block = &addresses->function->blocks[b];
        for (size_t k = 0; k < block->access_count; k++) {
            if (s->count == MAX_ACCESSES)
                return false;
            struct regular_access *t = &s->list[s->count];
            *t = (struct regular_access){.access = &block->accesses[k]};
            t->at.stride = t->stride;
            address_read(addresses, t->access, b, &t->at);
            s->count += is_regular(t, loop->depth);
        }
    }
    return true;
}

/* Returns the range of bytes that an access covers in an entry with the minimum trip count. */
static struct extent extent_of(const struct search *s, size_t l, const struct regular_access *t)
{
    double distance = t->stride[s->loops->list[l].depth - 1] * fmax(0, s->trips[l].per_entry.low - 1);
    return (struct extent){fmin(0, distance), fmax(0, distance) + t->access->bytes};
}

/* Returns the range of distances from `a` to `b`, in bytes, over all iterations of the loops around. */
static struct extent distance_of(const struct search *s, size_t l, const struct regular_access *a,
                                 const struct regular_access *b)
{
    struct extent distance = {b->at.offset - a->at.offset, b->at.offset - a->at.offset};
    for (int32_t at = s->loops->list[l].parent; at >= 0; at = s->loops->list[at].parent) {
        unsigned d = s->loops->list[at].depth - 1;
        double change = (b->stride[d] - a->stride[d]) * fmax(0, s->trips[at].per_entry.high - 1);
        distance.low += fmin(0, change);
        distance.high += fmax(0, change);
    }
    return distance;
}

/* Returns true if both accesses are to one object, and it is smaller than the sum of their extents. */
static bool cannot_be_disjoint(const struct regular_access *a, const struct regular_access *b,
                               struct extent of_a, struct extent of_b)
{
    const struct object *object = a->at.object;
    return object && object == b->at.object && of_a.high - of_a.low + of_b.high - of_b.low > object->bytes;
}

static bool always_overlap(const struct search *s, size_t l, const struct regular_access *written,
                           const struct regular_access *other)
{
    bool has_same_start = written->at.base == other->at.base && written->at.start == other->at.start;
    if (has_same_start && written->at.key == other->at.key)
        return false;
    struct extent a = extent_of(s, l, written), b = extent_of(s, l, other);
    if (cannot_be_disjoint(written, other, a, b))
        return true;
    struct extent distance = distance_of(s, l, written, other);
    return has_same_start && b.low + distance.high < a.high && b.high + distance.low > a.low;
}

static void compare_accesses(const struct search *s, size_t l, struct loop *loop)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->count && s->list[i].access->is_store; k++) {
            if (!always_overlap(s, l, &s->list[i], &s->list[k]))
                continue;
            bool is_invariant = s->list[k].stride[loop->depth - 1] == 0 && !s->list[k].access->is_store;
            if (loop->overlap == OVERLAP_NONE || is_invariant)
                loop->overlap = is_invariant ? OVERLAP_ONE_PLACE : OVERLAP_MOVING;
            if (is_invariant && !loop->overlapped)
                loop->overlapped = s->list[k].at.object;
        }
}

void overlap_find(const struct addresses *addresses, const struct trips *trips, struct loops *loops)
{
    struct search search = {.loops = loops, .trips = trips};
    for (size_t l = 0; l < loops->count; l++) {
        struct loop *loop = &loops->list[l];
        loop->overlap = OVERLAP_NONE;
        loop->overlapped = NULL;
        bool has_check = loop->built && loop->built->compares_ranges && loop->depth <= LOOPS_MAX_DEPTH;
        if (has_check && read_accesses(&search, addresses, l))
            compare_accesses(&search, l, loop);
    }
}
