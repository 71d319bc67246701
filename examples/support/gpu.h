/* gpu.h - work for NVIDIA GPUs. The CUDA driver is opened at run time, so programs also build and run without
 * it.
 *
 * A GPU is used by one thread at a time. All functions return when the GPU has finished. */
#ifndef EXAMPLES_GPU_H
#define EXAMPLES_GPU_H

#include <stdbool.h>
#include <stddef.h>

struct gpu; /* an open GPU */

/* Returns the number of GPUs. If it is 0, *out_reason is the reason, in static storage. */
int gpu_count(const char **out_reason);

/* Opens GPU number `index`. The caller closes it. NULL: *out_reason is the reason, in static storage. */
struct gpu *gpu_open(int index, const char **out_reason);
void gpu_close(struct gpu *gpu);

const char *gpu_name(const struct gpu *gpu);

/* Multiplies and adds in registers for some milliseconds. Returns the number of floating-point operations, or
 * 0 if the GPU failed. */
double gpu_compute(struct gpu *gpu);

/* Computes c = a * b if is_product, otherwise c = a + b. a, b, c: [size, size], row-major, in the memory of
 * the host. The copies to and from the GPU are part of the work. Returns whether it succeeded. */
bool gpu_matrix(struct gpu *gpu, bool is_product, size_t size, const float *a, const float *b, float *c);

#endif
