/* joulec/llvm/llvm_part.c - see llvm_module.h: two loops of which LLVM has made one, parted again.
 *
 * Of `while (changed) { changed = false; for (i = 0; i < 8; i++) ... }` LLVM knows that i < 8 holds at first, and lets both loops begin
 * with the inner one's first block: one goes back with i + 1, the other with 0. What is then said of "the" loop is wrong of one of
 * the two, and scalar evolution counts neither.
 * Newcomers: the ways on which the count begins anew get a first block of their own, which makes the outer loop. One of both places in the
 * source is gone; whose is left is told by what it spans.
 */
#include "joulec/llvm/llvm_module.h"

#include <llvm-c/DebugInfo.h>

#define MOST_WAYS   64
#define MOST_STEPS  6   /* from a count to what comes of it ... */
#define MOST_LOOKS  512 /* ... by so many values at most */
#define MOST_PARTED 64  /* of a function */

/* A way into a loop's first block; through one that only brings ways together, or NULL. */
struct way {
    LLVMBasicBlockRef from, through;
    LLVMValueRef node; /* what is said of the loop that goes back here; NULL: nothing */
    bool is_begin;     /* the count is what it is at first */
    bool is_outer;     /* of the outer loop, or from outside: the inner one is left and entered again */
};

struct part {
    LLVMContextRef context;
    LLVMBuilderRef builder;
    unsigned loop_kind, parted_kind;
    LLVMBasicBlockRef header;
    LLVMValueRef count; /* a phi of the header */
    LLVMValueRef end;   /* the branch that ends it */
    bool may_end;       /* some branch asks how far it has come */
    bool
        is_left_early; /* the outer loop's ways are taken without that end, too: by a break, or by what sets the count back */
    struct way ways[MOST_WAYS];
    size_t way_count;
    LLVMValueRef node; /* of the ways that go on, and mostly of all that go back */
};

/* --- ways ------------------------------------------------------------------------------------------------------- */

static LLVMValueRef value_on(const struct way *way, LLVMValueRef phi)
{
    if (!way->through)
        return llvm_incoming(phi, way->from);
    LLVMValueRef value = llvm_incoming(phi, way->through);
    bool is_joined = value && LLVMIsAPHINode(value) && LLVMGetInstructionParent(value) == way->through;
    return is_joined ? llvm_incoming(value, way->from) : value;
}

static bool is_used_in(LLVMValueRef phi, LLVMBasicBlockRef header)
{
    for (LLVMUseRef use = LLVMGetFirstUse(phi); use; use = LLVMGetNextUse(use))
        if (!LLVMIsAPHINode(LLVMGetUser(use)) || LLVMGetInstructionParent(LLVMGetUser(use)) != header)
            return false;
    return true;
}

/* Phis for those of the header, and nothing else, on the way back to it. */
static bool only_joins(const struct part *p, LLVMBasicBlockRef block)
{
    LLVMValueRef v = LLVMGetFirstInstruction(block);
    if (block == p->header || !LLVMIsAPHINode(v) || llvm_behind_phis(block) != p->header ||
        !LLVMGetMetadata(LLVMGetBasicBlockTerminator(block), p->loop_kind))
        return false;
    for (; LLVMIsAPHINode(v); v = LLVMGetNextInstruction(v))
        if (!is_used_in(v, p->header))
            return false;
    return true;
}

/* False: there are too many, or one block has several. */
static bool add_way(struct part *p, LLVMBasicBlockRef from, LLVMBasicBlockRef through)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(through ? through : from);
    for (size_t i = 0; i < p->way_count; i++)
        if (p->ways[i].from == from)
            return false;
    if (p->way_count == MOST_WAYS || !(LLVMIsABranchInst(last) || LLVMIsASwitchInst(last)))
        return false;
    LLVMValueRef node = LLVMGetMetadata(last, p->loop_kind);
    bool is_back = node && (through || llvm_goes_back(from, p->header));
    p->ways[p->way_count++] = (struct way){from, through, is_back ? node : NULL, false, false};
    return true;
}

