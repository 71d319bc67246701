/* joulec/llvm/llvm_owner.c - see llvm_module.h: whose place is left where two loops have become one.
 *
 * Newcomers: a loop's node begins with itself, and goes on with where the loop's statement begins and ends in the source.
 */
#include "joulec/llvm/llvm_module.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#define MOST_OPERANDS 32

static bool is_known(LLVMMetadataRef place)
{
    return place && LLVMDILocationGetLine(place) > 0;
}

/* -1, 0 or 1: a place stands before, at or behind another. */
static int compare(LLVMMetadataRef a, LLVMMetadataRef b)
{
    unsigned line = LLVMDILocationGetLine(a), other = LLVMDILocationGetLine(b);
    if (line == other) {
        line = LLVMDILocationGetColumn(a);
        other = LLVMDILocationGetColumn(b);
    }
    return (line > other) - (line < other);
}

struct span {
    LLVMMetadataRef first, last;
};

static LLVMMetadataRef place_in(LLVMValueRef operand)
{
    LLVMMetadataRef place = operand ? LLVMValueAsMetadata(operand) : NULL;
    bool is_place = place && LLVMGetMetadataKind(place) == LLVMDILocationMetadataKind;
    return is_place && is_known(place) ? place : NULL;
}

static bool read_span(LLVMValueRef node, struct span *out)
{
    LLVMValueRef operands[MOST_OPERANDS];
    int count = LLVMGetMDNodeNumOperands(node);
    if (count < 3 || count > MOST_OPERANDS)
        return false;
    LLVMGetMDNodeOperands(node, operands);
    out->first = place_in(operands[1]);
    out->last = place_in(operands[2]);
    return out->first && out->last;
}

LLVMMetadataRef llvm_last_place(LLVMBasicBlockRef block)
{
    LLVMMetadataRef place = NULL;
    for (LLVMValueRef v = LLVMGetLastInstruction(block); v && !is_known(place);
         v = LLVMGetPreviousInstruction(v))
        place = LLVMInstructionGetDebugLoc(v);
    return is_known(place) ? place : NULL;
}

static bool spans(const struct span *span, LLVMMetadataRef place)
{
    return compare(place, span->first) >= 0 && compare(place, span->last) <= 0;
}

enum llvm_owner llvm_owner_of(LLVMValueRef node, LLVMValueRef end, const LLVMBasicBlockRef *back,
                              size_t count)
{
    struct span span;
    LLVMMetadataRef end_place = LLVMInstructionGetDebugLoc(end);
    if (!read_span(node, &span) || !is_known(end_place) || !spans(&span, end_place))
        return OWNER_NONE;
    /* What ends in the line in which the count does may be a `do` of the inner loop. */
    bool is_inside = true, is_outside = true;
    bool goes_on = LLVMDILocationGetLine(end_place) < LLVMDILocationGetLine(span.last), is_behind = true;
    for (size_t i = 0; i < count; i++) {
        LLVMMetadataRef place = llvm_last_place(back[i]);
        is_inside = is_inside && place && spans(&span, place);
        is_outside = is_outside && place && !spans(&span, place);
        is_behind = is_behind && place && compare(place, end_place) > 0;
    }
    if (is_outside)
        return OWNER_INNER;
    if (compare(end_place, span.first) == 0)
        return OWNER_LIKELY_INNER;
    return is_inside && (goes_on || is_behind) ? OWNER_OUTER : OWNER_NONE;
}

static LLVMMetadataRef word(LLVMContextRef context, const char *text)
{
    return LLVMMDStringInContext2(context, text, strlen(text));
}

LLVMValueRef llvm_inner_node(LLVMContextRef context, LLVMValueRef node, enum llvm_owner owner)
{
    LLVMValueRef operands[MOST_OPERANDS];
    LLVMMetadataRef self = LLVMTemporaryMDNode(context, NULL, 0), words[MOST_OPERANDS + 2] = {self};
    LLVMMetadataRef no = LLVMValueAsMetadata(LLVMConstInt(LLVMInt1TypeInContext(context), 0, false));
    LLVMMetadataRef unroll[] = {word(context, "llvm.loop.unroll.disable")};
    bool has_place = owner == OWNER_INNER || owner == OWNER_LIKELY_INNER;
    LLVMMetadataRef wide[] = {word(context, "llvm.loop.vectorize.enable"), no};
    size_t count = has_place ? (size_t)LLVMGetMDNodeNumOperands(node) : 1;
    if (has_place)
        LLVMGetMDNodeOperands(node, operands);
    for (size_t i = 1; i < count; i++)
        words[i] = LLVMValueAsMetadata(operands[i]);
    words[count++] = LLVMMDNodeInContext2(context, unroll, 1);
    words[count++] = LLVMMDNodeInContext2(context, wide, 2);
    LLVMMetadataRef inner = LLVMMDNodeInContext2(context, words, count);
    LLVMMetadataReplaceAllUsesWith(self, inner); /* a loop's node begins with itself */
    return LLVMMetadataAsValue(context, inner);
}
