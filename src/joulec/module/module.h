/* joulec/module/module.h - a translation unit as far as its cost is concerned: functions, blocks, what is done in each, and calls.
 *
 * Owns this picture of what clang made, and what LLVM says of its loops, as text. It prices and judges nothing.
 * Newcomers: llvm/ alone knows LLVM, and fills it. Names and arrays live as long as the module.
 */
#ifndef JOULEC_MODULE_H
#define JOULEC_MODULE_H

#include <joule/base.h>
#include "base/arena.h"

/* What micro-operations do. */
enum work {
    WORK_INT, /* add, logic, shift, compare, address */
    WORK_INT_MUL,
    WORK_INT_DIV,
    WORK_FLOAT, /* add, mul, convert, compare */
    WORK_FMA,
    WORK_FLOAT_DIV, /* and square roots */
    WORK_LOAD,
    WORK_STORE,
    WORK_ATOMIC,
    WORK_BRANCH,
    WORK_KINDS
};

struct source_place {
    const char *file; /* NULL: unknown */
    unsigned line, column;
};

/* A whole number in the code. */
struct operand {
    const char *name; /* of an instruction or an argument; NULL: a constant, or nothing of ours */
    int64_t constant;
    bool is_constant;
    unsigned bits; /* of its type */
};

enum compare {
    COMPARE_EQUAL,
    COMPARE_NOT_EQUAL,
    COMPARE_LESS, /* as signed numbers */
    COMPARE_AT_MOST,
    COMPARE_MORE,
    COMPARE_AT_LEAST,
    COMPARE_BELOW, /* as unsigned ones */
    COMPARE_BELOW_OR_SAME,
    COMPARE_ABOVE,
    COMPARE_ABOVE_OR_SAME
};

/* What holds where a comparison does not. */
static inline enum compare compare_contrary(enum compare kind)
{
    static const enum compare contraries[] = {
        [COMPARE_EQUAL] = COMPARE_NOT_EQUAL,     [COMPARE_NOT_EQUAL] = COMPARE_EQUAL,
        [COMPARE_LESS] = COMPARE_AT_LEAST,       [COMPARE_AT_MOST] = COMPARE_MORE,
        [COMPARE_MORE] = COMPARE_AT_MOST,        [COMPARE_AT_LEAST] = COMPARE_LESS,
        [COMPARE_BELOW] = COMPARE_ABOVE_OR_SAME, [COMPARE_BELOW_OR_SAME] = COMPARE_ABOVE,
        [COMPARE_ABOVE] = COMPARE_BELOW_OR_SAME, [COMPARE_ABOVE_OR_SAME] = COMPARE_BELOW};
    return contraries[kind];
}

struct comparison {
    enum compare kind;
    struct operand left, right;
    bool is_of_addresses; /* of one variable, so that what they have in common does not matter */
};

/* Comparisons that hold together; or, is_any, of which one holds. None: nothing is known of it. */
struct condition {
    struct comparison *list;
    size_t count;
    bool is_any;
    bool is_part; /* there is more to it: where they hold, it need not */
};

/* JOULE_ASSUME. */
struct promise {
    struct condition condition;
    size_t calls_before; /* calls of its block that stand before it */
};

/* How what a call makes comes to who waits for it: by its result, by variables that it was handed or that are global, or by those in
 * which it found what it made that of. */
enum via { VIA_NOTHING, VIA_RESULT, VIA_MEMORY, VIA_STATE, VIAS };

struct call {
    const char *name; /* NULL: through a pointer */
    int32_t callee; /* index of a function with a body in this module; -1: elsewhere, or through a pointer */
    struct source_place place;
    uint32_t number; /* among the calls of its function */
    bool is_in_loop;
    bool
        is_beside; /* nothing of the next round of its loop, an innermost one, waits for it, and it writes no memory */
    enum via in_chain;      /* of its innermost loop: by what the next step of that waits for it */
    enum via in_path[VIAS]; /* the same of its function's critical paths */
    struct operand *arguments;
    size_t argument_count;
    /* Through a pointer: what that may be, of the functions with a body; all of it where is_closed, else there may be others. */
    int32_t *targets;
    size_t target_count;
    bool is_closed;
    /* Of what it passes and gets, a letter each, the result's first: i, a whole number; f, d and l, a float, a double and a longer one;
     * p, a pointer; v, nothing; ?, something else; and last '.', where more may follow. "": whatever its name says, it is not of the C
     * library; NULL: it is of that name's type. */
    const char *type;
};

