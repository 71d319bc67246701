/* joulec/work/advice.h - finds patterns in the code of a function that waste energy.
 *
 * Recognises five patterns, and estimates the saving for each: loops in the wrong order for their data;
 * accesses that use a small part of each cache line; vectorized loops that never run because the loop may
 * write the memory that it reads in each iteration; memory that is allocated and freed in each iteration;
 * memory that grows by a constant.
 * Note: the programmer must judge whether loops may be interchanged, or the layout of data may change. There
 * is no advice about accesses with an unknown stride, or about data that stays in L1.
 */
#ifndef JOULEC_ADVICE_H
#define JOULEC_ADVICE_H

#include "joulec/work/address.h"
#include "joulec/work/evaluate.h"

enum advice_kind { ADVICE_LOOP_ORDER, ADVICE_STRIDE, ADVICE_ALLOCATION, ADVICE_GROWTH, ADVICE_OVERLAP };

struct advice {
    enum advice_kind kind;
    struct source_place place; /* place of the loop or of the call */
    int32_t loop;              /* index of this loop, or of the loop that contains the call */
    int32_t inner;             /* LOOP_ORDER: index of the loop that should be the innermost; else -1 */
    const char *name;          /* name of the accessed object or of the called function; NULL: none */
    double used_bytes;         /* STRIDE: bytes used per cache line */
    double times;              /* ALLOCATION, GROWTH: estimated executions per call of the function */
    double joules;             /* modelled saving per call of the function, in J */
    double part;               /* part of the function's energy, 0 to 1 */
};

/* The results of evaluating a function. */
struct advised {
    struct arena *arena;
    const struct evaluated *f;
    const struct addresses *addresses;
    const struct trips *trips; /* of each loop */
    const struct function_sum *sum;
    const struct target *target;
};

/* Sets *out_list to the advice, largest saving first. Omits savings below 5 % of the function's energy. The
 * list is allocated in of->arena. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status advice_find(const struct advised *of, struct advice **out_list, size_t *out_count);
/* Returns "loop_order", "stride", "allocation", "growth" or "overlap". */
const char *advice_name(enum advice_kind kind);
/* Returns "high" if the saving is at least half of the function's energy, "medium" from a fifth, else
 * "low". */
const char *advice_severity(const struct advice *advice);

#endif
