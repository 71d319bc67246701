/* joulec/llvm/llvm_settle.c - see llvm_module.h: sums that LLVM has taken apart by cases, put together again.
 *
 * Where a round of a loop begins with a question such as j == 0, LLVM knows j in one of both ways on, and writes 1 there for
 * j + 1. The next j is then a choice of 1 and j + 1, of which scalar evolution knows nothing, and so neither how often the loop
 * runs.
 * Newcomers: all values that come in are the same sum of the same two, so that the sum can stand where the choice stood: on each
 * way its first part is there already.
 */
#include "joulec/llvm/llvm_module.h"

#define MOST_ROUNDS 8 /* sums of sums */

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

/* The one branch that leads to a block, by one of its ways; NULL: there are others. */
static LLVMValueRef only_way_to(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    LLVMValueRef user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    return user && LLVMIsABranchInst(user) ? user : NULL;
}

/* What `value` is where a branch leads to `to`. False: the branch does not say. */
static bool asked_by(LLVMValueRef branch, LLVMBasicBlockRef to, LLVMValueRef value, int64_t *out)
{
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) ||
        LLVMGetSuccessor(branch, 0) == LLVMGetSuccessor(branch, 1))
        return false;
    LLVMValueRef question = LLVMGetCondition(branch);
    if (!LLVMIsAICmpInst(question) || LLVMGetOperand(question, 0) != value)
        return false;
    LLVMIntPredicate kind = LLVMGetICmpPredicate(question);
    bool is_there = LLVMGetSuccessor(branch, kind == LLVMIntEQ ? 0 : 1) == to;
    return (kind == LLVMIntEQ || kind == LLVMIntNE) && is_there &&
           llvm_constant(LLVMGetOperand(question, 1), out);
}

/* The same at the end of `from`, on the way to `to`. */
static bool known_as(LLVMValueRef value, LLVMBasicBlockRef from, LLVMBasicBlockRef to, int64_t *out)
{
    if (asked_by(LLVMGetBasicBlockTerminator(from), to, value, out))
        return true;
    LLVMValueRef way = only_way_to(from);
    return way && asked_by(way, from, value, out);
}

/* Whether all that comes in is one sum. */
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
            is_found =
                known_as(out->value, LLVMGetIncomingBlock(phi, i), LLVMGetInstructionParent(phi), &known) &&
                (uint64_t)known + (uint64_t)out->by == (uint64_t)number;
        else
            is_found = sum_of(value, &sum) && sum.value == out->value && sum.by == out->by;
    }
    return is_found && count > 1;
}

static bool settle_block(LLVMBuilderRef builder, LLVMBasicBlockRef block)
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

void llvm_settle(LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        bool is_changed = true;
        for (int round = 0; is_changed && round < MOST_ROUNDS; round++) {
            is_changed = false;
            for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
                is_changed = settle_block(builder, b) || is_changed;
        }
    }
    LLVMDisposeBuilder(builder);
}
