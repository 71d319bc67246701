/* joulec/llvm/llvm_meet.c - see llvm_module.h: loops that end where two of their values meet, as `i < j` does that goes on with i++, j--.
 *
 * Scalar evolution counts loops whose value reaches one that stays. How far two values are from each other is a value too, that
 * goes on by the same each round, and reaches 0, which stays: so it is asked for that.
 * Newcomers: newer LLVM does this for numbers by itself. Nothing else must see it, as no compiler makes it: all of the module has been
 * read before.
 */
#include "joulec/llvm/llvm_module.h"

#define WIDE_BITS 64 /* of the distance: that of narrower numbers fits, whatever they are */

/* The phi of which a value is, or is the sum with a constant; NULL: none. */
static LLVMValueRef phi_of(LLVMValueRef value)
{
    int64_t by;
    if (!LLVMIsAInstruction(value))
        return NULL;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    bool is_sum = opcode == LLVMAdd || opcode == LLVMGetElementPtr;
    if (is_sum && LLVMGetNumOperands(value) == 2 && llvm_constant(LLVMGetOperand(value, 1), &by))
        value = LLVMGetOperand(value, 0);
    return LLVMIsAPHINode(value) ? value : NULL;
}

/* Whether it comes back to where it was, and a constant further. */
static bool goes_on(LLVMValueRef phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef from = LLVMGetIncomingValue(phi, i);
        if (from != phi && phi_of(from) == phi)
            return true;
    }
    return false;
}

/* Whether two values go on in the same loop; or one of two addresses, of which LLVM looks at where they are and not at how far
 * that is. */
static bool come_closer(LLVMValueRef a, LLVMValueRef b, bool is_address)
{
    LLVMValueRef left = phi_of(a), right = phi_of(b);
    bool left_goes = left && goes_on(left), right_goes = right && goes_on(right);
    if (!left_goes || !right_goes)
        return is_address && (left_goes || right_goes);
    return left != right && LLVMGetInstructionParent(left) == LLVMGetInstructionParent(right);
}

/* What is asked of a distance in the place of what is asked of two pointers, or of two numbers with a sign. 0: nothing that is the
 * same. Pointers that are compared are of one variable, which is no larger than half of all addresses. */
static LLVMIntPredicate signed_kind(LLVMIntPredicate kind, bool is_address)
{
    switch (kind) {
    case LLVMIntUGT:
        return is_address ? LLVMIntSGT : 0;
    case LLVMIntUGE:
        return is_address ? LLVMIntSGE : 0;
    case LLVMIntULT:
        return is_address ? LLVMIntSLT : 0;
    case LLVMIntULE:
        return is_address ? LLVMIntSLE : 0;
    case LLVMIntSGT:
    case LLVMIntSGE:
    case LLVMIntSLT:
    case LLVMIntSLE:
        return is_address ? 0 : kind;
    default:
        return 0;
    }
}

static LLVMValueRef as_wide(LLVMBuilderRef builder, LLVMValueRef value, LLVMTypeRef wide, bool is_address)
{
    if (is_address)
        return LLVMBuildPtrToInt(builder, value, wide, "");
    return LLVMTypeOf(value) == wide ? value : LLVMBuildSExt(builder, value, wide, "");
}

static void ask_for_distance(LLVMBuilderRef builder, LLVMValueRef question)
{
    LLVMValueRef left = LLVMGetOperand(question, 0), right = LLVMGetOperand(question, 1);
    LLVMTypeRef type = LLVMTypeOf(left), wide = LLVMIntTypeInContext(LLVMGetTypeContext(type), WIDE_BITS);
    bool is_address = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
    bool is_narrow = LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= WIDE_BITS;
    LLVMIntPredicate kind = signed_kind(LLVMGetICmpPredicate(question), is_address);
    if (!kind || (!is_address && !is_narrow) || !come_closer(left, right, is_address))
        return;
    LLVMPositionBuilderBefore(builder, question);
    LLVMValueRef distance = LLVMBuildNSWSub(builder, as_wide(builder, left, wide, is_address),
                                            as_wide(builder, right, wide, is_address), "");
    LLVMReplaceAllUsesWith(question, LLVMBuildICmp(builder, kind, distance, LLVMConstInt(wide, 0, true), ""));
}

void llvm_meet(LLVMModuleRef module)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMIsAICmpInst(i))
                    ask_for_distance(builder, i);
            }
    LLVMDisposeBuilder(builder);
}
