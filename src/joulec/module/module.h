/* joulec/module/module.h - a translation unit as the cost model uses it: functions, blocks, their work,
 * accesses and calls.
 *
 * Code in joulec/llvm/ fills these structures. No other directory uses LLVM. The module owns all names and
 * arrays.
 */
#ifndef JOULEC_MODULE_H
#define JOULEC_MODULE_H

#include <joule/base.h>
#include "base/arena.h"

/* Kinds of micro-operations. */
enum work {
    WORK_INT, /* add, logic, shift, compare, address */
    WORK_INT_MUL,
    WORK_INT_DIV,
    WORK_FLOAT, /* add, mul, convert, compare */
    WORK_FMA,
    WORK_FLOAT_DIV, /* division and square root */
    WORK_LOAD,
    WORK_STORE,
    WORK_ATOMIC,
    WORK_BRANCH,
    WORK_KINDS
};

/* A place in the source. */
struct source_place {
    const char *file; /* NULL: unknown */
    unsigned line, column;
};

/* An integer operand. */
struct operand {
    const char *name; /* name of an instruction or argument; NULL: a constant, or unnamed */
    int64_t constant;
    bool is_constant;
    unsigned bits; /* width of its type */
};

/* Kinds of comparisons of integers. */
enum compare {
    COMPARE_EQ,
    COMPARE_NE,
    COMPARE_SLT, /* signed */
    COMPARE_SLE,
    COMPARE_SGT,
    COMPARE_SGE,
    COMPARE_ULT, /* unsigned */
    COMPARE_ULE,
    COMPARE_UGT,
    COMPARE_UGE
};

/* Returns the negated comparison. */
static inline enum compare compare_inverse(enum compare kind)
{
    static const enum compare inverses[] = {
        [COMPARE_EQ] = COMPARE_NE,   [COMPARE_NE] = COMPARE_EQ,   [COMPARE_SLT] = COMPARE_SGE,
        [COMPARE_SLE] = COMPARE_SGT, [COMPARE_SGT] = COMPARE_SLE, [COMPARE_SGE] = COMPARE_SLT,
        [COMPARE_ULT] = COMPARE_UGE, [COMPARE_ULE] = COMPARE_UGT, [COMPARE_UGT] = COMPARE_ULE,
        [COMPARE_UGE] = COMPARE_ULT};
    return inverses[kind];
}

/* A comparison of two integer operands. */
struct comparison {
    enum compare kind;
    struct operand left, right;
    /* true: both operands are addresses within one variable, so the variable's base address cancels */
    bool is_of_addresses;
};

/* A conjunction of comparisons, or a disjunction if is_any is true. count 0: the condition is unknown. */
struct condition {
    struct comparison *list;
    size_t count;
    bool is_any;
    bool is_part; /* `list` lacks some comparisons of the condition, so it states only what is necessary */
};

/* A condition that JOULE_ASSUME states. */
struct assumption {
    struct condition condition;
    size_t calls_before; /* number of calls before the assumption in its block */
};

/* A call in a block. */
struct call {
    const char *name; /* NULL: a call through a pointer */
    /* Index of the called function. -1: the function has no body in this module, or the call is through a
     * pointer. */
    int32_t callee;
    struct source_place place;
    uint32_t number; /* number among the calls of its function */
    bool is_in_loop;
    struct operand *arguments;
    size_t argument_count;
    /* For calls through a pointer: indices of the possible targets that have a body. If is_closed is true,
     * there are no other targets. */
    int32_t *targets;
    size_t target_count;
    bool is_closed;
    /* Types of the result and the arguments, one letter each: i integer; f, d, l float, double, long double;
     * p pointer; v void; ? other. A final '.' means variable arguments. "": the function does not belong to
     * the C library, even if it has such a name. NULL: the call has the type of the library function with
     * this name. */
    const char *type;
};

/* Sets *out_list to the indices of the functions with a body that a call may reach. The module owns the list.
 * Returns the length of the list. */
static inline size_t call_targets(const struct call *call, const int32_t **out_list)
{
    *out_list = call->callee >= 0 ? &call->callee : call->targets;
    return call->callee >= 0 ? 1 : call->target_count;
}

/* A variable of known size. */
struct object {
    const char *name; /* "@name" for a global variable; for a local variable: the name of its address */
    double bytes;
    bool is_local; /* local to one call */
};

/* A load or a store. */
struct access {
    /* name of the address in module.scev, or "@name" for a global variable; "": no name */
    const char *address;
    double bytes;
    bool is_store;
    bool is_fixed;    /* the address is an argument, or the address of a variable */
    bool is_in_chain; /* the next iteration waits for the loaded value */
};

/* A variable of a loop that changes in only one direction, by steps that depend on data (a monotonic phi).
 * Scalar evolution does not describe such variables. */
struct monotonic_phi {
    const char *name;
    /* Smallest and largest step per iteration, in bytes for pointers. If both are 0, the value stays at or
     * just after the value of `from`. */
    double low, high;
    /* name of the initial value, as in access.address; "": the initial value is `constant` */
    const char *from;
    double constant;
};

/* An edge from a block to one of its successors. */
struct edge {
    uint32_t to;
    double probability; /* from a profile or __builtin_expect; NaN: unknown */
    uint32_t number;    /* number among the edges of its function */
    /* Approximate number of executions in a profile. NaN: there is no profile, or LLVM has moved the edge. */
    double profiled_count;
};

