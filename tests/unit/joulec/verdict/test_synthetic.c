/* Checks verdicts on a simulated machine whose true costs are known.
 *
 * Random functions are judged with a calibrated table. They then run on machines whose costs are drawn from
 * the table's covariance, with random paths, iterations and order of work. The machines also have effects
 * that the model lacks: energy that depends on operands, cache conflicts and frequency steps. Intervals must
 * have their stated coverage, and no proved verdict may be wrong. The test prints the results of each
 * group. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/verdict/verdict.h"
#include "joulec/work/branch_prediction.h"
#include "joulec/work/cache_levels.h"
#include "joulec/work/library_call.h"
#include "support/chance.h"

#define FUNCTIONS 40 /* functions in each group */
#define MACHINES  25
#define BUDGETS   4
#define WIDEST    30 /* maximum ratio of budget and true value, in both directions */

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

/* --- functions ------------------------------------------------------------------------------------------ */

enum kind { WORK, BRANCH, LOOP, CALL };

/* A piece of a program. The piece `next` runs after this one. */
struct piece {
    enum kind kind;
    /* inside: the body of a loop, or the first branch of a condition; other: the second branch of a
     * condition. Branches may be empty. */
    struct piece *next, *inside, *other;
    uint32_t block; /* the block of a piece of work; else the piece's first block */
    struct loop_times times;
    const char *name; /* name of the callee */
};

enum memory { NEAR_DATA, STREAMS, WILD_DATA };

/* Composition of the functions in a group. */
struct group {
    const char *name;
    enum work dominant; /* the most frequent micro-operation */
    double chain;       /* fraction of innermost loops whose dependence chain is known */
    /* `branches` and `calls`: probabilities of these kinds of pieces; `ranges`: probability that a loop has
     * only bounds */
    double branches, ranges, calls;
    enum memory memory;
    bool has_guesses;
};

static const struct group groups[] = {
    {"integers", WORK_INT, 0.5, 0, 0, 0, NEAR_DATA, false},
    {"multiplications", WORK_INT_MUL, 0.5, 0, 0, 0, NEAR_DATA, false},
    {"floats", WORK_FLOAT, 0.5, 0, 0, 0, NEAR_DATA, false},
    {"fused floats", WORK_FMA, 0.8, 0, 0, 0, NEAR_DATA, false},
    {"divisions", WORK_FLOAT_DIV, 0.3, 0, 0, 0, NEAR_DATA, false},
    {"near data", WORK_LOAD, 0.3, 0, 0, 0, NEAR_DATA, false},
    {"streams", WORK_LOAD, 0.5, 0, 0, 0, STREAMS, false},
    {"wild data", WORK_LOAD, 0.3, 0, 0, 0, WILD_DATA, false},
    {"stores", WORK_STORE, 0.3, 0, 0, 0, STREAMS, false},
    {"branches", WORK_INT, 0.3, 0.4, 0, 0, NEAR_DATA, false},
    {"bounded loops", WORK_INT, 0.5, 0, 0.7, 0, NEAR_DATA, false},
    {"all of it", WORK_INT, 0.3, 0.2, 0.2, 0.05, STREAMS, false},
    {"the C library", WORK_INT, 0.3, 0, 0, 0.4, NEAR_DATA, false},
    {"unbounded", WORK_INT, 0.3, 0.2, 0, 0, NEAR_DATA, true},
};
#define GROUPS (sizeof groups / sizeof *groups)

struct program {
    struct arena arena;
    const struct group *group;
    struct function function;
    size_t room;
    struct piece *first;
    struct block_memory *memory;
    struct loops loops;
    struct function_sum sum;
    bool is_bounded; /* true: bounds of all loops' iterations are known */
};

static void *room(struct program *p, size_t size)
{
    void *memory = arena_alloc(&p->arena, size);
    assert_non_null(memory);
    return memory;
}

#define MAX_BLOCKS 4000

static uint32_t add_block(struct program *p)
{
    assert_true(p->function.block_count < MAX_BLOCKS);
    struct block *b = &p->function.blocks[p->function.block_count];
    b->edges = room(p, 2 * sizeof *b->edges);
    p->memory[p->function.block_count] = (struct block_memory){.streamed = NAN};
    return (uint32_t)p->function.block_count++;
}

