/* tools/joule/calibrate/kernels.c - see kernels.h.
 *
 * Contains the loops, written with macros that each architecture defines (instructions_*.h), and the table of
 * their operation counts.
 *
 * Note: each round of a loop repeats its body so often that the branch at the end of the round has little
 * effect. The counts in the table are those of one body.
 */
#include "calibrate/kernels.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include "calibrate/instructions_x86_64.h"
#elif defined(__aarch64__)
#include "calibrate/instructions_aarch64.h"
#else
#include "calibrate/instructions_c.h"
#endif

const char kernel_architecture[] = ARCHITECTURE;

/* --- loops ---------------------------------------------------------------------------------------------- */

#define EACH_INT(op)   op(0, K) op(1, K) op(2, K) op(3, K) op(4, K) op(5, K)
#define EACH_FLOAT(op) op(0, 14) op(1, 14) op(2, 14) op(3, 14) op(4, 14) op(5, 14) op(6, 14) op(7, 14)
#define FMA_OF(d, s)   FMA(d, s, 15)
#define SQRT_OF(d, s)  FSQRT(d)

LOOP(add_chain, 32, ADD(0, K))
LOOP(mul_chain, 16, MUL(0, K))
LOOP(div_chain, 4, DIV_CHAIN)
LOOP(atomic_chain, 4, ATOMIC)
LOOP(chase, 16, CHASE)
FLOAT_LOOP(fadd_chain, 16, FADD(0, 15))
FLOAT_LOOP(fmul_chain, 16, FMUL(0, 14))
FLOAT_LOOP(fma_chain, 16, FMA(0, 14, 15))
FLOAT_LOOP(fdiv_chain, 4, FDIV(0, 14))

LOOP(nop, 32, NOP)
LOOP(add_units, 8, EACH_INT(ADD))
LOOP(compare_units, 8, COMPARE COMPARE COMPARE COMPARE)
LOOP(mul_units, 4, EACH_INT(MUL))
LOOP(div_units, 4, DIV)
FLOAT_LOOP(fadd_units, 4, EACH_FLOAT(FADD))
FLOAT_LOOP(fmul_units, 4, EACH_FLOAT(FMUL))
FLOAT_LOOP(fma_units, 4, EACH_FLOAT(FMA_OF))
FLOAT_LOOP(fdiv_units, 1, EACH_FLOAT(FDIV))
FLOAT_LOOP(fsqrt_units, 1, EACH_FLOAT(SQRT_OF))
LOOP(load_units, 8, LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5))
LOOP(store_units, 8, STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5))
LOOP(load_store_units, 8, LOAD(0) STORE(0) LOAD(1) STORE(1))

LOOP(never_taken, 16, NEVER_TAKEN)
LOOP(always_taken, 1, ADD(0, K))
LOOP_WRAP(branches, 16, BRANCH)

LOOP_WRAP(stream, 16, READ(0, 0) NEXT_LINE)
LOOP_WRAP(fill, 8, WRITE(0) WRITE(8) WRITE(16) WRITE(24) WRITE(32) WRITE(40) WRITE(48) WRITE(56) NEXT_LINE)
LOOP(six_chases, 4, CHASE_BY(0) CHASE_BY(1) CHASE_BY(2) CHASE_BY(3) CHASE_BY(4) CHASE_BY(5))
LOOP(chase_work, 8, CHASE ADD(0, K) ADD(1, K) ADD(2, K) ADD(3, K) MUL(4, K) MUL(4, K))
LOOP_WRAP(stream_sum, 8,
          READ(1, 0) ADD(0, 1) READ(2, 8) ADD(0, 2) READ(3, 16) ADD(0, 3) READ(4, 24) ADD(0, 4) READ(1, 32)
              ADD(0, 1) READ(2, 40) ADD(0, 2) READ(3, 48) ADD(0, 3) READ(4, 56) ADD(0, 4) NEXT_LINE)

