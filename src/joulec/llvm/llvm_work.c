/* joulec/llvm/llvm_work.c - see llvm_module.h: micro-operations and latencies of instructions.
 *
 * Note: the load or store that uses an address also computes it, and a comparison is fused with its branch.
 * So neither needs micro-operations of its own.
 */
#include "joulec/llvm/llvm_module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"

static int by_address(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct numbered *)a)->item,
              right = (uintptr_t)((const struct numbered *)b)->item;
    return (left > right) - (left < right);
}

bool llvm_number_all(struct arena *arena, void *const *items, size_t count, struct numbering *out)
{
    *out = (struct numbering){arena_alloc(arena, (count + 1) * sizeof *out->list), count};
    for (size_t i = 0; out->list && i < count; i++)
        out->list[i] = (struct numbered){items[i], (int32_t)i};
    if (out->list)
        qsort(out->list, count, sizeof *out->list, by_address);
    return out->list != NULL;
}

int32_t llvm_number_of(const struct numbering *numbering, const void *item)
{
    struct numbered key = {item, 0};
    const struct numbered *found = bsearch(&key, numbering->list, numbering->count, sizeof key, by_address);
    return found ? found->number : -1;
}

/* --- kinds of work -------------------------------------------------------------------------------------- */

/* Latency in cycles, typical of large cores since 2013 (Agner Fog's tables; uops.info). */
static const double latency[WORK_KINDS] = {
    [WORK_INT] = 1,        [WORK_INT_MUL] = 3, [WORK_INT_DIV] = 18, [WORK_FLOAT] = 4,   [WORK_FMA] = 4,
    [WORK_FLOAT_DIV] = 14, [WORK_LOAD] = 5,    [WORK_STORE] = 4,    [WORK_ATOMIC] = 20, [WORK_BRANCH] = 0};

static bool is_compare_of_branch(LLVMValueRef value)
{
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use) && LLVMIsABranchInst(LLVMGetUser(use));
}

/* Returns the kind of work of an opcode that has only one kind. Returns WORK_KINDS for phis, bitcasts,
 * addresses that a load or store computes, and similar. */
static enum work work_of_opcode(LLVMOpcode opcode)
{
    switch (opcode) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMSelect:
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector:
    case LLVMSExt:
        return WORK_INT;
    case LLVMMul:
        return WORK_INT_MUL;
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFNeg:
    case LLVMFCmp:
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMUIToFP:
    case LLVMSIToFP:
    case LLVMFPTrunc:
    case LLVMFPExt:
        return WORK_FLOAT;
    case LLVMFDiv:
    case LLVMFRem:
        return WORK_FLOAT_DIV;
    case LLVMLoad:
        return WORK_LOAD;
    case LLVMStore:
        return WORK_STORE;
    case LLVMFence:
    case LLVMAtomicCmpXchg:
    case LLVMAtomicRMW:
        return WORK_ATOMIC;
    case LLVMSwitch:
    case LLVMIndirectBr:
    case LLVMRet:
    case LLVMInvoke:
        return WORK_BRANCH;
    default:
        return WORK_KINDS;
    }
}

/* Returns the kind of an instruction's work; WORK_KINDS: it needs no micro-operations of its own. */
static enum work work_of_instruction(LLVMValueRef value)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    switch (opcode) {
    case LLVMICmp:
        return is_compare_of_branch(value) ? WORK_KINDS : WORK_INT; /* fused with the branch */
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        return llvm_division_work(value);
    case LLVMZExt:
    case LLVMTrunc:
        return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind ? WORK_INT : WORK_KINDS;
    case LLVMBr:
        return LLVMIsConditional(value) ? WORK_BRANCH : WORK_KINDS;
    default:
        return work_of_opcode(opcode);
    }
}

LLVMValueRef llvm_called_function(LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    while (callee && LLVMIsAConstantExpr(callee))
        callee = LLVMGetOperand(callee, 0);
    return callee && LLVMIsAFunction(callee) ? callee : NULL;
}

/* With -fsemantic-interposition, the linker may also replace visible functions of a shared library. */
static bool is_interposable(LLVMValueRef global)
{
    static const char flag[] = "SemanticInterposition";
    return LLVMGetVisibility(global) == LLVMDefaultVisibility &&
           LLVMGetModuleFlag(LLVMGetGlobalParent(global), flag, strlen(flag));
}

bool llvm_is_replaceable(LLVMValueRef global)
{
    switch (LLVMGetLinkage(global)) {
    case LLVMWeakAnyLinkage:
    case LLVMLinkOnceAnyLinkage:
    case LLVMCommonLinkage:
    case LLVMExternalWeakLinkage:
        return true;
    /* Clang also uses this linkage for weak constants of C, whose other definitions may differ */
    case LLVMWeakODRLinkage:
        return LLVMIsAGlobalVariable(global);
    case LLVMExternalLinkage:
        return is_interposable(global);
    default:
        return false;
    }
}

LLVMValueRef llvm_body_of(LLVMValueRef call)
{
    LLVMValueRef callee = llvm_called_function(call);
    bool is_sure =
        callee && !LLVMIsDeclaration(callee) && !llvm_is_replaceable(callee) && !llvm_returns_twice(call);
    return is_sure ? callee : NULL;
}

