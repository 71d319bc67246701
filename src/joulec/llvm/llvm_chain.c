/* joulec/llvm/llvm_chain.c - see llvm_module.h: the longest chain of operations from one round of a loop to the next.
 *
 * A chain begins with a phi of the header, goes through operations that wait for one another, and ends where the value comes
 * back to that phi. Of several ways the one with most cycles counts, whatever the branches do.
 * Or it comes back through memory: by a store to the place that the next round loads, or to a place of the same variable that
 * what was loaded from that variable decides. A core lets loads wait for such a store, since it has often seen them meet.
 * Of blocks that are in no such loop, the longest chain inside is taken.
 * Newcomers: addresses that a load waits for are on the way. Of memory only what each round does is looked at, and no place that
 * goes on with a counter, from which the next rounds go away.
 */
#include "joulec/llvm/llvm_module.h"

#include <string.h>

#define MOST_STEPS (1 << 22) /* of instructions of a loop times its phis: larger ones stay unknown */
#define MOST_LOOKS                                                                                           \
    (1 << 19) /* of instructions of a loop times its stores: the chains of others stay unknown */

/* A step's operand that is a step, too. */
struct wait {
    int32_t on;   /* that step */
    double times; /* so often it takes its kind's latency */
};

struct step {
    LLVMValueRef value;
    double latency;
    uint32_t first_wait, wait_count;
    double waits_at_once; /* where all that it works with is there */
    double cycles;        /* the longest way from the chain's begin to its result; negative: none */
    double waits;         /* of its kind, of these */
    int32_t from;         /* the step before; -1: none */
    uint32_t block;       /* of the function */
    bool is_begin;        /* of the chain that is looked for */
    bool is_moving;       /* goes on with a counter of the loop */
};

struct walk {
    struct arena *arena;
    LLVMTargetDataRef layout;
    LLVMBasicBlockRef *from;
    struct function *function;
    const struct loops *loops;
    struct numbering numbers; /* of the steps */
    struct step *steps;       /* of one loop, in the order in which they run */
    size_t count;
    struct wait *waits; /* of all steps */
    size_t loop;        /* which one, and so what follows: */
    size_t phis;        /* of its header, which are the first steps */
};

static void take_wait(const struct walk *w, struct step *step, int32_t on, double times)
{
    double before = on >= 0 ? w->steps[on].cycles : -1;
    if (before >= 0 && before + times * step->latency > step->cycles) {
        step->cycles = before + times * step->latency;
        step->from = on;
        step->waits = times;
    }
}

static void take_waits(const struct walk *w, struct step *step)
{
    for (uint32_t i = step->first_wait; i < step->first_wait + step->wait_count; i++)
        take_wait(w, step, w->waits[i].on, w->waits[i].times);
}

/* The longest way to each step from where the chain begins. */
static void walk_chain(struct walk *w)
{
    for (size_t i = 0; i < w->count; i++) {
        struct step *step = &w->steps[i];
        bool is_phi = i < w->phis;
        step->from = -1;
        step->waits = step->is_begin && !is_phi ? step->waits_at_once : 0;
        step->cycles = step->is_begin ? step->waits * step->latency : -1;
        if (!is_phi)
            take_waits(w, step);
    }
}

/* The same, for what ends a chain and is no step of it. */
static void take_end(const struct walk *w, struct step *end, LLVMValueRef operand)
{
    take_wait(w, end, llvm_number_of(&w->numbers, operand), 0);
}

/* What comes back to the phi. */
static struct step back_to(const struct walk *w, size_t first)
{
    struct step back = {.cycles = -1, .from = -1};
    LLVMValueRef phi = w->steps[first].value;
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++)
        take_end(w, &back, LLVMGetIncomingValue(phi, k));
    return back;
}

/* --- through memory ---------------------------------------------------------------------------------------------- */

static void find_moving(struct walk *w)
{
    for (size_t i = 0; i < w->count; i++) {
        struct step *step = &w->steps[i];
        step->is_moving = i < w->phis && llvm_is_counter(step->value);
        bool is_made = i >= w->phis && !LLVMIsALoadInst(step->value);
        for (uint32_t k = 0; k < step->wait_count && is_made; k++)
            step->is_moving = step->is_moving || w->steps[w->waits[step->first_wait + k].on].is_moving;
    }
}

