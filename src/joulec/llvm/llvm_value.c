/* joulec/llvm/llvm_value.c - see llvm_module.h: integer operands, conditions, parameters and arguments.
 *
 * Note: LLVM's integers have no sign. Constants are read as signed, except constants of one bit and arguments
 * that the callee declares as zero-extended.
 */
#include "joulec/llvm/llvm_module.h"

#include <string.h>
#include "base/string.h"

#define MAX_PARTS    8  /* maximum number of comparisons of a condition */
#define MAX_LETTERS  64 /* maximum number of parameters of a type */
#define ADDRESS_BITS 64
#define MAX_STEPS    32 /* maximum number of values that are visited */

const char *llvm_name(struct arena *arena, LLVMValueRef value)
{
    size_t length = 0;
    const char *name = LLVMGetValueName2(value, &length);
    const char *copy = arena_copy(arena, name ? name : "", name ? length : 0);
    return copy ? copy : "";
}

unsigned llvm_integer_bits(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

/* Returns the operand for a value. All members are 0 if the value is no integer of at most 64 bits.
 * is_unsigned: true if constants narrower than 32 bits are unsigned. */
static struct operand operand_of(struct arena *arena, LLVMValueRef value, bool is_unsigned)
{
    unsigned bits = llvm_integer_bits(value);
    if (!bits || bits > 64)
        return (struct operand){0};
    if (LLVMIsAConstantInt(value)) {
        bool has_no_sign = bits == 1 || (is_unsigned && bits < 32);
        int64_t constant =
            has_no_sign ? (int64_t)LLVMConstIntGetZExtValue(value) : (int64_t)LLVMConstIntGetSExtValue(value);
        return (struct operand){.constant = constant, .is_constant = true, .bits = bits};
    }
    return LLVMIsAInstruction(value) || LLVMIsAArgument(value)
               ? (struct operand){.name = llvm_name(arena, value), .bits = bits}
               : (struct operand){0};
}

/* Returns the operand for one side of a comparison, which may be an address. */
static struct operand compared(struct arena *arena, LLVMValueRef value)
{
    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind &&
        (LLVMIsAInstruction(value) || LLVMIsAArgument(value)))
        return (struct operand){.name = llvm_name(arena, value), .bits = ADDRESS_BITS};
    return operand_of(arena, value, false);
}

static enum compare compare_of(LLVMIntPredicate predicate)
{
    switch (predicate) {
    case LLVMIntEQ:
        return COMPARE_EQ;
    case LLVMIntNE:
        return COMPARE_NE;
    case LLVMIntSLT:
        return COMPARE_SLT;
    case LLVMIntSLE:
        return COMPARE_SLE;
    case LLVMIntSGT:
        return COMPARE_SGT;
    case LLVMIntSGE:
        return COMPARE_SGE;
    case LLVMIntULT:
        return COMPARE_ULT;
    case LLVMIntULE:
        return COMPARE_ULE;
    case LLVMIntUGT:
        return COMPARE_UGT;
    default:
        return COMPARE_UGE;
    }
}

static bool is_bit(LLVMValueRef value, unsigned long long bit)
{
    return LLVMIsAConstantInt(value) && llvm_integer_bits(value) == 1 &&
           LLVMConstIntGetZExtValue(value) == bit;
}

/* Splits `a && b` or `a || b`, which clang may compile to a select. Returns false if the value is neither. */
static bool split(LLVMValueRef value, bool *out_is_any, LLVMValueRef parts[2])
{
    if (llvm_integer_bits(value) != 1 || !LLVMIsAInstruction(value))
        return false;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    parts[0] =
        opcode == LLVMAnd || opcode == LLVMOr || opcode == LLVMSelect ? LLVMGetOperand(value, 0) : NULL;
    if (!parts[0])
        return false;
    *out_is_any = opcode == LLVMOr || (opcode == LLVMSelect && is_bit(LLVMGetOperand(value, 1), 1));
    if (opcode == LLVMSelect && !*out_is_any && !is_bit(LLVMGetOperand(value, 2), 0))
        return false;
    parts[1] = LLVMGetOperand(value, opcode == LLVMSelect && *out_is_any ? 2 : 1);
    return true;
}

/* Collects the comparisons of a condition. Returns false if the condition contains other parts or too many
 * comparisons. */
static bool collect(struct arena *arena, LLVMValueRef value, struct comparison list[MAX_PARTS],
                    struct condition *out)
{
    LLVMValueRef waiting[MAX_STEPS] = {value}, parts[2];
    size_t count = 1;
    bool is_whole = true, is_any, is_split = split(value, &out->is_any, parts);
    for (size_t i = 0; i < count; i++) {
        LLVMValueRef part = waiting[i];
        if (is_split && count + 2 <= MAX_STEPS && split(part, &is_any, parts) && is_any == out->is_any) {
            waiting[count++] = parts[0];
            waiting[count++] = parts[1];
        } else if (LLVMIsAICmpInst(part) && out->count < MAX_PARTS) {
            LLVMValueRef left = LLVMGetOperand(part, 0), right = LLVMGetOperand(part, 1);
            list[out->count++] = (struct comparison){
                compare_of(LLVMGetICmpPredicate(part)), compared(arena, left), compared(arena, right),
                LLVMGetTypeKind(LLVMTypeOf(left)) == LLVMPointerTypeKind};
        } else {
            is_whole = false;
        }
    }
    return is_whole;
}

