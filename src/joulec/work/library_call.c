/* joulec/work/library_call.c - see library_call.h. */
#include "joulec/work/library_call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/work/library_math.h"

#define UOPS_PER_CYCLE  1.5 /* of library code, with waits for memory and mispredictions */
#define MAX_INLINE_COPY 128 /* maximum bytes that compilers copy without a call */
#define BEGIN_CYCLES    20  /* cycles of such a call before it moves the first byte */
#define WIDEST_VECTOR   64  /* in bytes; a core stores one such vector per cycle */
/* Maximum bytes that compilers compare for order, and for equality, without a call. The values are those of
 * clang for x86-64 without AVX, the lowest of all. */
#define MAX_INLINE_ORDER 16
#define MAX_INLINE_EQUAL 32
#define COMPARE_CYCLES   2 /* cycles to compare 16 bytes: two loads and a comparison */

/* Uses of the number of bytes in a function's third argument. Comparisons for order and for equality differ,
 * because compilers inline comparisons for equality up to more bytes. */
enum memory_call { MEMORY_NONE, MEMORY_MOVE, MEMORY_SET, MEMORY_ORDER, MEMORY_EQUAL };

/* Cycles of a call: minimum on any core, middle, and 95 % point. The minima of cheap functions are one half
 * to two thirds of those that bench/calls.c measured (golden-cove, glibc 2.36). Later cores do more in
 * parallel, and other libraries do less. The other figures are orders of magnitude on cores of 3 GHz, from
 * microbenchmarks of glibc and of system calls. Sorted by name. */
static const struct library_function {
    const char *name;
    const char *type; /* like the type of a call; NULL: any, because the compiler inserts the call */
    double cycles[BOUNDS];
    enum memory_call does;
} library_functions[] = {
    {"\001_mcount", NULL, {4, 30, 300}}, /* mcount; the \001 keeps the assembler from changing the name */
    {"_Exit",
     "vi",
     /* ends the program or the caller's call; work after that end is not counted */
     {100, 300, 3000}},
    {"__assert_fail", "vppip", {100, 1000, 10000}},
    {"__ctype_b_loc", "p", {1, 4, 20}}, /* glibc's isalpha() and similar, toupper(), errno */
    {"__ctype_tolower_loc", "p", {1, 4, 20}},
    {"__ctype_toupper_loc", "p", {1, 4, 20}},
    {"__divdc3", NULL, {5, 30, 100}},
    {"__divsc3", NULL, {5, 30, 100}},
    {"__divxc3", NULL, {10, 60, 200}},
    {"__errno_location", "p", {1, 4, 20}},
    {"__longjmp_chk", "vpi", {5, 30, 100}},
    {"__muldc3", NULL, {2, 12, 60}},
    {"__mulsc3", NULL, {2, 12, 60}},
    {"__mulxc3", NULL, {5, 30, 150}},
    {"_exit", "vi", {100, 300, 3000}},
    {"_longjmp", "vpi", {5, 30, 100}},
    {"_mcount", NULL, {4, 30, 300}},
    {"abort", "v", {100, 1000, 10000}},
    {"abs", "ii", {0.25, 1, 2}},
    {"atof", "dp", {20, 150, 600}},
    {"atoi", "ip", {5, 40, 150}},
    /* clang's replacement of a memcmp that tests only for equality */
    {"bcmp", "ippi", {3, 25, 2000}, MEMORY_EQUAL},
    {"calloc", "pii", {15, 150, 5000}},
    {"exit", "vi", {100, 1000, 100000}},
    {"fflush", "ip", {5, 1500, 20000}},
    {"fprintf", "ipp.", {40, 1200, 10000}},
    {"fputc", "iip", {3, 30, 3000}},
    {"fputs", "ipp", {15, 150, 5000}},
    {"fread", "ipiip", {20, 500, 50000}},
    {"free", "vp", {5, 60, 2000}},
    {"fwrite", "ipiip", {20, 500, 50000}},
    {"getc", "ip", {2, 20, 3000}},
    {"longjmp", "vpi", {5, 30, 100}},
    {"malloc", "pi", {8, 100, 5000}},
    {"mcount", NULL, {4, 30, 300}}, /* gprof's, with -pg: at the beginning of each function */
    {"memchr", "ppii", {3, 30, 2000}},
    {"memcmp", "ippi", {3, 25, 2000}, MEMORY_ORDER},
    {"memcpy", "pppi", {3, 40, 20000}, MEMORY_MOVE},
    {"memmove", "pppi", {3, 40, 20000}, MEMORY_MOVE},
    {"memset", "ppii", {3, 40, 20000}, MEMORY_SET},
    {"omp_destroy_lock", "vp", {2, 20, 500}},
    {"omp_get_level", "i", {2, 15, 100}},
    {"omp_get_max_threads", "i", {2, 15, 100}},
    {"omp_get_num_procs", "i", {2, 15, 2000}},
    {"omp_get_num_threads", "i", {2, 15, 100}},
    {"omp_get_thread_num", "i", {2, 15, 100}},
    {"omp_get_wtick", "d", {2, 60, 1000}},
    {"omp_get_wtime", "d", {10, 60, 1000}},
    {"omp_in_parallel", "i", {2, 15, 100}},
    {"omp_init_lock", "vp", {2, 20, 500}},
    {"omp_set_dynamic", "vi", {2, 15, 100}},
    {"omp_set_lock", "vp", {4, 40, 20000}},
    {"omp_set_num_threads", "vi", {2, 15, 100}},
    {"omp_test_lock", "ip", {4, 30, 500}},
    {"omp_unset_lock", "vp", {4, 30, 2000}},
    {"printf", "ip.", {40, 1000, 10000}},
    {"putc", "iip", {2, 20, 3000}},
    {"putchar", "ii", {2, 20, 3000}},
    {"puts", "ip", {15, 300, 5000}},
    {"rand", "i", {3, 30, 100}},
    {"realloc", "ppi", {8, 150, 20000}},
    {"siglongjmp", "vpi", {5, 200, 1000}},
    {"snprintf", "ipip.", {30, 700, 6000}},
    {"sprintf", "ipp.", {30, 700, 6000}},
    {"strcat", "ppp", {5, 60, 2000}},
    {"strchr", "ppi", {3, 30, 2000}},
    {"strcmp", "ipp", {3, 25, 2000}},
    {"strcpy", "ppp", {4, 40, 2000}},
    {"strdup", "pp", {15, 150, 5000}},
    {"strlen", "ip", {2, 25, 2000}},
    {"strncmp", "ippi", {3, 25, 2000}},
    {"strncpy", "pppi", {4, 40, 2000}},
    {"strtod", "dpp", {20, 150, 600}},
    {"strtol", "ippi", {5, 50, 200}},
};

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct library_function *)row)->name);
}

