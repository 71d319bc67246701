/* joulec/llvm/llvm_period.c - see llvm_module.h: branches that go one way once in a period, such as that to a refill: a count goes on
 * by the same step each time until it is what it is compared with, and is set back there.
 *
 * The count is a place in memory, or a phi of the loop around the branch; a passing is a round of that loop, or a call where there is
 * none. Its ways are walked three times: up to the branch, and on from it by each of its edges. Of each value and of the place is kept
 * whether it is a constant, or what the count was as the passing began and a constant more. Where one edge leaves the count a step
 * on, and the other one leaves it steps back from what it is compared with, these steps are the period.
 * Newcomers: of a place only what its own function does in a passing is looked at; what sets it back between two of them makes the
 * period shorter. Numbers are taken not to wrap around.
 */
#include "joulec/llvm/llvm_module.h"

#include <math.h>
#include <string.h>

#define MOST_STEPS 8         /* from what is compared back to the count */
#define MOST_LOOKS (1 << 19) /* at instructions, for one function: its further branches stay unknown */
#define NEITHER    (-1)

/* Of a value, or of what lies at the place. */
enum known {
    KNOWN_NOTHING,
    KNOWN_LATER, /* no way has come there yet */
    KNOWN_SUM,   /* it is what the count was as the passing began, and `by` */
    KNOWN_CONSTANT
};

struct amount {
    enum known known;
    int64_t by;
};

enum touch {
    TOUCH_NONE,
    TOUCH_COUNT, /* it loads or stores it */
    TOUCH_MAYBE  /* nobody knows what it leaves there */
};

struct walk {
    LLVMTargetDataRef layout;
    LLVMBasicBlockRef *from;
    const struct numbering *blocks;
    struct function *function;
    const struct loops *loops;
    struct numbering values;   /* the function's instructions */
    struct llvm_place *places; /* of each that has an address */
    struct amount *amounts;    /* of each */
    enum touch *touches;       /* of each */
    struct amount *left;       /* of each block, what it leaves at the place */
    bool *is_reached;          /* of each block, by this walk */
    size_t looks;
    /* Of one branch: */
    uint32_t branch;
    LLVMValueRef question;
    int32_t loop;     /* around it; -1: none */
    LLVMValueRef phi; /* the count; NULL: it is at the place */
    struct llvm_place place;
    unsigned bits; /* of the count */
    int way;       /* the edge that it is taken to go; NEITHER: the walk ends there */
};

static struct amount sum(struct amount amount, int64_t by)
{
    return (struct amount){amount.known, (int64_t)((uint64_t)amount.by + (uint64_t)by)};
}

static bool is_same(struct amount a, struct amount b)
{
    return a.known == b.known && (a.by == b.by || a.known < KNOWN_SUM);
}

/* Where ways meet. */
static struct amount either(struct amount a, struct amount b)
{
    if (a.known == KNOWN_LATER || is_same(a, b))
        return b;
    return b.known == KNOWN_LATER ? a : (struct amount){KNOWN_NOTHING, 0};
}

/* --- a walk ------------------------------------------------------------------------------------------------- */

static uint32_t begin_of(const struct walk *w)
{
    return w->loop < 0 ? 0 : w->loops->list[w->loop].header;
}

static bool is_inside(const struct walk *w, uint32_t block)
{
    return w->loops->flow.rank[block] != FLOW_NONE && loop_has(w->loops, w->loop, block);
}

/* Whether the walk has come to the end of `from`, and goes on to `to`. */
static bool goes(const struct walk *w, uint32_t from, uint32_t to)
{
    if (!is_inside(w, from) || !w->is_reached[from])
        return false;
    return from != w->branch || (w->way != NEITHER && w->function->blocks[from].edges[w->way].to == to);
}

static struct amount amount_of(const struct walk *w, LLVMValueRef value)
{
    int64_t constant;
    while (w->way != NEITHER && LLVMIsASelectInst(value) && LLVMGetOperand(value, 0) == w->question)
        value = LLVMGetOperand(value, (unsigned)w->way + 1);
    if (llvm_constant(value, &constant))
        return (struct amount){KNOWN_CONSTANT, constant};
    int32_t number = llvm_number_of(&w->values, value);
    return number < 0 ? (struct amount){KNOWN_NOTHING, 0} : w->amounts[number];
}