unsigned llvm_attribute_kind(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

LLVMAttributeRef llvm_attribute(LLVMValueRef call, unsigned kind)
{
    LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    LLVMValueRef callee = llvm_called_function(call);
    LLVMAttributeRef found = kind ? LLVMGetCallSiteEnumAttribute(call, index, kind) : NULL;
    return found || !callee || !kind ? found : LLVMGetEnumAttributeAtIndex(callee, index, kind);
}

/* Since LLVM 16, the attribute "memory" contains two bits for each kind of memory: read and written. */
bool llvm_accesses_no_memory(LLVMValueRef call)
{
    LLVMAttributeRef memory = llvm_attribute(call, llvm_attribute_kind("memory"));
    return memory ? !LLVMGetEnumAttributeValue(memory)
                  : llvm_attribute(call, llvm_attribute_kind("readnone")) != NULL;
}

bool llvm_constant(LLVMValueRef value, int64_t *out_value)
{
    if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64)
        return false;
    *out_value = LLVMConstIntGetSExtValue(value);
    return true;
}

static LLVMValueRef intrinsic_of(LLVMValueRef value)
{
    return LLVMIsACallInst(value) ? llvm_called_function(value) : NULL;
}

/* Returns true if a multiplication and an addition may be one fused instruction. */
static bool can_fuse(LLVMValueRef instruction)
{
    return !llvm_lacks_feature(instruction, "+fma");
}

enum work llvm_work(LLVMValueRef value)
{
    enum work work;
    if (!llvm_is_intrinsic(value, &work))
        return work_of_instruction(value);
    return work == WORK_FMA && !can_fuse(value) ? WORK_FLOAT : work;
}

static unsigned bits_of(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
        return 16;
    case LLVMFloatTypeKind:
        return 32;
    default:
        return 64;
    }
}

/* Returns true for intrinsics that become a comparison and a select if the operands are scalars. */
static bool is_choice(const char *intrinsic)
{
    static const char *const names[] = {"llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin.", "llvm.abs."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (string_starts(intrinsic, names[i]))
            return true;
    return false;
}

/* Returns true if the result of a comparison is used as a number, so that it must be copied from the
 * flags. */
static bool is_result_copied(LLVMValueRef comparison)
{
    for (LLVMUseRef use = LLVMGetFirstUse(comparison); use; use = LLVMGetNextUse(use))
        if (!LLVMIsABranchInst(LLVMGetUser(use)) && !LLVMIsASelectInst(LLVMGetUser(use)))
            return true;
    return false;
}

/* Returns the number of micro-operations of an instruction on one register. */
static double uops_of(LLVMValueRef value, bool is_vector)
{
    LLVMValueRef callee = intrinsic_of(value);
    const char *name = callee ? LLVMGetValueName2(callee, &(size_t){0}) : "";
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMUIToFP:
    case LLVMSIToFP:
        return is_vector ? 1 : 2; /* includes the move between integer and floating-point registers */
    case LLVMICmp:
    case LLVMFCmp:
        return !is_vector && is_result_copied(value) ? 2 : 1;
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr: /* without BMI2, a shift by a variable amount also updates the flags */
        return !is_vector && !LLVMIsAConstant(LLVMGetOperand(value, 1)) && llvm_lacks_feature(value, "+bmi2")
                   ? 2
                   : 1;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        return llvm_division_uops(value);
    default:
        if (string_starts(name, "llvm.fmuladd."))
            return can_fuse(value) ? 1 : 2;
        if (string_starts(name, "llvm.vector.reduce."))
            return llvm_reduction_uops(value);
        return !is_vector && is_choice(name) ? 2 : 1;
    }
}

/* Returns the bits of all elements of the vector that an instruction processes; 0: it processes no vector. */
static double whole_bits(LLVMValueRef value)
{
    LLVMTypeRef type =
        LLVMTypeOf(LLVMGetInstructionOpcode(value) == LLVMStore ? LLVMGetOperand(value, 0) : value);
    bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    return is_vector ? bits_of(LLVMGetElementType(type)) * (double)LLVMGetVectorSize(type) : 0;
}

double llvm_vector_bits(LLVMValueRef value)
{
    double bits = whole_bits(value);
    return bits > 128 ? fmin(bits, llvm_register_bits(value)) : bits;
}

double llvm_uops(LLVMValueRef value)
{
    double bits = whole_bits(value);
    if (bits <= 0)
        return uops_of(value, false);
    return uops_of(value, true) * llvm_vector_uops(value) *
           (bits > 128 ? ceil(bits / llvm_register_bits(value)) : 1);
}

double llvm_latency(enum work work)
{
    return work < WORK_KINDS ? latency[work] : 0;
}

/* The addend of llvm.fmuladd does not wait for the product, so it has the latency of one operation. */
double llvm_latency_factor(LLVMValueRef value, unsigned operand)
{
    LLVMValueRef callee = intrinsic_of(value);
    const char *name = callee ? LLVMGetValueName2(callee, &(size_t){0}) : "";
    if (string_starts(name, "llvm.fmuladd.") && operand == 2)
        return 1;
    if (llvm_is_division(value))
        return llvm_division_latency_factor(value);
    return uops_of(value, LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind);
}
