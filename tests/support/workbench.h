/* support/workbench.h - a CPU with slots, and one program at a time on it.
 *
 * Owns what tests of programs do again and again: open, compile a builder's graph, set inputs, run, look at outputs and
 * slots. Functions without a status fail the test. Newcomers: another program can be loaded; the slots stay.
 */
#ifndef SUPPORT_WORKBENCH_H
#define SUPPORT_WORKBENCH_H

#include <forge/program.h>

struct workbench {
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

/* As set-up and tear-down of a test, whose state it then is: seed 42. */
int workbench_set_up(void **state);
int workbench_tear_down(void **state);

/* Device and slots, and nothing loaded; what is left of one that failed is for workbench_end. */
joule_status workbench_begin(struct workbench *bench, uint64_t seed, joule_error *error);
void workbench_end(struct workbench *bench);

/* Frees the builder. */
joule_status workbench_try_load(struct workbench *bench, forge_builder *b, joule_error *error);
void workbench_load(struct workbench *bench, forge_builder *b);
void workbench_unload(struct workbench *bench);

/* All elements of an input, of the program's own type and shape, as they lie in memory until the next run. */
void workbench_set(struct workbench *bench, const char *input, const void *elements);
void workbench_run(struct workbench *bench);
forge_tensor workbench_output(const struct workbench *bench, const char *name);
forge_tensor workbench_slot(const struct workbench *bench, const char *name);
forge_program_facts workbench_facts(const struct workbench *bench);

/* Bytes of tensors, one after the other, to compare later; begins as zeros. The caller frees `bytes`. */
struct kept {
    unsigned char *bytes;
    size_t size;
};
void workbench_keep(struct kept *kept, const forge_tensor *tensor);

/* For f32. */
void workbench_assert_output(const struct workbench *bench, const char *name, const float *expected,
                             size_t count);
void workbench_assert_slot(const struct workbench *bench, const char *name, const float *expected,
                           size_t count);

#endif
