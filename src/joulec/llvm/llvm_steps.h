/* joulec/llvm/llvm_steps.h - instructions as steps that wait for one another.
 *
 * Owns the order of a loop's or a block's instructions, what each waits for, and the longest way to each. Where a chain begins
 * and ends is for others to say (llvm_chain.c, llvm_path.c).
 * Newcomers: a step waits for its operands. What it reads in memory has been written by steps that are none of these; of them,
 * those are known that have to do with a call (llvm_handed.c).
 */
#ifndef JOULEC_LLVM_STEPS_H
#define JOULEC_LLVM_STEPS_H

#include "joulec/llvm/llvm_module.h"

/* What a step waits for, which is a step, too. */
struct wait {
    int32_t on;            /* that step */
    double times;          /* so often it takes its kind's latency */
    LLVMValueRef variable; /* in which it finds what that left; NULL: that is an operand */
};

struct step {
    LLVMValueRef value;
    double latency;
    uint32_t first_wait, operand_count, wait_count; /* operands come first */
    double waits_at_once;                           /* where all that it works with is there */
    uint32_t block;                                 /* of the function */
    struct call *call;                              /* NULL: it is no real one */
    size_t handed, handed_end;                      /* what a call reads and writes, in steps->handed */
    struct extent extent; /* of a load or a store that goes to the same each time; base NULL: of others */
    bool is_moving;       /* goes on with a counter of the loop */
    /* The longest way to it of a chain that is looked for. */
    bool is_begin;       /* of the chain */
    LLVMValueRef begins; /* in which variable it does; NULL: with a value */
    double cycles;       /* to its result; negative: there is no way */
    double waits;        /* of its kind, of these */
    int32_t from;        /* the step before; -1: none */
    LLVMValueRef by;     /* the variable of that wait */
};

/* What a call reads or writes. */
struct handed {
    struct extent extent;
    uint32_t call; /* the step */
    bool is_read, is_written;
};

struct steps {
    struct arena *arena;
    LLVMTargetDataRef layout;
    LLVMBasicBlockRef *from; /* LLVM's blocks, as in function->blocks */
    struct function *function;
    struct numbering numbers;
    struct step *list; /* in the order in which they run */
    size_t count;
    struct wait *waits; /* of all steps */
    struct handed *handed;
    size_t handed_count, handed_room;
};

/* Lays out the instructions of these blocks. False: no memory. */
bool steps_lay_out(struct steps *steps, const uint32_t *blocks, size_t block_count);
/* The longest way to each step from where the chain begins; the first `phis` steps wait for nothing. */
void steps_walk(struct steps *steps, size_t phis);
/* The same where all but operands among them is there; the last step of the longest of all, -1: there are none. */
int32_t steps_walk_all(struct steps *steps);
/* The end of a chain that has no way yet; and the way by what it waits for, where that is longer. */
struct step steps_end(void);
void steps_take_wait(const struct steps *steps, struct step *end, struct wait wait);
/* Where the chain that has this end begins: the variable; NULL: with a value. */
LLVMValueRef steps_begin_of(const struct steps *steps, const struct step *end);
/* What a step has of a chain. */
void steps_add_work(const struct step *step, double out_chain[WORK_KINDS]);
/* Keeps the chain with this end as a path of the function, or path VIA_NOTHING: as that of its loop; and says of its calls how they
 * are part of it. */
void steps_keep(struct steps *steps, const struct step *end, enum via path);
/* The step that an access has its address from; -1: that is there before. */
int32_t steps_address(const struct steps *steps, size_t access);

/* Says of the calls which of them the next round does not wait for. False: no memory. */
bool steps_find_beside(struct steps *steps);
/* The critical paths of steps->function, which has no loops and is laid out as a whole. */
void steps_find_paths(struct steps *steps);

/* --- what calls read and write (llvm_handed.c) ---------------------------------------------------------------------- */

/* Finds it, and the places of loads and stores. False: no memory. */
bool handed_find(struct steps *steps);
/* Adds what a step waits for because of that, unless `out` is NULL; their number. */
uint32_t handed_add(const struct steps *steps, size_t step, struct wait *out);
/* The variable in which `reader`, a load or a call, may find what `writer`, a store or a call, has left; NULL: it does not. */
LLVMValueRef handed_meets(const struct steps *steps, size_t writer, size_t reader);
/* Whether a step is a call that writes; and whether it writes where `other` does, and one of both is a call. */
bool handed_is_writer(const struct steps *steps, size_t step);
bool handed_is_instead(const struct steps *steps, size_t step, size_t other);

#endif
