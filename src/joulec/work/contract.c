/* joulec/work/contract.c - see contract.h. */
#include "joulec/work/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Cycles of a call, 5 %, middle, 95 %: orders of magnitude on cores of 3 GHz, as microbenchmarks of glibc and of system calls
 * show them. Sorted by name. */
static const struct contract {
    const char *name;
    const char *type; /* as a call's; NULL: any, as the compiler calls it of itself */
    double cycles[BOUNDS];
    enum memory_call does;
} contracts[] = {
    {"\001_mcount", NULL, {8, 30, 300}}, /* the same as below, by a name that is not to be changed */
    {"_Exit",
     "vi",
     {100, 300, 3000}}, /* what ends the program or the call: what comes then is no part of it */
    {"__assert_fail", "vppip", {100, 1000, 10000}},
    {"__divdc3", NULL, {10, 30, 100}},
    {"__divsc3", NULL, {10, 30, 100}},
    {"__divxc3", NULL, {20, 60, 200}},
    {"__longjmp_chk", "vpi", {10, 30, 100}},
    {"__muldc3", NULL, {4, 12, 60}},
    {"__mulsc3", NULL, {4, 12, 60}},
    {"__mulxc3", NULL, {10, 30, 150}},
    {"_exit", "vi", {100, 300, 3000}},
    {"_longjmp", "vpi", {10, 30, 100}},
    {"_mcount", NULL, {8, 30, 300}},
    {"abort", "v", {100, 1000, 10000}},
    {"abs", "ii", {1, 1, 2}},
    {"acos", "dd", {20, 60, 150}},
    {"asin", "dd", {20, 60, 150}},
    {"atan", "dd", {20, 60, 150}},
    {"atan2", "ddd", {30, 90, 200}},
    {"atof", "dp", {40, 150, 600}},
    {"atoi", "ip", {10, 40, 150}},
    /* what clang makes of a memcmp that only asks whether both are the same */
    {"bcmp", "ippi", {5, 25, 2000}, MEMORY_EQUAL},
    {"calloc", "pii", {40, 150, 5000}},
    {"cbrt", "dd", {20, 60, 150}},
    {"ceil", "dd", {1, 4, 20}},
    {"cos", "dd", {20, 60, 200}},
    {"cosf", "ff", {10, 30, 100}},
    {"exit", "vi", {100, 1000, 100000}},
    {"exp", "dd", {15, 45, 120}},
    {"expf", "ff", {10, 25, 80}},
    {"fabs", "dd", {1, 1, 4}},
    {"fflush", "ip", {100, 1500, 20000}},
    {"floor", "dd", {1, 4, 20}},
    {"fma", "dddd", {4, 5, 60}},
    {"fmod", "ddd", {15, 60, 800}},
    {"fprintf", "ipp.", {200, 1200, 10000}},
    {"fputc", "iip", {10, 30, 3000}},
    {"fputs", "ipp", {30, 150, 5000}},
    {"fread", "ipiip", {50, 500, 50000}},
    {"free", "vp", {10, 60, 2000}},
    {"fwrite", "ipiip", {50, 500, 50000}},
    {"getc", "ip", {5, 20, 3000}},
    {"hypot", "ddd", {15, 50, 150}},
    {"log", "dd", {15, 45, 120}},
    {"log10", "dd", {15, 60, 150}},
    {"log2", "dd", {15, 45, 120}},
    {"logf", "ff", {10, 25, 80}},
    {"longjmp", "vpi", {10, 30, 100}},
    {"malloc", "pi", {20, 100, 5000}},
    {"mcount", NULL, {8, 30, 300}}, /* of -pg: gprof's, at the begin of each function */
    {"memchr", "ppii", {5, 30, 2000}},
    {"memcmp", "ippi", {5, 25, 2000}, MEMORY_ORDER},
    {"memcpy", "pppi", {5, 40, 20000}, MEMORY_MOVE},
    {"memmove", "pppi", {5, 40, 20000}, MEMORY_MOVE},
    {"memset", "ppii", {5, 40, 20000}, MEMORY_SET},
    {"pow", "ddd", {30, 100, 400}},
    {"powf", "fff", {15, 50, 150}},
    {"printf", "ip.", {200, 1000, 10000}},
    {"putc", "iip", {5, 20, 3000}},
    {"putchar", "ii", {5, 20, 3000}},
    {"puts", "ip", {50, 300, 5000}},
    {"rand", "i", {10, 30, 100}},
    {"realloc", "ppi", {20, 150, 20000}},
    {"round", "dd", {1, 5, 20}},
    {"siglongjmp", "vpi", {10, 200, 1000}},
    {"sin", "dd", {20, 60, 200}},
    {"sinf", "ff", {10, 30, 100}},
    {"snprintf", "ipip.", {150, 700, 6000}},
    {"sprintf", "ipp.", {150, 700, 6000}},
    {"sqrt", "dd", {12, 18, 40}},
    {"sqrtf", "ff", {10, 14, 40}},
    {"strcat", "ppp", {10, 60, 2000}},
    {"strchr", "ppi", {5, 30, 2000}},
    {"strcmp", "ipp", {5, 25, 2000}},
    {"strcpy", "ppp", {5, 40, 2000}},
    {"strdup", "pp", {30, 150, 5000}},
    {"strlen", "ip", {5, 25, 2000}},
    {"strncmp", "ippi", {5, 25, 2000}},
    {"strncpy", "pppi", {5, 40, 2000}},
    {"strtod", "dpp", {40, 150, 600}},
    {"strtol", "ippi", {10, 50, 200}},
    {"tan", "dd", {25, 80, 250}},
    {"tanh", "dd", {20, 60, 150}},
};

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct contract *)row)->name);
}

