/* joulec/verdict/instrument.h - budgets that are watched while the program runs: calls of libjoule put into functions.
 *
 * Owns which functions get what, and what is put where. It knows of no build; that is joulec-check's.
 * Newcomers: this is done to what clang made of the source before it optimises, so that what is inlined later is watched,
 * too, and what is left out because nobody needs it is not.
 */
#ifndef JOULEC_INSTRUMENT_H
#define JOULEC_INSTRUMENT_H

#include "joulec/verdict/analysis.h"

/* Functions that are surely shorter are counted: two stamps would take a tenth of their time or more. */
#define INSTRUMENT_SECONDS 1e-6

/* Functions of libjoule; whatever watches a budget calls one of them. Ended by NULL. */
extern const char *const instrument_calls[];

struct instrument_function {
    const char *name;
    const char *budget; /* as it was written */
    bool is_counted;
    joule_quantity of_a_call; /* joules, where it is counted */
};

/* What a translation unit gets. */
struct instrument_plan {
    struct instrument_function *functions;
    size_t function_count;
    bool has_setjmp;    /* what longjmp skips has to be ended where it lands */
    bool calls_library; /* by words of the source: JOULE_BUDGET_SCOPE */
};

/* For what was judged: functions with a right budget in joules. In `arena`, also the words. NO_MEMORY, or OK. */
joule_status instrument_plan_make(struct arena *arena, const struct module *module,
                                  const struct analysis *analysis, struct instrument_plan *out_plan);
/* Whether there is anything to do. */
bool instrument_plan_is_empty(const struct instrument_plan *plan);

/* Reads bitcode, does what is planned, and writes bitcode. INVALID: what is read is not LLVM's; FAILED: it cannot be written.
 * Both with what to say. Functions of the plan that are not there are passed over. */
joule_status module_instrument(const char *path, const char *output, const struct instrument_plan *plan,
                               joule_error *out_error);

#endif
