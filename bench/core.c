/* bench/core.c - compares the modelled time of a core with measurements, on small loops whose work was
 * counted by hand.
 *
 * For each loop it prints the measured nanoseconds per iteration, the model's interval, and whether the
 * interval contains the measurement. Uses the results of `joule calibrate` if there are any. Work was counted
 * in compiled code for x86-64 and AArch64; each iteration includes an addition and a fused compare and
 * branch. Note: empty asm statements keep the compiler from folding, vectorizing or removing an iteration;
 * they generate no instructions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "bench.h"
#include "joule/sources/cpu/cpu_caches.h"
#include "joule/sources/cpu/cpu_calibration.h"

#define KEEP(x)    __asm__ volatile("" : "+r"(x))
#define ROUNDS     200000
#define REPEATS    15
#define STEP       8          /* distance between two cache lines, in words of 8 bytes */
#define FAR_WORDS  (1u << 23) /* an array of 64 MiB, in words */
#define NEAR_WORDS (1u << 11) /* an array of 16 KiB, in words */
#define COINS      0x10000

static uint64_t *words; /* for chase(): a cycle through all cache lines in random order */
static unsigned char *coins;
#if defined(__x86_64__)
#define KEEP_FLOAT(x) __asm__ volatile("" : "+x"(x))
#else
#define KEEP_FLOAT(x) __asm__ volatile("" : "+w"(x))
#endif

static uint64_t add_chain(uint64_t rounds)
{
    uint64_t x = 1, k = 3;
    for (uint64_t i = 0; i < rounds; i++) {
        KEEP(k);
        x += k;
        KEEP(x);
    }
    return x;
}

static uint64_t multiply_chain(uint64_t rounds)
{
    uint64_t x = 3, k = 5;
    for (uint64_t i = 0; i < rounds; i++) {
        KEEP(k);
        x *= k;
        KEEP(x);
    }
    return x;
}

static uint64_t divide_chain(uint64_t rounds)
{
    uint32_t x = 0xffffffffu, k = 1;
    for (uint64_t i = 0; i < rounds; i++) {
        KEEP(k);
        x /= k;
        KEEP(x);
    }
    return x;
}

static uint64_t float_chain(uint64_t rounds)
{
    double x = 1, k = 1e-9;
    for (uint64_t i = 0; i < rounds; i++) {
        x += k;
        KEEP_FLOAT(x);
    }
    return (uint64_t)x;
}

static uint64_t four_floats(uint64_t rounds)
{
    double a = 1, b = 1, c = 1, d = 1, k = 1e-9;
    for (uint64_t i = 0; i < rounds; i++) {
        a += k, b += k, c += k, d += k;
        KEEP_FLOAT(a);
        KEEP_FLOAT(b);
        KEEP_FLOAT(c);
        KEEP_FLOAT(d);
    }
    return (uint64_t)(a + b + c + d);
}

static uint64_t float_divisions(uint64_t rounds)
{
    double k = 3;
    for (uint64_t i = 0; i < rounds; i++) {
        double x = 1;
        KEEP_FLOAT(x);
        x /= k;
        KEEP_FLOAT(x);
    }
    return 0;
}

static uint64_t four_loads(uint64_t rounds)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        const uint64_t *at = words + (i & (NEAR_WORDS / 4 - 1)) * 4;
        KEEP(at);
        uint64_t v[4] = {at[0], at[1], at[2], at[3]};
        KEEP(v[0]);
        KEEP(v[1]);
        KEEP(v[2]);
        KEEP(v[3]);
        a += v[0], b += v[1], c += v[2], d += v[3];
    }
    return a + b + c + d;
}

static uint64_t two_stores(uint64_t rounds)
{
    static uint64_t room[NEAR_WORDS];
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t *at = room + (i & (NEAR_WORDS / 2 - 1)) * 2;
        KEEP(at);
        at[0] = i;
        __asm__ volatile("" ::: "memory"); /* prevents one vector store */
        at[1] = i;
        __asm__ volatile("" ::: "memory");
    }
    return room[5];
}

/* Reads one word of each cache line in the first `count` words, in order. Continues at the position where the
 * last call ended. */
static uint64_t stream(uint64_t rounds, uint64_t count)
{
    static uint64_t begin;
    uint64_t sum = 0;
    for (uint64_t i = begin; i < begin + rounds; i++) {
        sum += words[i * STEP & (count - 1)];
        KEEP(sum);
    }
    begin += rounds;
    return sum;
}

static uint64_t l2_words; /* number of words, a power of 2, that fill more than a third of L2 */