/* Of what comes into a phi by the ways of this walk. */
static struct amount amount_of_incoming(const struct walk *w, LLVMValueRef phi)
{
    uint32_t to = (uint32_t)llvm_number_of(w->blocks, LLVMGetInstructionParent(phi));
    struct amount all = {KNOWN_LATER, 0};
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        int32_t from = llvm_number_of(w->blocks, LLVMGetIncomingBlock(phi, i));
        if (from >= 0 && goes(w, (uint32_t)from, to))
            all = either(all, amount_of(w, LLVMGetIncomingValue(phi, i)));
    }
    return all;
}

static struct amount amount_of_sum(const struct walk *w, LLVMValueRef value)
{
    struct amount a = amount_of(w, LLVMGetOperand(value, 0)), b = amount_of(w, LLVMGetOperand(value, 1));
    bool is_sub = LLVMGetInstructionOpcode(value) == LLVMSub;
    if (a.known == KNOWN_LATER || b.known == KNOWN_LATER)
        return (struct amount){KNOWN_LATER, 0};
    if (a.known != KNOWN_NOTHING && b.known == KNOWN_CONSTANT)
        return sum(a, is_sub ? (int64_t)(0 - (uint64_t)b.by) : b.by);
    if (b.known != KNOWN_NOTHING && a.known == KNOWN_CONSTANT && !is_sub)
        return sum(b, a.by);
    return (struct amount){KNOWN_NOTHING, 0};
}

static uint64_t as_unsigned(int64_t value, unsigned bits)
{
    return bits < 64 ? (uint64_t)value & ((UINT64_C(1) << bits) - 1) : (uint64_t)value;
}

static struct amount amount_of_widened(const struct walk *w, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(value, 0));
    struct amount amount = amount_of(w, LLVMGetOperand(value, 0));
    if (amount.known == KNOWN_CONSTANT && LLVMGetTypeKind(type) == LLVMIntegerTypeKind)
        amount.by = (int64_t)as_unsigned(amount.by, LLVMGetIntTypeWidth(type));
    return amount;
}

static struct amount evaluate(const struct walk *w, LLVMValueRef value, bool is_at_begin,
                              struct amount at_place)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMPHI:
        if (is_at_begin)
            return (struct amount){value == w->phi ? KNOWN_SUM : KNOWN_NOTHING, 0};
        return amount_of_incoming(w, value);
    case LLVMLoad:
        return w->touches[llvm_number_of(&w->values, value)] == TOUCH_COUNT ? at_place : (struct amount){0};
    case LLVMAdd:
    case LLVMSub:
        return amount_of_sum(w, value);
    case LLVMSelect:
        return either(amount_of(w, LLVMGetOperand(value, 1)), amount_of(w, LLVMGetOperand(value, 2)));
    case LLVMZExt:
        return amount_of_widened(w, value);
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMFreeze:
        return amount_of(w, LLVMGetOperand(value, 0));
    default:
        return (struct amount){KNOWN_NOTHING, 0};
    }
}

/* What ways of this walk bring to a block; KNOWN_LATER: none leads there. */
static struct amount amount_before(const struct walk *w, uint32_t block)
{
    const struct flow *flow = &w->loops->flow;
    struct amount all = {KNOWN_LATER, 0};
    for (uint32_t i = flow->before_begin[block]; i < flow->before_begin[block + 1]; i++)
        if (goes(w, flow->before[i], block))
            all = either(all, w->left[flow->before[i]]);
    return all;
}

static bool set(struct amount *old, struct amount new)
{
    bool is_new = !is_same(*old, new);
    *old = new;
    return is_new;
}

/* True: something is known otherwise than before. */
static bool run_block(struct walk *w, uint32_t block, struct amount at_place)
{
    bool is_first = !w->is_reached[block], is_changed = is_first;
    w->is_reached[block] = true;
    for (LLVMValueRef v = LLVMGetFirstInstruction(w->from[block]); v; v = LLVMGetNextInstruction(v)) {
        int32_t number = llvm_number_of(&w->values, v);
        enum touch touch = w->touches[number];
        w->looks++;
        if (touch == TOUCH_MAYBE)
            at_place = (struct amount){KNOWN_NOTHING, 0};
        else if (touch == TOUCH_COUNT && LLVMIsAStoreInst(v))
            at_place = amount_of(w, LLVMGetOperand(v, 0));
        is_changed = set(&w->amounts[number], evaluate(w, v, block == begin_of(w), at_place)) || is_changed;
    }
    return set(&w->left[block], at_place) || is_changed;
}

