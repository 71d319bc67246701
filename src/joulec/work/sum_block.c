/* joulec/work/sum_block.c - see sum_region.h: the work of one execution of a block, including its calls. */
#include <math.h>
#include <string.h>
#include "joulec/work/branch_prediction.h"
#include "joulec/work/cache_levels.h"
#include "joulec/work/library_call.h"
#include "joulec/work/sum_region.h"

static void add_doubt(struct region *r, struct doubt doubt)
{
    struct function_sum *out = r->out;
    enum basis basis = doubt.is_missing ? BASIS_MISSING : BASIS_OPEN;
    out->basis = basis > out->basis ? basis : out->basis;
    if (out->doubt_count == r->doubt_room) {
        size_t room = r->doubt_room ? 2 * r->doubt_room : 4;
        struct doubt *list = arena_alloc(r->arena, room * sizeof *list);
        r->is_out_of_memory = r->is_out_of_memory || !list;
        if (!list)
            return;
        if (out->doubt_count)
            memcpy(list, out->doubts, out->doubt_count * sizeof *list);
        out->doubts = list;
        r->doubt_room = room;
    }
    out->doubts[out->doubt_count++] = doubt;
}

void region_add_missing(struct region *r, enum doubt_kind kind, const char *name, struct source_place place)
{
    add_doubt(r, (struct doubt){kind, name, place, true});
}

static void add_amounts(struct region *r, const struct call *call, struct amounts *out)
{
    static const double once[BOUNDS] = {1, 1, 1};
    struct amounts amounts = r->callees[call->number]->call;
    r->out->is_variable = r->out->is_variable || r->callees[call->number]->is_variable;
    r->out->has_guess = r->out->has_guess || r->callees[call->number]->has_guess;
    amounts_add(out, once, &amounts);
}

static void add_callee(struct region *r, const struct call *call, struct amounts *out)
{
    enum basis basis = r->callees[call->number]->basis;
    add_amounts(r, call, out);
    if (basis >= BASIS_OPEN)
        add_doubt(r, (struct doubt){DOUBT_CALL, call->name, call->place, basis == BASIS_MISSING});
    else if (basis > r->out->basis)
        r->out->basis = basis;
}

/* Adds the known targets of a call through a pointer. Adds a doubt if there may be other targets, or if a
 * target's work is open. */
static void add_by_pointer(struct region *r, const struct call *call, struct amounts *out)
{
    const struct function_sum *callee = r->callees[call->number];
    if (callee)
        add_amounts(r, call, out);
    bool is_missing = !callee || !call->is_closed || callee->basis == BASIS_MISSING;
    if (is_missing || callee->basis == BASIS_OPEN)
        add_doubt(r, (struct doubt){DOUBT_POINTER, NULL, call->place, is_missing});
    else if (callee->basis > r->out->basis)
        r->out->basis = callee->basis;
}

/* Adds a call of a function without a body. The high end of its figures is not a bound, so the basis is at
 * least BASIS_OBSERVED. */
static void add_library_call(struct region *r, const struct call *call, struct amounts *out)
{
    static const double once[BOUNDS] = {1, 1, 1};
    const struct call_length *lengths = r->branches.context ? r->branches.context->lengths : NULL;
    struct amounts work;
    enum basis basis = library_call_work(call, lengths ? &lengths[call->number] : NULL, r->target, &work);
    if (basis == BASIS_MISSING) {
        region_add_missing(r, DOUBT_CALLEE, call->name, call->place);
        return;
    }
    amounts_add(out, once, &work);
    r->out->is_variable = true;
    r->out->has_guess = r->out->has_guess || (lengths && lengths[call->number].is_guess);
    if (basis == BASIS_OPEN)
        add_doubt(r, (struct doubt){DOUBT_LENGTH, library_call_name(call), call->place, false});
    else if (r->out->basis < basis)
        r->out->basis = basis;
}

static void add_call(struct region *r, const struct call *call, struct amounts *out)
{
    if (!call->name)
        add_by_pointer(r, call, out);
    else if (call->callee >= 0 && r->callees[call->number])
        add_callee(r, call, out);
    else if (call->callee >= 0)
        region_add_missing(r, DOUBT_RECURSION, call->name, call->place);
    else
        add_library_call(r, call, out);
}

/* Returns true if the branch of a block may end its loop, except by ending the program. region_of_end counts
 * the mispredictions of such a branch. */
static bool ends_loop(const struct region *r, uint32_t block)
{
    const struct block *b = &r->function->blocks[block];
    int32_t loop = r->loops->innermost[block];
    for (size_t e = 0; e < b->edge_count && loop >= 0; e++)
        if (!loop_has(r->loops, loop, b->edges[e].to) && !heat_is_dead(r->branches.heat[b->edges[e].to]))
            return true;
    return false;
}

/* Sets the lines from beyond L1, and the cycles, at one bound. */
static void finish_block(const struct region *r, uint32_t block, enum bound bound, struct cost_features *work)
{
    const struct block_memory *memory = r->memory ? &r->memory[block] : NULL;
    const struct cost_core *core = &r->target->core;
    struct cost_flow flow = {.chain_cycles = sum_chain_cycles(&r->function->blocks[block], core),
                             .streamed = NAN,
                             .longest_cycles = sum_critical_path_cycles(&r->function->blocks[block], core)};
    if (memory) {
        flow.chain_cycles += memory->wait_cycles[bound];
        flow.streamed = memory->streamed;
        for (int level = COST_L2; level < COST_LEVELS; level++)
            work->amount[COST_L2_LINES + level - COST_L2] = memory->lines[bound][level];
    }
    if (bound != BOUND_HIGH)
        flow.chain_cycles = cost_core_restarted(core, flow.chain_cycles, r->entry_uops);
    sum_set_cycles(r->target, bound, &flow, work);
}

struct amounts region_of_block(struct region *r, uint32_t block)
{
    const struct block *b = &r->function->blocks[block];
    struct cost_features work = sum_features(b);
    struct amounts sum = {{work, work, work}};
    double mispredictions[BOUNDS];
    misprediction_of_block(b, r->branches.heat, mispredictions);
    for (enum bound bound = BOUND_LOW; bound < BOUNDS; bound++) {
        sum.of[bound].amount[COST_MISPREDICTS] = ends_loop(r, block) ? 0 : mispredictions[bound];
        finish_block(r, block, bound, &sum.of[bound]);
    }
    for (size_t i = 0; i < b->call_count; i++)
        add_call(r, &b->calls[i], &sum);
    return sum;
}

bool region_ends_by_data(const struct region *r, size_t loop)
{
    for (uint32_t i = r->loops->exit_begin[loop]; i < r->loops->exit_begin[loop + 1]; i++) {
        const struct block *b = &r->function->blocks[r->loops->exits[i].block];
        if (b->is_by_data && !heat_is_dead(r->branches.heat[b->edges[r->loops->exits[i].edge].to]))
            return true;
    }
    return false;
}

struct amounts region_of_end(const struct region *r, size_t loop, const struct loop_times *times)
{
    struct cost_flow flow = {.chain_cycles = 0, .streamed = NAN};
    struct amounts sum = {{{.version = COST_VERSION}, {.version = COST_VERSION}, {.version = COST_VERSION}}};
    double mispredictions[BOUNDS];
    misprediction_of_loop(times, region_ends_by_data(r, loop), mispredictions);
    for (enum bound bound = BOUND_LOW; bound < BOUNDS; bound++) {
        sum.of[bound].amount[COST_MISPREDICTS] = mispredictions[bound];
        sum_set_cycles(r->target, bound, &flow, &sum.of[bound]);
    }
    return sum;
}
