/* forge/nonfinite.h - where a NaN or an infinity comes from.
 *
 * Owns a run that looks at what each launch makes, and the values of slots kept aside so that a run can be repeated. Newcomers:
 * after a bad loss the slots are bad, too, as the step has updated them: keep them now and then (it costs one copy), give them
 * back, and repeat the steps since then with checks. Runs give the same bits each time, so the same number goes wrong.
 */
#ifndef FORGE_NONFINITE_H
#define FORGE_NONFINITE_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Remembers what all slots hold now. Memory for it is taken at the first call and for slots that are new since. NO_MEMORY: what
 * was kept before is forgotten. UNSUPPORTED: nothing has a value on this device. No instance may run meanwhile. */
FORGE_API joule_status forge_states_keep(forge_states *states, joule_error *out_error);
/* Slots hold again what they held then; those made since stay as they are. ABSENT: nothing is kept. */
FORGE_API joule_status forge_states_return(forge_states *states, joule_error *out_error);

/* The numbers that a launch reads or makes. Its layout is final. */
typedef struct forge_numbers {
    const char *name; /* of the input, slot or output in whose memory they are; NULL: they are in none */
    forge_dtype dtype;
    forge_shape shape;
    double least, greatest; /* of those that are finite; NaN: there are none */
    uint64_t nans, infinities;
} forge_numbers;
#define FORGE_MAX_OPERANDS 16

typedef enum forge_culprit {
    FORGE_CULPRIT_NONE = 0,
    FORGE_CULPRIT_INPUT = 1, /* it was given so */
    FORGE_CULPRIT_SLOT = 2,  /* it was so before the run */
    FORGE_CULPRIT_LAUNCH = 3,
} forge_culprit;

/* Strings live as long as the program. */
typedef struct forge_nonfinite {
    uint32_t struct_size; /* sizeof(forge_nonfinite) */
    forge_culprit culprit;
    forge_phase phase; /* this and the next four: of the launch */
    uint32_t operand_count;
    size_t launch;
    const char *op, *kind; /* "binary", "div"; kind may be empty */
    const char *kernel, *scope;
    size_t element; /* the first, in the order of its shape */
    double value;   /* NaN or an infinity */
    forge_numbers made;
    /* as they were before the launch, also where it works in place */
    forge_numbers operands[FORGE_MAX_OPERANDS];
} forge_nonfinite;

/* A run that gives the same bits as forge_instance_run, and looks at every float that a launch makes. OK: nothing is wrong.
 * FAILED: out_found says what came first of these, and the message says it in words; the run is completed all the same:
 * - an input or slot that holds a NaN before the run, or an input of rank 0 that is infinite;
 * - a launch that made a NaN where it read none;
 * - a launch that computed an infinity where all that it read was finite. Maxima, minima and what is only moved are not
 *   meant, nor a launch that has done so in an earlier checked run of this instance: some models mask with infinities.
 * out_found may be NULL; otherwise as forge_instance_run, of which FAILED leaves out_found with FORGE_CULPRIT_NONE. Takes some
 * times as long; its time is not counted, nor are its joules. UNSUPPORTED: the device only estimates. */
FORGE_API joule_status forge_instance_run_checked(forge_instance *instance, forge_nonfinite *out_found,
                                                  joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