/* The functions with a body that a call may be of, by their indices; their number. */
static inline size_t call_targets(const struct call *call, const int32_t **out_list)
{
    *out_list = call->callee >= 0 ? &call->callee : call->targets;
    return call->callee >= 0 ? 1 : call->target_count;
}

/* A variable whose size is known. */
struct object {
    const char *name; /* "@name" of a global, else that of its address */
    double bytes;
    bool is_local; /* of one call */
};

/* A load or a store. */
struct access {
    const char
        *address; /* the value that it is, as the loops' text names it, or "@name"; empty: it has no name */
    double bytes;
    bool is_store;
    bool is_fixed;    /* the address is an argument or a variable's */
    bool is_in_chain; /* the next round of its loop waits for what is loaded */
};

/* A whole number or a pointer that goes on in one direction, by an amount that the data decide; scalar evolution does not know it. */
struct creep {
    const char *name;
    double low,
        high; /* of that amount in a round of the loop, a pointer's in bytes; both 0: it is `from` or a little beyond */
    const char *from; /* what it is as the loop begins, as the address of an access; empty: `constant` */
    double constant;
};

struct edge {
    uint32_t to;
    double probability; /* by a profile or __builtin_expect; NaN: unknown */
    uint32_t number;    /* among the edges of its function */
    double seen;        /* how often a profile saw it, about; NaN: there is none, or LLVM has moved it */
};

/* Of a loop: whether LLVM had made one of it and another one, with one place in the source for both. */
enum parted {
    PARTED_NOT,
    PARTED_OUTER, /* the place must be the outer one's, which this is, if there is a keyword for the inner one, too */
    PARTED_INSIDE, /* of such an outer one, without a place: a keyword for it stands in the outer one's statement */
    PARTED_INNER, /* the place must be the inner one's, which this is, if there is a keyword for the outer one, too */
    PARTED_LOST,  /* it may be of either, or both are one loop in the source, which sets its count back */
    PARTED_UNSURE /* this may be both, or one that does so */
};

/* What a branch asks, of data or of anything else. */
enum question {
    QUESTION_LIMIT, /* whether they are beyond what is given; or anything else */
    QUESTION_EQUAL, /* whether they are what is given, or each other */
    QUESTION_BIT,   /* whether one bit of them is set */
    QUESTION_ORDER  /* which of two is more */
};

struct block {
    const char *name;
    double work[WORK_KINDS];
    /* Of an innermost loop: what this block has of the longest chain from round to round, in steps that wait for each other. Where
     * has_chain is false, the longest in the block alone; none: not known either. */
    double chain[WORK_KINDS];
    bool has_chain;       /* it is known; of a loop around others, that there is none */
    bool is_chain_stored; /* of such a loop's blocks: it goes through memory from round to round */
    bool begins_anew; /* of such a loop's first block: it waits for nothing that it left when it ran before */
    double simd_256, simd_512; /* of these, on vectors so wide */
    struct access *accesses;
    size_t access_count;
    const char **values; /* whole numbers and pointers made here that scalar evolution cannot look into */
    size_t value_count;
    struct creep **creeps; /* of a loop's first block: what creeps in this loop */
    size_t creep_count;
    struct edge *edges;
    size_t edge_count;
    struct condition
        condition; /* edges[0] is taken only where it holds; of two edges, the other only where not */
    struct promise *promises;
    size_t promise_count;
    bool is_dead_end;       /* what ends the program, or cannot be */
    bool is_cold;           /* it calls a function with the attribute cold */
    bool is_by_data;        /* where it goes on is for values from memory to say ... */
    enum question question; /* what it asks */
    /* Of two edges, edges[period_edge] is taken once in so many times, whenever a count that goes on by a constant step has come to
     * its end and is set back; 0: nothing of the kind is known. */
    double period;
    uint32_t period_edge;
    struct call *calls;
    size_t call_count;
    struct source_place place; /* line of the first instruction that has one */
    struct source_place
        own_place; /* line in the function's own text; of the call, if the instruction was inlined */
    struct source_place branch_place; /* of the last one; file NULL: unknown */
    struct source_place loop_place;   /* of the loop whose last block this is; file NULL: of none */
    enum parted parted;               /* of that loop */
};