/* LLVM moves memory by functions of its own, which become calls of these. */
static const char *plain_name(const char *name)
{
    static const struct {
        const char *prefix, *name;
    } moves[] = {{"llvm.memcpy.", "memcpy"}, {"llvm.memmove.", "memmove"}, {"llvm.memset.", "memset"}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strncmp(name, moves[i].prefix, strlen(moves[i].prefix)) == 0)
            return moves[i].name;
    return name;
}

/* By the name alone; NULL: nobody has said anything about it. */
static const struct contract *find(const struct call *call)
{
    return bsearch(plain_name(call->name ? call->name : ""), contracts, sizeof contracts / sizeof *contracts,
                   sizeof *contracts, by_name);
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
        cost_core_beside(core, work->amount[COST_CYCLES], moved / core->per_cycle[feature]);
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

bool contract_of(const struct call *call, const struct call_length *length, const struct target *target,
                 struct amounts *out_amounts)
{
    const struct contract *found = find(call);
    const struct operand *operand = contract_length(call);
    double bytes[BOUNDS];
    *out_amounts = (struct amounts){0};
    if (!found || (found->type && call->type && strcmp(call->type, found->type) != 0))
        return false;
    enum memory_call does = bytes_of(operand, length, bytes) ? found->does : MEMORY_NONE;
    for (int b = 0; b < BOUNDS; b++) {
        struct cost_features *work = &out_amounts->of[b];
        double cycles[BOUNDS];
        memcpy(cycles, found->cycles, sizeof cycles);
        if (does != MEMORY_NONE)
            set_cycles_of_memory(&target->core, does, bytes[b], operand->is_constant, cycles);
        work->version = COST_VERSION;
        work->amount[COST_UOPS] = cycles[b] * UOPS_PER_CYCLE;
        work->amount[COST_CYCLES] = cycles[b];
        if ((does == MEMORY_MOVE || does == MEMORY_SET) && b != BOUND_LOW)
            move_lines(&target->core, does == MEMORY_SET, bytes[b], work);
        sum_set_time(target, work, work->amount[COST_CYCLES]);
    }
    return true;
}