static void lead(struct program *p, uint32_t from, uint32_t to)
{
    struct block *b = &p->function.blocks[from];
    b->edges[b->edge_count++] = (struct edge){to, NAN, (uint32_t)p->function.edge_count++};
}

static void add_lines(struct program *p, uint32_t block)
{
    const struct block *b = &p->function.blocks[block];
    struct block_memory *memory = &p->memory[block];
    double accesses = b->work[WORK_LOAD] + b->work[WORK_STORE];
    enum cost_level level = (enum cost_level)(COST_L2 + (int)(chance() * 3));
    if (p->group->memory == STREAMS) {
        for (int bound = 0; bound < BOUNDS; bound++)
            memory->lines[bound][level] = accesses / 8;
        memory->streamed = 1;
    } else if (p->group->memory == WILD_DATA && chance() < 0.5) {
        memory->lines[BOUND_EST][COST_L2] = memory->lines[BOUND_HIGH][COST_DRAM] = accesses / 2;
        memory->streamed = 0;
    }
}

static void fill_block(struct program *p, uint32_t block, bool is_innermost)
{
    struct block *b = &p->function.blocks[block];
    for (int k = 0; k < WORK_BRANCH; k++)
        if (chance() < 0.3 && k != WORK_ATOMIC && k != WORK_INT_DIV && k != WORK_FLOAT_DIV)
            b->work[k] = floor(chance_between(1, 6));
    b->work[p->group->dominant] = floor(chance_between(8, 40));
    if (is_innermost && chance() < p->group->chain)
        b->chain[WORK_INT] = floor(chance_between(1, 12));
    b->has_chain = b->chain[WORK_INT] > 0;
    add_lines(p, block);
}

static uint32_t emit(struct program *p, struct piece *piece, uint32_t from);

static uint32_t emit_branch(struct program *p, struct piece *piece, uint32_t from)
{
    uint32_t condition = piece->block = add_block(p);
    lead(p, from, condition);
    p->function.blocks[condition].work[WORK_BRANCH] = 1;
    p->function.blocks[condition].is_by_data = chance() < 0.5;
    uint32_t one = emit(p, piece->inside, condition), two = emit(p, piece->other, condition),
             behind = add_block(p);
    lead(p, one, behind);
    lead(p, two, behind);
    return behind;
}

static uint32_t emit_loop(struct program *p, struct piece *piece, uint32_t from)
{
    uint32_t header = piece->block = add_block(p);
    lead(p, from, header);
    uint32_t last = emit(p, piece->inside, header), latch = add_block(p);
    lead(p, last, latch);
    lead(p, latch, header);
    p->function.blocks[latch].work[WORK_BRANCH] = 1;
    return latch;
}

/* Adds the blocks and edges of a list of pieces after block `from`. Returns the last block. */
static uint32_t emit(struct program *p, struct piece *piece, uint32_t from)
{
    for (; piece; piece = piece->next) {
        if (piece->kind == BRANCH) {
            from = emit_branch(p, piece, from);
        } else if (piece->kind == LOOP) {
            from = emit_loop(p, piece, from);
        } else {
            lead(p, from, piece->block);
            from = piece->block;
        }
    }
    return from;
}

/* --- random functions ----------------------------------------------------------------------------------- */

static struct loop_times random_times(struct program *p)
{
    double low = floor(chance_scale(2, 300)), high = low;
    if (chance() < p->group->ranges) {
        high = floor(low * chance_scale(1.5, 20));
        p->is_bounded = true;
    }
    return (struct loop_times){{low, (low + high) / 2, high}};
}

static struct piece *random_pieces(struct program *p, int depth, bool is_in_loop);

static struct piece *random_piece(struct program *p, int depth, bool is_in_loop)
{
    static const char *const names[] = {"sin", "exp", "strlen", "rand", "sqrt", "atoi"};
    struct piece *piece = room(p, sizeof *piece);
    double draw = chance();
    if (draw < p->group->branches && depth > 0) {
        piece->kind = BRANCH;
        piece->inside = random_pieces(p, depth - 1, is_in_loop);
        piece->other = chance() < 0.3 ? NULL : random_pieces(p, depth - 1, is_in_loop);
        if (!piece->other) { /* a separate block, because two blocks are connected by one edge at most */
            piece->other = room(p, sizeof *piece);
            piece->other->block = add_block(p);
        }
    } else if (draw < p->group->branches + 0.4 && depth > 0) {
        piece->kind = LOOP;
        piece->times = random_times(p);
        piece->inside = random_pieces(p, depth - 1, true);
    } else {
        piece->block = add_block(p);
        piece->kind = draw > 1 - p->group->calls ? CALL : WORK;
        if (piece->kind == WORK) {
            fill_block(p, piece->block, is_in_loop);
            return piece;
        }
        struct block *b = &p->function.blocks[piece->block];
        b->calls = room(p, sizeof *b->calls);
        b->call_count = 1;
        piece->name = names[chance_bits() % (sizeof names / sizeof *names)];
        b->calls[0] =
            (struct call){.name = piece->name, .callee = -1, .number = (uint32_t)p->function.call_count++};
    }
    return piece;
}

