/* joulec/trips/profile.h - how often loops and functions ran when somebody ran the program.
 *
 * Owns the way from a profile to rounds of loops, by their places in the source. It is read from a build that LLVM has not
 * touched: rotated loops have counts that are wrong.
 * Newcomers: what was seen is what those runs did. It bounds nothing, so nothing is proved with it.
 */
#ifndef JOULEC_PROFILE_H
#define JOULEC_PROFILE_H

#include "joulec/module/loops.h"
#include "joulec/trips/trips.h"

struct profile_loop {
    struct source_place place;
    double entries, rounds; /* of its body; in all runs; NaN: unknown */
    size_t function;        /* number of the function that contains it */
};

struct profile_function {
    const char *name;
    double
        frames; /* calls of it in one call from outside of its group (recursion.h); 0: it was not called from there */
    bool has_loops_without_keyword; /* of its own, which goto makes */
};

struct profile {
    struct arena arena;
    struct profile_loop *loops; /* by place */
    size_t loop_count;
    struct profile_function *functions; /* those with counts, by name */
    size_t function_count;
};

/* Of a module that clang made with the profile and without passes. False: no memory, and *out is empty. */
bool profile_read(const struct module *module, struct profile *out);
void profile_free(struct profile *profile);
/* What the profile has of a function as it is now; NULL: nothing. */
const struct profile_function *profile_find(const struct profile *profile, const char *function);
/* Writes into out[0..loops->count), which nest_describe filled, what was seen of them. A loop that LLVM has made of the last call of
 * itself goes round for each such call; of a function that calls itself besides these are counted as frames, so it is once. */
void profile_join(const struct profile *profile, const struct function *function, bool calls_itself,
                  const struct loops *loops, struct trips_loop *out);

#endif
