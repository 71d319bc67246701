/* support/side.h - a program of a graph on a device, to compare two programs that must give the same bits.
 *
 * All functions fail the test on an error. */
#ifndef SUPPORT_SIDE_H
#define SUPPORT_SIDE_H

#include <forge/compiler.h>

struct side {
    forge_program *program;
    forge_states *states; /* of seed 1 */
    forge_instance *instance;
};

/* Compiles the graph. options: may be NULL. Call side_unload. */
struct side side_load(forge_device *device, const forge_graph *graph, const forge_compile_options *options);
/* skip: the compiler's passes that do not run. */
struct side side_load_without(forge_device *device, const forge_graph *graph, const char *skip);
void side_unload(struct side *side);

/* Sets all inputs, those of f32 to random numbers that depend on `round`, and runs the program. */
void side_run(const struct side *side, const forge_graph *graph, uint32_t round);

/* Writes all elements of an input. */
typedef void side_fill_fn(forge_tensor *input);
/* Sets the inputs of both to the same elements, which `fill` writes, and runs both. */
void side_run_filled(const struct side *a, const struct side *b, const forge_graph *graph,
                     side_fill_fn *fill);

/* Fails the test unless all outputs and slots of both have equal bits, or are NaN in both: which NaN a result
 * is may differ between two loops that compute the same. seed: of the graph, for messages. */
void side_compare(const struct side *a, const struct side *b, const forge_graph *graph, uint64_t seed);
/* As side_compare. what: begins the message. */
void side_compare_named(const struct side *a, const struct side *b, const forge_graph *graph,
                        const char *what);

/* Runs both with the same inputs and compares them, `rounds` times. */
void side_run_both(const struct side *a, const struct side *b, const forge_graph *graph, uint32_t rounds,
                   uint64_t seed);

#endif