LOOP(list, 8, CHASE ADD(0, K) ADD(1, K) ADD(2, K))
LOOP(hash, 8, ADD(0, K) MUL(0, K))
LOOP(add_mul, 8, ADD(0, K) ADD(1, K) MUL(2, K) ADD(3, K))
LOOP(div_adds, 4, DIV ADD(0, K) ADD(1, K) ADD(2, K) ADD(3, K) ADD(4, K) ADD(5, K))
LOOP(load_adds, 8, LOAD(0) ADD(1, 0) LOAD(2) ADD(3, 2))
LOOP(load_add_store, 8, LOAD(0) ADD(0, K) STORE(0) LOAD(1) ADD(1, K) STORE(1))
LOOP(never_taken_adds, 8, NEVER_TAKEN ADD(0, K) ADD(1, K))
LOOP_WRAP(branch_work, 8, BRANCH MUL(1, K) ADD(2, 1) ADD(3, K))

FLOAT_LOOP(load_sum, 8, FLOAD(8) FADD(0, 8))
FLOAT_LOOP(horner, 8, FLOAD(8) FMA(0, 14, 8))
FLOAT_LOOP(products_sums, 4,
           FMUL(0, 14) FADD(4, 15) FMUL(1, 14) FADD(5, 15) FMUL(2, 14) FADD(6, 15) FMUL(3, 14) FADD(7, 15))
FLOAT_LOOP(fadd_adds, 8, FADD(0, 15) FADD(1, 15) ADD(0, K) ADD(1, K) ADD(2, K))
FLOAT_LOOP(fdiv_fma, 4, FDIV(0, 14) FMA(1, 14, 15) FMA(2, 14, 15) FMA(3, 14, 15))
FLOAT_LOOP(fmul_fadd, 8, FMUL(0, 14) FADD(0, 15))

#ifdef VADD
LOOP_256(vadd_chain, 16, VADD(0))
LOOP_256(vadd_units, 8, VADD(0) VADD(1) VADD(2) VADD(3) VADD(4) VADD(5) VADD(6) VADD(7))
LOOP_256(vfma_units, 8, VFMA(0) VFMA(1) VFMA(2) VFMA(3) VFMA(4) VFMA(5) VFMA(6) VFMA(7))
LOOP_256(vstream_sum, 8, VLOAD(0, 0) VSUM(1, 0) VLOAD(2, 32) VSUM(3, 2) NEXT_LINE)
LOOP_256(vscale, 8, VLOAD(0, 0) VFMA(0) VSTORE(0, 0) VLOAD(1, 32) VFMA(1) VSTORE(1, 32) NEXT_LINE)
#endif
#ifdef WADD
LOOP_512(wadd_units, 8, WADD(0) WADD(1) WADD(2) WADD(3) WADD(4) WADD(5) WADD(6) WADD(7))
LOOP_512(wfma_units, 8, WFMA(0) WFMA(1) WFMA(2) WFMA(3) WFMA(4) WFMA(5) WFMA(6) WFMA(7))
LOOP_512(wstream_sum, 8, WLOAD(0, 0) WSUM(1, 0) NEXT_LINE)
#endif

/* --- counts --------------------------------------------------------------------------------------------- */

#define CHAINS         FIT_CHAINS
#define UNITS          FIT_UNITS
#define U(n)           [COST_UOPS] = (n)
#define INT(n)         [COST_INT_OPS] = (n)
#define MULS(n)        [COST_INT_MULS] = (n)
#define DIVS(n)        [COST_INT_DIVS] = (n)
#define FP(n)          [COST_FP_OPS] = (n)
#define FMAS(n)        [COST_FP_FMAS] = (n)
#define FDIVS(n)       [COST_FP_DIVS] = (n)
#define LOADS(n)       [COST_L1_LOADS] = (n)
#define STORES(n)      [COST_L1_STORES] = (n)
#define BRANCHES(n)    [COST_BRANCHES] = (n)
#define MISPREDICTS(n) [COST_MISPREDICTS] = (n)
#define V256(n)        [COST_SIMD_256] = (n)
#define V512(n)        [COST_SIMD_512] = (n)
#define RING(l)        .lines = 1, .waits = 1, .layout = LAYOUT_RING, .level = COST_##l
#define RINGS(l)       .lines = 6, .waits = 1, .layout = LAYOUT_RINGS, .level = COST_##l
#define ARRAY(l)       .lines = 1, .layout = LAYOUT_ARRAY, .level = COST_##l, .wraps = true
/* A decision is one byte, so a cache line contains 64 decisions. */
#define DECISIONS(kind) .lines = 1 / 64.0, .layout = LAYOUT_##kind, .level = COST_L2, .wraps = true