/* On from the branch by `way`, or up to it, until nothing changes. False: it takes too long. */
static bool walk(struct walk *w, int way)
{
    const struct flow *flow = &w->loops->flow;
    bool is_changed = true;
    w->way = way;
    memset(w->is_reached, 0, w->function->block_count * sizeof *w->is_reached);
    w->is_reached[w->branch] = way != NEITHER;
    while (is_changed) {
        if (w->looks > MOST_LOOKS)
            return false;
        is_changed = false;
        for (uint32_t i = flow->rank[begin_of(w)]; i < flow->reached; i++) {
            uint32_t block = flow->order[i];
            bool is_begin = block == begin_of(w);
            if (!is_inside(w, block) || (way != NEITHER && (is_begin || block == w->branch)))
                continue;
            struct amount before = is_begin ? (struct amount){KNOWN_SUM, 0} : amount_before(w, block);
            if (is_begin || before.known != KNOWN_LATER)
                is_changed = run_block(w, block, before) || is_changed;
        }
    }
    return true;
}

/* What the walk leaves of the count as the passing ends; KNOWN_LATER: it never does. */
static struct amount amount_after(const struct walk *w)
{
    struct amount all = {KNOWN_LATER, 0};
    if (w->phi)
        return amount_of_incoming(w, w->phi);
    if (w->loop >= 0)
        return amount_before(w, begin_of(w));
    for (uint32_t b = 0; b < w->function->block_count; b++) {
        const struct block *block = &w->function->blocks[b];
        if (is_inside(w, b) && w->is_reached[b] && !block->edge_count && !block->is_dead_end)
            all = either(all, w->left[b]);
    }
    return all;
}

/* --- a period ----------------------------------------------------------------------------------------------- */

static bool asks_if_below(enum compare kind)
{
    return kind == COMPARE_LESS || kind == COMPARE_AT_MOST || kind == COMPARE_BELOW ||
           kind == COMPARE_BELOW_OR_SAME;
}

/* Where 'more than 5' is 'at least 6'. */
static int beyond(enum compare kind)
{
    if (kind == COMPARE_MORE || kind == COMPARE_ABOVE)
        return 1;
    return kind == COMPARE_LESS || kind == COMPARE_BELOW ? -1 : 0;
}

/* How many steps back the count goes where what is compared, `offset` more than it, has come to the limit. Where it is set to what
 * nobody knows, that is 0 (assumed: most that count up begin there). */
static double steps_back(const struct comparison *asked, double limit, int64_t offset, int64_t step,
                         struct amount back, double set_to)
{
    double end = limit + beyond(asked->kind);
    if (back.known == KNOWN_SUM)
        return -(double)back.by / (double)step;
    if (back.known == KNOWN_CONSTANT)
        return (end - (double)offset - set_to) / (double)step;
    return step > 0 ? end / (double)step - 1 : 0;
}

/* The period where `asked` holds once in it; 0: there is none. */
static double period_as(const struct walk *w, const struct comparison *asked, int64_t offset, int64_t step,
                        struct amount back, bool is_unsigned)
{
    int64_t limit = asked->right.constant;
    double steps =
        steps_back(asked, is_unsigned ? (double)as_unsigned(limit, w->bits) : (double)limit, offset, step,
                   back, is_unsigned ? (double)as_unsigned(back.by, w->bits) : (double)back.by);
    if (asked->kind == COMPARE_EQUAL && steps != floor(steps))
        return 0;
    if (back.known != KNOWN_SUM)
        steps = ceil(steps);
    return steps > 0 ? 1 + steps : 0;
}

