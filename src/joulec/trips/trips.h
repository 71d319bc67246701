/* joulec/trips/trips.h - how often each loop of a function runs.
 *
 * Owns the classes of trip counts and the sums over nests: exact ones where scalar evolution has a formula for each loop,
 * honest ranges where not. It sees no code: who knows the blocks says how a loop is reached.
 *
 * Words. A loop *arrives* when control comes to the place where it stands: once per call, or in each iteration of the loop
 * around it. It is *entered* when its header then runs; the guard in front of a rotated loop may prevent that. An
 * *iteration* is one run of the header. So `iterations` counts the blocks of a bottom-tested loop that run in each round
 * (taken + 1 per entry), and `entries` counts its preheader. Of a top-tested loop, whose only exit is in the header, the
 * header runs `iterations` times and the rest of the body `iterations - entries` times. Where a loop has several exits, a
 * block behind one that is not the last runs between `iterations - entries` and `iterations` times.
 * Newcomers: a formula of LLVM's holds for a loop that was entered. A negative one says that a guard was not passed.
 */
#ifndef JOULEC_TRIPS_H
#define JOULEC_TRIPS_H

#include "joulec/trips/linear.h"
#include "joulec/trips/scev_text.h"

#define TRIPS_NONE UINT32_MAX
/* How often a loop goes round of which nothing is known, each time that it is entered: assumed for an outermost one, whose data are
 * what a program was written for. Inside another guess it is what loops do on the average of programs, some 8 times (Wu and Larus
 * 1994), rounded: hundreds in hundreds of hundreds would be more than anything ever runs. */
#define TRIPS_GUESS        100
#define TRIPS_GUESS_INSIDE 10
/* What nothing else bounds is at most so many times as often as a profile saw it (assumed). */
#define TRIPS_SEEN_SPREAD 1.25

enum trips_class {
    TRIPS_EXACT,    /* follows from the code alone */
    TRIPS_SYMBOLIC, /* follows from the code and from what is bound to the arguments */
    TRIPS_BOUNDED,  /* LLVM, an annotation or several exits give a range */
    TRIPS_PROFILED, /* was seen */
    TRIPS_GUESSED   /* the default */
};

/* What an arrival leads to. */
enum trips_entry {
    TRIPS_GUARDED, /* entered unless the guard that rotation made prevents it: the one branch around it compares what the
                       loop's exit compares. Formulas tell when it does not let pass. */
    TRIPS_ALWAYS,   /* entered: there is no branch around it */
    TRIPS_SOMETIMES /* another condition decides, or it is not clear which */
};

/* Whether the last iteration of the loop around it still arrives at it. */
enum trips_last {
    TRIPS_REACHED, /* it stands before every exit of that loop, as always where that is bottom-tested with one exit */
    TRIPS_MISSED, /* it stands behind the only exit, as in a top-tested loop */
    TRIPS_EITHER
};

struct trips_loop {
    uint32_t parent; /* the loop around it, which stands earlier in the list; TRIPS_NONE: none */
    const struct scev_loop *facts; /* NULL: none */
    enum trips_entry entry;
    enum trips_last last;
    /* SOMETIMES, but never where the formula is negative: another condition decides besides. */
    bool is_behind_guard;
    bool may_be_passed_by; /* GUARDED, but what is taken for its guard may be another condition */
    /* What its guard asks holds of true integers only where the sides of its comparisons are what the machine takes them for, and, if
     * is_ordered, where the formula is not below -1. */
    const struct linear_side *compared;
    size_t compared_count;
    bool is_ordered;
    /* Each round calls its own function in the end. Every call but the first is made by another one of them, so that on the average
     * of all calls there is just under one round, however many one of them may have. */
    bool calls_back;
    /* Some exits are not in `facts`, because they do not determine the trip count; LLVM's figures for all
     * exits may come from them. */
    bool has_dead_exits;
    bool may_leave_early;     /* the loop has exits that are hardly ever taken ... */
    double early_probability; /* ... with this probability in each round, by hints */
    bool has_annotation, has_profile;
    double annotated_low, annotated_high;  /* iterations per entry; low 0: it may not be entered at all */
    double seen_low, seen_mean, seen_high; /* iterations per entry; low and high NaN: not seen */
    /* What is known of symbols wherever this loop is entered, in the place of what is known all over the function; NULL: no more than
     * that. Of a loop around it, that or less. */
    const struct trips_symbol *symbols;
    size_t symbol_count;
    /* The same symbols once it has been entered, when branches on the way have said more; NULL: no more. Where it is not entered they may
     * be anything, so that this says nothing of how often it is. */
    const struct trips_symbol *entered;
};

/* What an argument may be, low <= est <= high; all the same where it is known. An argument that is not listed is unknown. */
struct trips_symbol {
    const char *name;
    int64_t low, est, high;
    unsigned bits;   /* bits of its type; 0: unknown; the type is then wide enough for all values */
    bool is_by_type; /* low and high are the limits of a type, and est is guessed */
};

struct trips_range {
    double low, est, high; /* high may be infinite */
};

struct trips {
    /* Of one entry. `est` is the mean over all entries, and low and high hold each of them. */
    enum trips_class cls;
    struct trips_range per_entry;
    bool refutes_annotation; /* what follows from the code is another count: the code's is taken */
    bool is_guess_within; /* BOUNDED, but the bounds are no evidence of the likely count: `est` is guessed */
    bool may_run_over;    /* its formula differs from the machine's count for some values of the symbols */
    /* Of one call of the function, over all entries. The class is the weakest on the way from the outermost loop; exact and
     * symbolic with low = est = high is what a count by execution gives, as long as called functions return. */
    enum trips_class total_cls;
    struct trips_range iterations, entries;
};

/* Returns true if the trip count is guessed, with or without bounds. */
static inline bool trips_is_guess(const struct trips *trips)
{
    return trips->cls == TRIPS_GUESSED || trips->is_guess_within;
}

/* Fills out[0..count). default_trips: what is guessed, per entry; NaN: TRIPS_GUESS,
 * and TRIPS_GUESS_INSIDE of a loop in another that is guessed. False: memory was used up, or a parent does not
 * stand earlier. `pool` is of the function whose facts these are; NULL where no loop has facts. */
bool trips_count(const struct expr_pool *pool, const struct trips_loop *loops, size_t count,
                 const struct trips_symbol *symbols, size_t symbol_count, double default_trips,
                 struct trips *out);

const char *trips_class_name(enum trips_class cls);

#endif