/* clang-format off */
const struct kernel kernels[] = {
    /* The first kernel measures the clock: each addition takes one cycle. */
    {add_chain, 32, "add, dependent", CHAINS, {U(1), INT(1)}, {INT(1)}},
    {mul_chain, 16, "multiply, dependent", CHAINS, {U(1), MULS(1)}, {MULS(1)}},
    {div_chain, 4, "divide, dependent", CHAINS, {U(1), DIVS(1)}, {DIVS(1)}},
    {fadd_chain, 16, "add floats, dependent", CHAINS, {U(1), FP(1)}, {FP(1)}},
    {fmul_chain, 16, "multiply floats, dependent", CHAINS, {U(1), FP(1)}, {FP(1)}},
    {fma_chain, 16, "fused multiply-add, dependent", CHAINS, {U(1), FMAS(1)}, {FMAS(1)}, .needs = NEEDS_FMA},
    {fdiv_chain, 4, "divide floats, dependent", CHAINS, {U(1), FDIVS(1)}, {FDIVS(1)}},
    {atomic_chain, 4, "atomic additions", CHAINS, {U(1), [COST_ATOMICS] = 1}, {[COST_ATOMICS] = 1}},
    {chase, 16, "load, dependent", CHAINS, {U(1), LOADS(1)}, {LOADS(1)}, RING(L1)},

    {nop, 32, "no operation", UNITS, {U(1)}, {0}},
    {add_units, 8, "add", UNITS, {U(6), INT(6)}, {INT(1)}},
    {compare_units, 8, "compare", UNITS, {U(4), INT(4)}, {0}},
    {mul_units, 4, "multiply", UNITS, {U(6), MULS(6)}, {MULS(1)}},
    {div_units, 4, "divide", UNITS, {U(1), DIVS(1)}, {0}},
    {fadd_units, 4, "add floats", UNITS, {U(8), FP(8)}, {FP(1)}},
    {fmul_units, 4, "multiply floats", UNITS, {U(8), FP(8)}, {FP(1)}},
    {fma_units, 4, "fused multiply-add", UNITS, {U(8), FMAS(8)}, {FMAS(1)}, .needs = NEEDS_FMA},
    {fdiv_units, 1, "divide floats", UNITS, {U(8), FDIVS(8)}, {FDIVS(1)}},
    {fsqrt_units, 1, "square roots", UNITS, {U(8), FDIVS(8)}, {FDIVS(1)}},
    {load_units, 8, "load", UNITS, {U(6), LOADS(6)}, {0}},
    {store_units, 8, "store", UNITS, {U(6), STORES(6)}, {0}},
    {load_store_units, 8, "load and store", UNITS, {U(4), LOADS(2), STORES(2)}, {0}},

    {never_taken, 16, "branches never taken", FIT_BRANCHES, {U(1), BRANCHES(1)}, {0}},
    {always_taken, 1, "branches always taken", FIT_BRANCHES, {U(1), INT(1)}, {INT(1)}},
    {branches, 16, "branches, alternating", FIT_BRANCHES, {U(3.5), INT(1.5), LOADS(1), BRANCHES(1)}, {INT(1)},
     DECISIONS(ALTERNATING)},
    {branches, 16, "branches, random 1 in 8", FIT_BRANCHES,
     {U(3.125), INT(1.125), LOADS(1), BRANCHES(1), MISPREDICTS(0.125)}, {INT(1)}, DECISIONS(RANDOM_EIGHTHS)},
    {branches, 16, "branches, random", FIT_BRANCHES, {U(3.5), INT(1.5), LOADS(1), BRANCHES(1), MISPREDICTS(0.5)},
     {INT(1)}, DECISIONS(RANDOM_HALVES)},

    {chase, 16, "lines of L2, dependent", FIT_CACHES, {U(1), LOADS(1)}, {LOADS(1)}, RING(L2)},
    {chase, 16, "lines of L3, dependent", FIT_CACHES, {U(1), LOADS(1)}, {LOADS(1)}, RING(L3)},
    {chase, 16, "lines of DRAM, dependent", FIT_CACHES, {U(1), LOADS(1)}, {LOADS(1)}, RING(DRAM)},
    {stream, 16, "lines of L2, sequential", FIT_CACHES, {U(2), INT(1), LOADS(1)}, {INT(1)}, ARRAY(L2)},
    {stream, 16, "lines of L3, sequential", FIT_CACHES, {U(2), INT(1), LOADS(1)}, {INT(1)}, ARRAY(L3)},
    {stream, 16, "lines of DRAM, sequential", FIT_CACHES, {U(2), INT(1), LOADS(1)}, {INT(1)}, ARRAY(DRAM)},

    {six_chases, 4, "lines of L2, six chains", FIT_LINE_MIXES, {U(6), LOADS(6)}, {LOADS(1)}, RINGS(L2)},
    {six_chases, 4, "lines of L3, six chains", FIT_LINE_MIXES, {U(6), LOADS(6)}, {LOADS(1)}, RINGS(L3)},
    {six_chases, 4, "lines of DRAM, six chains", FIT_LINE_MIXES, {U(6), LOADS(6)}, {LOADS(1)}, RINGS(DRAM)},
    {chase_work, 8, "lines of L2 and arithmetic", FIT_LINE_MIXES, {U(7), LOADS(1), INT(4), MULS(2)}, {LOADS(1)},
     RING(L2)},
    {chase_work, 8, "lines of L3 and arithmetic", FIT_LINE_MIXES, {U(7), LOADS(1), INT(4), MULS(2)}, {LOADS(1)},
     RING(L3)},
    {chase_work, 8, "lines of DRAM and arithmetic", FIT_LINE_MIXES, {U(7), LOADS(1), INT(4), MULS(2)}, {LOADS(1)},
     RING(DRAM)},
    {fill, 8, "fill L2", FIT_LINE_MIXES, {U(9), INT(1), STORES(8)}, {INT(1)}, ARRAY(L2)},
    {fill, 8, "fill DRAM", FIT_LINE_MIXES, {U(9), INT(1), STORES(8)}, {INT(1)}, ARRAY(DRAM)},
    {stream_sum, 8, "sum in L2", FIT_LINE_MIXES, {U(17), INT(9), LOADS(8)}, {INT(8)}, ARRAY(L2)},
    {stream_sum, 8, "sum in DRAM", FIT_LINE_MIXES, {U(17), INT(9), LOADS(8)}, {INT(8)}, ARRAY(DRAM)},

    {hash, 8, "hash", FIT_INT_MIXES, {U(2), INT(1), MULS(1)}, {INT(1), MULS(1)}},
    {add_mul, 8, "additions and a multiplication", FIT_INT_MIXES, {U(4), INT(3), MULS(1)}, {MULS(1)}},
    {div_adds, 4, "division and additions", FIT_INT_MIXES, {U(7), INT(6), DIVS(1)}, {INT(1)}},
    {load_adds, 8, "sum of loads", FIT_INT_MIXES, {U(4), INT(2), LOADS(2)}, {INT(1)}},
    {load_add_store, 8, "counters", FIT_INT_MIXES, {U(6), INT(2), LOADS(2), STORES(2)}, {0}},
    {never_taken_adds, 8, "additions and branches", FIT_INT_MIXES, {U(3), INT(2), BRANCHES(1)}, {INT(1)}},
    {list, 8, "linked list and additions", FIT_INT_MIXES, {U(4), LOADS(1), INT(3)}, {LOADS(1)}, RING(L1)},
    {branch_work, 8, "arithmetic and random branches", FIT_INT_MIXES,
     {U(6.5), INT(3.5), MULS(1), LOADS(1), BRANCHES(1), MISPREDICTS(0.5)}, {MULS(1)}, DECISIONS(RANDOM_HALVES)},

    {load_sum, 8, "sum of floats", FIT_FLOAT_MIXES, {U(2), FP(1), LOADS(1)}, {FP(1)}},
    {horner, 8, "polynomial", FIT_FLOAT_MIXES, {U(2), FMAS(1), LOADS(1)}, {FMAS(1)}, .needs = NEEDS_FMA},
    {products_sums, 4, "products and sums of floats", FIT_FLOAT_MIXES, {U(8), FP(8)}, {FP(1)}},
    {fadd_adds, 8, "integers and floats", FIT_FLOAT_MIXES, {U(5), FP(2), INT(3)}, {FP(1)}},
    {fdiv_fma, 4, "division and products of floats", FIT_FLOAT_MIXES, {U(4), FDIVS(1), FMAS(3)}, {FDIVS(1)},
     .needs = NEEDS_FMA},
    {fmul_fadd, 8, "product and sum of floats, dependent", FIT_FLOAT_MIXES, {U(2), FP(2)}, {FP(2)}},

#ifdef VADD
    {vadd_chain, 16, "add 256 bits, dependent", FIT_VECTORS, {U(1), FP(1), V256(1)}, {FP(1)}, .needs = NEEDS_256},
    {vadd_units, 8, "add 256 bits", FIT_VECTORS, {U(8), FP(8), V256(8)}, {FP(1)}, .needs = NEEDS_256},
    {vfma_units, 8, "fused multiply-add of 256 bits", FIT_VECTORS, {U(8), FMAS(8), V256(8)}, {FMAS(1)},
     .needs = NEEDS_256},
    {vstream_sum, 8, "sum 256 bits in L1", FIT_VECTORS, {U(5), FP(2), V256(4), LOADS(2), INT(1)}, {FP(1)}, ARRAY(L1),
     .needs = NEEDS_256},
    {vscale, 8, "scale 256 bits in L2", FIT_LINE_MIXES, {U(7), FMAS(2), V256(6), LOADS(2), STORES(2), INT(1)}, {INT(1)},
     ARRAY(L2), .needs = NEEDS_256},
    {vscale, 8, "scale 256 bits in L3", FIT_LINE_MIXES, {U(7), FMAS(2), V256(6), LOADS(2), STORES(2), INT(1)}, {INT(1)},
     ARRAY(L3), .needs = NEEDS_256},
#endif
#ifdef WADD
    {wadd_units, 8, "add 512 bits", FIT_VECTORS, {U(8), FP(8), V512(8)}, {FP(1)}, .needs = NEEDS_512},
    {wfma_units, 8, "fused multiply-add of 512 bits", FIT_VECTORS, {U(8), FMAS(8), V512(8)}, {FMAS(1)},
     .needs = NEEDS_512},
    {wstream_sum, 8, "sum 512 bits in L1", FIT_VECTORS, {U(3), FP(1), V512(2), LOADS(1), INT(1)}, {FP(1)}, ARRAY(L1),
     .needs = NEEDS_512},
#endif
};
/* clang-format on */
const size_t kernel_count = sizeof kernels / sizeof *kernels;

