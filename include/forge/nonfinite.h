/* forge/nonfinite.h - finds the launch that computes the first NaN or infinity.
 *
 * If the loss of a step is NaN, the slots are wrong too, because the step has updated them. So take a
 * snapshot of the slots from time to time (the cost is one copy). After a NaN loss, restore the snapshot and
 * repeat the steps since the snapshot with checked runs. Repeated runs compute the same bits, so the same NaN
 * occurs again.
 */
#ifndef FORGE_NONFINITE_H
#define FORGE_NONFINITE_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies all slots, and replaces the previous copy. The states own the copy. Memory is allocated at the first
 * call and for new slots. JOULE_NO_MEMORY: out of memory; the previous copy is lost. JOULE_UNSUPPORTED: the
 * device only estimates. No instance may run during the call. */
FORGE_API joule_status forge_states_snapshot(forge_states *states, joule_error *out_error);
/* Restores all slots from the copy; slots that were created after the copy are not changed. JOULE_ABSENT:
 * there is no copy. No instance may run during the call. */
FORGE_API joule_status forge_states_restore(forge_states *states, joule_error *out_error);

/* A summary of a tensor that a launch reads or writes. Its layout is final. */
typedef struct forge_numbers {
    const char *name; /* name of the input, slot or output in this memory; NULL: none */
    forge_dtype dtype;
    forge_shape shape;
    double min, max; /* range of the finite elements; NaN: no element is finite */
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
    forge_phase phase; /* these members describe the launch: phase, launch, op, kind, kernel, scope */
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

/* Runs the program like forge_instance_run, with the same bits, and checks all floats that launches read and
 * write. A checked run is several times slower; its time and energy are not counted. JOULE_OK: none of the
 * cases below occurred. JOULE_FAILED: one of these cases occurred, and the run was completed. The message and
 * out_found (may be NULL) describe the first case:
 * - an input or slot contains a NaN before the run, or an input of rank 0 is infinite;
 * - a launch wrote a NaN although it read none;
 * - a launch computed an infinity although all its operands were finite. This case ignores launches that only
 *   move elements or compute maxima or minima. A launch that computed such an infinity in an earlier checked
 *   run of this instance is not reported again, because some models mask with infinities.
 * JOULE_UNSUPPORTED: the device only estimates. Other errors: those of forge_instance_run. If
 * forge_instance_run itself fails with JOULE_FAILED, the origin is FORGE_ORIGIN_NONE. */
FORGE_API joule_status forge_instance_run_checked(forge_instance *instance, forge_nonfinite *out_found,
                                                  joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
