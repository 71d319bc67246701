/* joulec/llvm/llvm_access.c - see llvm_module.h: loads and stores with their addresses, and variables in
 * memory.
 *
 * Note: only the name of an address is read here. Scalar evolution provides the formula. Before LLVM 15 a
 * pointer's type states the pointed-to type, so there are casts between a global and its uses.
 */
#include "joulec/llvm/llvm_module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BASE_STEPS 16
#define MAX_TYPE_DEPTH 16

LLVMValueRef llvm_address_of(LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMLoad:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return LLVMGetOperand(value, 0);
    case LLVMStore:
        return LLVMGetOperand(value, 1);
    default:
        return NULL;
    }
}

LLVMValueRef llvm_underlying_object(LLVMValueRef address)
{
    for (int steps = 0; steps < MAX_BASE_STEPS; steps++) {
        bool is_computed =
            LLVMIsAConstantExpr(address) || LLVMIsAGetElementPtrInst(address) || LLVMIsABitCastInst(address);
        if (LLVMIsAPHINode(address) && LLVMCountIncoming(address) > 0)
            address = LLVMGetIncomingValue(address, 0);
        else if (is_computed && LLVMGetNumOperands(address) > 0)
            address = LLVMGetOperand(address, 0);
        else
            break;
    }
    return address;
}

/* Returns true for a scalable vector, and for a type that contains a scalable vector. LLVM aborts when it is
 * asked for the size of these types. */
static bool is_scalable(LLVMTypeRef type, int depth)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMScalableVectorTypeKind:
        return true;
    case LLVMArrayTypeKind:
        return depth == MAX_TYPE_DEPTH || is_scalable(LLVMGetElementType(type), depth + 1);
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
            if (depth == MAX_TYPE_DEPTH || is_scalable(LLVMStructGetTypeAtIndex(type, i), depth + 1))
                return true;
        return false;
    default:
        return false;
    }
}

double llvm_size_of(LLVMTargetDataRef layout, LLVMTypeRef type)
{
    return LLVMTypeIsSized(type) && !is_scalable(type, 0) ? (double)LLVMABISizeOfType(layout, type) : NAN;
}

/* A range of bytes within a variable. */
struct part {
    double low, high;
};

/* Replaces *type and *part by the type and the bytes of the element with this index. Returns false if the
 * index is unknown. */
static bool apply_index(LLVMTargetDataRef layout, LLVMValueRef index, LLVMTypeRef *type, struct part *part)
{
    int64_t number;
    bool is_known = llvm_constant(index, &number);
    if (LLVMGetTypeKind(*type) == LLVMStructTypeKind) {
        if (!is_known || is_scalable(*type, 0))
            return false;
        part->low += (double)LLVMOffsetOfElement(layout, *type, (unsigned)number);
        *type = LLVMStructGetTypeAtIndex(*type, (unsigned)number);
        part->high = part->low + llvm_size_of(layout, *type);
        return true;
    }
    if (LLVMGetTypeKind(*type) != LLVMArrayTypeKind)
        return false;
    *type = LLVMGetElementType(*type);
    if (is_known) {
        part->low += (double)number * llvm_size_of(layout, *type);
        part->high = part->low + llvm_size_of(layout, *type);
    }
    return is_known;
}

bool llvm_is_cast(LLVMValueRef address)
{
    return LLVMIsABitCastInst(address) ||
           (LLVMIsAConstantExpr(address) && LLVMGetConstOpcode(address) == LLVMBitCast);
}

bool llvm_is_indexed(LLVMValueRef address)
{
    return LLVMIsAGetElementPtrInst(address) ||
           (LLVMIsAConstantExpr(address) && LLVMGetConstOpcode(address) == LLVMGetElementPtr);
}

/* Sets *out to the bytes of the object that an indexed address can reach. The indices up to the first one
 * that is not constant limit these bytes. Returns false if an index is not constant. */
static bool narrow(LLVMTargetDataRef layout, LLVMValueRef address, struct part *out)
{
    int64_t first;
    *out = (struct part){-INFINITY, INFINITY};
    if (!llvm_constant(LLVMGetOperand(address, 1), &first))
        return false;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
    *out = (struct part){(double)first * llvm_size_of(layout, type),
                         ((double)first + 1) * llvm_size_of(layout, type)};
    for (int i = 2; i < LLVMGetNumOperands(address); i++)
        if (!apply_index(layout, LLVMGetOperand(address, (unsigned)i), &type, out))
            return false;
    return true;
}

/* Returns the bytes of the underlying object that an address can reach. */
static struct part part_of(LLVMTargetDataRef layout, LLVMValueRef address)
{
    struct part part = {-INFINITY, INFINITY};
    while (llvm_is_cast(address))
        address = LLVMGetOperand(address, 0);
    if (llvm_is_indexed(address) && llvm_underlying_object(address) == LLVMGetOperand(address, 0))
        narrow(layout, address, &part);
    return part;
}

bool llvm_may_alias(LLVMTargetDataRef layout, LLVMValueRef a, LLVMValueRef b)
{
    if (llvm_underlying_object(a) != llvm_underlying_object(b))
        return false;
    struct part of_a = part_of(layout, a), of_b = part_of(layout, b);
    return !(of_a.high <= of_b.low || of_b.high <= of_a.low);
}