/* Kinds of branch conditions. */
enum branch_test {
    BRANCH_TEST_LIMIT, /* compares with a limit, or belongs to none of the other kinds */
    BRANCH_TEST_EQUAL, /* tests for equality */
    BRANCH_TEST_BIT,   /* tests one bit */
    BRANCH_TEST_ORDER  /* compares two data values */
};

/* A basic block with its work, accesses and calls. */
struct block {
    const char *name;
    double work[WORK_KINDS];
    /* Operations on a dependence chain. If has_chain is true, this is the block's part of the longest chain
     * from one iteration of the innermost loop to the next. If has_chain is false, it is the longest chain
     * within the block, or all 0 if unknown. */
    double chain[WORK_KINDS];
    /* the loop-carried chain is known; a block of an outer loop has this flag if there is no such chain */
    bool has_chain;
    bool is_chain_stored; /* the loop-carried chain passes through memory */
    /* For the header of an innermost loop: true if no iteration depends on values from the previous entry of
     * the loop. */
    bool is_entry_independent;
    double simd_256, simd_512; /* micro-operations on vectors of 256 and 512 bits */
    struct access *accesses;
    size_t access_count;
    const char **values; /* integers and pointers of the block that scalar evolution cannot analyse */
    size_t value_count;
    struct monotonic_phi **monotonic_phis; /* for the header of a loop: its monotonic values */
    size_t monotonic_phi_count;
    struct edge *edges;
    size_t edge_count;
    /* edges[0] is taken only if this condition is true. If the block has two edges, edges[1] is taken only
     * if it is false. */
    struct condition condition;
    struct assumption *assumptions;
    size_t assumption_count;
    bool is_dead_end;             /* the block ends the program, or is unreachable */
    bool is_cold;                 /* the block calls a function with the attribute cold */
    bool is_by_data;              /* the block's branch depends on values from memory */
    enum branch_test branch_test; /* what the block's branch tests */
    struct call *calls;
    size_t call_count;
    struct source_place place; /* place of the first instruction with a known place */
    /* Place in the text of the function itself. If the instruction was inlined, the place is that of the
     * call. */
    struct source_place own_place;
    struct source_place branch_place; /* place of the block's branch; file NULL: unknown */
    struct source_place loop_place;   /* if the block is a latch: place of its loop; file NULL: none */
    bool may_be_two;                  /* for a header: LLVM may have merged two nested loops of the source */
    bool has_inlined;                 /* with may_be_two: a part of the loop was inlined */
};

/* An innermost loop of the user's build. */
struct built_loop {
    struct source_place place; /* place of the loop in the source */
    double factor;             /* iterations of the source loop per iteration of the built loop */
    struct block iteration;    /* work of one iteration of the built loop */
    /* `iteration` contains all work of the loop: the loop has one block, or the vectorizer created it. */
    bool is_complete;
    bool is_vector;  /* created by the vectorizer; a scalar loop executes the remaining iterations */
    bool is_checked; /* the loop runs only after a check that data does not overlap */
    /* true: the check compares ranges of addresses; false: distances between addresses */
    bool compares_ranges;
};

/* A function of the module. */
struct function {
    const char *name;
    struct source_place place;
    struct block *blocks; /* [0] is the entry; an empty list: the function has no body in this module */
    size_t block_count;
    struct object *objects; /* local variables in memory */
    size_t object_count;
    double profiled_calls; /* calls in a profile; NaN: unknown */
    size_t edge_count, call_count;
    struct operand *parameters; /* name NULL: the parameter is not an integer */
    size_t parameter_count;
    bool is_local; /* all calls of the function are in this module, and none is through a pointer */
    bool has_loops;
    struct built_loop *built_loops; /* sorted by place, then by descending factor */
    size_t built_loop_count;
    const struct function **inlined; /* functions of the module that were inlined into this one */
    size_t inlined_count;
    const char **annotations; /* texts of clang's `annotate` attributes */
    size_t annotation_count;
};

struct scev_facts; /* trips/scev_facts.h */

/* A translation unit. */
struct module {
    struct arena arena;
    struct function *functions;
    size_t function_count;
    struct object *objects; /* global variables, sorted by name */
    size_t object_count;
    bool is_built;           /* the loops of the user's build are known */
    const char *foreign;     /* architecture of the code if it differs from that of this machine; else NULL */
    struct scev_facts *scev; /* formulas of loops and values; NULL: none */
    bool has_dropped_bodies; /* clang dropped bodies of called inline functions; other files contain them */
    const char *bodiless;    /* a function with annotations whose body clang dropped; NULL: none */
};

/* Loop optimizations that are enabled in the user's build. The count build runs none of them. */
struct module_build {
    bool vectorises, packs, unrolls; /* packs: combines scalar operations into vectors (SLP) */
};

/* Reads LLVM bitcode or textual IR. build NULL: unknown. After JOULE_OK, the caller frees *out_module with
 * module_free. Returns JOULE_INVALID, with LLVM's message, if the file is not LLVM IR; JOULE_NO_MEMORY; or
 * JOULE_FAILED, with LLVM's message, if one of its passes fails. */
joule_status module_read(const char *path, const struct module_build *build, struct module *out_module,
                         joule_error *out_error);
void module_free(struct module *module);
/* Returns the key of `work` in breakdowns, such as "int_mul". The text is static. */
const char *work_name(enum work work);

#endif
