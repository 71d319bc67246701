/* ir/program.h - the layout of a program: a graph compiled for a device, as a list of launches over buffers.
 *
 * A program is one block of memory without pointers. Its arrays lie at offsets from its start, so it can be
 * written, hashed and printed as it is.
 *
 * Note: reshape, broadcast, transpose and slice need no launch if the strides of a binding can express them.
 * Sizes, also those in attributes, may be expressions of the program's symbols (dim.h); sized.h replaces them
 * by numbers.
 */
#ifndef FORGE_IR_PROGRAM_H
#define FORGE_IR_PROGRAM_H

#include <forge/program.h>
#include "forge/ir/launch.h"

#define PROGRAM_MAGIC     UINT32_C(0x47525046) /* "FPRG" */
#define PROGRAM_VERSION   3
#define PROGRAM_ALIGNMENT 64 /* bytes, for the arena, constants and the buffers in them */
#define PROGRAM_NONE      UINT32_MAX
/* Limits: bytes of a buffer, and inputs and outputs of a launch together. */
#define PROGRAM_MAX_BYTES    (UINT64_C(1) << 48)
#define PROGRAM_MAX_OPERANDS 32
#define PROGRAM_MAX_CORES    1024 /* limit of the cores of a launch */

enum buffer_kind { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_STATE, BUFFER_CONSTANT, BUFFER_ARENA };

/* Memory that launches read and write. */
struct program_buffer {
    uint32_t kind;
    uint32_t name;         /* set for inputs, outputs and states: offset in `strings` */
    uint64_t size_bytes;   /* maximum over all values of the symbols */
    uint64_t offset_bytes; /* BUFFER_ARENA: in the arena; BUFFER_CONSTANT: in the constants */
    uint32_t dtype;        /* set for inputs, outputs and states */
    uint32_t init_kind;    /* set for states */
    double init_a, init_b;
    forge_shape shape; /* set for inputs, outputs and states */
};

/* A strided view of a buffer, used as an operand of a launch. */
struct program_binding {
    uint32_t buffer;
    uint32_t dtype;
    forge_dim offset;          /* in elements: position of the element with all indices 0 */
    uint32_t negative_strides; /* bit i: the stride of dimension i is negative */
    uint32_t reserved;         /* always 0 */
    forge_shape shape;
    forge_dim strides[FORGE_MAX_RANK]; /* absolute values, in elements; 0 from the rank on */
};

/* The work of a launch. It does not depend on the kernel. */
struct program_cost {
    double flop;
    double read_bytes, written_bytes;
};

/* A scope whose operations are part of a fused launch. */
struct program_origin {
    uint32_t scope;    /* offset in `strings` */
    uint32_t reserved; /* always 0 */
    double weight;     /* work of its operations, relative to that of the launch's other origins; above 0 */
};

/* One operation on bindings, which a kernel of the device executes. */
struct program_launch {
    uint32_t op;
    uint32_t kernel;        /* name of the kernel, as an offset in `strings` */
    uint32_t first_binding; /* index of the first input; the outputs follow the inputs */
    uint16_t input_count, output_count;
    uint32_t attributes, attributes_size; /* offset and size in `bytes` */
    uint32_t scope;                       /* offset in `strings` */
    uint16_t phase;
    uint16_t cores;                      /* the launch uses at most so many cores; 0: all */
    uint32_t first_origin, origin_count; /* the scopes among which its energy is divided; none: `scope` */
    struct program_cost cost;            /* cost at the largest sizes of the symbols */
};

/* The position of an array in the program. */
struct program_array {
    uint64_t offset; /* bytes from the program's start */
    uint64_t count;
};

/* The beginning of a program. The arrays follow it. */
struct forge_program {
    uint32_t magic, version;
    uint64_t size_bytes; /* size of the whole block; a multiple of PROGRAM_ALIGNMENT */
    uint64_t hash;       /* hash of everything after this member */
    uint64_t arena_bytes;
    uint64_t arena_bound_bytes; /* maximum number of bytes that are live at once; with this order of launches,
                                 * it is the lower bound of arena_bytes */
    struct program_array dims, buffers, bindings, launches, origins, strings, bytes, constants;
};

static inline const void *program_at(const forge_program *program, struct program_array array)
{
    return (const char *)program + array.offset;
}
static inline const struct program_buffer *program_buffers(const forge_program *program)
{
    return program_at(program, program->buffers);
}
static inline const struct program_binding *program_bindings(const forge_program *program)
{
    return program_at(program, program->bindings);
}
static inline const struct program_launch *program_launches(const forge_program *program)
{
    return program_at(program, program->launches);
}
/* Returns the attributes of a launch: a struct NAME_attributes of its operation (graph.h). */
static inline const void *program_attributes(const forge_program *program,
                                             const struct program_launch *launch)
{
    return (const char *)program_at(program, program->bytes) + launch->attributes;
}
static inline const struct program_origin *program_origins(const forge_program *program)
{
    return program_at(program, program->origins);
}
static inline const char *program_string(const forge_program *program, uint32_t offset)
{
    return (const char *)program_at(program, program->strings) + offset;
}

/* Returns the program's symbols and expressions. The table is read-only and belongs to the program. */
static inline struct dim_table program_dims(const forge_program *program)
{
    return (struct dim_table){.entries = (struct dim *)program_at(program, program->dims),
                              .count = program->dims.count};
}

/* Returns the name of the launch's operation, for example "matmul". For a composite, returns the composite's
 * name, for example "adamw". */
const char *program_launch_name(const forge_program *program, const struct program_launch *launch);

/* Computes the value that belongs in program->hash. */
uint64_t program_hash(const forge_program *program);

/* Returns JOULE_OK if an instance can trust the `size` bytes at `bytes`, which must be aligned to
 * PROGRAM_ALIGNMENT. Every offset, count and string then lies inside the program, and every view inside its
 * buffer. Every launch matches infer.c, and writes no memory that it reads through another view. Programs
 * with symbols are checked for the largest sizes; sized_check repeats the check for each change of sizes.
 * Kernels still check their arguments (hal/backend.h). Returns JOULE_INVALID with the reason, or
 * JOULE_UNSUPPORTED for another version. */
joule_status program_check(const void *bytes, size_t size, joule_error *out_error);

#endif
