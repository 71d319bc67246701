/* joule/cost/core_seed.c - default speeds and prices of cores that are not calibrated.
 *
 * Speeds are published: the vendors' optimisation manuals, Fog's "Instruction tables" and
 * "Microarchitecture", uops.info. Latencies and bandwidths of caches and memory are common measurements on
 * such machines, rounded. Prices are guesses by orders of magnitude, from circuits (Horowitz, ISSCC 2014;
 * Jouppi et al., ISCA 2021) and whole cores (Vasilakis, FORTH TR-450: Cortex-A7).
 * Note: an instruction needs much more energy than its circuit, mostly for fetching, renaming, retiring, and
 * the clock.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/cost/core.h"

/* --- speeds --------------------------------------------------------------------------------------------- */

/* The typical speeds of one kind of core. */
struct kind {
    const char *name;
    double ghz;    /* frequency of one busy core, between base and boost */
    double log_sd; /* error of cycles predicted from this row */
    double overlap, window;
    /* Per cycle: micro-operations; ALUs; vector units (256 bits, 512 bits); multiplications (integer, fused
     * floating-point); loads; stores; branches. */
    struct {
        double uops, int_ops, fp_ops, simd_256, simd_512, int_muls, fp_fmas, loads, stores, branches;
    } per;
    struct {
        double int_div, fp_div;
    } every; /* cycles from the start of a division to the start of the next: 32-bit integer, double
              * precision */
    struct {
        double int_mul, int_div, fp_op, fp_fma, fp_div, load, mispredict, atomic, l2;
    } after; /* latency of the result, in cycles */
    struct {
        double l3, dram;
    } ns; /* latency of a line, in nanoseconds */
    struct {
        double l2_cycles, l3_gb_s, dram_gb_s;
    } line; /* cycles per line from L2; bandwidth of one core in GB/s from L3 and from DRAM */
    struct {
        double l1, l2, l3;
    } kib;
};

/* Errors of cycles: simulators of a core with all data in L1 have mean errors of 9 to 36 % (comparison in
 * Abel and Reineke, "uiCA", 2022). The rows of this table are less exact.
 * The columns are the members of struct kind, in order. */
