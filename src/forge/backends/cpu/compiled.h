/* backends/cpu/compiled.h - compiled code for fused operations: an option of the device.
 *
 * Without this option, and whenever there is no code, the kernels run the steps one after the other on tiles
 * (fused.h). The code is rendered by emit/, compiled by the machine's C compiler, and kept in a cache of
 * files. Results have the same bits as those of the kernels; a NaN may be another NaN.
 */
#ifndef FORGE_CPU_COMPILED_H
#define FORGE_CPU_COMPILED_H

#include <forge/program.h>
#include "forge/backends/cpu/isa.h"
#include "forge/backends/cpu/runs.h"
#include "forge/ir/fused.h"

/* Rendered code; see emit.h. */
typedef void compiled_fn(const void *const *inputs, const int64_t *steps, void *out, size_t count);

/* The code of a device. */
struct compiled;

/* Creates the list of a device's code; free it with compiled_free when no launch uses the code. NULL: out of
 * memory. */
struct compiled *compiled_new(enum isa isa);
void compiled_free(struct compiled *compiled);

/* Turns the compilation on or off. Code that launches already have stays. When it is turned on, finds the
 * compiler and the cache; without them, it stays off. Errors: those of c_compiler_find and
 * code_cache_open. */
joule_status compiled_set(struct compiled *compiled, bool is_on, joule_error *out_error);
/* Returns the code of a launch of fused operations; compiles it if the cache does not contain it. NULL: the
 * compilation is off or has failed, or the launch has no fused elementwise steps. Any thread. */
compiled_fn *compiled_find(struct compiled *compiled, const struct launch *launch);
void compiled_query(struct compiled *compiled, forge_compiled_facts *out_facts);

/* --- running -------------------------------------------------------------------------------------------- */

/* The context of compiled_run. */
struct compiled_work {
    compiled_fn *code;
    size_t input_count, input_bytes[FUSED_MAX_INPUTS], out_bytes;
    /* a tile for each input, for inputs with other steps than 0 and 1; FUSED_VALUE_BYTES each */
    unsigned char *copies;
};
struct compiled_work compiled_work_of(const struct launch *launch, compiled_fn *code);
/* A run_fn. */
void compiled_run(const void *context, const struct run *run);

#endif
