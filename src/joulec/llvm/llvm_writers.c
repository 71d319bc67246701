/* joulec/llvm/llvm_writers.c - see llvm_module.h: what calls may write to a place that a function counts in.
 *
 * Newcomers: where one function alone writes to a variable, none of its calls does: one that comes back to it is another passing.
 */
#include "base/string.h"
#include "joulec/llvm/llvm_module.h"

#define MOST_DEPTH 8 /* of addresses that are made from a variable's */

static LLVMValueRef function_of(LLVMValueRef instruction)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
}

static bool is_memory_intrinsic(LLVMValueRef call)
{
    LLVMValueRef callee = llvm_called_function(call);
    return callee && string_starts(LLVMGetValueName2(callee, &(size_t){0}), "llvm.");
}

/* What its first operand says where. */
static bool moves_memory(LLVMValueRef call)
{
    LLVMValueRef callee = llvm_called_function(call);
    return callee && string_starts(LLVMGetValueName2(callee, &(size_t){0}), "llvm.mem");
}

static bool writes_elsewhere(LLVMValueRef address, LLVMValueRef here, LLVMValueRef callee, int depth);

/* `user` may lead to a store at the address, in `callee`, or anywhere but `here` where that is NULL. */
static bool use_writes_elsewhere(LLVMValueRef user, LLVMValueRef address, LLVMValueRef here,
                                 LLVMValueRef callee, int depth)
{
    bool is_constant = LLVMIsAConstantExpr(user);
    if (is_constant || LLVMIsAGetElementPtrInst(user) || LLVMIsABitCastInst(user))
        return writes_elsewhere(user, here, callee, depth + 1);
    if (LLVMIsALoadInst(user) || LLVMIsAICmpInst(user))
        return false;
    bool is_store = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != address;
    if (!is_store && !(LLVMIsACallInst(user) && is_memory_intrinsic(user)))
        return true;
    return callee ? function_of(user) == callee : function_of(user) != here;
}

/* Whether another function may write there: somebody has given the address away, or stores in it. */
static bool writes_elsewhere(LLVMValueRef address, LLVMValueRef here, LLVMValueRef callee, int depth)
{
    bool writes = depth == MOST_DEPTH;
    for (LLVMUseRef use = LLVMGetFirstUse(address); use && !writes; use = LLVMGetNextUse(use))
        writes = use_writes_elsewhere(LLVMGetUser(use), address, here, callee, depth);
    return writes;
}

/* A function that calls nothing; NULL: it is another, or unknown. */
static LLVMValueRef leaf_of(LLVMValueRef call, size_t *looks)
{
    LLVMValueRef callee = llvm_body_of(call);
    if (!callee)
        return NULL;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(callee); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
            ++*looks;
            if (llvm_is_real_call(v) && !llvm_writes_nothing(v) && !is_memory_intrinsic(v))
                return NULL;
        }
    return callee;
}

/* Nobody outside of the module, or of the call, has the name of a variable. */
static bool is_private(LLVMValueRef variable)
{
    return LLVMIsAAllocaInst(variable) ||
           (LLVMIsAGlobalVariable(variable) && LLVMGetLinkage(variable) == LLVMInternalLinkage);
}

bool llvm_call_may_write(LLVMValueRef call, const struct llvm_place *place, size_t *looks)
{
    LLVMValueRef variable = place->extent.base;
    if (!llvm_is_real_call(call))
        return llvm_work(call) == WORK_STORE;
    if (llvm_writes_nothing(call))
        return false;
    if (moves_memory(call))
        return llvm_base_of(LLVMGetOperand(call, 0)) == llvm_base_of(place->address);
    return !is_private(variable) || (writes_elsewhere(variable, function_of(call), NULL, 0) &&
                                     writes_elsewhere(variable, NULL, leaf_of(call, looks), 0));
}