static bool find_ways(struct part *p)
{
    bool is_good = true;
    p->way_count = 0;
    for (unsigned i = 0; i < LLVMCountIncoming(p->count) && is_good; i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(p->count, i);
        LLVMValueRef first = LLVMGetFirstInstruction(from);
        if (!only_joins(p, from)) {
            is_good = add_way(p, from, NULL);
            continue;
        }
        for (unsigned k = 0; k < LLVMCountIncoming(first) && is_good; k++)
            is_good = add_way(p, LLVMGetIncomingBlock(first, k), from);
    }
    return is_good;
}

/* *looks: at values, that are left. */
static bool is_made_of(const struct part *p, LLVMValueRef value, bool by_loads, int depth, int *looks)
{
    if (value == p->count)
        return true;
    if (depth == 0 || --*looks < 0 || !LLVMIsAInstruction(value) || LLVMIsACallInst(value) ||
        LLVMIsAInvokeInst(value) || (LLVMIsALoadInst(value) && !by_loads))
        return false;
    bool is_phi = LLVMIsAPHINode(value), is_from = false;
    if (is_phi && LLVMGetInstructionParent(value) == p->header)
        return false;
    unsigned count = is_phi ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
    for (unsigned i = 0; i < count && !is_from; i++)
        is_from = is_made_of(p, is_phi ? LLVMGetIncomingValue(value, i) : LLVMGetOperand(value, i), by_loads,
                             depth - 1, looks);
    return is_from;
}

/* Whether a value is made of the count in this round; by what it loads, too, or not. */
static bool comes_of(const struct part *p, LLVMValueRef value, bool by_loads)
{
    int looks = MOST_LOOKS;
    return is_made_of(p, value, by_loads, MOST_STEPS, &looks);
}

/* Which ways begin the count anew, and whether there are both kinds in what LLVM takes for one loop. */
static bool sort_ways(struct part *p)
{
    size_t begins = 0, goes_on = 0, from_outside = 0;
    p->node = NULL;
    for (size_t i = 0; i < p->way_count; i++) {
        struct way *way = &p->ways[i];
        LLVMValueRef value = value_on(way, p->count);
        if (!value)
            return false;
        way->is_begin = !way->node || !comes_of(p, value, true);
        if (!way->is_begin && p->node && p->node != way->node)
            return false;
        p->node = way->is_begin ? p->node : way->node;
        from_outside += !way->node;
        begins += way->is_begin;
        goes_on += !way->is_begin;
    }
    return goes_on && from_outside && begins > from_outside;
}

/* --- the count's end -------------------------------------------------------------------------------------------- */

/* Of a walk that ends where the loop begins. False: it is too long. */
static bool visit(const struct part *p, struct llvm_walk *walk, LLVMBasicBlockRef block)
{
    bool is_end = block == p->header;
    for (size_t i = 0; i < p->way_count; i++)
        is_end = is_end || block == p->ways[i].through;
    return is_end || llvm_walk_add(walk, block);
}

/* Goes on from what was visited, but not by one side of a branch, to all that comes in the same round. False: it is too far. */
static bool walk_on(const struct part *p, struct llvm_walk *walk, LLVMValueRef branch, unsigned but)
{
    for (size_t i = 0; i < walk->count; i++) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(walk->list[i]);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++)
            if (!(last == branch && k == but) && !visit(p, walk, LLVMGetSuccessor(last, k)))
                return false;
    }
    return true;
}

static bool is_taken(const struct part *p, const struct llvm_walk *walk, const struct way *way,
                     LLVMValueRef branch, unsigned but)
{
    bool is = false;
    for (size_t k = 0; k < walk->count; k++)
        is = is || walk->list[k] == way->from;
    if (way->from == LLVMGetInstructionParent(branch))
        is = is && LLVMGetSuccessor(branch, but) != (way->through ? way->through : p->header);
    return is && way->node;
}

