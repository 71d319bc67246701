/* joulec/llvm/llvm_merged.c - finds loops that may be two nested loops of the source.
 *
 * LLVM merges two nested loops if it knows that the inner one runs at least once: both then have one header.
 * Their common header resets the inner loop's count on some back edges, and continues it on the others.
 */
#include "joulec/llvm/llvm_module.h"

#define MAX_LEAVES  64  /* values that a phi may have after one iteration */
#define MAX_DEPTH   6   /* operands between a phi and a value that is made of it ... */
#define MAX_VISITED 512 /* ... and values that are visited on the way */

/* Values that a header's phi may have after one iteration. */
struct leaves {
    LLVMBasicBlockRef header;
    LLVMValueRef list[MAX_LEAVES];
    size_t count;
    bool is_full;
};

/* Returns true if `value` is computed from the phi in the same iteration; *left: values that may still be
 * visited. */
static bool is_made_of(LLVMValueRef value, LLVMValueRef phi, LLVMBasicBlockRef header, int depth, int *left)
{
    if (value == phi)
        return true;
    if (depth == 0 || --*left < 0 || !LLVMIsAInstruction(value))
        return false;
    bool is_phi = LLVMIsAPHINode(value), is_made = false;
    if (is_phi && LLVMGetInstructionParent(value) == header)
        return false;
    unsigned count = is_phi ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < count && !is_made; i++)
        is_made = is_made_of(is_phi ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i), phi, header,
                             depth - 1, left);
    return is_made;
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

/* Adds the values that each choice among the leaves chooses from. */
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

/* Returns true if some iterations continue the phi's value, and others reset it. */
static bool is_reset(LLVMValueRef phi, struct leaves *leaves)
{
    bool continues = false, resets = false;
    expand_choices(leaves);
    for (size_t i = 0; i < leaves->count; i++) {
        int left = MAX_VISITED;
        LLVMValueRef value = leaves->list[i];
        if (value == phi || is_choice(leaves, value))
            continue;
        bool is_made = is_made_of(value, phi, leaves->header, MAX_DEPTH, &left);
        continues = continues || is_made;
        resets = resets || !is_made;
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

/* Returns true if a block does nothing but bring several paths together. */
static bool only_joins(const struct flow *flow, LLVMBasicBlockRef from, uint32_t block)
{
    LLVMValueRef first = LLVMGetFirstInstruction(from);
    while (LLVMIsAPHINode(first) || LLVMIsADbgInfoIntrinsic(first))
        first = LLVMGetNextInstruction(first);
    return LLVMIsATerminatorInst(first) && LLVMGetNumSuccessors(first) == 1 &&
           flow->before_begin[block + 1] - flow->before_begin[block] > 1;
}

/* Returns the number of paths back to the header, as far as the loop's last blocks show them. */
static size_t count_back_edges(LLVMBasicBlockRef *from, const struct loops *loops, int32_t loop)
{
    const struct flow *flow = &loops->flow;
    uint32_t header = loops->list[loop].header;
    size_t count = 0;
    for (uint32_t i = flow->before_begin[header]; i < flow->before_begin[header + 1]; i++) {
        uint32_t block = flow->before[i];
        if (flow->rank[block] != FLOW_NONE && loop_has(loops, loop, block))
            count += only_joins(flow, from[block], block) ? 2 : 1;
    }
    return count;
}

void llvm_find_merged(LLVMBasicBlockRef *from, const struct numbering *blocks, struct function *function,
                      const struct loops *loops)
{
    for (size_t i = 0; i < loops->count; i++) {
        uint32_t header = loops->list[i].header;
        function->blocks[header].may_be_two = count_back_edges(from, loops, (int32_t)i) > 1 ||
                                              has_reset(from[header], blocks, loops, (int32_t)i);
    }
}
