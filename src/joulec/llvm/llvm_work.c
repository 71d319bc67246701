/* joulec/llvm/llvm_work.c - see llvm_module.h: instructions as micro-operations.
 *
 * Newcomers: an address is added up by the load or store that uses it, and a comparison is one with its branch.
 */
#include "joulec/llvm/llvm_module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"

#define MEMORY_WRITTEN 0xaaaaaaaau /* of LLVM's attribute "memory" */

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

/* --- what is done ------------------------------------------------------------------------------------------- */

/* From operands to result, in cycles: typical of large cores since 2013 (Agner Fog's tables; uops.info). */
static const double latency[WORK_KINDS] = {
    [WORK_INT] = 1,        [WORK_INT_MUL] = 3, [WORK_INT_DIV] = 18, [WORK_FLOAT] = 4,   [WORK_FMA] = 4,
    [WORK_FLOAT_DIV] = 14, [WORK_LOAD] = 5,    [WORK_STORE] = 4,    [WORK_ATOMIC] = 20, [WORK_BRANCH] = 0};

static bool is_compare_of_branch(LLVMValueRef value)
{
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use) && LLVMIsABranchInst(LLVMGetUser(use));
}

/* Of what is always the same; WORK_KINDS: phi, bitcast, address that a load or store adds up itself, and the like. */
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

/* WORK_KINDS: it costs nothing of its own. */
static enum work work_of_instruction(LLVMValueRef value)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    switch (opcode) {
    case LLVMICmp:
        return is_compare_of_branch(value) ? WORK_KINDS : WORK_INT; /* fused */
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

/* -fsemantic-interposition lets a shared library's functions be replaced, too, where others see them. */
static bool lets_replace(LLVMValueRef global)
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
    case LLVMWeakODRLinkage: /* clang's for weak constants of C, too, whatever others have by that name */
        return LLVMIsAGlobalVariable(global);
    case LLVMExternalLinkage:
        return lets_replace(global);
    default:
        return false;
    }
}

LLVMValueRef llvm_body_of(LLVMValueRef call)
{
    LLVMValueRef callee = llvm_called_function(call);
    bool is_sure =
        callee && !LLVMIsDeclaration(callee) && !llvm_is_replaceable(callee) && !llvm_returns_again(call);
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

/* From LLVM 16 on, one attribute has two bits for each kind of memory: whether it is read, and whether it is written. */
bool llvm_writes_nothing(LLVMValueRef call)
{
    LLVMAttributeRef memory = llvm_attribute(call, llvm_attribute_kind("memory"));
    if (memory)
        return !(LLVMGetEnumAttributeValue(memory) & MEMORY_WRITTEN);
    return llvm_attribute(call, llvm_attribute_kind("readnone")) ||
           llvm_attribute(call, llvm_attribute_kind("readonly"));
}

bool llvm_touches_nothing(LLVMValueRef call)
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

/* Whether a product and a sum are one instruction. */
static bool can_fuse(LLVMValueRef instruction)
{
    return !llvm_lacks(instruction, "+fma");
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

/* A comparison and a choice, where there is no vector instruction for both. */
static bool is_choice(const char *intrinsic)
{
    static const char *const names[] = {"llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin.", "llvm.abs."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (string_starts(intrinsic, names[i]))
            return true;
    return false;
}

/* A comparison whose answer is a number, and not only the way of a branch or of a choice, must be fetched from the flags. */
static bool is_answer_kept(LLVMValueRef comparison)
{
    for (LLVMUseRef use = LLVMGetFirstUse(comparison); use; use = LLVMGetNextUse(use))
        if (!LLVMIsABranchInst(LLVMGetUser(use)) && !LLVMIsASelectInst(LLVMGetUser(use)))
            return true;
    return false;
}

/* Micro-operations of one instruction on one register. */
static double steps_of(LLVMValueRef value, bool is_vector)
{
    LLVMValueRef callee = intrinsic_of(value);
    const char *name = callee ? LLVMGetValueName2(callee, &(size_t){0}) : "";
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMUIToFP:
    case LLVMSIToFP:
        return is_vector ? 1 : 2; /* and from one kind of register to the other */
    case LLVMICmp:
    case LLVMFCmp:
        return !is_vector && is_answer_kept(value) ? 2 : 1;
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr: /* by a number that is only known when it runs: it changes the flags, where that cannot be helped */
        return !is_vector && !LLVMIsAConstant(LLVMGetOperand(value, 1)) && llvm_lacks(value, "+bmi2") ? 2 : 1;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
        return llvm_division_steps(value);
    default:
        if (string_starts(name, "llvm.fmuladd."))
            return can_fuse(value) ? 1 : 2;
        if (string_starts(name, "llvm.vector.reduce."))
            return llvm_reducing_steps(value);
        return !is_vector && is_choice(name) ? 2 : 1;
    }
}

/* All of what an instruction works on; 0: no vector. */
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

double llvm_parts(LLVMValueRef value)
{
    double bits = whole_bits(value);
    if (bits <= 0)
        return steps_of(value, false);
    return steps_of(value, true) * llvm_vector_steps(value) *
           (bits > 128 ? ceil(bits / llvm_register_bits(value)) : 1);
}

double llvm_latency(enum work work)
{
    return work < WORK_KINDS ? latency[work] : 0;
}

/* What is added to a product does not wait for it. */
double llvm_waits(LLVMValueRef value, unsigned operand)
{
    LLVMValueRef callee = intrinsic_of(value);
    const char *name = callee ? LLVMGetValueName2(callee, &(size_t){0}) : "";
    if (string_starts(name, "llvm.fmuladd.") && operand == 2)
        return 1;
    if (llvm_is_division(value))
        return llvm_division_waits(value);
    return steps_of(value, LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind);
}
