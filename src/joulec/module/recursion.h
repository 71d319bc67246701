/* joulec/module/recursion.h - finds groups of mutually recursive functions, and bounds their calls by
 * JOULE_DEPTH(n).
 *
 * A frame is one call of a function. JOULE_DEPTH(n) means that at most n frames of that function are open at
 * the same time. If each frame calls its group k times, there are at most 1 + k + ... + k^(n-1) frames. This
 * is n for k = 1, and 2^n - 1 for k = 2.
 *
 * Note: if several functions of a group have a depth, their frames may occur in any order, so the sum of the
 * depths bounds the recursion. Frames of functions without a depth may occur between these frames. A cycle of
 * only functions without a depth has no bound.
 */
#ifndef JOULEC_RECURSION_H
#define JOULEC_RECURSION_H

#include "joulec/module/module.h"

#define RECURSION_MAX_DEPTH 1000000 /* no stack can hold more frames */

/* Strongly connected components of the call graph. Group g consists of members[begin[g] .. begin[g + 1]).
 * Groups of callees come before groups of their callers. */
struct groups {
    uint32_t *group_of; /* group of each function */
    uint32_t *place_of; /* position of each function among the members of its group */
    uint32_t *members, *begin;
    bool *is_called_in_loop; /* for each group: true if a function of another group calls it in a loop */
    size_t count;
    /* The callees of function f are called[called_begin[f] .. called_begin[f + 1]). */
    uint32_t *called, *called_begin;
};

/* Finds the groups. Allocates the arrays of *out_groups in `arena`. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status groups_find(struct arena *arena, const struct module *module, struct groups *out_groups);
/* Returns true if a call may reach a function of the group. */
bool groups_is_call_of(const struct groups *groups, uint32_t group, const struct call *call);

/* Calls from one member of a group to another or to itself. */
struct recursion_call {
    uint32_t from, to; /* positions of caller and callee among the members */
    double max;        /* maximum number of calls per frame */
};

/* Lists the calls within a group: one entry for each pair of caller and callee. Each entry has `max` set to
 * 1. The list is allocated in `arena`. Returns NULL if out of memory. */
struct recursion_call *groups_list_calls(struct arena *arena, const struct groups *groups, uint32_t group,
                                         size_t *out_count);

/* The calls within a group, and the depths of its members. */
struct recursion {
    const struct recursion_call *calls;
    size_t call_count;
    const double *depth; /* JOULE_DEPTH of each member; 0: none */
    size_t member_count;
};

/* Returns true if every cycle of calls contains a member with a depth. Also returns false if out of memory.
 * `scratch`: memory for the computation. */
bool recursion_is_bounded(struct arena *scratch, const struct recursion *recursion);
/* Computes the maximum number of frames of each member in one call of member `start`. depth: maximum number
 * of open frames of members with a depth, for example the sum of all depths. `start` must have a depth, or be
 * called from outside the group. out_frames: [member_count]. Returns false if there are too many frames to
 * count, or if out of memory. */
bool recursion_frames(struct arena *scratch, const struct recursion *recursion, uint32_t start, double depth,
                      double *out_frames);

#endif
