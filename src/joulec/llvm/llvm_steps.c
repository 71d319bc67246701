/* joulec/llvm/llvm_dependence.c - see llvm_dependence.h. */
#include "joulec/llvm/llvm_steps.h"

#include <string.h>

#define MOST_STEPS (1 << 22) /* maximum nodes that are visited for the results of calls */
/* Assumed cycles of a call when chains are compared; the work of the call is added elsewhere. */
#define CALL_CYCLES 10

/* --- building the graph
 * ------------------------------------------------------------------------------------- */

static size_t most_waits(const struct steps *s)
{
    size_t most = 0;
    for (size_t i = 0; i < s->count; i++)
        most += (size_t)LLVMGetNumOperands(s->list[i].value);
    return most;
}

static void describe(struct step *step)
{
    bool is_call = step->call;
    step->latency = is_call ? CALL_CYCLES : llvm_latency(llvm_work(step->value));
    step->waits_at_once = is_call ? 1 : LLVMGetNumOperands(step->value) ? llvm_waits(step->value, 0) : 0;
}

/* Lists the operands of each node, once for all walks. */
static bool lay_out_waits(struct steps *s)
{
    uint32_t count = 0;
    s->waits = arena_alloc(s->arena, (most_waits(s) + 1) * sizeof *s->waits);
    for (size_t i = 0; i < s->count && s->waits; i++) {
        struct step *step = &s->list[i];
        describe(step);
        step->first_wait = count;
        for (int k = 0; k < LLVMGetNumOperands(step->value); k++) {
            int32_t on = llvm_number_of(&s->numbers, LLVMGetOperand(step->value, (unsigned)k));
            if (on >= 0)
                s->waits[count++] = (struct wait){on, step->call ? 1 : llvm_waits(step->value, (unsigned)k)};
        }
        step->wait_count = count - step->first_wait;
    }
    return s->waits != NULL;
}

static void add_block(struct steps *s, uint32_t number)
{
    struct block *block = &s->function->blocks[number];
    size_t calls = 0;
    for (LLVMValueRef v = LLVMGetFirstInstruction(s->from[number]); v; v = LLVMGetNextInstruction(v)) {
        bool is_call = llvm_is_real_call(v) && calls < block->call_count;
        s->list[s->count++] =
            (struct step){.value = v, .block = number, .call = is_call ? &block->calls[calls++] : NULL};
    }
}

bool steps_lay_out(struct steps *s, const uint32_t *blocks, size_t block_count)
{
    size_t count = 0;
    for (size_t i = 0; i < block_count; i++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(s->from[blocks[i]]); v; v = LLVMGetNextInstruction(v))
            count++;
    s->list = arena_alloc(s->arena, (count + 1) * sizeof *s->list);
    LLVMValueRef *values = arena_alloc(s->arena, (count + 1) * sizeof *values);
    if (!s->list || !values)
        return false;
    s->count = 0;
    for (size_t i = 0; i < block_count; i++)
        add_block(s, blocks[i]);
    for (size_t i = 0; i < count; i++)
        values[i] = s->list[i].value;
    return llvm_number_all(s->arena, (void *const *)values, count, &s->numbers) && lay_out_waits(s);
}

int32_t steps_address(const struct steps *s, size_t access)
{
    return llvm_number_of(&s->numbers, llvm_address_of(s->list[access].value));
}

/* --- paths
 * -------------------------------------------------------------------------------------------------- */

struct step steps_end(void)
{
    return (struct step){.cycles = -1, .from = -1};
}

void steps_take_wait(const struct steps *s, struct step *step, struct wait wait)
{
    double before = wait.on >= 0 ? s->list[wait.on].cycles : -1;
    if (before >= 0 && before + wait.times * step->latency > step->cycles) {
        step->cycles = before + wait.times * step->latency;
        step->from = wait.on;
        step->waits = wait.times;
    }
}

/* Finds the longest path to a node, from itself or through its operands. In irreducible cycles an operand may
 * come later in the list; it is then ignored. */
static void walk_to(const struct steps *s, size_t number, bool is_begin, bool has_waits)
{
    struct step *step = &s->list[number];
    step->from = -1;
    step->waits = is_begin && has_waits ? step->waits_at_once : 0;
    step->cycles = is_begin ? step->waits * step->latency : -1;
    for (uint32_t i = step->first_wait; i < step->first_wait + step->wait_count && has_waits; i++)
        if (s->waits[i].on < (int32_t)number)
            steps_take_wait(s, step, s->waits[i]);
}

void steps_walk(struct steps *s, size_t phis)
{
    for (size_t i = 0; i < s->count; i++)
        walk_to(s, i, s->list[i].is_begin, i >= phis);
}

int32_t steps_walk_all(struct steps *s)
{
    int32_t last = -1;
    for (size_t i = 0; i < s->count; i++) {
        walk_to(s, i, true, true);
        if (last < 0 || s->list[i].cycles > s->list[last].cycles)
            last = (int32_t)i;
    }
    return last;
}

void steps_add_work(const struct step *step, double out_chain[WORK_KINDS])
{
    enum work work = llvm_work(step->value);
    if (!step->call && work < WORK_KINDS)
        out_chain[work] += step->waits;
}

void steps_keep(struct steps *s, const struct step *end)
{
    for (int32_t i = end->from; i >= 0; i = s->list[i].from)
        steps_add_work(&s->list[i], s->function->blocks[s->list[i].block].chain);
}

/* --- independent calls
 * -------------------------------------------------------------------------------------- */

/* Adds the users of a node's value once. is_seen: by node. Returns false if the call is among them. */
static bool add_users(const struct steps *s, size_t step, size_t call, bool *is_seen, size_t *queue,
                      size_t *queued)
{
    for (LLVMUseRef use = LLVMGetFirstUse(s->list[step].value); use; use = LLVMGetNextUse(use)) {
        int32_t number = llvm_number_of(&s->numbers, LLVMGetUser(use));
        if (number == (int32_t)call)
            return false;
        if (number < 0 || is_seen[number])
            continue;
        is_seen[number] = true;
        queue[(*queued)++] = (size_t)number;
    }
    return true;
}

/* Returns true if the result of the call does not reach the call again in any iteration. */
static bool is_beside(const struct steps *s, size_t call, bool *is_seen, size_t *queue)
{
    size_t queued = 0;
    memset(is_seen, 0, s->count * sizeof *is_seen);
    bool is = add_users(s, call, call, is_seen, queue, &queued);
    for (size_t i = 0; i < queued && is; i++)
        is = add_users(s, queue[i], call, is_seen, queue, &queued);
    return is;
}

bool steps_find_beside(struct steps *s)
{
    bool *is_seen = arena_alloc(s->arena, s->count + 1);
    size_t *queue = arena_alloc(s->arena, (s->count + 1) * sizeof *queue), looks = 0;
    if (!is_seen || !queue)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        const struct step *step = &s->list[i];
        if (!step->call)
            continue;
        looks += s->count;
        step->call->is_beside =
            looks < MOST_STEPS && llvm_writes_nothing(step->value) && is_beside(s, i, is_seen, queue);
    }
    return true;
}