/* clang-format off */
static const struct kind kinds[] = {
    /* Sandy Bridge, Ivy Bridge; used for Nehalem, too. */
    {"sandy-bridge", 3.3, 0.25, 4, 168, {4, 3, 2, 2, 1, 1, 1, 2, 1, 1}, {9, 20},
     {3, 22, 4, 8, 20, 5, 15, 20, 12}, {13, 80}, {2.5, 30, 10}, {32, 256, 15360}},
    /* Haswell, Broadwell. */
    {"haswell", 3.2, 0.25, 4, 192, {4, 4, 2, 2, 1, 1, 2, 2, 1, 2}, {9, 10},
     {3, 22, 4, 5, 18, 5, 16, 19, 12}, {16, 85}, {2, 30, 11}, {32, 256, 20480}},
    /* Skylake to Comet Lake: desktops and laptops. */
    {"skylake", 4.0, 0.25, 4, 224, {4, 4, 2, 3, 1, 1, 2, 2, 1, 2}, {6, 4},
     {3, 26, 4, 4, 14, 5, 16, 18, 12}, {10, 65}, {2, 60, 25}, {32, 256, 8192}},
    /* Skylake and Cascade Lake servers: mesh interconnect, 1 MiB of L2. */
    {"skylake-server", 3.0, 0.25, 4, 224, {4, 4, 2, 3, 2, 1, 2, 2, 1, 2}, {6, 4},
     {3, 26, 4, 4, 14, 5, 16, 19, 14}, {22, 90}, {2.3, 25, 12}, {32, 1024, 28672}},
    /* Sunny Cove, Willow Cove: Ice Lake servers. */
    {"sunny-cove", 3.2, 0.25, 4, 352, {5, 4, 2, 3, 2, 1, 2, 2, 2, 2}, {6, 4},
     {3, 12, 4, 4, 14, 5, 17, 18, 14}, {24, 95}, {2.3, 25, 13}, {48, 1280, 49152}},
    /* Cypress Cove: Sunny Cove in desktops. */
    {"sunny-cove-client", 4.6, 0.25, 4, 352, {5, 4, 2, 3, 1, 1, 2, 2, 2, 2}, {6, 4},
     {3, 12, 4, 4, 14, 5, 17, 18, 13}, {11, 70}, {2, 60, 25}, {48, 512, 16384}},
    /* Golden Cove and Raptor Cove: Sapphire, Emerald and Granite Rapids. L3 and DRAM were measured on an
     * Emerald Rapids. */
    {"golden-cove", 3.2, 0.25, 4, 512, {6, 5, 3, 3, 2, 1, 2, 3, 2, 2}, {6, 4},
     {3, 12, 3, 4, 14, 5, 17, 18, 15}, {35, 130}, {2, 25, 15}, {48, 2048, 107520}},
    /* Golden Cove and Raptor Cove in desktops; also used for Lion Cove, which is wider. The small cores of
     * these chips are not distinguished. */
    {"golden-cove-client", 5.0, 0.3, 4, 512, {6, 5, 3, 3, 2, 1, 2, 3, 2, 2}, {6, 4},
     {3, 12, 3, 4, 14, 5, 17, 18, 15}, {14, 85}, {2, 60, 30}, {48, 2048, 30720}},
    /* Gracemont and Crestmont; older Atoms are slower. A 256-bit vector is two of 128 bits. */
    {"gracemont", 3.0, 0.3, 3, 256, {5, 4, 2, 1, 0.5, 1, 1, 2, 2, 2}, {6, 10},
     {3, 12, 4, 6, 15, 4, 15, 20, 17}, {30, 110}, {2, 20, 12}, {32, 2048, 6144}},
    /* Zen, Zen+. A 256-bit vector is two of 128 bits. */
    {"zen", 3.4, 0.25, 4, 192, {5, 4, 4, 2, 1, 1, 1, 2, 1, 2}, {14, 5},
     {3, 22, 4, 5, 13, 5, 17, 18, 13}, {11, 90}, {2, 50, 20}, {32, 512, 8192}},
    {"zen2", 3.6, 0.25, 4, 224, {5, 4, 4, 4, 2, 1, 2, 2, 1, 2}, {12, 5},
     {3, 18, 3.5, 5, 13, 4.5, 17, 17, 12}, {11, 85}, {2, 60, 22}, {32, 512, 16384}},
    {"zen3", 3.9, 0.25, 4, 256, {6, 4, 4, 4, 2, 1, 2, 3, 2, 2}, {6, 5},
     {3, 10, 3, 4, 13.5, 4.5, 16, 15, 12}, {12, 85}, {2, 80, 25}, {32, 512, 32768}},
    /* Zen 4, Zen 4c. A 512-bit vector takes two passes of 256 bits. */
    {"zen4", 4.1, 0.25, 4, 320, {6, 4, 4, 4, 2, 1, 2, 3, 2, 2}, {6, 5},
     {3, 10, 3, 4, 13.5, 4.5, 16, 15, 14}, {12, 90}, {2, 80, 30}, {32, 1024, 32768}},
    /* Zen 5, Zen 5c. */
    {"zen5", 4.2, 0.25, 4, 448, {8, 6, 4, 4, 4, 2, 2, 4, 2, 2}, {6, 5},
     {3, 10, 2.5, 4, 13.5, 4.5, 16, 15, 14}, {12, 95}, {1.5, 90, 35}, {48, 1024, 32768}},
    /* Neoverse N1: 128-bit vectors. */
    {"neoverse-n1", 2.8, 0.25, 4, 128, {4, 3, 2, 1, 0.5, 1, 2, 2, 1, 1}, {8, 7},
     {2, 9, 2.5, 4, 12, 4, 12, 20, 11}, {32, 110}, {2, 25, 17}, {64, 1024, 32768}},
    /* Neoverse V2; used for V1, N2, V3 and N3, too. */
    {"neoverse-v2", 3.0, 0.3, 4, 320, {8, 6, 4, 2, 1, 2, 4, 3, 2, 2}, {6, 7},
     {2, 9, 2, 4, 12, 4, 13, 18, 11}, {35, 115}, {1.5, 30, 28}, {64, 1024, 65536}},
    /* Cortex-A53: in order, so limits hardly overlap. It has no L3; requests to L3 are served by DRAM. */
    {"cortex-a53", 1.5, 0.3, 1.5, 0, {2, 2, 1, 0.5, 0.25, 1, 1, 1, 1, 1}, {8, 20},
     {3, 10, 4, 8, 22, 3, 8, 30, 15}, {140, 140}, {8, 2.5, 2.5}, {32, 512, 0}},
    /* Cortex-A72; used for A57, A73, A75 and A76, too. */
    {"cortex-a72", 1.8, 0.3, 3, 128, {3, 2, 2, 1, 0.5, 1, 2, 1, 1, 1}, {8, 10},
     {3, 10, 4, 7, 18, 4, 15, 20, 21}, {130, 130}, {4, 4, 4}, {32, 1024, 0}},
    /* Any other core: a typical width (assumed). */
    {"generic", 3.0, 0.45, 3, 192, {4, 4, 2, 2, 1, 1, 2, 2, 1, 1}, {8, 6},
     {3, 18, 4, 4.5, 15, 5, 16, 20, 14}, {18, 95}, {2.5, 30, 13}, {32, 512, 8192}},
};
/* clang-format on */