bool kernel_is_here(const struct kernel *kernel, const struct cost_core *core)
{
    const bool has[] = {
        [NEEDS_NOTHING] = true, [NEEDS_FMA] = HAS_FMA, [NEEDS_256] = HAS_256, [NEEDS_512] = HAS_512};
    bool has_level = kernel->level != COST_L3 || core->cache_bytes[COST_L3] > core->cache_bytes[COST_L2];
    return has[kernel->needs] && has_level;
}

void kernel_describe(const struct kernel *kernel, struct fit_kernel *out)
{
    static const enum cost_feature line_of[COST_LEVELS] = {
        [COST_L2] = COST_L2_LINES, [COST_L3] = COST_L3_LINES, [COST_DRAM] = COST_DRAM_LINES};
    *out = (struct fit_kernel){.name = kernel->name,
                               .family = kernel->family,
                               .work.version = COST_VERSION,
                               .streamed = kernel->waits > 0 ? 0 : 1};
    for (int i = 0; i < COST_FEATURES; i++) {
        out->work.amount[i] = kernel->amount[i] * kernel->times;
        out->chain[i] = kernel->chain[i] * kernel->times;
    }
    /* Each round also decrements a counter and branches; for an array that wraps, it executes two more
     * operations. */
    double own = kernel->wraps ? 3 : 1;
    out->work.amount[COST_UOPS] += own;
    out->work.amount[COST_INT_OPS] += own;
    out->work.amount[COST_BRANCHES] += 1;
    if (kernel->level != COST_L1) {
        out->work.amount[line_of[kernel->level]] += kernel->lines * kernel->times;
        out->chain[line_of[kernel->level]] += kernel->waits * kernel->times;
    }
}

