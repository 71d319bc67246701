/* joulec/llvm/llvm_inlined.c - see llvm_module.h: functions that were inlined into another function.
 *
 * Note: these functions are found through the debug locations of instructions. An inlined function without
 * remaining instructions is not found, but costs nothing.
 */
#include "joulec/llvm/llvm_module.h"

#include <llvm-c/DebugInfo.h>

#define MAX_OPERANDS 8

/* Returns the subprogram that contains a location, by following its scopes outwards; NULL: unknown. */
static LLVMMetadataRef program_of(LLVMContextRef context, LLVMMetadataRef place)
{
    LLVMMetadataRef scope = LLVMDILocationGetScope(place);
    LLVMValueRef operands[MAX_OPERANDS];
    while (scope && LLVMGetMetadataKind(scope) != LLVMDISubprogramMetadataKind) {
        LLVMMetadataKind kind = LLVMGetMetadataKind(scope);
        bool is_block = kind == LLVMDILexicalBlockMetadataKind || kind == LLVMDILexicalBlockFileMetadataKind;
        LLVMValueRef node = is_block ? LLVMMetadataAsValue(context, scope) : NULL;
        int count = node ? LLVMGetMDNodeNumOperands(node) : 0;
        if (count < 2 || count > MAX_OPERANDS)
            return NULL;
        LLVMGetMDNodeOperands(node, operands); /* 0: the file; 1: the enclosing scope */
        scope = operands[1] ? LLVMValueAsMetadata(operands[1]) : NULL;
    }
    return scope;
}

/* Adds a function, unless it is already in the list. Returns false if out of memory. */
static bool add(struct arena *arena, struct function *out, const struct function *inlined)
{
    for (size_t i = 0; i < out->inlined_count; i++)
        if (out->inlined[i] == inlined)
            return true;
    const struct function **list = arena_push(arena, out->inlined, out->inlined_count, inlined);
    if (!list)
        return false;
    out->inlined = list;
    out->inlined_count++;
    return true;
}

/* Adds the functions of `all` through which a location was inlined. Returns false if out of memory. */
static bool add_all(struct arena *arena, LLVMContextRef context, LLVMMetadataRef place,
                    const struct numbering *programs, const struct function *all, struct function *out)
{
    LLVMMetadataRef into = NULL;
    bool is_good = true;
    for (; place && is_good && (into = LLVMDILocationGetInlinedAt(place)); place = into) {
        LLVMMetadataRef program = program_of(context, place);
        int32_t index = program ? llvm_number_of(programs, program) : -1;
        is_good = index < 0 || add(arena, out, &all[index]);
    }
    return is_good;
}

bool llvm_find_inlined(struct arena *arena, LLVMValueRef from, const struct numbering *programs,
                       const struct function *all, struct function *out)
{
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(from));
    LLVMMetadataRef last = NULL;
    bool is_good = true;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(from); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v && is_good; v = LLVMGetNextInstruction(v)) {
            LLVMMetadataRef place = LLVMInstructionGetDebugLoc(v);
            is_good = place == last || add_all(arena, context, place, programs, all, out);
            last = place;
        }
    return is_good;
}

bool llvm_is_bodiless(LLVMValueRef function)
{
    static const char *const kinds[] = {"inlinehint", "alwaysinline"};
    bool was_inline = false;
    for (size_t i = 0; function && LLVMIsAFunction(function) && i < sizeof kinds / sizeof *kinds; i++)
        was_inline = was_inline || LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                                               llvm_attribute_kind(kinds[i]));
    return was_inline && LLVMIsDeclaration(function);
}

bool llvm_has_dropped_bodies(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (LLVMGetFirstUse(f) && llvm_is_bodiless(f))
            return true;
    return false;
}
