/* joulec/trips/profile.h - iterations of loops and calls of functions from a profile.
 *
 * Loops are identified by their places in the source. The profile is read from a build without LLVM's passes,
 * because rotated loops have wrong counts.
 * Note: a profile describes the profiled runs. It gives no bound, so it proves nothing.
 */
#ifndef JOULEC_PROFILE_H
#define JOULEC_PROFILE_H

#include "joulec/module/loops.h"
#include "joulec/trips/trips.h"

/* The counts of a loop. */
struct profile_loop {
    struct source_place place;
    double entries, iterations; /* of the loop's body, in all profiled runs; NaN: unknown */
    size_t function;            /* index of the function that contains the loop */
};

/* The counts of a function. */
struct profile_function {
    const char *name;
    /* Calls of the function per call from outside of its group (recursion.h); 0: there was no call from
     * outside. */
    double frames;
    bool has_loops_without_keyword; /* the function contains a loop that was written with goto */
};

struct profile {
    struct arena arena;
    struct profile_loop *loops; /* sorted by place */
    size_t loop_count;
    struct profile_function *functions; /* functions with counts, sorted by name */
    size_t function_count;
};

/* Reads the counts of a module that clang built with the profile and without passes. Returns false if out of
 * memory; *out is then empty. Free with profile_free(). */
bool profile_read(const struct module *module, struct profile *out);
void profile_free(struct profile *profile);
/* Returns the counts of a function; NULL: the profile has no counts of the function, or only of an older
 * version. */
const struct profile_function *profile_find(const struct profile *profile, const char *function);
/* Adds profiled counts to out[0..loops->count), which loop_entry_find() has filled. If LLVM has replaced tail
 * calls by a loop, each of these calls is an iteration. calls_itself: the function also contains other calls
 * of itself. Then all its calls are already counted as calls, and the loop gets one iteration. */
void profile_join(const struct profile *profile, const struct function *function, bool calls_itself,
                  const struct loops *loops, struct trips_loop *out);

#endif