/* Converts LLVM's intrinsics that become calls. powi multiplies once per bit of the power, which takes about
 * as long as ldexp. */
const char *library_call_name(const struct call *call)
{
    const char *name = call->name ? call->name : "";
    static const struct {
        const char *prefix, *name;
    } moves[] = {{"llvm.memcpy.", "memcpy"}, {"llvm.memmove.", "memmove"}, {"llvm.memset.", "memset"},
                 {"llvm.lround.", "lround"}, {"llvm.llround.", "llround"}, {"llvm.lrint.", "lrint"},
                 {"llvm.llrint.", "llrint"}, {"llvm.ldexp.", "ldexp"},     {"llvm.frexp.", "frexp"},
                 {"llvm.modf.", "modf"},     {"llvm.sincos.", "sincos"},   {"llvm.powi.", "ldexp"}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strncmp(name, moves[i].prefix, strlen(moves[i].prefix)) == 0)
            return moves[i].name;
    return name;
}

/* Finds a function by its name only; NULL: no figures. */
static const struct library_function *find(const struct call *call)
{
    return bsearch(library_call_name(call), library_functions,
                   sizeof library_functions / sizeof *library_functions, sizeof *library_functions, by_name);
}

static bool is_of_type(const struct call *call, const char *type)
{
    if (!type || !call->type)
        return true;
    if (strcmp(type, MATH_COMPLEX) == 0) /* returns a complex number, or a part of one */
        return call->type[0] && strchr("?dfl", call->type[0]);
    return strcmp(call->type, type) == 0;
}

/* Finds the cycles of a mathematical function. Returns false if the function is unknown. */
static bool find_math(const struct call *call, double out_cycles[BOUNDS])
{
    struct library_math math;
    if (!library_math_find(library_call_name(call), &math) || !is_of_type(call, math.type))
        return false;
    memcpy(out_cycles, math.cycles, sizeof math.cycles);
    return true;
}

const struct operand *library_call_length(const struct call *call)
{
    const struct library_function *found = find(call);
    return found && found->does != MEMORY_NONE && call->argument_count >= 3 ? &call->arguments[2] : NULL;
}

/* Sets out_bytes to the number of bytes that a call processes. Returns false if the number is unknown. */
static bool bytes_of(const struct operand *operand, const struct call_length *length,
                     double out_bytes[BOUNDS])
{
    bool is_constant = operand && operand->is_constant && operand->constant >= 0;
    for (int b = 0; b < BOUNDS; b++)
        out_bytes[b] = is_constant ? (double)operand->constant : length ? length->bytes[b] : NAN;
    return is_constant || (operand && length && length->bytes[BOUND_HIGH] >= 0);
}