static bool runs_each_round(const struct walk *w, uint32_t block)
{
    const struct flow *flow = &w->loops->flow;
    uint32_t header = w->loops->list[w->loop].header;
    for (uint32_t i = flow->before_begin[header]; i < flow->before_begin[header + 1]; i++)
        if (loop_has(w->loops, (int32_t)w->loop, flow->before[i]) &&
            !flow_dominates(flow, block, flow->before[i]))
            return false;
    return true;
}

static int32_t address_step(const struct walk *w, size_t i)
{
    return llvm_number_of(&w->numbers, llvm_address_of(w->steps[i].value));
}

/* Whether the load may take what the store left a round ago: it is at the same place, or both are wherever in a variable. */
static bool may_meet(const struct walk *w, size_t store, size_t load)
{
    LLVMValueRef to = llvm_address_of(w->steps[store].value), from = llvm_address_of(w->steps[load].value);
    int32_t at = address_step(w, load);
    if (address_step(w, store) < 0)
        return to == from;
    return llvm_may_share(w->layout, to, from) && (at < 0 || !w->steps[at].is_moving);
}

/* A store to one place, or to one that no counter leads away from. */
static bool is_store_that_stays(const struct walk *w, size_t i)
{
    int32_t at = LLVMIsAStoreInst(w->steps[i].value) ? address_step(w, i) : -1;
    return LLVMIsAStoreInst(w->steps[i].value) && (at < 0 || !w->steps[at].is_moving);
}

/* A chain begins with the loads that the store of the round before may have written for. False: there are none. */
static bool begin_with_loads(struct walk *w, size_t store)
{
    LLVMValueRef address = llvm_address_of(w->steps[store].value);
    int32_t at = address_step(w, store);
    bool is_fresh = false, is_any = false; /* is_fresh: this round has written there itself */
    if (!runs_each_round(w, w->steps[store].block))
        return false;
    if (at >= 0 && llvm_number_of(&w->numbers, llvm_base_of(address)) >= 0)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        LLVMValueRef value = w->steps[i].value;
        is_fresh = is_fresh || (at < 0 && LLVMIsAStoreInst(value) && llvm_address_of(value) == address &&
                                runs_each_round(w, w->steps[i].block));
        w->steps[i].is_begin = !is_fresh && LLVMIsALoadInst(value) && may_meet(w, store, i) &&
                               runs_each_round(w, w->steps[i].block);
        is_any = is_any || w->steps[i].is_begin;
    }
    return is_any;
}

/* What the store waits for. A place that is not the same each time must itself wait for what was loaded. */
static struct step back_by(const struct walk *w, size_t store)
{
    struct step back = {.cycles = -1, .from = -1};
    LLVMValueRef value = w->steps[store].value;
    int32_t at = address_step(w, store);
    if (at < 0 || w->steps[at].cycles >= 0)
        for (unsigned k = 0; k < 2; k++)
            take_end(w, &back, LLVMGetOperand(value, k));
    return back;
}

/* --- a chain ----------------------------------------------------------------------------------------------------- */

/* The longest chain that comes back to a phi of the header, or by a store; its last step is `from`. Negative cycles: none. */
static struct step find_back(struct walk *w, size_t i)
{
    bool is_phi = i < w->phis;
    if (!is_phi && !begin_with_loads(w, i))
        return (struct step){.cycles = -1, .from = -1};
    for (size_t k = 0; is_phi && k < w->count; k++)
        w->steps[k].is_begin = k == i;
    walk_chain(w);
    return is_phi ? back_to(w, i) : back_by(w, i);
}

static void mark_load(struct walk *w, const struct step *step)
{
    struct block *block = &w->function->blocks[step->block];
    size_t number = 0;
    for (LLVMValueRef v = LLVMGetPreviousInstruction(step->value); v; v = LLVMGetPreviousInstruction(v))
        number += llvm_address_of(v) != NULL;
    if (number < block->access_count)
        block->accesses[number].is_in_chain = true;
}

/* Loads on a chain that ends at `last`. */
static void mark_loads(struct walk *w, int32_t last)
{
    for (int32_t i = last; i >= 0; i = w->steps[i].from)
        if (LLVMGetInstructionOpcode(w->steps[i].value) == LLVMLoad)
            mark_load(w, &w->steps[i]);
}

