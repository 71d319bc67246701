/* emit/dialect.h - the table of dialects: all that differs between the languages that emit.c renders.
 *
 * A template is a text with these places for names:
 *   $0 $1 $2  the operands, or what the comment of the template says
 *   $t        name of the result's element type; f32 also for bf16 and f16, whose values are f32
 *   $v        type of the result's variable
 *   $a        like $t, of the last operand
 *   $f        the suffix of literals of the result's type: "f" for f32, nothing for f64
 */
#ifndef FORGE_EMIT_DIALECT_H
#define FORGE_EMIT_DIALECT_H

#include "forge/emit/emit.h"

enum { DIALECT_DTYPES = FORGE_F64 + 1 };

/* The names of an element type. NULL: the dialect does not have the type. */
struct dialect_type {
    const char *value;        /* type of variables */
    const char *element;      /* type of elements in memory */
    const char *load, *store; /* templates: the value of $0; the statement that stores $1 in $0 */
};

/* How operations are written. NULL: there is no such operation. */
struct dialect_operations {
    const char *const *unaries, *const *binaries; /* templates by kind */
    const char *select;                           /* template */
};

/* How a function begins whose threads compute one element each. */
struct dialect_threads {
    const char *function;       /* qualifiers and result of the function */
    const char *input, *output; /* templates of parameters: $0 the name, $1 the number, $v the element type */
    const char *places;         /* template of this parameter: $0 the name, $1 the number */
    const char *more;           /* more parameters, with a comma before them */
    const char *integer;        /* a type of 64 bits */
    const char *index;          /* number of the thread */
};

struct dialect {
    const char *name;
    const char *options; /* of the compiler, for results that are rounded like those of the kernels */
    const char *const *headers[3]; /* lists of texts before the function; each list ends with NULL */
    struct dialect_type types[DIALECT_DTYPES];
    const struct dialect_operations *f32, *f64, *booleans; /* by type of the last operand */
    const char *truth;              /* template: a bool from the comparison $0 of operands of type $a */
    const char *cast;               /* template of a cast to f32 or f64 */
    struct dialect_threads threads; /* `function` is NULL: the function loops over vectors */
};

/* --- columns that rows share ---------------------------------------------------------------------------- */

/* The C of vectors (dialect_c.c). */
extern const struct dialect dialects[];
extern const size_t dialect_count;

extern const char *const vector_header[], *const vector_functions[];
extern const struct dialect_operations vector_f32, vector_f64, vector_booleans;
/* One element per thread (dialect_threads.c). thread_narrow: the functions of bf16 and f16. */
extern const char *const thread_narrow[];
extern const struct dialect_operations thread_floats, thread_booleans;

#endif