/* Which ways back are taken in a round once a branch goes to this side. */
static bool find_behind(const struct part *p, LLVMValueRef branch, unsigned side, bool *out)
{
    struct llvm_walk walk = {.count = 0};
    bool is_good = visit(p, &walk, LLVMGetSuccessor(branch, side)) && walk_on(p, &walk, branch, 1 - side);
    for (size_t i = 0; i < p->way_count; i++) {
        const struct way *way = &p->ways[i];
        LLVMBasicBlockRef to = way->through ? way->through : p->header;
        bool is_direct =
            way->from == LLVMGetInstructionParent(branch) && LLVMGetSuccessor(branch, side) == to;
        out[i] = way->node && (is_direct || is_taken(p, &walk, way, branch, 1 - side));
    }
    return is_good;
}

/* Which ones in a round in which it does not. */
static bool find_without(const struct part *p, LLVMValueRef branch, unsigned side, bool *out)
{
    struct llvm_walk walk = {.list = {p->header}, .count = 1};
    bool is_good = walk_on(p, &walk, branch, side);
    for (size_t i = 0; i < p->way_count; i++)
        out[i] = is_taken(p, &walk, &p->ways[i], branch, side);
    return is_good;
}

/* Whether a branch ends the count: on one side all ways back begin it anew, and on the other some go on with it. The former are the
 * outer loop's. Those that begin it anew without its end are not: a loop may set back its own count. */
static bool ends_count(struct part *p, LLVMValueRef branch)
{
    for (unsigned side = 0; side < 2; side++) {
        bool ends[MOST_WAYS], on[MOST_WAYS], begins = false, goes_on = false, is_end = true;
        if (!find_behind(p, branch, side, ends) || !find_without(p, branch, side, on))
            return false;
        for (size_t i = 0; i < p->way_count; i++) {
            begins = begins || ends[i];
            goes_on = goes_on || (on[i] && !ends[i] && !p->ways[i].is_begin);
            is_end = is_end && (!ends[i] || p->ways[i].is_begin);
        }
        if (!begins || !goes_on || !is_end)
            continue;
        p->is_left_early = false;
        for (size_t i = 0; i < p->way_count; i++) {
            p->ways[i].is_outer = ends[i] || !p->ways[i].node;
            p->is_left_early = p->is_left_early || (ends[i] && on[i]);
        }
        return true;
    }
    return false;
}

/* Whether a value is made of the count, or is what it goes on with. */
static bool tells_count(const struct part *p, LLVMValueRef value)
{
    bool is_next = false;
    for (size_t i = 0; i < p->way_count && !LLVMIsAConstant(value); i++)
        is_next = is_next || value_on(&p->ways[i], p->count) == value;
    return is_next || comes_of(p, value, false);
}

static bool asks_count(const struct part *p, LLVMValueRef question)
{
    return LLVMIsAICmpInst(question) &&
           (tells_count(p, LLVMGetOperand(question, 0)) || tells_count(p, LLVMGetOperand(question, 1)));
}

/* Of the branches that ask how far the count has come; NULL: none ends it. A count that is only set back, as in `run = same ? run + 1 : 0`,
 * makes no loop. */
static LLVMValueRef find_end(struct part *p)
{
    struct llvm_walk walk = {.list = {p->header}, .count = 1};
    for (size_t i = 0; i < walk.count; i++) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(walk.list[i]);
        bool is_asked =
            LLVMIsABranchInst(last) && LLVMIsConditional(last) && asks_count(p, LLVMGetCondition(last));
        p->may_end = p->may_end || is_asked;
        if (is_asked && ends_count(p, last))
            return last;
        for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++)
            if (!visit(p, &walk, LLVMGetSuccessor(last, k))) {
                p->may_end = true; /* nobody has looked everywhere */
                return NULL;
            }
    }
    return NULL;
}

/* --- parting ---------------------------------------------------------------------------------------------------- */

