/* ir/program.h - what a graph becomes for a device: a list of launches over buffers.
 *
 * Owns the layout of a program: one block of memory without pointers, whose arrays lie at offsets from its start, so that
 * it can be written, mapped, hashed and printed as it is. It does not know how a kernel works.
 * Newcomers: reshape, broadcast, transpose and slice leave no launch where a binding's strides can say the same. A size may be
 * an expression of the program's symbols (dim.h), also in attributes; sized.h puts numbers in their place.
 */
#ifndef FORGE_IR_PROGRAM_H
#define FORGE_IR_PROGRAM_H

#include <forge/program.h>
#include "forge/ir/launch.h"

#define PROGRAM_MAGIC     UINT32_C(0x47525046) /* "FPRG" */
#define PROGRAM_VERSION   2
#define PROGRAM_ALIGNMENT 64 /* of arena and constant buffers */
#define PROGRAM_NONE      UINT32_MAX
/* Of any buffer, and of a launch's inputs and outputs together. */
#define PROGRAM_MOST_BYTES    (UINT64_C(1) << 48)
#define PROGRAM_MOST_OPERANDS 32

enum buffer_kind { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_STATE, BUFFER_CONSTANT, BUFFER_ARENA };

struct program_buffer {
    uint32_t kind;
    uint32_t name;         /* in the strings; of inputs, outputs and states */
    uint64_t size_bytes;   /* at most, whatever the symbols are */
    uint64_t offset_bytes; /* of ARENA in the arena, of CONSTANT in the constants */
    uint32_t dtype;        /* inputs, outputs, states */
    uint32_t init_kind;    /* states */
    double init_a, init_b;
    forge_shape shape; /* inputs, outputs, states */
};

/* A view of a buffer. */
struct program_binding {
    uint32_t buffer;
    uint32_t dtype;
    forge_dim offset;   /* in elements: of the one with all indices 0 */
    uint32_t backwards; /* bit i: the stride of dimension i is to be taken negative */
    uint32_t reserved;  /* 0 */
    forge_shape shape;
    forge_dim strides[FORGE_MAX_RANK]; /* in elements; 0 from rank on */
};

/* What a launch does, whatever does it. */
struct program_cost {
    double flop;
    double read_bytes, written_bytes;
};

struct program_launch {
    uint32_t op;
    uint32_t kernel;        /* its name, in the strings */
    uint32_t first_binding; /* inputs, then outputs */
    uint16_t input_count, output_count;
    uint32_t attributes, attributes_size; /* in the bytes */
    uint32_t scope;                       /* in the strings */
    uint32_t phase;
    struct program_cost cost; /* at the largest sizes */
};

struct program_array {
    uint64_t offset; /* from the program's start */
    uint64_t count;
};

struct forge_program {
    uint32_t magic, version;
    uint64_t size_bytes; /* of all of it; a multiple of PROGRAM_ALIGNMENT */
    uint64_t hash;       /* of all that follows */
    uint64_t arena_bytes;
    uint64_t arena_bound_bytes; /* the most that is alive at once: no plan can be smaller in this order */
    struct program_array dims, buffers, bindings, launches, strings, bytes, constants;
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
static inline const char *program_string(const forge_program *program, uint32_t offset)
{
    return (const char *)program_at(program, program->strings) + offset;
}

/* The program's symbols and expressions, which nothing may be added to. */
static inline struct dim_table program_dims(const forge_program *program)
{
    return (struct dim_table){.entries = (struct dim *)program_at(program, program->dims),
                              .count = program->dims.count};
}

/* "matmul"; of a composite, its own name: "adamw". */
const char *program_launch_name(const forge_program *program, const struct program_launch *launch);

/* What head.hash is to be. */
uint64_t program_hash(const forge_program *program);

/* Whether `size` bytes at a multiple of PROGRAM_ALIGNMENT are a program that an instance may trust: every offset, count and
 * string lies in it, every view in its buffer, every launch is what infer.c makes of its operands, and what a launch writes
 * is memory of the instance that it reads in no other way. Where sizes are symbols, this is shown for the largest here, and by
 * sized_check for each that an instance is set to. Kernels still check what they are given (device.h).
 * INVALID says what is not so; UNSUPPORTED: another version. */
joule_status program_check(const void *bytes, size_t size, joule_error *out_error);

#endif