/* Errors of the frequency, which depends on boost, temperature and number of busy cores. In a virtual machine
 * the frequency is unknown, or may differ from that of the processor. */
#define HZ_TYPICAL_LOG_SD 0.15
#define HZ_GIVEN_LOG_SD   0.05
#define HZ_GUEST_LOG_SD   0.2

#define LINE_BYTES 64

/* Returns the row with this name, or the last row ("generic") for an unknown name. */
static const struct kind *find_kind(const char *name)
{
    const struct kind *kind = kinds, *last = kinds + sizeof kinds / sizeof *kinds - 1;
    while (kind < last && strcmp(kind->name, name) != 0)
        kind++;
    return kind;
}

/* Sets the rates of a core at the frequency `hz` from its row in `kinds`. */
static void set_speeds(const struct kind *kind, double hz, struct cost_core *core)
{
    double *per_cycle = core->per_cycle;
    per_cycle[COST_UOPS] = kind->per.uops;
    per_cycle[COST_INT_OPS] = kind->per.int_ops;
    per_cycle[COST_INT_MULS] = kind->per.int_muls;
    per_cycle[COST_INT_DIVS] = 1 / kind->every.int_div;
    per_cycle[COST_FP_OPS] = kind->per.fp_ops;
    per_cycle[COST_FP_FMAS] = kind->per.fp_fmas;
    per_cycle[COST_FP_DIVS] = 1 / kind->every.fp_div;
    per_cycle[COST_SIMD_256] = kind->per.simd_256;
    per_cycle[COST_SIMD_512] = kind->per.simd_512;
    per_cycle[COST_L1_LOADS] = kind->per.loads;
    per_cycle[COST_L1_STORES] = kind->per.stores;
    per_cycle[COST_ATOMICS] = 1 / kind->after.atomic;
    per_cycle[COST_BRANCHES] = kind->per.branches;
    per_cycle[COST_L2_LINES] = 1 / kind->line.l2_cycles;
    per_cycle[COST_L3_LINES] = kind->line.l3_gb_s * 1e9 / LINE_BYTES / hz;
    per_cycle[COST_DRAM_LINES] = kind->line.dram_gb_s * 1e9 / LINE_BYTES / hz;
}