/* --- memory --------------------------------------------------------------------------------------------- */

#define LINE ((size_t)64)
/* the number of lines of an array is a multiple of UNIT_LINES; a round accesses at most UNIT_LINES lines */
#define UNIT_LINES     ((size_t)64)
#define MIN_DRAM_BYTES ((size_t)64 << 20)
#define MAX_DRAM_BYTES ((size_t)256 << 20)
#define MEMORY_PART    24 /* each of three data sets takes at most 1/24 of the machine's memory */
#define DECISION_BYTES ((size_t)256 << 10)
#define HUGE_PAGE      ((size_t)2 << 20)
#define SEED           UINT64_C(88172645463325252)
#define RINGS_AT_ONCE  ((size_t)6)

static size_t round_to_units(double bytes)
{
    size_t unit = LINE * UNIT_LINES;
    return bytes > (double)unit ? (size_t)bytes / unit * unit : unit;
}

static double min(double a, double b)
{
    return a < b ? a : b;
}

/* Returns the size of the data set for DRAM in bytes: 16 times the last cache (`last` bytes), limited by the
 * machine's memory. */
static double dram_bytes(double last)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double max = memory > 0 ? min(MAX_DRAM_BYTES, memory / MEMORY_PART) : MAX_DRAM_BYTES, wanted = 16 * last;
    return min(wanted > MIN_DRAM_BYTES ? wanted : MIN_DRAM_BYTES, max);
}