static uint64_t stream_l2(uint64_t rounds)
{
    return stream(rounds, l2_words);
}

static uint64_t stream_far(uint64_t rounds)
{
    return stream(rounds, FAR_WORDS);
}

static uint64_t chased; /* position at which the last call ended */

static uint64_t chase(uint64_t rounds)
{
    uint64_t at = chased;
    for (uint64_t i = 0; i < rounds; i++) {
        at = words[at];
        KEEP(at);
    }
    return chased = at;
}

static uint64_t toss(uint64_t rounds)
{
    uint64_t heads = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        if (coins[i & (COINS - 1)]) {
            heads++;
            KEEP(heads);
        } else {
            heads += 3;
            KEEP(heads);
        }
    }
    return heads;
}

/* --- work of these loops -------------------------------------------------------------------------------- */

/* Cache lines that an iteration reads: none, one from L2, or one from the level that holds 64 MiB. */
enum place { NO_LINES, NEAR_LINES, FAR_LINES };

struct loop {
    const char *name;
    uint64_t (*run)(uint64_t rounds);
    double amount[COST_FEATURES]; /* work per iteration */
    /* operation in the dependence chain between iterations; 0 means no chain */
    enum cost_feature chain;
    enum place lines;
    bool is_chase; /* true if the chain also waits for the cache line */
};

#define UOPS(n)     [COST_UOPS] = (n)
#define INTEGERS(n) [COST_INT_OPS] = (n), [COST_BRANCHES] = 1 /* n operations and the loop's branch */

static const struct loop loops[] = {
    {"add, dependent", add_chain, {UOPS(3), INTEGERS(2)}, COST_INT_OPS, NO_LINES, false},
    {"multiply, dependent",
     multiply_chain,
     {UOPS(3), INTEGERS(1), [COST_INT_MULS] = 1},
     COST_INT_MULS,
     NO_LINES,
     false},
    {"divide, dependent",
     divide_chain,
     {UOPS(6), INTEGERS(3), [COST_INT_DIVS] = 1},
     COST_INT_DIVS,
     NO_LINES,
     false},
    {"add floats, dependent",
     float_chain,
     {UOPS(3), INTEGERS(1), [COST_FP_OPS] = 1},
     COST_FP_OPS,
     NO_LINES,
     false},
    {"add four floats", four_floats, {UOPS(6), INTEGERS(1), [COST_FP_OPS] = 4}, COST_FP_OPS, NO_LINES, false},
    {"divide floats", float_divisions, {UOPS(4), INTEGERS(2), [COST_FP_DIVS] = 1}, 0, NO_LINES, false},
    {"four loads", four_loads, {UOPS(14), INTEGERS(9), [COST_L1_LOADS] = 4}, COST_INT_OPS, NO_LINES, false},
    {"two stores", two_stores, {UOPS(8), INTEGERS(5), [COST_L1_STORES] = 2}, 0, NO_LINES, false},
    {"branches by chance",
     toss,
     {UOPS(7), [COST_INT_OPS] = 4, [COST_L1_LOADS] = 1, [COST_BRANCHES] = 2, [COST_MISPREDICTS] = 0.5},
     0,
     NO_LINES,
     false},
    {"lines of L2, in order", stream_l2, {UOPS(6), INTEGERS(4), [COST_L1_LOADS] = 1}, 0, NEAR_LINES, false},
    {"lines of L2, dependent",
     chase,
     {UOPS(3), INTEGERS(1), [COST_L1_LOADS] = 1},
     COST_L1_LOADS,
     NEAR_LINES,
     true},
    {"far lines, in order", stream_far, {UOPS(6), INTEGERS(4), [COST_L1_LOADS] = 1}, 0, FAR_LINES, false},
    {"far lines, dependent",
     chase,
     {UOPS(3), INTEGERS(1), [COST_L1_LOADS] = 1},
     COST_L1_LOADS,
     FAR_LINES,
     true},
};
enum { LOOPS = sizeof loops / sizeof *loops };

static void count(const struct loop *loop, const struct cost_core *core, struct cost_features *out_work,
                  struct cost_flow *out_flow)
{
    bool is_in_l3 = FAR_WORDS * 8.0 < core->cache_bytes[COST_L3];
    enum cost_feature line = loop->lines == NEAR_LINES ? COST_L2_LINES
                             : is_in_l3                ? COST_L3_LINES
                                                       : COST_DRAM_LINES;
    *out_work = (struct cost_features){.version = COST_VERSION};
    for (int i = 0; i < COST_FEATURES; i++)
        out_work->amount[i] = loop->amount[i] * ROUNDS;
    if (loop->lines != NO_LINES)
        out_work->amount[line] = ROUNDS;
    double wait = core->latency[loop->chain] + (loop->is_chase ? core->latency[line] : 0);
    *out_flow = (struct cost_flow){wait * ROUNDS, !loop->is_chase};
}

