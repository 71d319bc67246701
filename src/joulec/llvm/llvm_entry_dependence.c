/* joulec/llvm/llvm_entry_dependence.c - see llvm_module.h: finds out whether an inner loop depends on its own
 * previous entry. If it does not, a core overlaps the entries.
 *
 * Note: a dependence may be carried by values that are computed outside of the loop, or by memory. Only the
 * underlying objects of addresses are compared. So different rows of an array count as the same memory, and
 * pointers with different origins count as different memory.
 */
#include "joulec/llvm/llvm_module.h"

#define MAX_ORIGINS 128
#define MAX_STORES  64

struct inside {
    LLVMBasicBlockRef *from;
    const struct loops *loops;
    size_t loop;
    const struct numbering *numbers; /* of the loop's instructions */
};

/* --- values --------------------------------------------------------------------------------------------- */

struct origins {
    LLVMValueRef list[MAX_ORIGINS];
    size_t count;
};

/* Adds an instruction, unless it is already in the list. Returns false if the list is full. */
static bool add_origin(struct origins *origins, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return true;
    for (size_t i = 0; i < origins->count; i++)
        if (origins->list[i] == value)
            return true;
    if (origins->count == MAX_ORIGINS)
        return false;
    origins->list[origins->count++] = value;
    return true;
}

/* Adds the operands of a value, except those in `passed` (NULL: adds all). Returns false if the list is
 * full. */
static bool add_operands(struct origins *origins, LLVMValueRef value, const struct numbering *passed)
{
    bool is_phi = LLVMIsAPHINode(value);
    unsigned count = is_phi ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = is_phi ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i);
        bool is_passed = passed && llvm_number_of(passed, operand) >= 0;
        if (!is_passed && !add_origin(origins, operand))
            return false;
    }
    return true;
}

/* Returns true if no value that enters the loop was computed by the loop's own instructions in its previous
 * entry. */
static bool uses_only_new_values(const struct inside *in)
{
    struct origins origins = {.count = 0};
    for (size_t i = 0; i < in->numbers->count; i++)
        if (!add_operands(&origins, (LLVMValueRef)in->numbers->list[i].item, in->numbers))
            return false;
    for (size_t i = 0; i < origins.count; i++)
        if (llvm_number_of(in->numbers, origins.list[i]) >= 0 ||
            !add_operands(&origins, origins.list[i], NULL))
            return false;
    return true;
}

/* --- memory --------------------------------------------------------------------------------------------- */

struct stores {
    LLVMValueRef bases[MAX_STORES];
    size_t count;
};

/* Adds the variables to which the nodes of a loop's region store (see loops.h). loop -1: the region of the
 * function. Returns false if the list is full. */
static bool add_stores(const struct inside *in, int32_t loop, struct stores *out)
{
    const uint32_t *begin = in->loops->node_begin + loop + 1;
    for (uint32_t i = begin[0]; i < begin[1]; i++) {
        LLVMBasicBlockRef block = in->from[in->loops->nodes[i]];
        for (LLVMValueRef v = LLVMGetFirstInstruction(block); v; v = LLVMGetNextInstruction(v)) {
            if (!LLVMIsAStoreInst(v))
                continue;
            if (out->count == MAX_STORES)
                return false;
            out->bases[out->count++] = llvm_underlying_object(LLVMGetOperand(v, 1));
        }
    }
    return true;
}

static bool loads_from(const struct inside *in, const struct stores *stores)
{
    for (size_t i = 0; i < in->numbers->count; i++) {
        LLVMValueRef value = (LLVMValueRef)in->numbers->list[i].item;
        LLVMValueRef base = LLVMIsALoadInst(value) ? llvm_underlying_object(LLVMGetOperand(value, 0)) : NULL;
        for (size_t k = 0; base && k < stores->count; k++)
            if (stores->bases[k] == base)
                return true;
    }
    return false;
}

bool llvm_is_entry_independent(LLVMBasicBlockRef *from, const struct loops *loops, size_t loop,
                               const struct numbering *numbers)
{
    struct inside in = {from, loops, loop, numbers};
    struct stores stores = {.count = 0};
    int32_t around = loops->list[loop].parent;
    return around >= 0 && uses_only_new_values(&in) && add_stores(&in, (int32_t)loop, &stores) &&
           add_stores(&in, around, &stores) && !loads_from(&in, &stores);
}