/* Chooses data sizes in bytes, each well within its level and well beyond the previous one. */
static void choose_sizes(const struct cost_core *core, size_t bytes[COST_LEVELS])
{
    const double *cache = core->cache_bytes;
    double l1 = cache[COST_L1] > 0 ? cache[COST_L1] : 32 << 10,
           l2 = cache[COST_L2] > l1 ? cache[COST_L2] : 8 * l1, l3 = cache[COST_L3] > l2 ? cache[COST_L3] : l2;
    bytes[COST_L1] = round_to_units(l1 / 2);
    bytes[COST_L2] = round_to_units(2 * l1 < l2 / 2 ? l2 / 2 : (l1 + l2) / 2);
    bytes[COST_L3] = round_to_units(2 * l2 < l3 / 2 ? 2 * l2 : (l2 + l3) / 2);
    bytes[COST_DRAM] = round_to_units(dram_bytes(l3));
}

/* Allocates zeroed memory, on huge pages if available, so that address translation does not affect the
 * times. */
static unsigned char *allocate_zeroed(size_t bytes)
{
    size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096, size = (bytes + unit - 1) / unit * unit;
    unsigned char *memory = aligned_alloc(unit, size);
    if (!memory)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (unit == HUGE_PAGE)
        madvise(memory, size, MADV_HUGEPAGE);
#endif
    memset(memory, 0, size);
    return memory;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Links all lines to one random cycle with Sattolo's algorithm. Each line first contains the index of the
 * next line, and finally its address. */
static void make_ring(unsigned char *memory, size_t lines)
{
    uint64_t state = SEED ^ (uint64_t)(uintptr_t)memory;
#define WORD(i) (*(uint64_t *)(void *)(memory + (i)*LINE))
    for (size_t i = 0; i < lines; i++)
        WORD(i) = i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = next_random(&state) % i;
        uint64_t kept = WORD(i);
        WORD(i) = WORD(j);
        WORD(j) = kept;
    }
    for (size_t i = 0; i < lines; i++)
        WORD(i) = (uint64_t)(uintptr_t)(memory + WORD(i) * LINE);
#undef WORD
}