/* Creates a cycle in random order through the cache lines of the first `count` words. */
static void make_ring(uint64_t count)
{
    uint64_t lines = count / STEP, *order = calloc(lines, sizeof *order);
    if (!order)
        abort();
    for (uint64_t i = 0; i < lines; i++)
        order[i] = i;
    for (uint64_t i = lines - 1; i > 0; i--) {
        uint64_t j = (uint64_t)random() % (i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (uint64_t i = 0; i < lines; i++)
        words[order[i] * STEP] = order[(i + 1) % lines] * STEP;
    free(order);
    chased = 0;
}

static double measure_ns(const struct loop *loop)
{
    double times[REPEATS];
    volatile uint64_t result;
    if (loop->is_chase)
        make_ring(loop->lines == NEAR_LINES ? l2_words : FAR_WORDS);
    result = loop->run(5 * ROUNDS); /* this run only warms up */
    for (int i = 0; i < REPEATS; i++) {
        int64_t start = thread_ns();
        result = loop->run(ROUNDS);
        times[i] = (double)(thread_ns() - start) / ROUNDS;
    }
    (void)result;
    return median(times, REPEATS);
}

/* Prints one line that compares model and measurement. Sets *out_is_inside to true if the interval contains
 * the measurement. Returns ln(modelled / measured). */
static double compare(const struct loop *loop, const struct cost_core *core, const struct cost_table *table,
                      bool *out_is_inside)
{
    struct cost_features work;
    struct cost_flow flow, no_order = {NAN, NAN};
    struct cost_run run, blind;
    count(loop, core, &work, &flow);
    cost_core_run(core, table, &work, &flow, &run);
    cost_core_run(core, table, &work, &no_order, &blind);
    double ns = measure_ns(loop), scale = 1e9 / ROUNDS;
    struct cost_range t = run.seconds, open = blind.seconds;
    *out_is_inside = t.low * scale <= ns && ns <= t.high * scale;
    printf("%-24s %7.2f ns; modelled %7.2f [%.2f %.2f]%s; of unknown order %.2f [%.2f %.2f]; %.2f nJ\n",
           loop->name, ns, t.est * scale, t.low * scale, t.high * scale, *out_is_inside ? "" : " OUTSIDE",
           open.est * scale, open.low * scale, open.high * scale, run.energy.total.value * scale);
    return log(t.est * scale / ns);
}

static void prepare(const struct cost_core *core)
{
    words = calloc(FAR_WORDS, sizeof *words);
    coins = malloc(COINS);
    if (!words || !coins)
        abort();
    for (uint64_t i = 0; i < FAR_WORDS; i += STEP)
        words[i] = i;
    srandom(1);
    for (int i = 0; i < COINS; i++)
        coins[i] = random() >> 12 & 1;
    for (l2_words = NEAR_WORDS; (double)l2_words * 16 <= 0.75 * core->cache_bytes[COST_L2];)
        l2_words *= 2;
}

int main(void)
{
    struct cost_cpu cpu;
    struct cost_core core;
    struct cost_table table;
    struct cpu_calibration calibration;
    double sum = 0, errors[LOOPS];
    int inside = 0;
    if (!cpu_core_read(host_real(), &cpu, &core))
        return 1;
    cost_core_table(&cpu, &table);
    cpu_calibration_find(host_real(), &cpu, &calibration);
    if (cpu_calibration_is_used(&calibration))
        cost_calibration_apply(&calibration.calibration, &core, &table);
    prepare(&core);
    printf("%s (%s), %.2f GHz; caches of %.0f, %.0f, %.0f KiB\n", core.id, joule_class_name(core.cls),
           core.hz * 1e-9, core.cache_bytes[COST_L1] / 1024, core.cache_bytes[COST_L2] / 1024,
           core.cache_bytes[COST_L3] / 1024);
    for (int i = 0; i < LOOPS; i++) {
        bool is_inside;
        double error = compare(&loops[i], &core, &table, &is_inside);
        sum += error;
        errors[i] = fabs(error);
        inside += is_inside;
    }
    printf("%d of %d inside; modelled / measured: mean factor %.2f, median error factor %.2f\n", inside,
           (int)LOOPS, exp(sum / LOOPS), exp(median(errors, LOOPS)));
    free(words);
    free(coins);
    return 0;
}
