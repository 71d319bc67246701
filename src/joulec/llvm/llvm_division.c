/* joulec/llvm/llvm_division.c - see llvm_module.h: divisions of whole numbers, as compilers make them.
 *
 * By a constant they are a product with its inverse, of which the upper half is taken, and some shifts (Granlund and Montgomery,
 * "Division by Invariant Integers using Multiplication", 1994); by a power of two, shifts alone. A remainder costs little where the
 * quotient of the same two numbers is made, too.
 * Of more than 64 bits they are calls of the compiler's own functions (__divti3 and its like), also by constants.
 * Newcomers: clang's passes leave all that to the code generator, so that the IR still says "divide".
 */
#include <math.h>
#include <stdlib.h>
#include "joulec/llvm/llvm_module.h"

/* Of 64 bits against 32: cycles of Golden Cove, Ice Lake and Zen 3; before those it was 3 to 6 (uops.info). */
#define WIDE_DIVISION (5.0 / 3)

/* Of 128 bits against 32: 10 to 20 cycles of Golden Cove, where that takes 6; whole numbers' steps beside the division, which find
 * where the numbers begin and which half is 0; and its wait against that of one instruction. Measured. */
#define LONG_DIVISION 3
#define LONG_INTS     20
#define LONG_WAIT     1.5

#define MOST_USES 16 /* of a number, that are looked through for its quotient */

enum way { WAY_DIVIDE, WAY_PRODUCT, WAY_SHIFT };

static bool is_signed(LLVMOpcode opcode)
{
    return opcode == LLVMSDiv || opcode == LLVMSRem;
}

static bool is_remainder(LLVMOpcode opcode)
{
    return opcode == LLVMURem || opcode == LLVMSRem;
}

bool llvm_is_division(LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return false;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    return opcode == LLVMUDiv || is_signed(opcode) || is_remainder(opcode);
}

/* Wider than a register. */
static bool is_long(LLVMValueRef division)
{
    LLVMTypeRef type = LLVMTypeOf(division);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 64;
}

static enum way way_of(LLVMValueRef division)
{
    LLVMValueRef by = LLVMGetOperand(division, 1);
    int64_t shift;
    if (is_long(division))
        return llvm_constant(by, &shift) && shift > 0 && !(shift & (shift - 1)) ? WAY_SHIFT : WAY_DIVIDE;
    if (!LLVMIsAConstant(by) || LLVMIsAConstantExpr(by) || LLVMIsAUndefValue(by))
        return WAY_DIVIDE;
    if (!LLVMIsAConstantInt(by))
        return WAY_PRODUCT;
    bool can_be_negative = is_signed(LLVMGetInstructionOpcode(division));
    unsigned long long number = can_be_negative ? (unsigned long long)llabs(LLVMConstIntGetSExtValue(by))
                                                : LLVMConstIntGetZExtValue(by);
    return number & (number - 1) ? WAY_PRODUCT : WAY_SHIFT;
}

/* Whether the quotient of a remainder's numbers is made in its block, too. */
static bool has_quotient(LLVMValueRef remainder)
{
    LLVMOpcode wanted =
        is_signed(LLVMGetInstructionOpcode(remainder)) ? (LLVMOpcode)LLVMSDiv : (LLVMOpcode)LLVMUDiv;
    LLVMUseRef use = LLVMGetFirstUse(LLVMGetOperand(remainder, 0));
    for (int i = 0; use && i < MOST_USES; i++, use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAInstruction(user) && LLVMGetInstructionOpcode(user) == wanted &&
            LLVMGetOperand(user, 0) == LLVMGetOperand(remainder, 0) &&
            LLVMGetOperand(user, 1) == LLVMGetOperand(remainder, 1) &&
            LLVMGetInstructionParent(user) == LLVMGetInstructionParent(remainder))
            return true;
    }
    return false;
}

enum work llvm_division_work(LLVMValueRef division)
{
    static const enum work works[] = {
        [WAY_DIVIDE] = WORK_INT_DIV, [WAY_PRODUCT] = WORK_INT_MUL, [WAY_SHIFT] = WORK_INT};
    return works[way_of(division)];
}

double llvm_division_steps(LLVMValueRef division)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(division);
    LLVMTypeRef type = LLVMTypeOf(division);
    switch (way_of(division)) {
    case WAY_DIVIDE:
        if (is_long(division))
            return LONG_DIVISION;
        if (is_remainder(opcode) && has_quotient(division))
            return 0; /* one instruction makes both */
        return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 32 ? WIDE_DIVISION
                                                                                              : 1;
    case WAY_PRODUCT: /* a remainder is the number less the quotient's product */
        return is_remainder(opcode) && !has_quotient(division) ? 2 : 1;
    default: /* a negative number's sign makes a correction, which is added */
        return !is_signed(opcode) ? 1 : is_remainder(opcode) ? 4 : 3;
    }
}

double llvm_division_ints(LLVMValueRef division)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(division);
    double quotient = is_signed(opcode) ? 3 : 1;
    if (is_long(division))
        return way_of(division) == WAY_DIVIDE ? LONG_INTS : 0;
    if (way_of(division) != WAY_PRODUCT)
        return 0;
    if (!is_remainder(opcode))
        return quotient;
    return has_quotient(division) ? 1 : quotient + 1;
}

double llvm_division_waits(LLVMValueRef division)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(division);
    double product = llvm_latency(WORK_INT_MUL), cycles = product + (is_signed(opcode) ? 2 : 1);
    if (is_remainder(opcode))
        cycles += product + 1;
    switch (way_of(division)) {
    case WAY_DIVIDE:
        return is_long(division) ? LONG_WAIT : 1; /* a wide one gives its result not much later */
    case WAY_PRODUCT:
        return cycles / product;
    default:
        return llvm_division_steps(division);
    }
}