static void fill_decisions(unsigned char *decisions, enum layout kind)
{
    uint64_t state = SEED;
    for (size_t i = 0; i < DECISION_BYTES; i++) {
        uint64_t word = next_random(&state) >> 32;
        decisions[i] = kind == LAYOUT_ALTERNATING      ? i & 1
                       : kind == LAYOUT_RANDOM_EIGHTHS ? (word & 7) == 0
                                                       : word & 1;
    }
}

static uint64_t address(const unsigned char *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

static void init_state(const struct kernel_memory *all, const struct kernel *kernel,
                       struct kernel_state *state)
{
    const unsigned char *decisions = kernel->layout >= LAYOUT_ALTERNATING
                                         ? all->decisions[kernel->layout - LAYOUT_ALTERNATING]
                                         : NULL,
                        *array = decisions ? decisions : all->array[kernel->level];
    size_t bytes = all->bytes[kernel->level];
    *state = (struct kernel_state){
        .factor = UINT64_C(0x9e3779b97f4a7c15), .one = 1, .near_one = 1 + 1e-9, .small = 1e-9};
    state->begin = kernel->layout == LAYOUT_RING ? address(all->ring[kernel->level]) : address(array);
    state->end = state->begin + (decisions ? DECISION_BYTES : bytes);
    state->position = state->begin;
    for (size_t i = 0; i < RINGS_AT_ONCE && kernel->layout == LAYOUT_RINGS; i++)
        state->starts[i] = address(all->rings[kernel->level] + bytes / LINE / RINGS_AT_ONCE * i * LINE);
}

static bool make_level(struct kernel_memory *out, enum cost_level level)
{
    size_t bytes = out->bytes[level], lines = bytes / LINE, part = lines / RINGS_AT_ONCE;
    out->ring[level] = allocate_zeroed(bytes);
    out->rings[level] = allocate_zeroed(bytes);
    out->array[level] = allocate_zeroed(bytes);
    if (!out->ring[level] || !out->rings[level] || !out->array[level])
        return false;
    make_ring(out->ring[level], lines);
    for (size_t i = 0; i < RINGS_AT_ONCE; i++)
        make_ring(out->rings[level] + part * i * LINE, part);
    return true;
}

bool kernel_memory_make(const struct cost_core *core, struct kernel_memory *out)
{
    *out = (struct kernel_memory){.of = aligned_alloc(64, kernel_count * sizeof *out->of)};
    bool is_complete = out->of;
    choose_sizes(core, out->bytes);
    for (int i = 0; i < COST_LEVELS && is_complete; i++)
        is_complete = make_level(out, (enum cost_level)i);
    for (int i = 0; i < 3 && is_complete; i++) {
        is_complete = (out->decisions[i] = allocate_zeroed(DECISION_BYTES)) != NULL;
        if (is_complete)
            fill_decisions(out->decisions[i], (enum layout)(LAYOUT_ALTERNATING + i));
    }
    for (size_t i = 0; i < kernel_count && is_complete; i++)
        init_state(out, &kernels[i], &out->of[i]);
    if (!is_complete)
        kernel_memory_free(out);
    return is_complete;
}

void kernel_memory_free(struct kernel_memory *memory)
{
    for (int i = 0; i < COST_LEVELS; i++) {
        free(memory->ring[i]);
        free(memory->rings[i]);
        free(memory->array[i]);
    }
    for (int i = 0; i < 3; i++)
        free(memory->decisions[i]);
    free(memory->of);
    *memory = (struct kernel_memory){0};
}
