/* joulec/llvm/llvm_join.c - see llvm_module.h: one loop of which LLVM has made two, put together again.
 *
 * Where a loop is gone back to in two ways, on one of which something stays as it is, LLVM lets the other one be a loop around. Both
 * then have the same place in the source, and its JOULE_LOOP tells of the rounds of both in all.
 * Newcomers: the outer loop's first block holds phis, and what has no effect and was moved there. The former become phis of the other
 * block, where they keep their value on the ways back of the inner loop, and the latter goes back behind them.
 */
#include "joulec/llvm/llvm_module.h"

#include <string.h>

#define MOST_BEFORE 32

struct before {
    LLVMBasicBlockRef list[MOST_BEFORE];
    size_t count;
};

/* The blocks that lead to one. False: there are too many, or one of them does so twice. */
static bool find_before(LLVMBasicBlockRef block, struct before *out)
{
    out->count = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (out->count == MOST_BEFORE || !(LLVMIsABranchInst(user) || LLVMIsASwitchInst(user)))
            return false;
        for (size_t i = 0; i < out->count; i++)
            if (out->list[i] == LLVMGetInstructionParent(user))
                return false;
        out->list[out->count++] = LLVMGetInstructionParent(user);
    }
    return true;
}

/* The block that always follows one of phis, and of what may as well be done where they go; NULL: it does more. */
static LLVMBasicBlockRef behind_work(LLVMBasicBlockRef block)
{
    LLVMValueRef v = LLVMGetFirstInstruction(block);
    if (!v || !LLVMIsAPHINode(v))
        return NULL;
    for (; !LLVMIsATerminatorInst(v); v = LLVMGetNextInstruction(v)) {
        bool is_call = LLVMIsACallInst(v) && !LLVMIsADbgInfoIntrinsic(v);
        if (is_call || LLVMIsALoadInst(v) || LLVMIsAStoreInst(v) || LLVMIsAAtomicRMWInst(v) ||
            LLVMIsAAtomicCmpXchgInst(v) || LLVMIsAFenceInst(v) || LLVMIsAAllocaInst(v))
            return NULL;
    }
    return LLVMIsABranchInst(v) && !LLVMIsConditional(v) ? LLVMGetSuccessor(v, 0) : NULL;
}

struct join {
    LLVMBuilderRef builder;
    LLVMBasicBlockRef outer, inner;
    struct before to_outer, to_inner; /* without the outer block */
};

/* What is said of the loop that a block goes back to. */
static LLVMValueRef node_of(LLVMBasicBlockRef block, unsigned loop_kind)
{
    return LLVMGetMetadata(LLVMGetBasicBlockTerminator(block), loop_kind);
}

/* By its name. Of two loops, too, if both began here: llvm_part.c parts them again, where each ends. */
static bool is_made_by_llvm(LLVMBasicBlockRef block)
{
    return strstr(LLVMGetBasicBlockName(block), ".outer") != NULL;
}

/* Whether both go back to what is one loop in the source. */
static bool is_one_loop(const struct join *j, unsigned loop_kind)
{
    bool is_one = false;
    for (size_t i = 0; i < j->to_outer.count; i++)
        for (size_t k = 0; k < j->to_inner.count; k++) {
            LLVMBasicBlockRef outer = j->to_outer.list[i], inner = j->to_inner.list[k];
            LLVMValueRef node = node_of(outer, loop_kind);
            if (outer == inner)
                return false;
            bool is_same = node && node == node_of(inner, loop_kind);
            is_one = is_one ||
                     ((is_same || (node && is_made_by_llvm(j->outer))) && llvm_goes_back(outer, j->outer));
        }
    return is_one;
}

/* Of the outer block's: it stays as it is in rounds of the inner loop. */
static void move_phi(const struct join *j, LLVMValueRef phi)
{
    LLVMPositionBuilderBefore(j->builder, LLVMGetFirstInstruction(j->inner));
    LLVMValueRef moved = LLVMBuildPhi(j->builder, LLVMTypeOf(phi), "");
    for (size_t i = 0; i < j->to_outer.count; i++)
        llvm_add_incoming(moved, llvm_incoming(phi, j->to_outer.list[i]), j->to_outer.list[i]);
    for (size_t i = 0; i < j->to_inner.count; i++)
        llvm_add_incoming(moved, moved, j->to_inner.list[i]);
    LLVMReplaceAllUsesWith(phi, moved);
}

