/* joulec/llvm/llvm_phi_sum.c - see llvm_module.h: replaces phis whose incoming values equal one sum. LLVM
 * creates such phis when it splits a sum by cases.
 *
 * If an iteration begins with a test such as j == 0, LLVM knows that j is 0 on one path, and replaces j + 1
 * by 1 on this path. The next j is then a phi of 1 and j + 1. Scalar evolution cannot analyse this phi, so
 * the loop has no trip count.
 * Note: all incoming values equal the same sum, whose operands dominate the phi. So the sum can replace the
 * phi.
 */
#include "joulec/llvm/llvm_module.h"

#define MAX_PASSES 8 /* maximum nesting of sums */

/* value + by */
struct sum {
    LLVMValueRef value;
    int64_t by;
};

static bool sum_of(LLVMValueRef value, struct sum *out)
{
    if (!LLVMIsAInstruction(value) || LLVMGetInstructionOpcode(value) != LLVMAdd)
        return false;
    out->value = LLVMGetOperand(value, 0);
    return LLVMIsAInstruction(out->value) && llvm_constant(LLVMGetOperand(value, 1), &out->by);
}

/* Returns the only branch to a block; NULL: there are several edges. */
static LLVMValueRef only_branch_to(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    LLVMValueRef user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    return user && LLVMIsABranchInst(user) ? user : NULL;
}

/* Sets *out to the constant that `value` equals on the edge to `to`, if `branch` tests for equality. Returns
 * false if there is no such constant. */
static bool value_by_branch(LLVMValueRef branch, LLVMBasicBlockRef to, LLVMValueRef value, int64_t *out)
{
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) ||
        LLVMGetSuccessor(branch, 0) == LLVMGetSuccessor(branch, 1))
        return false;
    LLVMValueRef condition = LLVMGetCondition(branch);
    if (!LLVMIsAICmpInst(condition) || LLVMGetOperand(condition, 0) != value)
        return false;
    LLVMIntPredicate kind = LLVMGetICmpPredicate(condition);
    bool is_on_edge = LLVMGetSuccessor(branch, kind == LLVMIntEQ ? 0 : 1) == to;
    return (kind == LLVMIntEQ || kind == LLVMIntNE) && is_on_edge &&
           llvm_constant(LLVMGetOperand(condition, 1), out);
}

/* Sets *out to the constant that `value` equals if control goes from the block `from` to the block `to`.
 * Returns false if the branches in or before `from` show no such constant. */
static bool value_on_path(LLVMValueRef value, LLVMBasicBlockRef from, LLVMBasicBlockRef to, int64_t *out)
{
    if (value_by_branch(LLVMGetBasicBlockTerminator(from), to, value, out))
        return true;
    LLVMValueRef branch = only_branch_to(from);
    return branch && value_by_branch(branch, from, value, out);
}

/* Returns true if all incoming values equal one sum, and sets *out to this sum. */
static bool is_one_sum(LLVMValueRef phi, struct sum *out)
{
    unsigned count = LLVMCountIncoming(phi);
    bool is_found = false;
    for (unsigned i = 0; i < count && !is_found; i++)
        is_found = sum_of(LLVMGetIncomingValue(phi, i), out);
    for (unsigned i = 0; i < count && is_found; i++) {
        LLVMValueRef value = LLVMGetIncomingValue(phi, i);
        struct sum sum;
        int64_t number, known;
        if (llvm_constant(value, &number))
            is_found = value_on_path(out->value, LLVMGetIncomingBlock(phi, i), LLVMGetInstructionParent(phi),
                                     &known) &&
                       (uint64_t)known + (uint64_t)out->by == (uint64_t)number;
        else
            is_found = sum_of(value, &sum) && sum.value == out->value && sum.by == out->by;
    }
    return is_found && count > 1;
}

static bool fold_block(LLVMBuilderRef builder, LLVMBasicBlockRef block)
{
    bool is_changed = false;
    LLVMValueRef next, first = LLVMGetFirstInstruction(block);
    while (first && LLVMIsAPHINode(first))
        first = LLVMGetNextInstruction(first);
    for (LLVMValueRef phi = LLVMGetFirstInstruction(block); first && LLVMIsAPHINode(phi); phi = next) {
        struct sum sum;
        next = LLVMGetNextInstruction(phi);
        if (LLVMGetTypeKind(LLVMTypeOf(phi)) != LLVMIntegerTypeKind || !is_one_sum(phi, &sum))
            continue;
        LLVMPositionBuilderBefore(builder, first);
        LLVMValueRef by = LLVMConstInt(LLVMTypeOf(phi), (uint64_t)sum.by, true);
        LLVMReplaceAllUsesWith(phi, LLVMBuildAdd(builder, sum.value, by, ""));
        LLVMInstructionEraseFromParent(phi);
        is_changed = true;
    }
    return is_changed;
}

void llvm_fold_phi_sums(LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        bool is_changed = true;
        for (int round = 0; is_changed && round < MAX_PASSES; round++) {
            is_changed = false;
            for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
                is_changed = fold_block(builder, b) || is_changed;
        }
    }
    LLVMDisposeBuilder(builder);
}
