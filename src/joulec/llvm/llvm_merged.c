/* joulec/llvm/llvm_merged.c - finds loops that may be two nested loops of the source.
 *
 * LLVM may merge an inner loop with the loop around it if the inner loop certainly runs at least once. Both
 * loops then have one header. On some back edges the header resets the inner loop's counter. On other back
 * edges the counter continues.
 */
#include <llvm-c/DebugInfo.h>
#include "joulec/llvm/llvm_module.h"

#define MAX_LEAVES 64 /* maximum number of values that a phi may have after one iteration */
/* maximum number of operations between a phi and a value that is computed from the phi */
#define MAX_DEPTH   6
#define MAX_VISITED 512 /* maximum number of values that are visited between the phi and the computed value */

/* Values that a header's phi may have after one iteration. */
struct leaves {
    LLVMBasicBlockRef header;
    LLVMValueRef list[MAX_LEAVES];
    size_t count;
    bool is_full;
};

/* Returns true if `value` is computed from the phi in the same iteration. Decreases *left, the number of
 * values that may still be visited, for each visit. */
static bool is_computed_from(LLVMValueRef value, LLVMValueRef phi, LLVMBasicBlockRef header, int depth,
                             int *left)
{
    if (value == phi)
        return true;
    if (depth == 0 || --*left < 0 || !LLVMIsAInstruction(value))
        return false;
    bool is_phi = LLVMIsAPHINode(value), is_computed = false;
    if (is_phi && LLVMGetInstructionParent(value) == header)
        return false;
    unsigned count = is_phi ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < count && !is_computed; i++)
        is_computed = is_computed_from(is_phi ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i),
                                       phi, header, depth - 1, left);
    return is_computed;
}

static void add_leaf(struct leaves *leaves, LLVMValueRef value)
{
    for (size_t i = 0; i < leaves->count; i++)
        if (leaves->list[i] == value)
            return;
    leaves->is_full = leaves->is_full || leaves->count == MAX_LEAVES;
    if (!leaves->is_full)
        leaves->list[leaves->count++] = value;
}

/* Returns true if `value` is a select or a phi outside of the header. */
static bool is_choice(const struct leaves *leaves, LLVMValueRef value)
{
    return LLVMIsASelectInst(value) ||
           (LLVMIsAPHINode(value) && LLVMGetInstructionParent(value) != leaves->header);
}

/* Adds the possible values of each choice among the leaves. */
static void expand_choices(struct leaves *leaves)
{
    for (size_t i = 0; i < leaves->count; i++) {
        LLVMValueRef value = leaves->list[i];
        if (!is_choice(leaves, value))
            continue;
        bool is_phi = LLVMIsAPHINode(value);
        for (unsigned k = is_phi ? 0 : 1; k < (is_phi ? LLVMCountIncoming(value) : 3); k++)
            add_leaf(leaves, is_phi ? LLVMGetIncomingValue(value, k) : LLVMGetOperand(value, k));
    }
}

/* Returns true if some iterations continue the phi's value and others reset it, or if there are too many
 * values to decide. */
static bool is_reset(LLVMValueRef phi, struct leaves *leaves)
{
    bool continues = false, resets = false;
    expand_choices(leaves);
    for (size_t i = 0; i < leaves->count; i++) {
        int left = MAX_VISITED;
        LLVMValueRef value = leaves->list[i];
        if (value == phi || is_choice(leaves, value))
            continue;
        bool is_computed = is_computed_from(value, phi, leaves->header, MAX_DEPTH, &left);
        continues = continues || is_computed;
        resets = resets || !is_computed;
    }
    return leaves->is_full || (continues && resets);
}

/* Returns true if one of the header's phis may be reset. */
static bool has_reset(LLVMBasicBlockRef header, const struct numbering *blocks, const struct loops *loops,
                      int32_t loop)
{
    bool has = false;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(header); phi && LLVMIsAPHINode(phi) && !has;
         phi = LLVMGetNextInstruction(phi)) {
        struct leaves leaves = {.header = header};
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            int32_t from = llvm_number_of(blocks, LLVMGetIncomingBlock(phi, i));
            if (from >= 0 && loops->flow.rank[from] != FLOW_NONE && loop_has(loops, loop, (uint32_t)from))
                add_leaf(&leaves, LLVMGetIncomingValue(phi, i));
        }
        has = is_reset(phi, &leaves);
    }
    return has;
}

/* Returns true if a block only joins several paths: it contains only phis and an unconditional branch. */
static bool only_joins(const struct flow *flow, LLVMBasicBlockRef from, uint32_t block)
{
    LLVMValueRef first = LLVMGetFirstInstruction(from);
    while (LLVMIsAPHINode(first) || LLVMIsADbgInfoIntrinsic(first))
        first = LLVMGetNextInstruction(first);
    return LLVMIsATerminatorInst(first) && LLVMGetNumSuccessors(first) == 1 &&
           flow->predecessor_begin[block + 1] - flow->predecessor_begin[block] > 1;
}

/* Returns the number of paths back to the header. A latch that only joins paths counts as 2 paths. */
static size_t count_back_edges(LLVMBasicBlockRef *from, const struct loops *loops, int32_t loop)
{
    const struct flow *flow = &loops->flow;
    uint32_t header = loops->list[loop].header;
    size_t count = 0;
    for (uint32_t i = flow->predecessor_begin[header]; i < flow->predecessor_begin[header + 1]; i++) {
        uint32_t block = flow->predecessors[i];
        if (flow->rank[block] != FLOW_NONE && loop_has(loops, loop, block))
            count += only_joins(flow, from[block], block) ? 2 : 1;
    }
    return count;
}

/* Returns true if an instruction of the loop was inlined from another function. */
static bool has_inlined(LLVMBasicBlockRef *from, const struct loops *loops, size_t loop)
{
    bool has = false;
    for (uint32_t i = loops->list[loop].first; i < loops->list[loop].end; i++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(from[loops->members[i]]); v && !has;
             v = LLVMGetNextInstruction(v)) {
            LLVMMetadataRef place = LLVMInstructionGetDebugLoc(v);
            has = place && LLVMDILocationGetInlinedAt(place);
        }
    return has;
}

void llvm_find_merged(LLVMBasicBlockRef *from, const struct numbering *blocks, struct function *function,
                      const struct loops *loops)
{
    for (size_t i = 0; i < loops->count; i++) {
        uint32_t header = loops->list[i].header;
        function->blocks[header].may_be_two = count_back_edges(from, loops, (int32_t)i) > 1 ||
                                              has_reset(from[header], blocks, loops, (int32_t)i);
        function->blocks[header].has_inlined =
            function->blocks[header].may_be_two && has_inlined(from, loops, i);
    }
}