static struct piece *random_pieces(struct program *p, int depth, bool is_in_loop)
{
    struct piece *first = random_piece(p, depth, is_in_loop), *last = first;
    while (chance() < 0.5) {
        last->next = random_piece(p, depth, is_in_loop);
        last = last->next;
    }
    return first;
}

static void find_times(const struct program *p, const struct piece *piece, struct loop_times *out)
{
    for (; piece; piece = piece->next) {
        for (size_t i = 0; piece->kind == LOOP && i < p->loops.count; i++)
            if (p->loops.list[i].header == piece->block)
                out[i] = piece->times;
        find_times(p, piece->inside, out);
        find_times(p, piece->other, out);
    }
}

static struct program *program_new(const struct group *group, const struct target *target)
{
    struct program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->group = group;
    p->function = (struct function){.name = "f", .blocks = room(p, MAX_BLOCKS * sizeof(struct block))};
    p->memory = room(p, MAX_BLOCKS * sizeof *p->memory);
    uint32_t entry = add_block(p);
    p->first = random_pieces(p, 3, false);
    emit(p, p->first, entry);
    assert_int_equal(loops_find(&p->arena, &p->function, &p->loops), JOULE_OK);
    struct loop_times *times = room(p, (p->loops.count + 1) * sizeof *times);
    const struct function_sum **callees = room(p, (p->function.call_count + 1) * sizeof *callees);
    find_times(p, p->first, times);
    assert_int_equal(
        sum_function(&p->arena, &p->function, &p->loops, times, p->memory, target, callees, NULL, &p->sum),
        JOULE_OK);
    if (p->is_bounded && p->sum.basis < BASIS_BOUNDED)
        p->sum.basis = BASIS_BOUNDED;
    if (group->has_guesses)
        p->sum.basis = BASIS_OPEN;
    return p;
}

static void program_free(struct program *p)
{
    arena_free(&p->arena);
    free(p);
}

/* --- the machine ---------------------------------------------------------------------------------------- */

/* A run of a program on a machine, and the random numbers that were drawn for this run. */
struct run {
    const struct target *target;
    const struct program *program;
    double common[COST_CAUSES]; /* errors of the common causes, in standard deviations */
    double order, description;  /* errors of the order of work and of the core's description */
    double operands, collisions, step;
};

static double normal(void)
{
    return sqrt(-2 * log(1 - chance())) * cos(2 * M_PI * chance());
}

/* Returns the value that belongs to the standard normal number `z`, if the value's 5 %, middle and 95 %
 * points are `low`, `est` and `high`. If this needs the logarithm of 0, draws uniformly between `low` and
 * `high`. */
static double drawn(double low, double est, double high, double z)
{
    double side = z < 0 ? low : high;
    return est > 0 && side > 0 ? est * exp(fabs(z) / Z90 * log(side / est)) : chance_between(low, high);
}

static void draw_machine(struct run *run)
{
    for (int c = 0; c < COST_CAUSES; c++)
        run->common[c] = normal();
}

static void draw_program(struct run *run, const struct program *p)
{
    static const double steps[] = {0.8, 0.9, 1, 1, 1, 1, 1.05, 1.1};
    run->program = p;
    run->common[COST_CAUSE_WORK] = normal();
    run->order = normal();
    run->description = normal();
    run->operands = 1 + chance_between(0.1, 0.25) * chance_between(-1, 1);
    run->collisions = chance() < 0.3 ? chance_between(0, 0.02) : 0;
    run->step = steps[chance_bits() % (sizeof steps / sizeof *steps)];
}

static void add(struct cost_features *out, double factor, const struct cost_features *more)
{
    for (int i = 0; i < COST_FEATURES; i++)
        out->amount[i] += factor * more->amount[i];
}

