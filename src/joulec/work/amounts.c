/* joulec/work/amounts.c - see sum.h: amounts of work, and the work of a block without its calls. */
#include <math.h>
#include <string.h>
#include "joulec/source/place.h"
#include "joulec/work/sum.h"

/* --- amounts -------------------------------------------------------------------------------------------- */

void amounts_add(struct amounts *out, const double by[BOUNDS], const struct amounts *more)
{
    for (int b = 0; b < BOUNDS; b++)
        for (int i = 0; i < COST_FEATURES; i++)
            out->of[b].amount[i] += by[b] * more->of[b].amount[i];
}

double amounts_joules(const struct target *target, const struct amounts *amounts, enum bound bound)
{
    return cost_joules(&target->table, &amounts->of[bound]);
}

/* Time is priced too, because the clocks of core and package also run while the core waits. */
void sum_set_time(const struct target *target, struct cost_features *work, double cycles)
{
    work->amount[COST_CYCLES] = cycles;
    work->amount[COST_PACKAGE_SECONDS] = cycles / target->core.hz * target->core.package_share;
}

void sum_set_cycles(const struct target *target, enum bound bound, const struct cost_flow *flow,
                    struct cost_features *work)
{
    struct cost_range cycles = cost_core_cycles(&target->core, work, flow);
    sum_set_time(target, work,
                 bound == BOUND_LOW   ? cycles.low
                 : bound == BOUND_EST ? cycles.est
                                      : cycles.high);
}

const char *doubt_name(enum doubt_kind kind)
{
    static const char *const names[] = {
        [DOUBT_LOOP] = "loop",           [DOUBT_CALLEE] = "callee", [DOUBT_POINTER] = "pointer",
        [DOUBT_RECURSION] = "recursion", [DOUBT_SHAPE] = "shape",   [DOUBT_DEPTH] = "depth",
        [DOUBT_CALL] = "call",           [DOUBT_DEVICE] = "device", [DOUBT_FRAMES] = "frames",
        [DOUBT_LENGTH] = "length"};
    return names[kind];
}

int doubt_order(const struct doubt *a, const struct doubt *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->name ? a->name : "", b->name ? b->name : "");
    return order || a->name ? order : source_place_order(&a->place, &b->place);
}

/* --- a block -------------------------------------------------------------------------------------------- */

static const enum cost_feature feature_of[WORK_KINDS] = {
    [WORK_INT] = COST_INT_OPS,    [WORK_INT_MUL] = COST_INT_MULS, [WORK_INT_DIV] = COST_INT_DIVS,
    [WORK_FLOAT] = COST_FP_OPS,   [WORK_FMA] = COST_FP_FMAS,      [WORK_FLOAT_DIV] = COST_FP_DIVS,
    [WORK_LOAD] = COST_L1_LOADS,  [WORK_STORE] = COST_L1_STORES,  [WORK_ATOMIC] = COST_ATOMICS,
    [WORK_BRANCH] = COST_BRANCHES};

struct cost_features sum_features(const struct block *block)
{
    struct cost_features work = {.version = COST_VERSION};
    for (int k = 0; k < WORK_KINDS; k++) {
        work.amount[feature_of[k]] = block->work[k];
        work.amount[COST_UOPS] += block->work[k];
    }
    work.amount[COST_SIMD_256] = block->simd_256;
    work.amount[COST_SIMD_512] = block->simd_512;
    return work;
}

double sum_critical_path_cycles(const struct block *block, const struct cost_core *core)
{
    double cycles = 0;
    for (int k = 0; k < WORK_KINDS; k++)
        cycles += block->chain[k] * core->latency[feature_of[k]];
    return cycles;
}

double sum_chain_cycles(const struct block *block, const struct cost_core *core)
{
    return block->has_chain ? sum_critical_path_cycles(block, core) : NAN;
}
