/* support/workbench.h - a CPU device with slots, and one program at a time on the device.
 *
 * Compiles a builder's graph, sets inputs, runs, and compares outputs and slots. Functions without a status
 * fail the test on an error. Note: if another program is loaded, the slots keep their values. */
#ifndef SUPPORT_WORKBENCH_H
#define SUPPORT_WORKBENCH_H

#include <forge/compiler.h>

struct workbench {
    const char *skip; /* the compiler's passes that do not run; NULL: all run */
    forge_precision precision;
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

/* Set-up and tear-down of a test; *state is the workbench. The seed is 42. */
int workbench_set_up(void **state);
int workbench_tear_down(void **state);

/* Opens a device and slots, without a program. The caller calls workbench_end, also after a failure. */
joule_status workbench_begin(struct workbench *bench, uint64_t seed, joule_error *error);
void workbench_end(struct workbench *bench);

/* Compile and load the builder's graph, and free the builder. */
joule_status workbench_try_load(struct workbench *bench, forge_builder *b, joule_error *error);
void workbench_load(struct workbench *bench, forge_builder *b);
void workbench_unload(struct workbench *bench);

/* Sets all elements of an input to a copy of `elements`, which has the program's type, and the program's
 * shape at the sizes of the next run. */
void workbench_set(struct workbench *bench, const char *input, const void *elements);
void workbench_run(struct workbench *bench);
forge_tensor workbench_output(const struct workbench *bench, const char *name);
forge_tensor workbench_slot(const struct workbench *bench, const char *name);
forge_program_facts workbench_facts(const struct workbench *bench);
/* Returns the first launch of the operation or composite `name`. */
const struct program_launch *workbench_launch(const struct workbench *bench, const char *name);
/* Returns the part of the joules of the program's first item that belongs to operations in `scope` or below
 * it, from 0 to 1. */
double workbench_part(const struct workbench *bench, const char *scope);

/* Copies of the bytes of tensors, one after another, for a later comparison. The structure must initially be
 * zero. The caller frees `bytes`. */
struct kept {
    unsigned char *bytes;
    size_t size;
};
void workbench_keep(struct kept *kept, const forge_tensor *tensor);

/* Compare an f32 output or slot with the expected elements. */
void workbench_assert_output(const struct workbench *bench, const char *name, const float *expected,
                             size_t count);
void workbench_assert_slot(const struct workbench *bench, const char *name, const float *expected,
                           size_t count);

#endif
