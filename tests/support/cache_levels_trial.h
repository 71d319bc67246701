/* support/cache_levels_trial.h - builds functions by hand, to test from which memory levels their loads read.
 *
 * Blocks and loops are given as a graph. Addresses are given in the notation of LLVM's scalar evolution.
 * Results are cache lines per call from L2, L3 and DRAM. The core has caches of 32 KiB, 1 MiB and 32 MiB.
 * Note: include <cmocka.h> first. */
#ifndef SUPPORT_CACHE_LEVELS_TRIAL_H
#define SUPPORT_CACHE_LEVELS_TRIAL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/work/cache_levels.h"
#include "support/joulec/scev_text.h"

#define MAX_BLOCKS 8
#define KIB        1024.0
#define MIB        (1024 * KIB)
#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) <= 0.02 * fabs((double)(b)) + 1e-9)

/* Edges "FROM>TO" of nests of 0 to 3 loops. The headers of the loops are blocks 1, 2 and 3; all accesses are
 * in the innermost loop. */
static const char *const nests[] = {"", "0>1 1>1 1>2", "0>1 1>2 2>2 2>3 3>1 3>4",
                                    "0>1 1>2 2>3 3>3 3>4 4>2 4>5 5>1 5>6"};
static const char *const names[MAX_BLOCKS] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"};

struct trial {
    struct arena arena;
    unsigned depth;
    struct cost_core core;
    struct module module;
    struct function function;
    struct block blocks[MAX_BLOCKS];
    struct edge edges[MAX_BLOCKS][2];
    struct access accesses[MAX_BLOCKS][4];
    const char *values[MAX_BLOCKS][4];
    struct monotonic_phi monotonic_phis[MAX_BLOCKS];
    struct monotonic_phi *phi_lists[MAX_BLOCKS][2];
    size_t monotonic_phi_count;
    struct object global, local;
    struct call call;
    struct loop_times times[MAX_BLOCKS];
    struct scev_facts text;
    struct loops loops;
    struct block_memory memory[MAX_BLOCKS];
    double bytes[BOUNDS];
    struct function_sum callee;
};

static inline void add_edges(struct trial *t, const char *edges)
{
    t->function.block_count = 1;
    for (char *end; *edges; edges = *end ? end + 1 : end) {
        uint32_t from = (uint32_t)strtoul(edges, &end, 10), to = (uint32_t)strtoul(end + 1, &end, 10);
        struct block *b = &t->blocks[from];
        assert_true(from < MAX_BLOCKS && to < MAX_BLOCKS && b->edge_count < 2);
        b->edges = t->edges[from];
        b->edges[b->edge_count++] = (struct edge){to, NAN};
        if (t->function.block_count <= to)
            t->function.block_count = to + 1;
    }
}

/* Returns a function with `depth` nested loops; times[d]: iterations of loop d each time the loop is entered.
 * values: lines as the printer of scalar evolution writes them. The caller frees the result. */
static inline struct trial *trial_new(unsigned depth, const double *times, const char *values)
{
    char words[1024];
    struct trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->depth = depth;
    t->core = (struct cost_core){.cache_bytes = {32 * KIB, MIB, 32 * MIB}, .line_bytes = 64};
    for (int i = COST_L2_LINES; i <= COST_DRAM_LINES; i++)
        t->core.latency[i] = 15 * pow(4, i - COST_L2_LINES);
    for (uint32_t b = 0; b < MAX_BLOCKS; b++)
        t->blocks[b] = (struct block){.name = names[b],
                                      .accesses = t->accesses[b],
                                      .values = t->values[b],
                                      .monotonic_phis = t->phi_lists[b]};
    for (unsigned d = 0; d < depth; d++)
        t->times[d] = (struct loop_times){{times[d], times[d], times[d]}};
    t->function.name = "f";
    t->function.blocks = t->blocks;
    t->function.objects = &t->local;
    t->module.objects = &t->global;
    add_edges(t, nests[depth]);
    snprintf(words, sizeof words,
             "Classifying expressions for: @f\n%sDetermining loop execution counts for: @f\n"
             "Loop %%b3: Unpredictable\nLoop %%b2: Unpredictable\nLoop %%b1: Unpredictable\n",
             values);
    assert_true(scev_text_read(words, strlen(words), &t->text));
    return t;
}

/* Adds a load to the innermost loop. */
static inline struct access *add_load(struct trial *t, const char *address)
{
    struct block *b = &t->blocks[t->depth];
    b->accesses[b->access_count] = (struct access){.address = address, .bytes = 8};
    return &b->accesses[b->access_count++];
}

static inline void add_value(struct trial *t, uint32_t block, const char *name)
{
    struct block *b = &t->blocks[block];
    b->values[b->value_count++] = name;
}

/* Adds a value to block `header` that changes by 0 to `extent` in each iteration. from: its initial value;
 * NULL means 0. */
static inline void add_monotonic_phi(struct trial *t, uint32_t header, const char *name, double extent,
                                     const char *from)
{
    struct block *b = &t->blocks[header];
    struct monotonic_phi *monotonic_phi = &t->monotonic_phis[t->monotonic_phi_count++];
    *monotonic_phi = (struct monotonic_phi){
        .name = name, .low = fmin(extent, 0), .high = fmax(extent, 0), .from = from ? from : ""};
    b->monotonic_phis[b->monotonic_phi_count++] = monotonic_phi;
    add_value(t, header, name);
}

static inline void describe(struct trial *t)
{
    struct addresses addresses;
    assert_int_equal(loops_find(&t->arena, &t->function, &t->loops), JOULE_OK);
    assert_int_equal(t->loops.count, t->depth);
    assert_int_equal(addresses_prepare(&t->arena, &t->module, &t->function, &t->loops,
                                       scev_find_function(&t->text, "f"), &addresses),
                     JOULE_OK);
    assert_int_equal(cache_levels_find(&t->arena, &addresses, t->times, &t->core,
                                       (const struct function_sum *const[]){&t->callee}, t->memory, t->bytes),
                     JOULE_OK);
}

static inline double lines(const struct trial *t, enum bound bound, enum cost_level level)
{
    double runs = 1;
    for (unsigned d = 0; d < t->depth; d++)
        runs *= t->times[d].times[bound];
    return runs * t->memory[t->depth].lines[bound][level];
}

static inline void expect(const struct trial *t, enum bound bound, double l2, double l3, double dram)
{
    NEAR(lines(t, bound, COST_L2), l2);
    NEAR(lines(t, bound, COST_L3), l3);
    NEAR(lines(t, bound, COST_DRAM), dram);
}

static inline void trial_free(struct trial *t)
{
    arena_free(&t->arena);
    scev_facts_free(&t->text);
    free(t);
}

#endif