/* Returns the name of a global with '@', as in struct scev_facts. */
static const char *global_name(struct arena *arena, LLVMValueRef global)
{
    size_t length;
    const char *name = LLVMGetValueName2(global, &length);
    char *copy = arena_alloc(arena, length + 2);
    if (copy) {
        copy[0] = '@';
        memcpy(copy + 1, name, length);
    }
    return copy;
}

const char *llvm_address_name(struct arena *arena, LLVMValueRef address)
{
    size_t length;
    while (LLVMIsAConstantExpr(address) && LLVMGetNumOperands(address) > 0)
        address = LLVMGetOperand(address, 0);
    if (LLVMIsAGlobalVariable(address))
        return global_name(arena, address);
    const char *name = LLVMGetValueName2(address, &length);
    return arena_copy(arena, name ? name : "", name ? length : 0);
}

static double bytes_of(LLVMTargetDataRef layout, LLVMValueRef value)
{
    bool is_store = LLVMGetInstructionOpcode(value) == LLVMStore;
    double bytes = llvm_size_of(layout, LLVMTypeOf(is_store ? LLVMGetOperand(value, 0) : value));
    return bytes > 0 ? bytes : 8;
}

/* Returns true for integers and pointers for which scalar evolution may have no formula. Other formulas refer
 * to them by name. */
static bool is_opaque(LLVMValueRef value)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind)
        return false;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    return opcode != LLVMGetElementPtr && opcode != LLVMBitCast && opcode != LLVMICmp && opcode != LLVMFCmp &&
           opcode != LLVMAlloca;
}

bool llvm_read_accesses(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef from,
                        struct block *out)
{
    size_t accesses = 1, values = 1;
    bool is_good = true;
    for (LLVMValueRef v = LLVMGetFirstInstruction(from); v; v = LLVMGetNextInstruction(v)) {
        accesses += llvm_address_of(v) != NULL;
        values += is_opaque(v);
    }
    out->accesses = arena_alloc(arena, accesses * sizeof *out->accesses);
    out->values = arena_alloc(arena, values * sizeof *out->values);
    if (!out->accesses || !out->values)
        return false;
    for (LLVMValueRef v = LLVMGetFirstInstruction(from); v && is_good; v = LLVMGetNextInstruction(v)) {
        LLVMValueRef address = llvm_address_of(v);
        if (address) {
            struct access *access = &out->accesses[out->access_count++];
            *access = (struct access){.address = llvm_address_name(arena, address),
                                      .bytes = bytes_of(layout, v),
                                      .is_store = LLVMGetInstructionOpcode(v) != LLVMLoad,
                                      .is_fixed = !LLVMIsAInstruction(address) || LLVMIsAAllocaInst(address)};
            is_good = access->address != NULL;
        }
        if (is_opaque(v))
            is_good = (out->values[out->value_count++] = llvm_address_name(arena, v)) != NULL && is_good;
    }
    return is_good;
}

bool llvm_read_locals(struct arena *arena, LLVMTargetDataRef layout, LLVMBasicBlockRef entry,
                      struct function *out)
{
    size_t count = 1;
    bool is_good = true;
    for (LLVMValueRef v = LLVMGetFirstInstruction(entry); v; v = LLVMGetNextInstruction(v))
        count += LLVMIsAAllocaInst(v) != NULL;
    out->objects = arena_alloc(arena, count * sizeof *out->objects);
    if (!out->objects)
        return false;
    for (LLVMValueRef v = LLVMGetFirstInstruction(entry); v; v = LLVMGetNextInstruction(v)) {
        LLVMValueRef times = LLVMIsAAllocaInst(v) ? LLVMGetOperand(v, 0) : NULL;
        if (!times || !LLVMIsAConstantInt(times))
            continue;
        double bytes =
            llvm_size_of(layout, LLVMGetAllocatedType(v)) * (double)LLVMConstIntGetZExtValue(times);
        struct object local = {llvm_address_name(arena, v), bytes, true};
        out->objects[out->object_count++] = local;
        is_good = is_good && local.name;
    }
    return is_good;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct object *)a)->name, ((const struct object *)b)->name);
}

bool llvm_read_globals(struct arena *arena, LLVMTargetDataRef layout, LLVMModuleRef from, struct module *out)
{
    size_t count = 1;
    for (LLVMValueRef g = LLVMGetFirstGlobal(from); g; g = LLVMGetNextGlobal(g))
        count++;
    out->objects = arena_alloc(arena, count * sizeof *out->objects);
    if (!out->objects)
        return false;
    for (LLVMValueRef g = LLVMGetFirstGlobal(from); g; g = LLVMGetNextGlobal(g)) {
        double bytes = llvm_size_of(layout, LLVMGlobalGetValueType(g));
        struct object global = {global_name(arena, g), bytes > 0 ? bytes : NAN, false};
        if (!global.name)
            return false;
        out->objects[out->object_count++] = global;
    }
    qsort(out->objects, out->object_count, sizeof *out->objects, by_name);
    return true;
}