/* Sets the latencies of a core at the frequency `hz` from its row. */
static void set_latencies(const struct kind *kind, double hz, struct cost_core *core)
{
    double *latency = core->latency;
    latency[COST_INT_OPS] = 1;
    latency[COST_INT_MULS] = kind->after.int_mul;
    latency[COST_INT_DIVS] = kind->after.int_div;
    latency[COST_FP_OPS] = kind->after.fp_op;
    latency[COST_FP_FMAS] = kind->after.fp_fma;
    latency[COST_FP_DIVS] = kind->after.fp_div;
    latency[COST_L1_LOADS] = kind->after.load;
    latency[COST_ATOMICS] = kind->after.atomic;
    latency[COST_MISPREDICTS] = kind->after.mispredict;
    latency[COST_L2_LINES] = kind->after.l2;
    latency[COST_L3_LINES] = kind->ns.l3 * 1e-9 * hz;
    latency[COST_DRAM_LINES] = kind->ns.dram * 1e-9 * hz;
}

void cost_core_describe(const struct cost_cpu *cpu, double hz, struct cost_core *out_core)
{
    struct cost_cpu_type type = cost_cpu_type(cpu);
    const struct kind *kind = find_kind(type.core);
    struct cost_table table;
    cost_cpu_table(cpu, &table);
    bool is_given = hz > 0;
    *out_core =
        (struct cost_core){.cls = JOULE_CLASS_ASSUMED,
                           .hz = is_given ? hz : kind->ghz * 1e9,
                           .log_sd = kind->log_sd,
                           .hz_log_sd = cpu->is_virtual ? HZ_GUEST_LOG_SD
                                        : is_given      ? HZ_GIVEN_LOG_SD
                                                        : HZ_TYPICAL_LOG_SD,
                           .package_share = cpu->cores ? fmax(cpu->packages, 1) / cpu->cores : 1 / type.cores,
                           .overlap = kind->overlap,
                           .window = kind->window,
                           .cache_bytes = {kind->kib.l1 * 1024, kind->kib.l2 * 1024, kind->kib.l3 * 1024},
                           .line_bytes = LINE_BYTES,
                           .instance = table.instance};
    string_copy(out_core->id, sizeof out_core->id, kind->name);
    set_speeds(kind, out_core->hz, out_core);
    set_latencies(kind, out_core->hz, out_core);
}

/* --- prices --------------------------------------------------------------------------------------------- */

/* Picojoules, in addition to the base price of each micro-operation. */
struct prices {
    const char *source;
    double cycle; /* an active core's clock and leakage */
    double uop;
    double int_op, int_mul, int_div, fp_op, fp_fma, fp_div, simd_256, simd_512, load, store;
    double l2_line, l3_line, dram_line;
    double wrong_uops; /* discarded micro-operations per lost cycle of a mispredict */
    double factor;     /* 90 % of machines are within this factor, either way */
};

#define GUESS(class) "assumed, order of magnitude: " class

/* Sources of the columns. Cycle: 3 W for a busy core at 3 GHz with 2 instructions per cycle, minus the energy
 * of the instructions. DRAM line: 64 B at 15 to 25 pJ per bit including controller and wires. Units: circuits
 * of 45 nm, scaled by process (Stillmaker and Baas, 2017), times a few for registers and bypass. Small cores:
 * Cortex-A7, minus the base price. Its integer operations need 50 to 80 pJ, floating point 80 to 350,
 * divisions 150 to 1200, loads and stores 150 to 200. Discarded work: assumed to be as many micro-operations
 * per cycle as in useful work. */
static const struct prices prices[COST_CORE_CLASSES] = {
    [COST_CORE_14NM] = {GUESS("large cores of 14 nm"), 600, 200, 5, 30, 300, 20, 35, 250, 120, 260, 40, 60,
                        500, 2000, 10000, 2, 3},
    [COST_CORE_7NM] = {GUESS("large cores of 7 and 5 nm"), 350, 120, 3, 20, 200, 12, 22, 150, 80, 170, 30, 45,
                       400, 1500, 9000, 2, 3},
    /* These cores have no 256-bit or 512-bit vectors and no L3. */
    [COST_CORE_SMALL] = {GUESS("small cores of 28 nm"), 30, 40, 10, 30, 400, 60, 90, 500, NAN, NAN, 100, 110,
                         1000, NAN, 6000, 1, 3},
    [COST_CORE_OTHER] = {GUESS("other known core, priced as a large core of 14 nm"), 600, 200, 5, 30, 300, 20,
                         35, 250, 120, 260, 40, 60, 500, 2000, 10000, 2, 5},
    [COST_CORE_UNKNOWN] = {GUESS("unknown core, priced as a large core of 14 nm"), 600, 200, 5, 30, 300, 20,
                           35, 250, 120, 260, 40, 60, 500, 2000, 10000, 2, 8},
};