/* Of the inner block's: what came in by the outer block comes from those before it. */
static void widen_phi(const struct join *j, LLVMValueRef phi)
{
    LLVMValueRef first = llvm_incoming(phi, j->outer);
    bool is_moved = LLVMIsAPHINode(first) && LLVMGetInstructionParent(first) == j->inner;
    LLVMPositionBuilderBefore(j->builder, phi);
    LLVMValueRef wide = LLVMBuildPhi(j->builder, LLVMTypeOf(phi), "");
    for (size_t i = 0; i < j->to_outer.count; i++)
        llvm_add_incoming(wide, is_moved ? llvm_incoming(first, j->to_outer.list[i]) : first,
                          j->to_outer.list[i]);
    for (size_t i = 0; i < j->to_inner.count; i++)
        llvm_add_incoming(wide, llvm_incoming(phi, j->to_inner.list[i]), j->to_inner.list[i]);
    LLVMReplaceAllUsesWith(phi, wide);
    LLVMInstructionEraseFromParent(phi);
}

/* What was moved out of the loop goes back into it: `to` is the first thing done there. */
static void move_work(const struct join *j, LLVMValueRef to)
{
    LLVMValueRef next;
    for (LLVMValueRef v = LLVMGetFirstInstruction(j->outer); !LLVMIsATerminatorInst(v); v = next) {
        next = LLVMGetNextInstruction(v);
        if (LLVMIsAPHINode(v))
            continue;
        LLVMInstructionRemoveFromParent(v);
        LLVMPositionBuilderBefore(j->builder, to);
        LLVMInsertIntoBuilder(j->builder, v);
    }
}

static void join(const struct join *j)
{
    LLVMValueRef own = LLVMGetFirstInstruction(j->inner), next;
    for (LLVMValueRef v = LLVMGetFirstInstruction(j->outer); LLVMIsAPHINode(v); v = LLVMGetNextInstruction(v))
        move_phi(j, v);
    for (; LLVMIsAPHINode(own); own = next) {
        next = LLVMGetNextInstruction(own);
        widen_phi(j, own);
    }
    move_work(j, own);
    for (size_t i = 0; i < j->to_outer.count; i++)
        llvm_lead(j->to_outer.list[i], j->outer, j->inner);
    LLVMDeleteBasicBlock(j->outer);
}

/* Whether no phi of the inner block is of what is done in the outer one, which will be done behind it. */
static bool can_move_work(const struct join *j)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(j->inner); LLVMIsAPHINode(phi);
         phi = LLVMGetNextInstruction(phi)) {
        LLVMValueRef first = llvm_incoming(phi, j->outer);
        if (!first || (LLVMIsAInstruction(first) && !LLVMIsAPHINode(first) &&
                       LLVMGetInstructionParent(first) == j->outer))
            return false;
    }
    return true;
}

/* Whether the loop that begins here has been made one with what it is around. */
static bool join_block(struct join *j, LLVMBasicBlockRef block, unsigned loop_kind)
{
    j->outer = block;
    j->inner = behind_work(block);
    if (!j->inner || j->inner == block || !find_before(block, &j->to_outer) ||
        !find_before(j->inner, &j->to_inner) || !can_move_work(j) || !is_one_loop(j, loop_kind))
        return false;
    for (size_t i = 0; i < j->to_inner.count; i++)
        if (j->to_inner.list[i] == block)
            j->to_inner.list[i] = j->to_inner.list[--j->to_inner.count];
    join(j);
    return true;
}

void llvm_join_loops(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct join j = {.builder = LLVMCreateBuilderInContext(context)};
    unsigned loop_kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f), next; b; b = next) {
            next = LLVMGetNextBasicBlock(b); /* only this one may go */
            join_block(&j, b, loop_kind);
        }
    LLVMDisposeBuilder(j.builder);
}
