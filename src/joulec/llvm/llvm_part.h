/* joulec/llvm/llvm_part.h - two loops of which LLVM has made one: the ways into their common first block, and the count that tells
 * them apart.
 *
 * Owns what llvm_ways.c finds, and llvm_part.c works with. Newcomers: a way may lead through a block that only brings ways together.
 */
#ifndef JOULEC_LLVM_PART_H
#define JOULEC_LLVM_PART_H

#include "joulec/llvm/llvm_module.h"

#define MOST_WAYS 64

/* A way into a loop's first block; through one that only brings ways together, or NULL. */
struct way {
    LLVMBasicBlockRef from, through;
    LLVMValueRef node; /* what is said of the loop that goes back here; NULL: it comes from outside */
    bool is_begin;     /* the count is what it is at first */
    bool is_outer;     /* of the outer loop, or from outside: the inner one is left and entered again */
};

struct part {
    LLVMContextRef context;
    LLVMBuilderRef builder;
    unsigned loop_kind, parted_kind;
    LLVMBasicBlockRef header;
    LLVMValueRef count; /* a phi of the header */
    LLVMValueRef end;   /* the branch that ends it; NULL: none does */
    bool may_end;       /* some branch asks how far it has come */
    /* The outer loop's ways are taken without that end, too: by a break, or by what sets the count back. */
    bool is_left_early;
    struct way ways[MOST_WAYS];
    size_t way_count;
    LLVMValueRef node; /* of the ways that go on, and mostly of all that go back */
};

/* Of p->header, as the phi has them. False: there are too many, or one block has several. */
bool ways_find(struct part *p, LLVMValueRef phi);
LLVMValueRef ways_value(const struct way *way, LLVMValueRef phi);
/* Finds the end of p->count, and whose ways are whose; NULL in p->end: the ways are of one loop, as far as can be told. */
void ways_find_end(struct part *p);
/* Whether a value is made of the count in this round; by what it loads, too, or not. */
bool ways_comes_of(const struct part *p, LLVMValueRef value, bool by_loads);
/* Whether a block ends with a branch that asks how far the count has come. */
bool ways_asks_count(const struct part *p, LLVMBasicBlockRef block);

#endif
