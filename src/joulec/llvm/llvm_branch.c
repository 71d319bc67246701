/* joulec/llvm/llvm_branch.c - see llvm_module.h: finds out whether a branch depends on data, and what it
 * tests.
 *
 * Note: induction variables and comparisons with a null pointer are not data. Branches that test them nearly
 * always go the same way, so processors predict these branches.
 */
#include "joulec/llvm/llvm_module.h"

#define MAX_STEPS 64 /* maximum number of values that are visited */

struct search {
    LLVMValueRef visited[MAX_STEPS];
    size_t count;
};

static bool is_invariant(LLVMValueRef value)
{
    return !LLVMIsAInstruction(value);
}

/* Returns true if `value` is the phi plus or minus an invariant, or the phi shifted by an invariant. */
static bool is_step_from(LLVMValueRef value, LLVMValueRef phi)
{
    if (!LLVMIsAInstruction(value))
        return false;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    if (opcode != LLVMAdd && opcode != LLVMSub && opcode != LLVMGetElementPtr && opcode != LLVMShl &&
        opcode != LLVMLShr && opcode != LLVMAShr)
        return false;
    bool is_from = false;
    for (int i = 0; i < LLVMGetNumOperands(value); i++) {
        LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
        is_from = is_from || operand == phi;
        if (operand != phi && !is_invariant(operand))
            return false;
    }
    return is_from;
}

bool llvm_is_induction(LLVMValueRef phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (is_step_from(LLVMGetIncomingValue(phi, i), phi))
            return true;
    return false;
}

/* Adds an instruction to the values to visit, unless it is already in the list or the list is full. */
static void add(struct search *search, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value) || search->count == MAX_STEPS)
        return;
    for (size_t i = 0; i < search->count; i++)
        if (search->visited[i] == value)
            return;
    search->visited[search->count++] = value;
}

static void add_operands(struct search *search, LLVMValueRef value)
{
    bool is_phi = LLVMIsAPHINode(value);
    unsigned count = is_phi ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < count; i++)
        add(search, is_phi ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i));
}

static bool is_null_check(LLVMValueRef value)
{
    return LLVMIsAICmpInst(value) && LLVMIsAConstantPointerNull(LLVMGetOperand(value, 1));
}

/* Returns true if the value depends on a load whose address varies. */
static bool is_data(LLVMValueRef condition)
{
    struct search search = {.count = 0};
    add(&search, condition);
    for (size_t i = 0; i < search.count; i++) {
        LLVMValueRef value = search.visited[i];
        if (LLVMIsALoadInst(value) && !is_invariant(LLVMGetOperand(value, 0)))
            return true;
        bool is_end = LLVMIsALoadInst(value) || LLVMIsACallInst(value) || is_null_check(value) ||
                      (LLVMIsAPHINode(value) && llvm_is_induction(value));
        if (!is_end || (LLVMIsACallInst(value) && llvm_work(value) != WORK_KINDS))
            add_operands(&search, value);
    }
    return false;
}

static bool is_equality(LLVMValueRef comparison)
{
    if (LLVMIsAICmpInst(comparison))
        return LLVMGetICmpPredicate(comparison) == LLVMIntEQ || LLVMGetICmpPredicate(comparison) == LLVMIntNE;
    LLVMRealPredicate kind = LLVMGetFCmpPredicate(comparison);
    return kind == LLVMRealOEQ || kind == LLVMRealUEQ || kind == LLVMRealONE || kind == LLVMRealUNE;
}

/* Returns true for a load of a _Bool. clang attaches a range to such a load. */
static bool is_loaded_bool(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMIsALoadInst(value) && LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) == 8 && LLVMGetMetadata(value, LLVMGetMDKindID("range", 5));
}

/* Returns true if the value is one bit of another value. */
static bool is_bit(LLVMValueRef value)
{
    int64_t mask;
    return is_loaded_bool(value) ||
           (LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMAnd &&
            llvm_constant(LLVMGetOperand(value, 1), &mask) && mask > 0 && (mask & (mask - 1)) == 0);
}

static enum branch_test branch_test_of(LLVMValueRef condition)
{
    if (LLVMIsATruncInst(condition))
        return BRANCH_TEST_BIT;
    if (!LLVMIsAICmpInst(condition) && !LLVMIsAFCmpInst(condition))
        return BRANCH_TEST_LIMIT;
    if (is_equality(condition))
        return LLVMIsAICmpInst(condition) && is_bit(LLVMGetOperand(condition, 0)) ? BRANCH_TEST_BIT
                                                                                  : BRANCH_TEST_EQUAL;
    bool is_of_two = is_data(LLVMGetOperand(condition, 0)) && is_data(LLVMGetOperand(condition, 1));
    return is_of_two ? BRANCH_TEST_ORDER : BRANCH_TEST_LIMIT;
}

/* Returns true if all cases of a switch have the same successor. Such a switch tests whether a value is one
 * of several constants. */
static bool has_one_successor(LLVMValueRef last)
{
    for (unsigned i = 2; i < LLVMGetNumSuccessors(last); i++)
        if (LLVMGetSuccessor(last, i) != LLVMGetSuccessor(last, 1))
            return false;
    return true;
}

bool llvm_is_by_data(LLVMBasicBlockRef block, enum branch_test *out_test)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    *out_test = BRANCH_TEST_LIMIT;
    if (last && LLVMIsASwitchInst(last)) {
        bool is_by_data = is_data(LLVMGetOperand(last, 0));
        *out_test = is_by_data && has_one_successor(last) ? BRANCH_TEST_EQUAL : BRANCH_TEST_LIMIT;
        return is_by_data;
    }
    if (!last || !LLVMIsABranchInst(last) || !LLVMIsConditional(last))
        return false;
    *out_test = branch_test_of(LLVMGetCondition(last));
    return is_data(LLVMGetCondition(last));
}