/* Parts that are no comparisons are omitted. The rest of a conjunction is still a necessary condition. The
 * rest of a disjunction is not necessary, so the whole disjunction is discarded. */
struct condition llvm_condition(struct arena *arena, LLVMValueRef value)
{
    struct comparison list[MAX_PARTS];
    struct condition out = {0};
    out.is_part = !collect(arena, value, list, &out);
    if (out.count && !(out.is_part && out.is_any))
        out.list = arena_alloc(arena, out.count * sizeof *out.list);
    if (!out.list)
        return (struct condition){0};
    memcpy(out.list, list, out.count * sizeof *out.list);
    return out;
}

struct condition llvm_switch_condition(struct arena *arena, LLVMValueRef last)
{
    unsigned cases = LLVMGetNumSuccessors(last) - 1;
    struct condition out = {.list = arena_alloc(arena, MAX_PARTS * sizeof *out.list)};
    struct operand tested = operand_of(arena, LLVMGetOperand(last, 0), false);
    for (unsigned i = 1; i <= cases && out.list; i++) {
        if (LLVMGetSuccessor(last, i) == LLVMGetSuccessor(last, 0))
            continue;
        out.is_part = out.count == MAX_PARTS;
        if (out.is_part)
            break;
        out.list[out.count++] = (struct comparison){
            COMPARE_NE, tested, operand_of(arena, LLVMGetOperand(last, 2 * i), false), false};
    }
    return out;
}

struct operand *llvm_parameters(struct arena *arena, LLVMValueRef function)
{
    unsigned count = LLVMCountParams(function);
    struct operand *parameters = arena_alloc(arena, (count + 1) * sizeof *parameters);
    for (unsigned i = 0; parameters && i < count; i++)
        parameters[i] = operand_of(arena, LLVMGetParam(function, i), false);
    return parameters;
}

struct operand *llvm_arguments(struct arena *arena, LLVMValueRef call, LLVMValueRef callee)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("zeroext", 7), count = LLVMGetNumArgOperands(call);
    struct operand *arguments = arena_alloc(arena, (count + 1) * sizeof *arguments);
    for (unsigned i = 0; arguments && i < count; i++) {
        bool is_unsigned =
            callee && i < LLVMCountParams(callee) && LLVMGetEnumAttributeAtIndex(callee, i + 1, kind) != NULL;
        arguments[i] = operand_of(arena, LLVMGetOperand(call, i), is_unsigned);
    }
    return arguments;
}

static char letter_of(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMVoidTypeKind:
        return 'v';
    case LLVMIntegerTypeKind:
        return 'i';
    case LLVMFloatTypeKind:
        return 'f';
    case LLVMDoubleTypeKind:
        return 'd';
    case LLVMX86_FP80TypeKind:
    case LLVMFP128TypeKind:
    case LLVMPPC_FP128TypeKind:
        return 'l';
    case LLVMPointerTypeKind:
        return 'p';
    default:
        return '?';
    }
}

static bool has_string_attribute(LLVMValueRef function, const char *attribute)
{
    LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    return LLVMGetStringAttributeAtIndex(function, index, attribute, (unsigned)strlen(attribute));
}

/* Returns true if the build uses -ffreestanding or -fno-builtin, so that `name` is not the C library's
 * function. */
static bool is_programs_own(LLVMValueRef call, const char *name)
{
    LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
    char attribute[MAX_LETTERS];
    string_print(attribute, sizeof attribute, "no-builtin-%s", name);
    return llvm_attribute(call, llvm_attribute_kind("nobuiltin")) ||
           has_string_attribute(function, "no-builtins") || has_string_attribute(function, attribute);
}

const char *llvm_call_type(struct arena *arena, LLVMValueRef call)
{
    LLVMValueRef callee = llvm_called_function(call);
    const char *name = callee ? LLVMGetValueName2(callee, &(size_t){0}) : "";
    LLVMTypeRef type = LLVMGetCalledFunctionType(call), parameters[MAX_LETTERS];
    unsigned count = LLVMCountParamTypes(type), length = 0;
    char letters[MAX_LETTERS + 3];
    if (!callee || string_starts(name, "llvm."))
        return NULL;
    if (count > MAX_LETTERS || is_programs_own(call, name))
        return "";
    LLVMGetParamTypes(type, parameters);
    letters[length++] = letter_of(LLVMGetReturnType(type));
    for (unsigned i = 0; i < count; i++)
        letters[length++] = letter_of(parameters[i]);
    if (LLVMIsFunctionVarArg(type))
        letters[length++] = '.';
    const char *copy = arena_copy(arena, letters, length);
    return copy ? copy : "";
}
