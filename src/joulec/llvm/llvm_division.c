/* joulec/llvm/llvm_division.c - see llvm_module.h: integer divisions as compilers generate them.
 *
 * A division by a constant is a multiplication by the constant's inverse, followed by shifts of the product's
 * upper half. Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994. A
 * division by a power of two consists of shifts. A remainder is cheap if the quotient of the same operands is
 * computed, too. A division of integers wider than 64 bits is a call of the compiler's runtime library (such
 * as __divti3), even if the divisor is a constant, except a power of two.
 * Note: the code generator makes these replacements after clang's passes, so the IR still contains the
 * division.
 */
#include <math.h>
#include <stdlib.h>
#include "joulec/llvm/llvm_module.h"

/* Cycles of a 64-bit division divided by those of a 32-bit division, on Golden Cove, Ice Lake and Zen 3. On
 * older cores the factor is 3 to 6 (uops.info). */
#define WIDE_DIVISION (5.0 / 3)

/* The following three values were measured for a division of 128 bits on Golden Cove. */
/* time divided by that of a 32-bit division (10 to 20 cycles instead of 6) */
#define LONG_DIVISION 3
/* number of integer micro-operations besides the division; they find the highest bits and test for zero
 * halves */
#define LONG_INTS 20
/* latency divided by that of one division instruction */
#define LONG_LATENCY_FACTOR 1.5

#define MAX_USES 16 /* maximum uses of an operand that are searched for the quotient */

enum division_kind { KIND_DIVIDE, KIND_PRODUCT, KIND_SHIFT };

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

/* Returns true for divisions wider than a register. */
static bool is_long(LLVMValueRef division)
{
    LLVMTypeRef type = LLVMTypeOf(division);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 64;
}

static enum division_kind kind_of(LLVMValueRef division)
{
    LLVMValueRef by = LLVMGetOperand(division, 1);
    int64_t shift;
    if (is_long(division))
        return llvm_constant(by, &shift) && shift > 0 && !(shift & (shift - 1)) ? KIND_SHIFT : KIND_DIVIDE;
    if (!LLVMIsAConstant(by) || LLVMIsAConstantExpr(by) || LLVMIsAUndefValue(by))
        return KIND_DIVIDE;
    if (!LLVMIsAConstantInt(by))
        return KIND_PRODUCT;
    bool can_be_negative = is_signed(LLVMGetInstructionOpcode(division));
    unsigned long long number = can_be_negative ? (unsigned long long)llabs(LLVMConstIntGetSExtValue(by))
                                                : LLVMConstIntGetZExtValue(by);
    return number & (number - 1) ? KIND_PRODUCT : KIND_SHIFT;
}

/* Returns true if the quotient of the same operands is computed in the same block. */
static bool has_quotient(LLVMValueRef remainder)
{
    LLVMOpcode wanted =
        is_signed(LLVMGetInstructionOpcode(remainder)) ? (LLVMOpcode)LLVMSDiv : (LLVMOpcode)LLVMUDiv;
    LLVMUseRef use = LLVMGetFirstUse(LLVMGetOperand(remainder, 0));
    for (int i = 0; use && i < MAX_USES; i++, use = LLVMGetNextUse(use)) {
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
        [KIND_DIVIDE] = WORK_INT_DIV, [KIND_PRODUCT] = WORK_INT_MUL, [KIND_SHIFT] = WORK_INT};
    return works[kind_of(division)];
}

double llvm_division_uops(LLVMValueRef division)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(division);
    LLVMTypeRef type = LLVMTypeOf(division);
    switch (kind_of(division)) {
    case KIND_DIVIDE:
        if (is_long(division))
            return LONG_DIVISION;
        if (is_remainder(opcode) && has_quotient(division))
            return 0; /* one instruction computes both */
        return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 32 ? WIDE_DIVISION
                                                                                              : 1;
    case KIND_PRODUCT: /* a remainder is the dividend minus the quotient times the divisor */
        return is_remainder(opcode) && !has_quotient(division) ? 2 : 1;
    default: /* a negative dividend needs a correction */
        return !is_signed(opcode) ? 1 : is_remainder(opcode) ? 4 : 3;
    }
}

double llvm_division_int_uops(LLVMValueRef division)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(division);
    double quotient = is_signed(opcode) ? 3 : 1;
    if (is_long(division))
        return kind_of(division) == KIND_DIVIDE ? LONG_INTS : 0;
    if (kind_of(division) != KIND_PRODUCT)
        return 0;
    if (!is_remainder(opcode))
        return quotient;
    return has_quotient(division) ? 1 : quotient + 1;
}

double llvm_division_latency_factor(LLVMValueRef division)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(division);
    double product = llvm_latency(WORK_INT_MUL), cycles = product + (is_signed(opcode) ? 2 : 1);
    if (is_remainder(opcode))
        cycles += product + 1;
    switch (kind_of(division)) {
    case KIND_DIVIDE:
        /* a 64-bit division has little more latency than a 32-bit division */
        return is_long(division) ? LONG_LATENCY_FACTOR : 1;
    case KIND_PRODUCT:
        return cycles / product;
    default:
        return llvm_division_uops(division);
    }
}
