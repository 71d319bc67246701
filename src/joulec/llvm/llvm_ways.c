/* joulec/llvm/llvm_ways.c - see llvm_part.h: the ways into a loop's first block, and where one of its counts ends.
 *
 * Newcomers: where both loops have become one, the count goes on by some ways and begins anew by others; and the latter are the outer
 * loop's where they are taken behind a branch that asks how far the count has come.
 */
#include "joulec/llvm/llvm_part.h"

#define MOST_STEPS 6   /* from a count to what comes of it ... */
#define MOST_LOOKS 512 /* ... by so many values at most */

LLVMValueRef ways_value(const struct way *way, LLVMValueRef phi)
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

/* The block that always follows one of nothing but phis; NULL: it is none. */
static LLVMBasicBlockRef behind_phis(LLVMBasicBlockRef block)
{
    LLVMValueRef v = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(v) || LLVMIsADbgInfoIntrinsic(v))
        v = LLVMGetNextInstruction(v);
    return LLVMIsABranchInst(v) && !LLVMIsConditional(v) ? LLVMGetSuccessor(v, 0) : NULL;
}

/* Phis for those of the header, and nothing else, on the way back to it. */
static bool only_joins(const struct part *p, LLVMBasicBlockRef block)
{
    LLVMValueRef v = LLVMGetFirstInstruction(block);
    if (block == p->header || !LLVMIsAPHINode(v) || behind_phis(block) != p->header ||
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

bool ways_find(struct part *p, LLVMValueRef phi)
{
    bool is_good = true;
    p->way_count = 0;
    for (unsigned i = 0; i < LLVMCountIncoming(phi) && is_good; i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
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

bool ways_comes_of(const struct part *p, LLVMValueRef value, bool by_loads)
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
        LLVMValueRef value = ways_value(way, p->count);
        if (!value)
            return false;
        way->is_begin = !way->node || !ways_comes_of(p, value, true);
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
    bool is_next = !LLVMIsAConstant(value) && llvm_is_incoming(p->count, value);
    for (size_t i = 0; i < p->way_count && !LLVMIsAConstant(value); i++)
        is_next = is_next || ways_value(&p->ways[i], p->count) == value;
    return is_next || ways_comes_of(p, value, false);
}

bool ways_asks_count(const struct part *p, LLVMBasicBlockRef block)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
    bool is_branch = LLVMIsABranchInst(last) && LLVMIsConditional(last);
    LLVMValueRef question = is_branch ? LLVMGetCondition(last) : NULL;
    return question && LLVMIsAICmpInst(question) &&
           (tells_count(p, LLVMGetOperand(question, 0)) || tells_count(p, LLVMGetOperand(question, 1)));
}

/* Of the branches that ask how far the count has come; NULL: none ends it. A count that is only set back, as in `run = same ? run + 1 : 0`,
 * makes no loop. */
static LLVMValueRef find_end(struct part *p)
{
    struct llvm_walk walk = {.list = {p->header}, .count = 1};
    for (size_t i = 0; i < walk.count; i++) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(walk.list[i]);
        bool is_asked = ways_asks_count(p, walk.list[i]);
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

void ways_find_end(struct part *p)
{
    p->may_end = false;
    p->end = sort_ways(p) ? find_end(p) : NULL;
}
