/* joulec/verdict/instrument.h - plans and inserts the calls of libjoule that measure functions with budgets
 * at run time.
 *
 * Note: calls are inserted before optimization. Functions are therefore also measured where they are inlined,
 * and the calls do not prevent the optimizer from removing a function.
 */
#ifndef JOULEC_INSTRUMENT_H
#define JOULEC_INSTRUMENT_H

#include "joulec/verdict/analysis.h"

/* A function is counted instead of measured if its calls take less than this time, in seconds. The two
 * timestamps of a measurement would take at least a tenth of this time. */
#define INSTRUMENT_SECONDS 1e-6

/* Names of libjoule's functions, terminated by NULL. All code that measures a budget calls one of them. */
extern const char *const instrument_calls[];

/* A function to measure or count. */
struct instrument_function {
    const char *name;
    const char *budget; /* text of the annotation */
    bool is_counted;
    joule_quantity joules_per_call; /* joules of a call; valid if is_counted */
};

/* Calls to insert into a translation unit. */
struct instrument_plan {
    struct instrument_function *functions;
    size_t function_count;
    /* the unit calls setjmp, so scopes that a longjmp left must end when setjmp returns */
    bool has_setjmp;
    bool calls_library; /* the source itself calls libjoule, through JOULE_BUDGET_SCOPE */
};

/* Plans the calls for all functions with a valid budget in joules. *out_plan and its texts are allocated in
 * `arena`. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status instrument_plan_make(struct arena *arena, const struct module *module,
                                  const struct analysis *analysis, struct instrument_plan *out_plan);
/* Returns true if there is no call to insert. */
bool instrument_plan_is_empty(const struct instrument_plan *plan);

/* Reads bitcode from the file `path`, inserts the planned calls, and writes bitcode to the file `output`.
 * Ignores planned functions that the bitcode does not contain. Returns JOULE_OK, JOULE_INVALID if the input
 * is not LLVM bitcode, or JOULE_FAILED if the output cannot be written. */
joule_status module_instrument(const char *path, const char *output, const struct instrument_plan *plan,
                               joule_error *out_error);

#endif
