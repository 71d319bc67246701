/* joulec/work/contract.c - see contract.h. */
#include "joulec/work/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/work/contract_math.h"

#define UOPS_PER_CYCLE 1.5 /* of library code, which waits for memory and mispredicts */
#define MOST_IN_PLACE  128 /* bytes that compilers move without a call */
#define BEGIN_CYCLES   20  /* of such a call, until it moves the first byte */
#define WIDEST_VECTOR  64  /* bytes, of which a core stores one in a cycle */
#define MOST_ORDERED   16  /* bytes that compilers compare without a call, for an order ... */
#define MOST_EQUAL     32  /* ... and for equality: clang for x86-64 without AVX, which is the least of all */
#define COMPARE_CYCLES 2   /* of 16 bytes: two loads and what asks whether they are the same */

/* What a function does to as many bytes as its third argument says; a comparison is made for an order, or only for
 * equality, which compilers make in place for more bytes. */
enum memory_call { MEMORY_NONE, MEMORY_MOVE, MEMORY_SET, MEMORY_ORDER, MEMORY_EQUAL };

/* Cycles of a call: no core takes less than the first; the middle; and the 95 % point. Of cheap functions the first is some two
 * thirds to a half of the least that bench/calls.c saw (golden-cove, glibc 2.36), as cores do ever more at once and other libraries do
 * less; of libm's the middle lies between calls beside each other and those that wait for one another there. The others are orders
 * of magnitude on cores of 3 GHz, as microbenchmarks of glibc and of system calls show them. Sorted by name. */
static const struct contract {
    const char *name;
    const char *type; /* as a call's; NULL: any, as the compiler calls it of itself */
    double cycles[BOUNDS];
    enum memory_call does;
} contracts[] = {
    {"\001_mcount", NULL, {4, 30, 300}}, /* the same as below, by a name that is not to be changed */
    {"_Exit",
     "vi",
     {100, 300, 3000}}, /* what ends the program or the call: what comes then is no part of it */
    {"__assert_fail", "vppip", {100, 1000, 10000}},
    {"__ctype_b_loc", "p", {1, 4, 20}}, /* glibc's isalpha() and the like, toupper(), errno */
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
    /* what clang makes of a memcmp that only asks whether both are the same */
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
    {"mcount", NULL, {4, 30, 300}}, /* of -pg: gprof's, at the begin of each function */
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
    return strcmp(key, ((const struct contract *)row)->name);
}

/* LLVM's intrinsics that become calls of these functions. powi multiplies once per bit of the power, which
 * takes about as long as ldexp. */
const char *contract_name(const struct call *call)
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

/* By the name alone; NULL: nobody has said anything about it. */
static const struct contract *find(const struct call *call)
{
    return bsearch(contract_name(call), contracts, sizeof contracts / sizeof *contracts, sizeof *contracts,
                   by_name);
}

static bool is_of_type(const struct call *call, const char *type)
{
    if (!type || !call->type)
        return true;
    if (strcmp(type, MATH_COMPLEX) == 0) /* it returns a complex number, or a part of one */
        return call->type[0] && strchr("?dfl", call->type[0]);
    return strcmp(call->type, type) == 0;
}

/* Finds the cycles of a function of the mathematical library, which do not depend on a length. False:
 * unknown. */
static bool find_math(const struct call *call, double out_cycles[BOUNDS])
{
    struct math_contract math;
    if (!contract_math_find(contract_name(call), &math) || !is_of_type(call, math.type))
        return false;
    memcpy(out_cycles, math.cycles, sizeof math.cycles);
    return true;
}

const struct operand *contract_length(const struct call *call)
{
    const struct contract *found = find(call);
    return found && found->does != MEMORY_NONE && call->argument_count >= 3 ? &call->arguments[2] : NULL;
}

/* False: nobody knows. */
static bool bytes_of(const struct operand *operand, const struct call_length *length,
                     double out_bytes[BOUNDS])
{
    bool is_constant = operand && operand->is_constant && operand->constant >= 0;
    for (int b = 0; b < BOUNDS; b++)
        out_bytes[b] = is_constant ? (double)operand->constant : length ? length->bytes[b] : NAN;
    return is_constant || (operand && length && length->bytes[BOUND_HIGH] >= 0);
}

static double worst_wait(const struct cost_core *core, double bytes)
{
    return ceil(bytes / core->line_bytes) * core->latency[COST_DRAM_LINES];
}

