/* joulec/llvm/llvm_part.c - see llvm_module.h: two loops of which LLVM has made one, parted again.
 *
 * Of `while (changed) { changed = false; for (i = 0; i < 8; i++) ... }` LLVM knows that i < 8 holds at first, and lets both loops begin
 * with the inner one's first block: one goes back with i + 1, the other with 0. What is then said of "the" loop is wrong of one of
 * the two, and scalar evolution counts neither.
 * Newcomers: the ways on which the count begins anew get a first block of their own, which makes the outer loop. One of both places in the
 * source is gone; whose is left is told by what it spans.
 */
#include "joulec/llvm/llvm_part.h"

#include <llvm-c/DebugInfo.h>

#define MOST_PARTED 64 /* of a function */

/* To a new phi what another one is on the outer ways, or on the others. */
static void add_ways(const struct part *p, LLVMValueRef to, LLVMValueRef phi, bool is_outer)
{
    for (size_t i = 0; i < p->way_count; i++)
        if (p->ways[i].is_outer == is_outer)
            llvm_add_incoming(to, ways_value(&p->ways[i], phi), p->ways[i].from);
}

/* What comes in on all outer ways; a phi in their block where it is not one value. */
static LLVMValueRef begin_of(const struct part *p, LLVMValueRef phi, LLVMBasicBlockRef again)
{
    LLVMValueRef one = NULL;
    bool is_one = true;
    for (size_t i = 0; i < p->way_count; i++) {
        LLVMValueRef value = p->ways[i].is_outer ? ways_value(&p->ways[i], phi) : one;
        is_one = is_one && (!one || one == value);
        one = value;
    }
    if (is_one)
        return one;
    LLVMPositionBuilderBefore(p->builder, LLVMGetBasicBlockTerminator(again));
    LLVMValueRef joined = LLVMBuildPhi(p->builder, LLVMTypeOf(phi), "");
    add_ways(p, joined, phi, true);
    return joined;
}

/* Whether it stays as it is in the inner loop. */
static bool stays(const struct part *p, LLVMValueRef phi)
{
    for (size_t i = 0; i < p->way_count; i++)
        if (!p->ways[i].is_outer && ways_value(&p->ways[i], phi) != phi)
            return false;
    return true;
}

static LLVMValueRef inner_phi(const struct part *p, LLVMValueRef phi, LLVMValueRef begin,
                              LLVMBasicBlockRef again)
{
    LLVMPositionBuilderBefore(p->builder, phi);
    LLVMValueRef inner = LLVMBuildPhi(p->builder, LLVMTypeOf(phi), "");
    llvm_add_incoming(inner, begin, again);
    add_ways(p, inner, phi, false);
    return inner;
}

static void replace_phi(const struct part *p, LLVMValueRef phi, LLVMBasicBlockRef again)
{
    LLVMValueRef begin = begin_of(p, phi, again);
    LLVMReplaceAllUsesWith(phi, stays(p, phi) ? begin : inner_phi(p, phi, begin, again));
    LLVMInstructionEraseFromParent(phi);
}

static LLVMValueRef number_node(const struct part *p, uint64_t number)
{
    LLVMTypeRef type = LLVMInt32TypeInContext(p->context);
    LLVMMetadataRef word = LLVMValueAsMetadata(LLVMConstInt(type, number, false));
    return LLVMMetadataAsValue(p->context, LLVMMDNodeInContext2(p->context, &word, 1));
}

static enum llvm_owner owner_of(const struct part *p)
{
    LLVMBasicBlockRef back[MOST_WAYS];
    size_t count = 0;
    if (p->is_left_early)
        return OWNER_NONE;
    for (size_t i = 0; i < p->way_count; i++)
        if (p->ways[i].is_outer && p->ways[i].node)
            back[count++] = p->ways[i].from;
    return llvm_owner_of(p->node, p->end, back, count);
}

/* Where each of the loops has kept its own; NULL: there is one for both. */
static LLVMValueRef node_of_outer(const struct part *p)
{
    for (size_t i = 0; i < p->way_count; i++)
        if (p->ways[i].is_outer && p->ways[i].node && p->ways[i].node != p->node)
            return p->ways[i].node;
    return NULL;
}

static void say_of_loop(const struct part *p, bool is_outer, LLVMValueRef node, enum parted parted)
{
    for (size_t i = 0; i < p->way_count; i++) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(p->ways[i].from);
        if (!p->ways[i].node || p->ways[i].is_outer != is_outer)
            continue;
        LLVMSetMetadata(last, p->loop_kind, node);
        LLVMSetMetadata(last, p->parted_kind, number_node(p, parted));
    }
}

static void say_of_loops(const struct part *p, enum llvm_owner owner)
{
    LLVMValueRef of_outer = node_of_outer(p);
    if (of_outer)
        owner = p->is_left_early ? OWNER_NONE : OWNER_INNER;
    else if (owner == OWNER_OUTER)
        of_outer = p->node;
    say_of_loop(p, false, llvm_inner_node(p->context, p->node, owner),
                owner == OWNER_LIKELY_INNER ? PARTED_INNER
                : owner == OWNER_OUTER      ? PARTED_INSIDE
                : owner == OWNER_NONE       ? PARTED_LOST
                                            : PARTED_NOT);
    say_of_loop(p, true, of_outer,
                owner == OWNER_OUTER  ? PARTED_OUTER
                : owner == OWNER_NONE ? PARTED_LOST
                                      : PARTED_NOT);
}

