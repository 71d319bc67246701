/* joulec/trips/trips.h - trip counts of the loops of a function.
 *
 * Counts are exact if scalar evolution has a formula for each loop of a nest; otherwise they are ranges. This
 * file does not analyse code: the caller describes how each loop is entered (loop_entry.h).
 *
 * Terms: control *arrives* at a loop once per call, or in each iteration of the loop around it. The loop is
 * *entered* if its header then runs; the guard of a rotated loop may prevent this. An *iteration* is one run
 * of the header. So `iterations` counts the runs of the blocks of a bottom-tested loop (backedge-taken count
 * + 1 per entry). `entries` counts the runs of the loop's preheader. In a top-tested loop, whose only exit is
 * in the header, the rest of the body runs `iterations - entries` times. In a loop with several exits, a
 * block after an exit that is not the last runs between `iterations - entries` and `iterations` times.
 * Note: LLVM's formula holds for a loop that was entered. A negative value means that a guard was not passed.
 */
#ifndef JOULEC_TRIPS_H
#define JOULEC_TRIPS_H

#include "joulec/trips/linear.h"
#include "joulec/trips/scev_facts.h"

#define TRIPS_NONE UINT32_MAX
/* Assumed iterations per entry of a loop without any information. TRIPS_GUESS is for outermost loops, which
 * process all data of a program. TRIPS_GUESS_INSIDE is for a loop inside another guessed loop. Its value is
 * the rounded average over programs, 8 (Wu and Larus 1994); with hundreds at each level, the product would
 * exceed what programs run. */
#define TRIPS_GUESS        100
#define TRIPS_GUESS_INSIDE 10
/* Assumed maximum of a count without other bounds, as a multiple of the maximum in the profile. */
#define TRIPS_PROFILE_SPREAD 1.25

enum trips_class {
    TRIPS_EXACT,    /* follows from the code alone */
    TRIPS_SYMBOLIC, /* follows from the code and the values of arguments */
    TRIPS_BOUNDED,  /* a range that follows from LLVM, an annotation or several exits */
    TRIPS_PROFILED, /* from a profile */
    TRIPS_GUESSED   /* the default */
};

/* How an arrival at a loop leads to an entry. */
enum trips_entry {
    /* Entered unless the guard of loop rotation is not passed: the only branch around the loop tests the
     * condition of the loop's exit. So the formula is negative if the guard is not passed. */
    TRIPS_GUARDED,
    TRIPS_ALWAYS,   /* always entered: no branch leads around the loop */
    TRIPS_SOMETIMES /* another condition decides, or the condition is unclear */
};

/* Whether the last iteration of the outer loop still arrives at the inner loop. */
enum trips_last {
    /* Yes: the inner loop is before every exit of the outer loop. Always true if the outer loop is
     * bottom-tested with one exit. */
    TRIPS_REACHED,
    TRIPS_MISSED, /* no: the inner loop is after the only exit, as in a top-tested loop */
    TRIPS_EITHER  /* unknown */
};

/* The facts and assumptions about a loop. */
struct trips_loop {
    uint32_t parent;               /* the loop around it, which is earlier in the list; TRIPS_NONE: none */
    const struct scev_loop *facts; /* NULL: none */
    enum trips_entry entry;
    enum trips_last last;
    /* for TRIPS_SOMETIMES: the loop is not entered if the formula is negative; another condition must hold
     * too */
    bool is_behind_guard;
    bool may_be_passed_by; /* for TRIPS_GUARDED: the assumed guard may test another condition */
    /* The sides of the guard's comparisons. The guard has the assumed meaning only if the values of these
     * sides equal the machine's values. If is_equality_test is true, the formula must also be at least -1. */
    const struct linear_side *compared;
    size_t compared_count;
    bool is_equality_test;
    /* Each iteration calls the function recursively. All calls of the function except the first come from
     * such iterations. So the mean over all calls is just under one iteration, even if one call may run
     * many. */
    bool has_recursive_call;
    /* Some exits are not in `facts`, because they do not determine the trip count. LLVM's bounds over all
     * exits may come from these exits. */
    bool has_dead_exits;
    bool may_leave_early;     /* the loop has exits that are hardly ever taken */
    double early_probability; /* probability of such an exit in each iteration, from hints */
    bool has_annotation, has_profile;
    double annotated_low, annotated_high; /* iterations per entry; low 0: the loop may not be entered */
    double profiled_low, profiled_mean, profiled_high; /* iterations per entry; low and high NaN: unknown */
    /* Ranges of symbols at all entries of this loop; NULL: the ranges of the whole function. The ranges of
     * the loops around this loop are the same or wider. */
    const struct trips_symbol *symbols;
    size_t symbol_count;
    /* Ranges of the same symbols after the loop was entered, narrowed by the branches that lead to it; NULL:
     * as in `symbols`. These ranges do not hold where the loop is not entered, so they do not show how often
     * the loop is entered. */
    const struct trips_symbol *entered;
};

/* The range of an argument: low <= est <= high, all equal if the value is known. An argument that is not
 * listed is unknown. */
struct trips_symbol {
    const char *name;
    int64_t low, est, high;
    unsigned bits;   /* width of the argument's type; 0: unknown, and wide enough for all values */
    bool is_by_type; /* low and high are the limits of a type, and est is a guess */
};

struct trips_range {
    double low, est, high; /* high may be infinite */
};

/* The counts of a loop. */
struct trips {
    /* Iterations per entry: `est` is the mean over all entries; each entry lies between low and high. */
    enum trips_class cls;
    struct trips_range per_entry;
    /* The count that follows from the code contradicts the annotation. The code's count is used. */
    bool refutes_annotation;
    bool is_guess_within; /* BOUNDED, but the bounds are no evidence of the likely count: `est` is a guess */
    bool may_overflow;    /* the formula may differ from the machine's count for some values of the symbols */
    /* Totals per call of the function. total_cls is the weakest class of the loop and the loops around it. If
     * total_cls is exact or symbolic and low = est = high, each execution in which all called functions
     * return has exactly this count. */
    enum trips_class total_cls;
    struct trips_range iterations, entries;
};

/* Returns true if the trip count is guessed, with or without bounds. */
static inline bool trips_is_guess(const struct trips *trips)
{
    return trips->cls == TRIPS_GUESSED || trips->is_guess_within;
}

/* Counts loops[0..count) and fills out[0..count). default_trips: assumed iterations per entry; NaN:
 * TRIPS_GUESS, or TRIPS_GUESS_INSIDE for a loop inside another guessed loop. pool: the names in the loops'
 * facts; NULL: no loop has facts. Returns false if out of memory, or if a parent is not earlier in the
 * list. */
bool trips_count(const struct expr_pool *pool, const struct trips_loop *loops, size_t count,
                 const struct trips_symbol *symbols, size_t symbol_count, double default_trips,
                 struct trips *out);

/* Returns the name of a class, such as "exact". The text is static. */
const char *trips_class_name(enum trips_class cls);

#endif