/* Shares the chain that ends at `last` among its blocks. */
static void share_out(struct walk *w, int32_t last)
{
    for (int32_t i = last; i >= 0; i = w->steps[i].from) {
        const struct step *step = &w->steps[i];
        enum work work = llvm_work(step->value);
        if (work < WORK_KINDS)
            w->function->blocks[step->block].chain[work] += step->waits;
    }
}

static size_t count_operands(const struct walk *w)
{
    size_t operands = 0;
    for (size_t i = 0; i < w->count; i++)
        operands += (size_t)LLVMGetNumOperands(w->steps[i].value);
    return operands;
}

/* What each step waits for, once for all walks. */
static bool lay_out_waits(struct walk *w)
{
    uint32_t count = 0;
    w->waits = arena_alloc(w->arena, (count_operands(w) + 1) * sizeof *w->waits);
    for (size_t i = 0; i < w->count && w->waits; i++) {
        struct step *step = &w->steps[i];
        int operands = LLVMGetNumOperands(step->value);
        step->latency = llvm_latency(llvm_work(step->value));
        step->waits_at_once = operands ? llvm_waits(step->value, 0) : 0;
        step->first_wait = count;
        for (int k = 0; k < operands; k++) {
            int32_t on = llvm_number_of(&w->numbers, LLVMGetOperand(step->value, (unsigned)k));
            if (on >= 0)
                w->waits[count++] = (struct wait){on, llvm_waits(step->value, (unsigned)k)};
        }
        step->wait_count = count - step->first_wait;
    }
    return w->waits != NULL;
}