/* The blocks that only brought ways together: none leads there any more. */
static void remove_joins(struct part *p)
{
    for (size_t i = 0; i < p->way_count; i++) {
        LLVMBasicBlockRef join = p->ways[i].through;
        for (size_t k = i; k < p->way_count; k++)
            p->ways[k].through = p->ways[k].through == join ? NULL : p->ways[k].through;
        if (join)
            LLVMDeleteBasicBlock(join);
    }
}

static void part_header(struct part *p)
{
    enum llvm_owner owner = owner_of(p);
    LLVMBasicBlockRef again = LLVMInsertBasicBlockInContext(p->context, p->header, "");
    LLVMPositionBuilderAtEnd(p->builder, again);
    LLVMValueRef on = LLVMBuildBr(p->builder, p->header), next;
    LLVMInstructionSetDebugLoc(on, NULL); /* a builder keeps the place of what it built last */
    for (LLVMValueRef phi = LLVMGetFirstInstruction(p->header); LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        replace_phi(p, phi, again);
    }
    for (size_t i = 0; i < p->way_count; i++) {
        const struct way *way = &p->ways[i];
        LLVMMetadataRef place = llvm_last_place(way->from);
        llvm_lead(way->from, way->through ? way->through : p->header, way->is_outer ? again : p->header);
        if (way->is_outer && way->node)
            LLVMInstructionSetDebugLoc(on, place);
    }
    say_of_loops(p, owner);
    remove_joins(p);
}

static void doubt_at(const struct part *p, LLVMBasicBlockRef back, enum parted parted)
{
    LLVMSetMetadata(LLVMGetBasicBlockTerminator(back), p->parted_kind, number_node(p, parted));
}

/* It may be two loops, of which the outer one goes on only after the inner one was left before its count's end, or one. */
static void doubt(const struct part *p, enum parted parted)
{
    for (size_t i = 0; i < p->way_count; i++)
        if (p->ways[i].node)
            doubt_at(p, p->ways[i].through ? p->ways[i].through : p->ways[i].from, parted);
}

static bool has_two_nodes(const struct part *p)
{
    LLVMValueRef node = NULL;
    for (size_t i = 0; i < p->way_count; i++) {
        if (node && p->ways[i].node && p->ways[i].node != node)
            return true;
        node = p->ways[i].node ? p->ways[i].node : node;
    }
    return false;
}

/* Whether it begins anew as it did at first. */
static bool is_set_back_to_begin(const struct part *p)
{
    for (size_t i = 0; i < p->way_count; i++)
        for (size_t k = 0; k < i; k++)
            if (p->ways[i].is_begin && p->ways[k].is_begin && (p->ways[i].node || p->ways[k].node) &&
                ways_value(&p->ways[i], p->count) == ways_value(&p->ways[k], p->count))
                return true;
    return false;
}

/* A choice of what the count goes on with and what it is at first. */
static bool is_set_back(const struct part *p, LLVMValueRef value)
{
    bool is_phi = LLVMIsAPHINode(value), goes_on = false, begins = false;
    unsigned count = is_phi ? LLVMCountIncoming(value) : LLVMIsASelectInst(value) ? 3 : 0;
    for (unsigned i = is_phi ? 0 : 1; i < count; i++) {
        LLVMValueRef one = is_phi ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i);
        goes_on = goes_on || ways_comes_of(p, one, true);
        begins = begins || llvm_is_incoming(p->count, one);
    }
    return goes_on && begins;
}

/* The same where one way back is for both, and asks what comes of the choice. */
static void doubt_choices(const struct part *p)
{
    for (unsigned i = 0; i < LLVMCountIncoming(p->count); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(p->count, i);
        if (LLVMGetMetadata(LLVMGetBasicBlockTerminator(from), p->loop_kind) &&
            is_set_back(p, LLVMGetIncomingValue(p->count, i)) && ways_asks_count(p, from))
            doubt_at(p, from, PARTED_UNSURE);
    }
}

/* By one of the header's counts; its ways are known. */
static bool part_by_count(struct part *p)
{
    ways_find_end(p);
    if (p->end)
        part_header(p);
    else if (has_two_nodes(p))
        doubt(p, PARTED_LOST);
    else if (p->may_end && is_set_back_to_begin(p))
        doubt(p, PARTED_UNSURE);
    return p->end != NULL;
}

static bool part_block(struct part *p, LLVMBasicBlockRef block)
{
    LLVMValueRef phi = LLVMGetFirstInstruction(block);
    p->header = block;
    bool has_ways = LLVMIsAPHINode(phi) && ways_find(p, phi);
    for (; LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        p->count = phi;
        doubt_choices(p);
        if (has_ways && p->way_count > 2 && part_by_count(p))
            return true;
    }
    return false;
}

static bool part_first(struct part *p, LLVMValueRef function)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        if (part_block(p, b))
            return true;
    return false;
}

unsigned llvm_parted_kind(LLVMContextRef context)
{
    return LLVMGetMDKindIDInContext(context, "joulec.parted", 13);
}

void llvm_part_loops(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct part part = {.context = context,
                        .builder = LLVMCreateBuilderInContext(context),
                        .loop_kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9),
                        .parted_kind = llvm_parted_kind(context)};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (int i = 0; i < MOST_PARTED && part_first(&part, f); i++)
            ;
    LLVMDisposeBuilder(part.builder);
}