/* A round of a loop as a simulator of a core has it, among many and with all data in the first cache. */
struct simulated {
    double unit_cycles; /* that the core's front and units take if nothing waits */
    double cycles;      /* from round to round; 0: nobody simulated it */
    /* What simulators let wait too long: an instruction that works with what it loads waits for both before it begins; one that
     * makes a zero of a value waits for that value. */
    bool folds_loads, makes_zeros;
};

/* An innermost loop as the build makes it. */
struct wide_loop {
    struct source_place place; /* of the loop in the source */
    double at_once;            /* rounds of that in one of its */
    struct block round;        /* what one of its rounds does in all */
    bool is_whole;             /* this is all of a round: no branches, or those of a vector's elements */
    bool is_vector;            /* the vectoriser made it; a loop as it was takes what is left over */
    bool is_checked;           /* it is only for data that does not overlap ... */
    bool compares_ranges;      /* ... by where each begins and ends, and not by how far they are apart */
    const char *only_block;    /* of which it consists, as the module's code names it; NULL: there are more */
    struct simulated simulated;
};

struct function {
    const char *name;
    struct source_place place;
    struct block *blocks; /* [0]: entry; none: it has no body here */
    size_t block_count;
    struct object *objects; /* its local variables in memory */
    size_t object_count;
    double calls_seen; /* by a profile; NaN: there is none of it */
    size_t edge_count, call_count;
    struct operand *parameters; /* without a name: no whole number */
    size_t parameter_count;
    bool is_local; /* all calls of it are in this module and use its name */
    bool has_loops;
    /* Critical paths, where there are no loops: steps that wait for each other from whatever it is given to its result, from what it
     * finds in variables to what it leaves in any, and in the same. None: there is no such path, or nobody knows. */
    double path[VIAS][WORK_KINDS];
    struct wide_loop *wide; /* by place, those that do most at once first */
    size_t wide_count;
    const struct function **inlined; /* those of the module that stand in it in the place of calls */
    size_t inlined_count;
    const char **annotations; /* of clang's attribute annotate */
    size_t annotation_count;
};

struct module {
    struct arena arena;
    struct function *functions;
    size_t function_count;
    struct object *objects; /* global variables, by name */
    size_t object_count;
    bool is_built;        /* what the build makes of loops is known */
    const char *assembly; /* of what the build makes of it; NULL: nobody asked for it, or LLVM makes none */
    const char *triple;   /* for what machines that is */
    const char *
        foreign; /* the architecture that all of it is for, where this machine is of another; NULL: of the same */
    const char *loop_text;   /* LLVM's print<scalar-evolution> */
    bool has_dropped_bodies; /* bodies of called inline functions that another file has, too */
    const char *bodiless; /* a function with annotations whose body was left out of it; NULL: there is none */
};

/* Of which functions the assembly is kept. */
enum module_code {
    MODULE_CODE_NONE,
    MODULE_CODE_OF_BUDGETS, /* those with budgets, and what they call */
    MODULE_CODE_ALL
};

/* What the build does with loops, which the count build leaves as they are. */
struct module_build {
    bool vectorises, packs, unrolls;
    enum module_code keeps;
};

/* Reads bitcode or text of LLVM. build NULL: nobody knows. INVALID: it is neither, with LLVM's words; NO_MEMORY; FAILED: no temporary file. Not
 * thread-safe: standard error is LLVM's for a moment. */
joule_status module_read(const char *path, const struct module_build *build, struct module *out_module,
                         joule_error *out_error);
void module_free(struct module *module);
/* "int_mul"; the keys of a breakdown. */
const char *work_name(enum work work);

#endif
