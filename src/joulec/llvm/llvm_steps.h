/* joulec/llvm/llvm_steps.h - instructions as steps that wait for one another.
 *
 * Note: a step waits for its operands. Where a chain of steps begins and ends is decided in llvm_chain.c.
 */
#ifndef JOULEC_LLVM_STEPS_H
#define JOULEC_LLVM_STEPS_H

#include "joulec/llvm/llvm_module.h"

/* What a step waits for, which is a step, too. */
struct wait {
    int32_t on;   /* that step */
    double times; /* so often it takes its kind's latency */
};

struct step {
    LLVMValueRef value;
    double latency;
    uint32_t first_wait, wait_count;
    double waits_at_once; /* where all that it works with is there */
    uint32_t block;       /* of the function */
    struct call *call;    /* NULL: it is no real one */
    bool is_moving;       /* goes on with a counter of the loop */
    /* The longest way to it of a chain that is looked for. */
    bool is_begin; /* of the chain */
    double cycles; /* to its result; negative: there is no way */
    double waits;  /* of its kind, of these */
    int32_t from;  /* the step before; -1: none */
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
/* What a step has of a chain. */
void steps_add_work(const struct step *step, double out_chain[WORK_KINDS]);
/* Adds the work of the chain with this end to the chains of its blocks. */
void steps_keep(struct steps *steps, const struct step *end);
/* The step that an access has its address from; -1: that is there before. */
int32_t steps_address(const struct steps *steps, size_t access);

/* Says of the calls which of them the next round does not wait for. False: no memory. */
bool steps_find_beside(struct steps *steps);

#endif
