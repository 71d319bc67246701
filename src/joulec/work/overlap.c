/* joulec/work/overlap.c - see overlap.h. */
#include "joulec/work/overlap.h"

#include <math.h>

#define MOST_ACCESSES 64 /* per loop */

struct touched {
    struct address at;
    const struct access *access;
    double stride[LOOPS_MAX_DEPTH + 1];
};

struct search {
    const struct loops *loops;
    const struct trips *trips;
    struct touched list[MOST_ACCESSES];
    size_t count;
};

/* A range of bytes, relative to the address when the loop is entered. */
struct reach {
    double low, high;
};

static bool is_in_order(const struct touched *t, unsigned depth)
{
    if (t->at.wild >= (int)depth || t->at.creeps)
        return false;
    for (unsigned d = 0; d < depth; d++)
        if (!isfinite(t->stride[d]))
            return false;
    return true;
}

/* Reads the regular accesses of the loop's blocks. Returns false if there are too many. */
static bool read_touched(struct search *s, const struct addresses *addresses, size_t l)
{
    const struct loop *loop = &s->loops->list[l];
    s->count = 0;
    for (uint32_t i = loop->first; i < loop->end; i++) {
        uint32_t b = s->loops->members[i];
        const struct block *block = &addresses->function->blocks[b];
        for (size_t k = 0; k < block->access_count; k++) {
            if (s->count == MOST_ACCESSES)
                return false;
            struct touched *t = &s->list[s->count];
            *t = (struct touched){.access = &block->accesses[k]};
            t->at.stride = t->stride;
            address_read(addresses, t->access, b, &t->at);
            s->count += is_in_order(t, loop->depth);
        }
    }
    return true;
}

/* Returns the bytes that an access covers at least. */
static struct reach reach_of(const struct search *s, size_t l, const struct touched *t)
{
    double way = t->stride[s->loops->list[l].depth - 1] * fmax(0, s->trips[l].per_entry.low - 1);
    return (struct reach){fmin(0, way), fmax(0, way) + t->access->bytes};
}

/* Returns the range of distances from `a` to `b` in any iteration of the loops around. */
static struct reach distance_of(const struct search *s, size_t l, const struct touched *a,
                                const struct touched *b)
{
    struct reach distance = {b->at.offset - a->at.offset, b->at.offset - a->at.offset};
    for (int32_t at = s->loops->list[l].parent; at >= 0; at = s->loops->list[at].parent) {
        unsigned d = s->loops->list[at].depth - 1;
        double way = (b->stride[d] - a->stride[d]) * fmax(0, s->trips[at].per_entry.high - 1);
        distance.low += fmin(0, way);
        distance.high += fmax(0, way);
    }
    return distance;
}

/* Returns true if the object has no room for both without overlap. */
static bool must_share(const struct touched *a, const struct touched *b, struct reach of_a, struct reach of_b)
{
    const struct object *object = a->at.object;
    return object && object == b->at.object && of_a.high - of_a.low + of_b.high - of_b.low > object->bytes;
}

static bool always_meet(const struct search *s, size_t l, const struct touched *written,
                        const struct touched *other)
{
    bool is_of_one = written->at.base == other->at.base && written->at.start == other->at.start;
    if (is_of_one && written->at.key == other->at.key)
        return false;
    struct reach a = reach_of(s, l, written), b = reach_of(s, l, other);
    if (must_share(written, other, a, b))
        return true;
    struct reach distance = distance_of(s, l, written, other);
    return is_of_one && b.low + distance.high < a.high && b.high + distance.low > a.low;
}

static void look(const struct search *s, size_t l, struct loop *loop)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->count && s->list[i].access->is_store; k++) {
            if (!always_meet(s, l, &s->list[i], &s->list[k]))
                continue;
            bool stays = s->list[k].stride[loop->depth - 1] == 0 && !s->list[k].access->is_store;
            if (loop->overlap == OVERLAP_NONE || stays)
                loop->overlap = stays ? OVERLAP_ONE_PLACE : OVERLAP_MOVING;
            if (stays && !loop->overlapped)
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
        bool is_asked = loop->wide && loop->wide->compares_ranges && loop->depth <= LOOPS_MAX_DEPTH;
        if (is_asked && read_touched(&search, addresses, l))
            look(&search, l, loop);
    }
}