/* Standard deviations of the logarithm of a price. TERM: error that differs between terms. DATA: error that
 * depends on the data. For the same instructions, the data change the energy of a core by 10 to 25 %
 * (Pallister et al., 2015). The rest of the error is common to all terms. */
#define TERM_LOG_SD 0.25
#define DATA_LOG_SD 0.15

/* Sets the prices of a core's table, in joules. */
static void set_prices(const struct prices *p, const struct cost_core *core, struct cost_table *table)
{
    const double picojoules[COST_FEATURES] = {
        [COST_CYCLES] = p->cycle,
        [COST_UOPS] = p->uop,
        [COST_INT_OPS] = p->int_op,
        [COST_INT_MULS] = p->int_mul,
        [COST_INT_DIVS] = p->int_div,
        [COST_FP_OPS] = p->fp_op,
        [COST_FP_FMAS] = p->fp_fma,
        [COST_FP_DIVS] = p->fp_div,
        [COST_SIMD_256] = p->simd_256,
        [COST_SIMD_512] = p->simd_512,
        [COST_L1_LOADS] = p->load,
        [COST_L1_STORES] = p->store,
        [COST_ATOMICS] = p->load + p->store, /* an atomic holds the line from the load to the store */
        [COST_BRANCHES] = p->int_op,         /* priced as a comparison */
        [COST_MISPREDICTS] = core->latency[COST_MISPREDICTS] * p->wrong_uops * p->uop,
        [COST_L2_LINES] = p->l2_line,
        [COST_L3_LINES] = p->l3_line,
        [COST_DRAM_LINES] = p->dram_line};
    for (int i = COST_CYCLES; i < COST_FEATURES; i++)
        table->joules[i] = picojoules[i] * 1e-12;
    table->joules[COST_CORE_SECONDS] = table->joules[COST_CUBIC_SECONDS] =
        table->joules[COST_SHARED_SECONDS] = NAN;
}

/* Sets the errors of all prices. factor: 90 % of machines are within this factor of a price, either way. */
static void set_price_errors(double factor, struct cost_table *table)
{
    double whole = log(factor) / Z90;
    double size = sqrt(whole * whole - TERM_LOG_SD * TERM_LOG_SD - DATA_LOG_SD * DATA_LOG_SD);
    for (int i = COST_CYCLES; i < COST_FEATURES; i++) {
        int cause = i == COST_CYCLES    ? COST_CAUSE_CLOCK
                    : i < COST_L2_LINES ? COST_CAUSE_UNITS
                                        : COST_CAUSE_LINES;
        table->log_sd[i][COST_CAUSE_SIZE] = size;
        table->log_sd[i][COST_CAUSE_WORK] = DATA_LOG_SD;
        table->log_sd[i][cause] = TERM_LOG_SD;
    }
}

void cost_core_table(const struct cost_cpu *cpu, struct cost_table *out_table)
{
    struct cost_core core;
    struct cost_cpu_type type = cost_cpu_type(cpu);
    const struct prices *p = &prices[type.core_class];
    cost_core_describe(cpu, NAN, &core);
    cost_cpu_table(cpu, out_table);
    out_table->cls = JOULE_CLASS_ASSUMED;
    out_table->source = p->source;
    snprintf(out_table->id, sizeof out_table->id, "core-seed-%d/%s%s", COST_VERSION, type.family,
             cpu->is_virtual ? "/virtual" : "");
    set_prices(p, &core, out_table);
    set_price_errors(p->factor, out_table);
}