static struct cost_features work_of(const struct run *run, uint32_t block)
{
    static const enum cost_feature feature_of[WORK_KINDS] = {
        [WORK_INT] = COST_INT_OPS,    [WORK_INT_MUL] = COST_INT_MULS, [WORK_INT_DIV] = COST_INT_DIVS,
        [WORK_FLOAT] = COST_FP_OPS,   [WORK_FMA] = COST_FP_FMAS,      [WORK_FLOAT_DIV] = COST_FP_DIVS,
        [WORK_LOAD] = COST_L1_LOADS,  [WORK_STORE] = COST_L1_STORES,  [WORK_ATOMIC] = COST_ATOMICS,
        [WORK_BRANCH] = COST_BRANCHES};
    const struct block *b = &run->program->function.blocks[block];
    const struct block_memory *memory = &run->program->memory[block];
    struct cost_features work = {.version = COST_VERSION};
    for (int k = 0; k < WORK_KINDS; k++) {
        work.amount[feature_of[k]] = b->work[k];
        work.amount[COST_UOPS] += b->work[k];
    }
    double accesses = b->work[WORK_LOAD] + b->work[WORK_STORE], part = chance(), lines = 0;
    for (int level = COST_L2; level < COST_LEVELS; level++)
        lines = fmax(lines, memory->lines[BOUND_HIGH][level]);
    if (run->program->group->memory == WILD_DATA) { /* the lines may be in any cache level */
        int level = part < 0.25 ? COST_L1 : part < 0.6 ? COST_L2 : part < 0.85 ? COST_L3 : COST_DRAM;
        if (level > COST_L1)
            work.amount[COST_L2_LINES + level - COST_L2] = lines;
    } else {
        for (int level = COST_L2; level < COST_LEVELS; level++)
            work.amount[COST_L2_LINES + level - COST_L2] = memory->lines[BOUND_EST][level];
    }
    work.amount[COST_L2_LINES] += run->collisions * accesses;
    work.amount[COST_L3_LINES] += run->collisions / 10 * accesses;
    double wrong[BOUNDS];
    misprediction_of_block(b, NULL, wrong);
    work.amount[COST_MISPREDICTS] = chance_between(wrong[BOUND_LOW], wrong[BOUND_HIGH]);
    return work;
}

/* Sets the cycles of `work` to a value between two extremes. At one extreme, operations never wait for one
 * another. At the other extreme, each operation waits for the previous one. Adds the error of the core's
 * description. */
static void set_cycles(const struct run *run, const struct cost_flow *flow, struct cost_features *work)
{
    struct cost_core right = run->target->core;
    right.log_sd = 0;
    struct cost_range range = cost_core_cycles(&right, work, flow);
    double z = fmax(-Z90, fmin(Z90, 0.8 * run->order + 0.6 * normal()));
    work->amount[COST_CYCLES] =
        drawn(range.low, range.est, range.high, z) * exp(run->target->core.log_sd * run->description);
}

static struct cost_features truth_of_block(const struct run *run, uint32_t block)
{
    const struct block *b = &run->program->function.blocks[block];
    struct cost_features work = work_of(run, block);
    struct cost_flow flow = {b->has_chain ? b->chain[WORK_INT] * run->target->core.latency[COST_INT_OPS]
                                          : NAN,
                             run->program->memory[block].streamed};
    set_cycles(run, &flow, &work);
    return work;
}

static struct cost_features truth_of(const struct run *run, const struct piece *piece);

static void add_loop(const struct run *run, const struct piece *piece, struct cost_features *out)
{
    const double *times = piece->times.times;
    double rounds = times[BOUND_LOW] < times[BOUND_HIGH]
                        ? floor(chance_between(times[BOUND_LOW], times[BOUND_HIGH] + 1))
                        : times[BOUND_EST];
    struct cost_features round = truth_of_block(run, piece->block), inside = truth_of(run, piece->inside);
    struct cost_features end = {.version = COST_VERSION};
    double wrong[BOUNDS];
    add(&round, 1, &inside);
    struct cost_features latch = {.version = COST_VERSION};
    latch.amount[COST_BRANCHES] = latch.amount[COST_UOPS] = 1;
    set_cycles(run, &(struct cost_flow){NAN, NAN}, &latch);
    add(&round, 1, &latch);
    misprediction_of_loop(&piece->times, false, wrong);
    end.amount[COST_MISPREDICTS] = chance_between(wrong[BOUND_LOW], wrong[BOUND_HIGH]);
    set_cycles(run, &(struct cost_flow){0, NAN}, &end);
    add(out, rounds, &round);
    add(out, 1, &end);
}