/* What is only asked to be equal may have a sign or none; of numbers as wide as int it has one. */
static double period_of(const struct walk *w, struct comparison asked, struct amount before, struct amount on,
                        struct amount back)
{
    bool is_equality = asked.kind == COMPARE_EQUAL;
    bool is_step = before.known == KNOWN_SUM && on.known == KNOWN_SUM && on.by;
    if (!is_step || back.known == KNOWN_LATER || asked.kind == COMPARE_NOT_EQUAL ||
        (!is_equality && asks_if_below(asked.kind) != (on.by < 0)))
        return 0;
    double period = period_as(w, &asked, before.by, on.by, back, asked.kind >= COMPARE_BELOW);
    bool may_lack_sign = is_equality && w->bits < 32;
    return period > 0 || !may_lack_sign ? period : period_as(w, &asked, before.by, on.by, back, true);
}

/* Ways that avoid the branch must leave the count alone. False: it takes too long. */
static bool find_period(struct walk *w, struct block *out)
{
    struct comparison asked = out->condition.list[0];
    struct amount after[2];
    if (!walk(w, NEITHER))
        return false;
    struct amount before = amount_of(w, LLVMGetOperand(w->question, 0)), past = amount_after(w);
    if (before.known != KNOWN_SUM || (past.known != KNOWN_LATER && !(past.known == KNOWN_SUM && !past.by)))
        return true;
    for (int way = 0; way < 2; way++) {
        if (!walk(w, way))
            return false;
        after[way] = amount_after(w);
    }
    for (uint32_t way = 0; way < 2 && !(out->period > 0); way++) {
        out->period = period_of(w, asked, before, after[1 - way], after[way]);
        out->period_edge = way;
        asked.kind = compare_contrary(asked.kind);
    }
    return true;
}

/* --- branches ----------------------------------------------------------------------------------------------- */

/* What is compared, but for what is added: a phi of the loop, or a load. NULL: neither. */
static LLVMValueRef count_of(const struct walk *w, LLVMValueRef value)
{
    for (int steps = 0; steps < MOST_STEPS && LLVMIsAInstruction(value); steps++) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
        if (opcode == LLVMLoad && !LLVMGetVolatile(value))
            return value;
        if (opcode == LLVMPHI)
            return w->loop >= 0 && LLVMGetInstructionParent(value) == w->from[begin_of(w)] ? value : NULL;
        if (opcode != LLVMAdd && opcode != LLVMSub && opcode != LLVMZExt && opcode != LLVMSExt &&
            opcode != LLVMTrunc && opcode != LLVMFreeze)
            return NULL;
        value = LLVMGetOperand(value, 0);
    }
    return NULL;
}

static enum touch touch_of(struct walk *w, LLVMValueRef value)
{
    int32_t number = llvm_number_of(&w->values, value);
    if (LLVMIsACallInst(value) || LLVMIsAInvokeInst(value))
        return llvm_call_may_write(value, &w->place, &w->looks) ? TOUCH_MAYBE : TOUCH_NONE;
    if (number < 0 || !w->places[number].address)
        return TOUCH_NONE;
    bool is_load = LLVMIsALoadInst(value), is_plain = is_load || LLVMIsAStoreInst(value);
    if (is_plain && llvm_is_same_place(&w->places[number], &w->place) && !LLVMGetVolatile(value))
        return TOUCH_COUNT;
    return !is_load && llvm_extents_meet(&w->places[number].extent, &w->place.extent) ? TOUCH_MAYBE
                                                                                      : TOUCH_NONE;
}

/* Sets what each instruction of a passing does to the count. False: none stores it. */
static bool find_touches(struct walk *w)
{
    bool is_stored = w->phi != NULL;
    memset(w->amounts, 0, w->values.count * sizeof *w->amounts);
    memset(w->touches, 0, w->values.count * sizeof *w->touches);
    for (uint32_t b = 0; b < w->function->block_count && !w->phi; b++) {
        if (!is_inside(w, b))
            continue;
        for (LLVMValueRef v = LLVMGetFirstInstruction(w->from[b]); v; v = LLVMGetNextInstruction(v)) {
            enum touch touch = touch_of(w, v);
            w->touches[llvm_number_of(&w->values, v)] = touch;
            w->looks++;
            is_stored = is_stored || (touch == TOUCH_COUNT && LLVMIsAStoreInst(v));
        }
    }
    return is_stored;
}

