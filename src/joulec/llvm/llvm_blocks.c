/* joulec/llvm/llvm_blocks.c - see llvm_module.h: how blocks lead to each other. */
#include "joulec/llvm/llvm_module.h"

LLVMValueRef llvm_incoming(LLVMValueRef phi, LLVMBasicBlockRef from)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == from)
            return LLVMGetIncomingValue(phi, i);
    return NULL;
}

void llvm_lead(LLVMBasicBlockRef from, LLVMBasicBlockRef old, LLVMBasicBlockRef to)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(from);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (LLVMGetSuccessor(last, i) == old)
            LLVMSetSuccessor(last, i, to);
}

LLVMBasicBlockRef llvm_behind_phis(LLVMBasicBlockRef block)
{
    LLVMValueRef v = LLVMGetFirstInstruction(block);
    while (v && (LLVMIsAPHINode(v) || LLVMIsADbgInfoIntrinsic(v)))
        v = LLVMGetNextInstruction(v);
    return v && LLVMIsABranchInst(v) && !LLVMIsConditional(v) ? LLVMGetSuccessor(v, 0) : NULL;
}

bool llvm_walk_add(struct llvm_walk *walk, LLVMBasicBlockRef block)
{
    for (size_t i = 0; i < walk->count; i++)
        if (walk->list[i] == block)
            return true;
    if (walk->count == LLVM_WALK_BLOCKS)
        return false;
    walk->list[walk->count++] = block;
    return true;
}

bool llvm_goes_back(LLVMBasicBlockRef from, LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(from);
    struct llvm_walk walk = {.count = 0};
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (LLVMGetSuccessor(last, i) != block && !llvm_walk_add(&walk, LLVMGetSuccessor(last, i)))
            return false;
    for (size_t i = 0; i < walk.count; i++) {
        last = LLVMGetBasicBlockTerminator(walk.list[i]);
        if (walk.list[i] == from)
            return false;
        for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++)
            if (LLVMGetSuccessor(last, k) != block && !llvm_walk_add(&walk, LLVMGetSuccessor(last, k)))
                return false;
    }
    return true;
}