static void add_call(const struct run *run, const struct piece *piece, struct cost_features *out)
{
    struct amounts amounts;
    assert_int_equal(
        library_call_work(&(struct call){.name = piece->name, .callee = -1}, NULL, run->target, &amounts),
        BASIS_OBSERVED);
    /* the 5 % point is the minimum */
    double cycles =
        drawn(amounts.of[BOUND_LOW].amount[COST_CYCLES], amounts.of[BOUND_EST].amount[COST_CYCLES],
              amounts.of[BOUND_HIGH].amount[COST_CYCLES], fmax(-Z90, normal()));
    add(out, cycles / amounts.of[BOUND_EST].amount[COST_CYCLES], &amounts.of[BOUND_EST]);
}

/* Returns the mean work of many runs, in which branches have the drawn probabilities. */
static struct cost_features truth_of(const struct run *run, const struct piece *piece)
{
    struct cost_features all = {.version = COST_VERSION};
    for (; piece; piece = piece->next) {
        struct cost_features own = {.version = COST_VERSION};
        if (piece->kind == LOOP) {
            add_loop(run, piece, &own);
        } else if (piece->kind == CALL) {
            add_call(run, piece, &own);
        } else {
            own = truth_of_block(run, piece->block);
        }
        if (piece->kind == BRANCH) {
            double share = chance();
            struct cost_features one = truth_of(run, piece->inside), other = truth_of(run, piece->other);
            add(&own, share, &one);
            add(&own, 1 - share, &other);
        }
        add(&all, 1, &own);
    }
    return all;
}

/* Returns the joules of a run: the work times this machine's costs, and the effects that the model lacks. The
 * core's voltage follows its frequency. */
static double joules_of(const struct run *run, struct cost_features *work, double *out_seconds)
{
    const struct cost_table *table = &run->target->table;
    double joules = 0, hz = run->target->core.hz * run->step *
                            exp(run->target->core.hz_log_sd * run->common[COST_CAUSE_TIME]);
    *out_seconds = work->amount[COST_CYCLES] / hz;
    work->amount[COST_PACKAGE_SECONDS] = *out_seconds * run->target->core.package_share;
    for (int i = 0; i < COST_FEATURES; i++) {
        double error = 0;
        for (int c = 0; c < COST_CAUSES; c++)
            error += table->log_sd[i][c] * run->common[c];
        double own = i == COST_PACKAGE_SECONDS ? 1 : i == COST_CYCLES ? run->step : run->step * run->operands;
        if (work->amount[i] > 0)
            joules += work->amount[i] * table->joules[i] * exp(error) * own;
    }
    return joules;
}

/* --- stated and real values ----------------------------------------------------------------------------- */

struct tally {
    size_t runs, above, below, seconds_within;
    size_t verdicts, decided, proved, wrongly_proved, violated, wrongly_violated;
};

static void add_tally(struct tally *all, const struct tally *one)
{
    all->runs += one->runs;
    all->above += one->above;
    all->below += one->below;
    all->seconds_within += one->seconds_within;
    all->verdicts += one->verdicts;
    all->decided += one->decided;
    all->proved += one->proved;
    all->wrongly_proved += one->wrongly_proved;
    all->violated += one->violated;
    all->wrongly_violated += one->wrongly_violated;
}

static void judge_run(const struct run *run, const struct cost_cooling *cooling, struct tally *out)
{
    const struct program *p = run->program;
    struct cost_features work = truth_of(run, p->first);
    struct judgement j;
    double seconds, joules = joules_of(run, &work, &seconds);
    for (int i = 0; i < BUDGETS; i++) {
        struct budget_text budget = {joules * chance_scale(1.0 / WIDEST, WIDEST), NAN, NAN, false, true};
        judge(run->target, &p->sum, cooling, &budget, &j);
        bool is_kept = joules <= budget.max_joules;
        out->verdicts++;
        out->decided += j.worst != VERDICT_UNDECIDED;
        out->proved += j.worst == VERDICT_PROVED;
        out->wrongly_proved += j.worst == VERDICT_PROVED && !is_kept;
        out->violated += j.worst == VERDICT_VIOLATED;
        out->wrongly_violated += j.worst == VERDICT_VIOLATED && is_kept;
    }
    out->runs++;
    out->above += joules > j.joules.high;
    out->below += joules < j.joules.low;
    out->seconds_within += j.seconds.low <= seconds && seconds <= j.seconds.high;
}