/* Whether a block ends with a question about a count and a constant, which does not end its loop. */
static bool is_asked(const struct walk *w, const struct block *block)
{
    const struct condition *condition = &block->condition;
    LLVMValueRef last = LLVMGetBasicBlockTerminator(w->from[w->branch]);
    return w->loops->flow.rank[w->branch] != FLOW_NONE && block->edge_count == 2 &&
           block->edges[0].to != block->edges[1].to && condition->count == 1 && !condition->is_part &&
           condition->list[0].right.is_constant && LLVMIsAICmpInst(LLVMGetCondition(last)) &&
           (w->loop < 0 || !loop_is_left_from(w->loops, w->loop, block));
}

/* One place for all passings. */
static bool is_fixed(const struct walk *w)
{
    LLVMValueRef from = w->place.extent.base;
    if (w->phi || !LLVMIsAInstruction(from) || LLVMIsAAllocaInst(from))
        return w->phi || w->place.is_exact;
    int32_t block = llvm_number_of(w->blocks, LLVMGetInstructionParent(from));
    return w->place.is_exact && w->loop >= 0 && block >= 0 && !is_inside(w, (uint32_t)block);
}

/* Sets what the branch at the end of a block asks of which count; NULL: of none. */
static LLVMValueRef ask(struct walk *w, uint32_t b)
{
    w->branch = b;
    w->loop = w->loops->innermost[b];
    if (!is_asked(w, &w->function->blocks[b]))
        return NULL;
    w->question = LLVMGetCondition(LLVMGetBasicBlockTerminator(w->from[b]));
    LLVMValueRef count = count_of(w, LLVMGetOperand(w->question, 0));
    return count && LLVMGetTypeKind(LLVMTypeOf(count)) == LLVMIntegerTypeKind ? count : NULL;
}

/* False: the function is too large to go on. */
static bool look_at(struct walk *w, LLVMValueRef count)
{
    struct block *block = &w->function->blocks[w->branch];
    if (w->looks > MOST_LOOKS)
        return false;
    w->bits = LLVMGetIntTypeWidth(LLVMTypeOf(count));
    w->phi = LLVMIsAPHINode(count) ? count : NULL;
    if (!w->phi)
        w->place = w->places[llvm_number_of(&w->values, count)];
    if (!find_touches(w))
        return true;
    bool is_done = find_period(w, block);
    if (block->period > 0 && is_fixed(w))
        block->is_by_data = false;
    return is_done;
}

static bool lay_out(struct walk *w, struct arena *arena)
{
    size_t count = 0, blocks = w->function->block_count;
    for (size_t b = 0; b < blocks; b++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(w->from[b]); v; v = LLVMGetNextInstruction(v))
            count++;
    LLVMValueRef *values = arena_alloc(arena, (count + 1) * sizeof *values);
    w->places = arena_alloc(arena, (count + 1) * sizeof *w->places);
    w->amounts = arena_alloc(arena, (count + 1) * sizeof *w->amounts);
    w->touches = arena_alloc(arena, (count + 1) * sizeof *w->touches);
    w->left = arena_alloc(arena, (blocks + 1) * sizeof *w->left);
    w->is_reached = arena_alloc(arena, (blocks + 1) * sizeof *w->is_reached);
    if (arena->is_out_of_memory)
        return false;
    count = 0;
    for (size_t b = 0; b < blocks; b++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(w->from[b]); v; v = LLVMGetNextInstruction(v)) {
            values[count] = v;
            if (llvm_address_of(v))
                w->places[count] = llvm_place_of(w->layout, v);
            count++;
        }
    return llvm_number_all(arena, (void *const *)values, count, &w->values);
}

bool llvm_find_periods(LLVMTargetDataRef layout, LLVMBasicBlockRef *from, const struct numbering *blocks,
                       struct function *function, const struct loops *loops)
{
    struct arena scratch = {0};
    struct walk w = {.layout = layout, .from = from, .blocks = blocks, .function = function, .loops = loops};
    bool is_good = true, goes_on = !loops->is_irregular;
    for (uint32_t b = 0; b < function->block_count && is_good && goes_on; b++) {
        LLVMValueRef count = ask(&w, b);
        if (!count)
            continue;
        is_good = w.amounts || lay_out(&w, &scratch);
        goes_on = is_good && look_at(&w, count);
    }
    arena_free(&scratch);
    return is_good;
}
