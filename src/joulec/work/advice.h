/* joulec/work/advice.h - what in a function could take less, as far as its code shows it.
 *
 * Owns five patterns, and what each would save by the model: loops in the wrong order for their data, walks that use little of
 * each cache line, vectors that are never used since a loop may write what it reads again in each round, memory that is allocated
 * and freed in every round, and memory that grows by a constant.
 * Newcomers: whether loops may change places, or data its layout, is for the programmer to say. No walk is advised on where its
 * stride is unknown, or where the data stays in the first cache.
 */
#ifndef JOULEC_ADVICE_H
#define JOULEC_ADVICE_H

#include "joulec/work/address.h"
#include "joulec/work/evaluate.h"

enum advice_kind { ADVICE_LOOP_ORDER, ADVICE_STRIDE, ADVICE_ALLOCATION, ADVICE_GROWTH, ADVICE_OVERLAP };

struct advice {
    enum advice_kind kind;
    struct source_place place; /* of the loop, or of the call */
    int32_t loop;              /* in which it is */
    int32_t inner;             /* LOOP_ORDER: which should be the innermost */
    const char *name;          /* of what is walked or called; NULL: it has none */
    double used_bytes;         /* STRIDE: of each line */
    double times;              /* ALLOCATION, GROWTH: in a call of the function, as estimated */
    double joules;             /* that a call of the function would save; of the estimate, modelled */
    double part;               /* of all that it takes */
};

/* What an evaluation knows of a function. */
struct advised {
    struct arena *arena;
    const struct evaluated *f;
    const struct addresses *addresses;
    const struct trips *trips; /* of each loop */
    const struct function_sum *sum;
    const struct target *target;
};

/* The list in the arena, what saves most first; small savings are left out. NO_MEMORY, or OK. */
joule_status advice_find(const struct advised *of, struct advice **out_list, size_t *out_count);
/* "loop_order", "stride", "allocation", "growth", "overlap". */
const char *advice_name(enum advice_kind kind);
/* "high" from half of what the function takes, "medium" from a fifth, "low". */
const char *advice_severity(const struct advice *advice);

#endif
