/* joulec/module/recursion.h - functions that call each other round, and how many calls that can be.
 *
 * Owns the groups of such functions, who calls whom in them, and the rule of JOULE_DEPTH(n). A call of a function is a frame; n bounds
 * how many frames of that function are open at once, the first counted. A frame that calls its group k times makes k frames one deeper, so
 * there are 1 + k + ... + k^(n-1) of them at most: n where it calls itself once, 2^n - 1 where twice.
 * Newcomers: of several functions with a depth in a group, each frame may be of any, so that the sum of their depths bounds how
 * deep it goes. Those without one are called in between, and only where no round leads through them alone.
 */
#ifndef JOULEC_RECURSION_H
#define JOULEC_RECURSION_H

#include "joulec/module/module.h"

#define RECURSION_MOST_DEPTH 1000000 /* no stack holds more frames */

/* members[begin[g] .. begin[g + 1]) are functions that all call each other in the end, or one that calls none that calls it.
 * What a group calls stands before it. */
struct groups {
    uint32_t *group_of; /* of each function */
    uint32_t *place_of; /* the same, among the group's members */
    uint32_t *members, *begin;
    bool *is_called_in_loop; /* of each group: by a function of another one */
    size_t count;
    uint32_t *called, *called_begin; /* called[called_begin[f] .. called_begin[f + 1]) are called by f */
};

/* NO_MEMORY, or OK. In `arena`. */
joule_status groups_find(struct arena *arena, const struct module *module, struct groups *out_groups);
/* Whether a call may be of a function in a group. */
bool groups_is_call_of(const struct groups *groups, uint32_t group, const struct call *call);

/* A member of a group calls another, or itself; by their places among the members. */
struct recursion_call {
    uint32_t from, to;
    double most; /* times in a frame */
};

/* The calls inside of a group, in `arena`: who calls whom, each pair once, `most` 1. NULL: no memory. */
struct recursion_call *groups_list_calls(struct arena *arena, const struct groups *groups, uint32_t group,
                                         size_t *out_count);

/* The calls inside of a group. */
struct recursion {
    const struct recursion_call *calls;
    size_t call_count;
    const double *depth; /* of each member; 0: it has none */
    size_t member_count;
};

/* Whether every way round leads through a member with a depth. In `scratch`; false also where memory is used up. */
bool recursion_is_bounded(struct arena *scratch, const struct recursion *recursion);
/* The frames of each member in one call of member `start`, at most, where all depths together are `depth`; `start` has one
 * itself, or is called from outside. False: there are too many to be counted, or memory is used up. */
bool recursion_frames(struct arena *scratch, const struct recursion *recursion, uint32_t start, double depth,
                      double *out_frames);

#endif
