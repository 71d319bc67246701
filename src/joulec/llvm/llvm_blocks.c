/* joulec/llvm/llvm_blocks.c - see llvm_module.h: how blocks lead to each other. */
#include "joulec/llvm/llvm_module.h"

LLVMValueRef llvm_incoming(LLVMValueRef phi, LLVMBasicBlockRef from)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == from)
            return LLVMGetIncomingValue(phi, i);
    return NULL;
}

bool llvm_is_incoming(LLVMValueRef phi, LLVMValueRef value)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingValue(phi, i) == value)
            return true;
    return false;
}

void llvm_add_incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &value, &from, 1);
}

void llvm_lead(LLVMBasicBlockRef from, LLVMBasicBlockRef old, LLVMBasicBlockRef to)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(from);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (LLVMGetSuccessor(last, i) == old)
            LLVMSetSuccessor(last, i, to);
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
    struct llvm_walk walk = {.list = {from}, .count = 1};
    for (size_t i = 0; i < walk.count; i++) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(walk.list[i]);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(last, k);
            if (to != block && (to == from || !llvm_walk_add(&walk, to)))
                return false;
        }
    }
    return true;
}
