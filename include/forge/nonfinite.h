/* forge/nonfinite.h - finds the launch that makes the first NaN or infinity.
 *
 * After a NaN loss the slots are wrong too, because the step has updated them. So take a snapshot of the
 * slots from time to time (the cost is one copy). After a NaN loss, restore the snapshot and repeat the steps
 * since then with checked runs. Runs give the same bits each time, so the same NaN occurs again.
 */
#ifndef FORGE_NONFINITE_H
#define FORGE_NONFINITE_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps a copy of all slots, and replaces an earlier copy. Memory is allocated at the first call and for new
 * slots. No instance may run during the call. JOULE_NO_MEMORY: the earlier copy is lost. JOULE_UNSUPPORTED:
 * the device only estimates. */
FORGE_API joule_status forge_states_snapshot(forge_states *states, joule_error *out_error);
/* Restores the kept values of all slots; slots made since then are not changed. JOULE_ABSENT: nothing was
 * kept. */
FORGE_API joule_status forge_states_restore(forge_states *states, joule_error *out_error);

/* A summary of a tensor that a launch reads or writes. Its layout is final. */
typedef struct forge_numbers {
    const char *name; /* name of the input, slot or output in this memory; NULL: none */
    forge_dtype dtype;
    forge_shape shape;
    double min, max; /* range of the finite elements; NaN: there are none */
    uint64_t nans, infinities;
} forge_numbers;
#define FORGE_MAX_OPERANDS 16

/* The origin of a NaN or infinity. */
typedef enum forge_nonfinite_origin {
    FORGE_ORIGIN_NONE = 0,
    FORGE_ORIGIN_INPUT = 1, /* an input contained the NaN or infinity */
    FORGE_ORIGIN_SLOT = 2,  /* a slot contained the NaN or infinity before the run */
    FORGE_ORIGIN_LAUNCH = 3,
} forge_nonfinite_origin;

/* The result of a checked run. Strings live as long as the program. */
typedef struct forge_nonfinite {
    uint32_t struct_size; /* sizeof(forge_nonfinite) */
    forge_nonfinite_origin origin;
    forge_phase phase; /* phase, launch, op, kind, kernel and scope describe the launch */
    uint32_t operand_count;
    size_t launch;
    const char *op, *kind; /* "binary", "div"; kind may be empty */
    const char *kernel, *scope;
    size_t element; /* index of the first NaN or infinity, row-major */
    double value;   /* NaN or an infinity */
    forge_numbers made;
    /* The operands as they were before the launch, even if the launch wrote in place. */
    forge_numbers operands[FORGE_MAX_OPERANDS];
} forge_nonfinite;

/* Runs as forge_instance_run, with the same bits, and checks all floats that launches read and write.
 * JOULE_OK: nothing found. JOULE_FAILED: the run was completed, but found one of the cases below. out_found
 * has the first case, and the message describes it:
 * - an input or slot contains a NaN before the run, or an input of rank 0 is infinite;
 * - a launch wrote a NaN although it read none;
 * - a launch computed an infinity although all its operands were finite. Not counted: maxima, minima and
 *   moved elements, and a launch that did the same in an earlier checked run of this instance, because some
 *   models mask with infinities.
 * out_found: may be NULL. Other errors: those of forge_instance_run; with its JOULE_FAILED, the origin is
 * FORGE_ORIGIN_NONE. A checked run is several times slower; its time and energy are not counted.
 * JOULE_UNSUPPORTED: the device only estimates. */
FORGE_API joule_status forge_instance_run_checked(forge_instance *instance, forge_nonfinite *out_found,
                                                  joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