static void print_tally(const char *name, const struct tally *t)
{
    print_message("%-16s %6zu runs: within %5.1f %% (below %4.1f, above %4.1f), seconds %5.1f %%; of %zu "
                  "verdicts %4.1f %% "
                  "decided, %5zu proved, %zu wrongly; %5zu violated, %zu wrongly\n",
                  name, t->runs, 100.0 * (double)(t->runs - t->above - t->below) / (double)t->runs,
                  100.0 * (double)t->below / (double)t->runs, 100.0 * (double)t->above / (double)t->runs,
                  100.0 * (double)t->seconds_within / (double)t->runs, t->verdicts,
                  100.0 * (double)t->decided / (double)t->verdicts, t->proved, t->wrongly_proved, t->violated,
                  t->wrongly_violated);
}

/* Creates a calibrated table. It includes a sensor's scale error, the error for programs outside the fit, and
 * costs that could not be separated well. */
static void calibrated(struct target *out)
{
    cost_core_describe(&server, NAN, &out->core);
    cost_core_table(&server, &out->table);
    out->core.log_sd = 0.15;
    out->core.hz_log_sd = 0.05;
    out->table.cls = JOULE_CLASS_DERIVED;
    for (int i = 0; i < COST_FEATURES; i++) {
        int cause = i == COST_CYCLES    ? COST_CAUSE_CLOCK
                    : i < COST_L2_LINES ? COST_CAUSE_UNITS
                                        : COST_CAUSE_LINES;
        memset(out->table.log_sd[i], 0, sizeof out->table.log_sd[i]);
        out->table.log_sd[i][COST_CAUSE_SIZE] = 0.05;
        out->table.log_sd[i][COST_CAUSE_WORK] = 0.12;
        out->table.log_sd[i][cause] = 0.05;
    }
}

static struct tally judge_group(const struct group *group, const struct target *target,
                                const struct cost_cooling *cooling)
{
    struct tally tally = {0};
    for (int f = 0; f < FUNCTIONS; f++) {
        struct program *p = program_new(group, target);
        for (int m = 0; m < MACHINES; m++) {
            struct run run = {.target = target};
            draw_machine(&run);
            draw_program(&run, p);
            judge_run(&run, cooling, &tally);
        }
        program_free(p);
    }
    return tally;
}

static struct tally judge_all(const struct target *target)
{
    struct cost_cooling cooling;
    struct tally all = {0};
    chance_state = CHANCE_SEED;
    cost_cooling_describe(&server, &cooling);
    for (size_t g = 0; g < GROUPS; g++) {
        struct tally one = judge_group(&groups[g], target, &cooling);
        print_tally(groups[g].name, &one);
        add_tally(&all, &one);
    }
    print_tally("all", &all);
    return all;
}

static double part_within(const struct tally *t)
{
    return (double)(t->runs - t->above - t->below) / (double)t->runs;
}

static void test_calibrated_table_gives_valid_intervals_and_proofs(void **state)
{
    (void)state;
    struct target target;
    calibrated(&target);
    struct tally all = judge_all(&target);
    assert_true(part_within(&all) >= 0.85 && part_within(&all) <= 0.95);
    assert_int_equal(all.wrongly_proved, 0);
    assert_int_equal(all.wrongly_violated, 0);
    assert_true(10 * all.proved > all.verdicts);
    assert_true(10 * all.decided >= 3 * all.verdicts);
}

/* The errors of an unmeasured table are valid, too, but such a table proves nothing. */
static void test_seed_table_gives_valid_intervals_and_proves_nothing(void **state)
{
    (void)state;
    struct target target;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    struct tally all = judge_all(&target);
    assert_true(part_within(&all) >= 0.85 && part_within(&all) <= 0.95);
    assert_int_equal(all.proved, 0);
    assert_int_equal(all.wrongly_violated, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calibrated_table_gives_valid_intervals_and_proofs),
        cmocka_unit_test(test_seed_table_gives_valid_intervals_and_proves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