/* The loop's instructions, in the order in which they run. */
static bool lay_out(struct walk *w, const uint32_t *blocks, size_t block_count)
{
    size_t count = 0;
    for (size_t i = 0; i < block_count; i++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(w->from[blocks[i]]); v; v = LLVMGetNextInstruction(v))
            count++;
    w->steps = arena_alloc(w->arena, (count + 1) * sizeof *w->steps);
    LLVMValueRef *values = arena_alloc(w->arena, (count + 1) * sizeof *values);
    if (!w->steps || !values)
        return false;
    w->count = 0;
    for (size_t i = 0; i < block_count; i++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(w->from[blocks[i]]); v; v = LLVMGetNextInstruction(v)) {
            values[w->count] = v;
            w->steps[w->count++] = (struct step){.value = v, .block = blocks[i]};
        }
    return llvm_number_all(w->arena, (void *const *)values, count, &w->numbers) && lay_out_waits(w);
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

/* Adds the users of a step's value; each is looked at once. `is_seen` by step. False: the call is among them. */
static bool add_users(const struct walk *w, size_t step, size_t call, bool *is_seen, size_t *queue,
                      size_t *queued)
{
    for (LLVMUseRef use = LLVMGetFirstUse(w->steps[step].value); use; use = LLVMGetNextUse(use)) {
        int32_t number = llvm_number_of(&w->numbers, LLVMGetUser(use));
        if (number == (int32_t)call)
            return false;
        if (number < 0 || is_seen[number])
            continue;
        is_seen[number] = true;
        queue[(*queued)++] = (size_t)number;
    }
    return true;
}

/* Whether what the call returns never comes back to it, by whatever round. */
static bool is_beside(const struct walk *w, size_t call, bool *is_seen, size_t *queue)
{
    size_t queued = 0;
    memset(is_seen, 0, w->count * sizeof *is_seen);
    bool is = add_users(w, call, call, is_seen, queue, &queued);
    for (size_t i = 0; i < queued && is; i++)
        is = add_users(w, queue[i], call, is_seen, queue, &queued);
    return is;
}

/* The loop's calls that the next round does not wait for. False: no memory. */
static bool find_beside(struct walk *w)
{
    bool *is_seen = arena_alloc(w->arena, w->count + 1);
    size_t *queue = arena_alloc(w->arena, (w->count + 1) * sizeof *queue), number = 0, looks = 0;
    if (!is_seen || !queue)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        const struct step *step = &w->steps[i];
        struct block *block = &w->function->blocks[step->block];
        if (i == 0 || step->block != step[-1].block)
            number = 0;
        if (!llvm_is_real_call(step->value) || number == block->call_count)
            continue;
        looks += w->count;
        block->calls[number++].is_beside =
            looks < MOST_STEPS && llvm_writes_nothing(step->value) && is_beside(w, i, is_seen, queue);
    }
    return true;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* The longest way to each step of one block, whose operands from elsewhere are there; the last step of the longest of all. */
static int32_t walk_block(struct walk *w)
{
    int32_t last = -1;
    for (size_t i = 0; i < w->count; i++) {
        struct step *step = &w->steps[i];
        step->waits = step->waits_at_once;
        step->cycles = step->waits * step->latency;
        step->from = -1;
        take_waits(w, step);
        if (last < 0 || step->cycles > w->steps[last].cycles)
            last = (int32_t)i;
    }
    return last;
}

static bool find_longest(struct walk *w, uint32_t block)
{
    if (!lay_out(w, &block, 1))
        return false;
    for (int32_t i = walk_block(w); i >= 0; i = w->steps[i].from) {
        enum work work = llvm_work(w->steps[i].value);
        if (work < WORK_KINDS)
            w->function->blocks[block].chain[work] += w->steps[i].waits;
    }
    return true;
}

/* --- loops ------------------------------------------------------------------------------------------------------- */

/* The longest chain of all, shared out. False: the loop is too large to tell. */
static bool find_longest_chain(struct walk *w, bool *out_is_stored)
{
    double longest = 0;
    size_t longest_end = 0, looks = 0;
    if (w->phis * w->count > MOST_STEPS)
        return false;
    for (size_t i = 0; i < w->count; i++) {
        bool is_store = is_store_that_stays(w, i);
        looks += is_store ? w->count : 0;
        if (i >= w->phis && (!is_store || looks > MOST_LOOKS))
            continue;
        struct step back = find_back(w, i);
        mark_loads(w, back.from);
        if (back.cycles > longest) {
            longest = back.cycles;
            longest_end = i;
        }
    }
    if (longest > 0)
        share_out(w, find_back(w, longest_end).from);
    *out_is_stored = longest > 0 && longest_end >= w->phis;
    return true;
}

/* The first block is the header. */
static bool find_chain(struct walk *w, size_t loop)
{
    const struct loops *loops = w->loops;
    const uint32_t *blocks = loops->nodes + loops->node_begin[loop + 1];
    size_t block_count = loops->node_begin[loop + 2] - loops->node_begin[loop + 1];
    if (!lay_out(w, blocks, block_count))
        return false;
    w->loop = loop;
    for (w->phis = 0; w->phis < w->count && LLVMIsAPHINode(w->steps[w->phis].value);)
        w->phis++;
    find_moving(w);
    bool is_stored;
    if (!find_longest_chain(w, &is_stored))
        return true;
    for (size_t i = 0; i < block_count; i++) {
        w->function->blocks[blocks[i]].has_chain = true;
        w->function->blocks[blocks[i]].is_chain_stored = is_stored;
    }
    w->function->blocks[blocks[0]].begins_anew = llvm_begins_anew(w->from, loops, loop, &w->numbers);
    return find_beside(w);
}

/* Of a loop around others: where all that it takes from round to round are counters, what it does itself does not wait for the
 * round before. */
static void describe_outer(const struct walk *w, const struct loops *loops, size_t loop)
{
    const uint32_t *nodes = loops->nodes + loops->node_begin[loop + 1];
    size_t count = loops->node_begin[loop + 2] - loops->node_begin[loop + 1];
    LLVMValueRef value = LLVMGetFirstInstruction(w->from[nodes[0]]);
    for (; value && LLVMIsAPHINode(value); value = LLVMGetNextInstruction(value))
        if (!llvm_is_counter(value))
            return;
    for (size_t i = 0; i < count; i++)
        if (loops->innermost[nodes[i]] == (int32_t)loop)
            w->function->blocks[nodes[i]].has_chain = true;
}

bool llvm_find_chains(LLVMTargetDataRef layout, LLVMBasicBlockRef *from, struct function *function,
                      const struct loops *loops)
{
    struct arena scratch = {0};
    struct walk w = {.arena = &scratch, .layout = layout, .from = from, .function = function, .loops = loops};
    bool is_good = true;
    for (size_t i = 0; i < loops->count && is_good; i++)
        if (loops->list[i].is_outer)
            describe_outer(&w, loops, i);
        else
            is_good = find_chain(&w, i);
    for (uint32_t b = 0; b < function->block_count && is_good; b++) {
        int32_t loop = loops->innermost[b];
        if (!function->blocks[b].has_chain && (loop < 0 || loops->list[loop].is_outer))
            is_good = find_longest(&w, b);
    }
    arena_free(&scratch);
    return is_good;
}