/* Short ones of a constant length are made in place, of vectors of 16 bytes; all come from DRAM at worst. */
static void set_cycles_of_bytes(const struct cost_core *core, double bytes, bool is_call,
                                double cycles[BOUNDS])
{
    double moves = bytes / (16 * core->per_cycle[COST_L1_STORES]),
           begin = !is_call && bytes <= MOST_IN_PLACE ? 0 : BEGIN_CYCLES;
    cycles[BOUND_LOW] = fmax(1, bytes / WIDEST_VECTOR);
    cycles[BOUND_EST] = begin + fmax(1, moves);
    cycles[BOUND_HIGH] = 2 * cycles[BOUND_EST] + worst_wait(core, bytes);
}

/* It ends where both differ, which may be at once; few bytes are compared in place and at once. */
static void set_cycles_of_compare(const struct cost_core *core, double bytes, double most_in_place,
                                  double cycles[BOUNDS])
{
    double in_place = fmax(COMPARE_CYCLES, ceil(bytes / 16) * COMPARE_CYCLES);
    bool is_call = bytes > most_in_place;
    cycles[BOUND_LOW] = 1;
    cycles[BOUND_EST] = is_call ? cycles[BOUND_EST] : in_place;
    cycles[BOUND_HIGH] = 2 * ((is_call ? BEGIN_CYCLES : 0) + in_place) + worst_wait(core, 2 * bytes);
    cycles[BOUND_HIGH] = fmax(cycles[BOUND_HIGH], cycles[BOUND_EST]);
}

/* The lines that a move or a set reads and writes, from the nearest level that holds them all: where the call before left them. What is
 * written comes first and goes back later; but copies beyond the last level are written past the caches (glibc's non-temporal
 * threshold). */
static void move_lines(const struct cost_core *core, bool is_set, double bytes, struct cost_features *work)
{
    double touched = is_set ? bytes : 2 * bytes;
    enum cost_level level = cost_core_level(core, touched);
    bool goes_past = level == COST_DRAM && !is_set;
    double moved = (goes_past ? touched : touched + bytes) / core->line_bytes;
    if (level == COST_L1)
        return;
    int feature = COST_L2_LINES + (int)level - COST_L2;
    work->amount[feature] = moved;
    work->amount[COST_CYCLES] =
        cost_core_overlapped(core, work->amount[COST_CYCLES], moved / core->per_cycle[feature]);
}

/* What so many bytes take, as far as that is asked for at one bound. */
static void set_cycles_of_memory(const struct cost_core *core, enum memory_call does, double bytes,
                                 bool is_constant, double cycles[BOUNDS])
{
    if (does == MEMORY_ORDER || does == MEMORY_EQUAL)
        set_cycles_of_compare(core, bytes, does == MEMORY_EQUAL ? MOST_EQUAL : MOST_ORDERED, cycles);
    else
        set_cycles_of_bytes(core, bytes, !is_constant, cycles);
}

enum basis contract_of(const struct call *call, const struct call_length *length, const struct target *target,
                       struct amounts *out_amounts)
{
    const struct contract *found = find(call);
    const struct operand *operand = contract_length(call);
    double bytes[BOUNDS];
    *out_amounts = (struct amounts){0};
    double at_once[BOUNDS];
    if (found ? !is_of_type(call, found->type) : !find_math(call, at_once))
        return BASIS_MISSING;
    enum memory_call does = found && bytes_of(operand, length, bytes) ? found->does : MEMORY_NONE;
    for (int b = 0; b < BOUNDS; b++) {
        struct cost_features *work = &out_amounts->of[b];
        double cycles[BOUNDS];
        memcpy(cycles, found ? found->cycles : at_once, sizeof cycles);
        if (does != MEMORY_NONE)
            set_cycles_of_memory(&target->core, does, bytes[b], operand->is_constant, cycles);
        work->version = COST_VERSION;
        work->amount[COST_UOPS] = cycles[b] * UOPS_PER_CYCLE;
        work->amount[COST_CYCLES] = cycles[b];
        if ((does == MEMORY_MOVE || does == MEMORY_SET) && b != BOUND_LOW)
            move_lines(&target->core, does == MEMORY_SET, bytes[b], work);
        sum_set_time(target, work, work->amount[COST_CYCLES]);
    }
    return operand && does == MEMORY_NONE ? BASIS_OPEN : BASIS_SEEN;
}