static double max_latency(const struct cost_core *core, double bytes)
{
    return ceil(bytes / core->line_bytes) * core->latency[COST_DRAM_LINES];
}

/* Sets the cycles of a copy or a set. Short copies of constant length are inlined with vectors of 16 bytes.
 * In the worst case all data comes from DRAM. */
static void set_cycles_of_bytes(const struct cost_core *core, double bytes, bool is_call,
                                double cycles[BOUNDS])
{
    double moves = bytes / (16 * core->per_cycle[COST_L1_STORES]),
           begin = !is_call && bytes <= MAX_INLINE_COPY ? 0 : BEGIN_CYCLES;
    cycles[BOUND_LOW] = fmax(1, bytes / WIDEST_VECTOR);
    cycles[BOUND_EST] = begin + fmax(1, moves);
    cycles[BOUND_HIGH] = 2 * cycles[BOUND_EST] + max_latency(core, bytes);
}

/* Sets the cycles of a comparison. The comparison ends at the first difference, which may be at the
 * beginning. Up to max_inline bytes are compared without a call. */
static void set_cycles_of_compare(const struct cost_core *core, double bytes, double max_inline,
                                  double cycles[BOUNDS])
{
    double in_place = fmax(COMPARE_CYCLES, ceil(bytes / 16) * COMPARE_CYCLES);
    bool is_call = bytes > max_inline;
    cycles[BOUND_LOW] = 1;
    cycles[BOUND_EST] = is_call ? cycles[BOUND_EST] : in_place;
    cycles[BOUND_HIGH] = 2 * ((is_call ? BEGIN_CYCLES : 0) + in_place) + max_latency(core, 2 * bytes);
    cycles[BOUND_HIGH] = fmax(cycles[BOUND_HIGH], cycles[BOUND_EST]);
}

/* Adds the cache lines that a copy or a set reads and writes. The lines come from the nearest level that is
 * large enough for all of them, as after the previous call. Written lines are first read and later written
 * back. Large copies do not read them first, because they bypass the caches (glibc's non-temporal
 * threshold). */
static void add_lines(const struct cost_core *core, bool is_set, double bytes, struct cost_features *work)
{
    double touched = is_set ? bytes : 2 * bytes;
    enum cost_level level = cost_core_level(core, touched);
    bool bypasses_caches = level == COST_DRAM && !is_set;
    double moved = (bypasses_caches ? touched : touched + bytes) / core->line_bytes;
    if (level == COST_L1)
        return;
    int feature = COST_L2_LINES + (int)level - COST_L2;
    work->amount[feature] = moved;
    work->amount[COST_CYCLES] =
        cost_core_overlapped(core, work->amount[COST_CYCLES], moved / core->per_cycle[feature]);
}

/* Sets the cycles of a memory call for this many bytes. */
static void set_cycles_of_memory(const struct cost_core *core, enum memory_call does, double bytes,
                                 bool is_constant, double cycles[BOUNDS])
{
    if (does == MEMORY_ORDER || does == MEMORY_EQUAL)
        set_cycles_of_compare(core, bytes, does == MEMORY_EQUAL ? MAX_INLINE_EQUAL : MAX_INLINE_ORDER,
                              cycles);
    else
        set_cycles_of_bytes(core, bytes, !is_constant, cycles);
}

enum basis library_call_work(const struct call *call, const struct call_length *length,
                             const struct target *target, struct amounts *out_amounts)
{
    const struct library_function *found = find(call);
    const struct operand *operand = library_call_length(call);
    double bytes[BOUNDS];
    *out_amounts = (struct amounts){0};
    double math_cycles[BOUNDS];
    if (found ? !is_of_type(call, found->type) : !find_math(call, math_cycles))
        return BASIS_MISSING;
    enum memory_call does = found && bytes_of(operand, length, bytes) ? found->does : MEMORY_NONE;
    for (int b = 0; b < BOUNDS; b++) {
        struct cost_features *work = &out_amounts->of[b];
        double cycles[BOUNDS];
        memcpy(cycles, found ? found->cycles : math_cycles, sizeof cycles);
        if (does != MEMORY_NONE)
            set_cycles_of_memory(&target->core, does, bytes[b], operand->is_constant, cycles);
        work->version = COST_VERSION;
        work->amount[COST_UOPS] = cycles[b] * UOPS_PER_CYCLE;
        work->amount[COST_CYCLES] = cycles[b];
        if ((does == MEMORY_MOVE || does == MEMORY_SET) && b != BOUND_LOW)
            add_lines(&target->core, does == MEMORY_SET, bytes[b], work);
        sum_set_time(target, work, work->amount[COST_CYCLES]);
    }
    return operand && does == MEMORY_NONE ? BASIS_OPEN : BASIS_OBSERVED;
}