/* What comes in on all ways that begin anew; a phi in their block where it is not one value. */
static LLVMValueRef begin_of(const struct part *p, LLVMValueRef phi, LLVMBasicBlockRef again)
{
    LLVMValueRef one = NULL;
    bool is_one = true;
    for (size_t i = 0; i < p->way_count; i++) {
        LLVMValueRef value = p->ways[i].is_outer ? value_on(&p->ways[i], phi) : one;
        is_one = is_one && (!one || one == value);
        one = value;
    }
    if (is_one)
        return one;
    LLVMPositionBuilderBefore(p->builder, LLVMGetBasicBlockTerminator(again));
    LLVMValueRef joined = LLVMBuildPhi(p->builder, LLVMTypeOf(phi), "");
    for (size_t i = 0; i < p->way_count; i++) {
        LLVMValueRef value = value_on(&p->ways[i], phi);
        if (p->ways[i].is_outer)
            LLVMAddIncoming(joined, &value, (LLVMBasicBlockRef *)&p->ways[i].from, 1);
    }
    return joined;
}

/* Whether it stays as it is in the inner loop. */
static bool stays(const struct part *p, LLVMValueRef phi)
{
    for (size_t i = 0; i < p->way_count; i++)
        if (!p->ways[i].is_outer && value_on(&p->ways[i], phi) != phi)
            return false;
    return true;
}

static LLVMValueRef inner_phi(const struct part *p, LLVMValueRef phi, LLVMValueRef begin,
                              LLVMBasicBlockRef again)
{
    LLVMPositionBuilderBefore(p->builder, phi);
    LLVMValueRef inner = LLVMBuildPhi(p->builder, LLVMTypeOf(phi), "");
    LLVMAddIncoming(inner, &begin, &again, 1);
    for (size_t i = 0; i < p->way_count; i++) {
        LLVMValueRef value = value_on(&p->ways[i], phi);
        if (!p->ways[i].is_outer)
            LLVMAddIncoming(inner, &value, (LLVMBasicBlockRef *)&p->ways[i].from, 1);
    }
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

static bool is_incoming(LLVMValueRef phi, LLVMValueRef value)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingValue(phi, i) == value)
            return true;
    return false;
}

/* Whether it begins anew as it did at first. */
static bool is_set_back_to_begin(const struct part *p)
{
    for (size_t i = 0; i < p->way_count; i++)
        for (size_t k = 0; k < i; k++)
            if (p->ways[i].is_begin && p->ways[k].is_begin && (p->ways[i].node || p->ways[k].node) &&
                value_on(&p->ways[i], p->count) == value_on(&p->ways[k], p->count))
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
        goes_on = goes_on || comes_of(p, one, true);
        begins = begins || is_incoming(p->count, one);
    }
    return goes_on && begins;
}

/* The same where one way back is for both, and asks what comes of the choice. */
static void doubt_choices(const struct part *p)
{
    for (unsigned i = 0; i < LLVMCountIncoming(p->count); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(p->count, i);
        LLVMValueRef value = LLVMGetIncomingValue(p->count, i), last = LLVMGetBasicBlockTerminator(from);
        bool asks =
            LLVMIsABranchInst(last) && LLVMIsConditional(last) && LLVMIsAICmpInst(LLVMGetCondition(last));
        if (asks && LLVMGetMetadata(last, p->loop_kind) && is_set_back(p, value) &&
            (LLVMGetOperand(LLVMGetCondition(last), 0) == value || asks_count(p, LLVMGetCondition(last))))
            doubt_at(p, from, PARTED_UNSURE);
    }
}

static bool part_block(struct part *p, LLVMBasicBlockRef block)
{
    p->header = block;
    p->count = LLVMGetFirstInstruction(block);
    for (; p->count && LLVMIsAPHINode(p->count); p->count = LLVMGetNextInstruction(p->count)) {
        bool is_found = find_ways(p);
        doubt_choices(p);
        if (!is_found || p->way_count < 3)
            continue;
        p->may_end = false;
        p->end = sort_ways(p) ? find_end(p) : NULL;
        if (p->end) {
            part_header(p);
            return true;
        }
        if (has_two_nodes(p))
            doubt(p, PARTED_LOST);
        else if (p->may_end && is_set_back_to_begin(p))
            doubt(p, PARTED_UNSURE);
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
