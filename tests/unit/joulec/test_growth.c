/* Checks that the work of joulec grows about linearly with the size of a translation unit, for any control
 * flow or call graph.
 *
 * The test counts joulec's steps for files of two sizes. For this test, joulec's sources are compiled again
 * with a counter in each block (-fsanitize-coverage=trace-pc). Steps of the C library and LLVM are not
 * counted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/report/function_report.h"
#include "support/joulec/scev_text.h"
#include "support/scratch.h"

#define SMALL 400
#define TIMES 8
/* Sorting and union-find grow slightly faster than linearly. */
#define MAX_GROWTH (1.4 * TIMES)

static uint64_t steps;

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

/* --- files ---------------------------------------------------------------------------------------------- */

struct unit {
    struct module module;
    char *text; /* facts of scalar evolution about the unit, in the form in which LLVM prints them */
    size_t text_size;
};

static void *room(struct unit *u, size_t size)
{
    void *memory = arena_alloc(&u->module.arena, size);
    assert_non_null(memory);
    return memory;
}

static const char *name_of(struct unit *u, const char *prefix, size_t number)
{
    char name[32];
    snprintf(name, sizeof name, "%s%zu", prefix, number);
    char *copy = arena_copy(&u->module.arena, name, sizeof name);
    assert_non_null(copy);
    return copy;
}

static struct function *add_function(struct unit *u, size_t blocks)
{
    size_t number = u->module.function_count++;
    struct function *f = &u->module.functions[number];
    *f = (struct function){.name = name_of(u, "f", number),
                           .place = {scratch_path, (unsigned)number + 1, 1},
                           .blocks = room(u, blocks * sizeof *f->blocks),
                           .block_count = blocks};
    for (size_t b = 0; b < blocks; b++) {
        f->blocks[b].name = name_of(u, "b", b);
        f->blocks[b].work[WORK_INT] = 3;
        f->blocks[b].place = (struct source_place){scratch_path, (unsigned)number + 1, 1};
    }
    return f;
}

static void lead(struct unit *u, struct function *f, size_t from, size_t to)
{
    struct block *b = &f->blocks[from];
    if ((b->edge_count & (b->edge_count - 1)) == 0) {
        struct edge *edges = room(u, (b->edge_count ? 2 * b->edge_count : 1) * sizeof *edges);
        if (b->edge_count)
            memcpy(edges, b->edges, b->edge_count * sizeof *edges);
        b->edges = edges;
    }
    b->edges[b->edge_count++] = (struct edge){(uint32_t)to, NAN, (uint32_t)f->edge_count++};
}

static void call(struct unit *u, struct function *f, size_t block, size_t callee)
{
    struct block *b = &f->blocks[block];
    b->calls = room(u, sizeof *b->calls);
    b->call_count = 1;
    b->calls[0] = (struct call){
        .name = name_of(u, "f", callee), .callee = (int32_t)callee, .number = (uint32_t)f->call_count++};
}

/* Adds a function in which each block leads to the next one. */
static struct function *add_chain(struct unit *u, size_t blocks)
{
    struct function *f = add_function(u, blocks);
    for (size_t b = 0; b + 1 < blocks; b++)
        lead(u, f, b, b + 1);
    return f;
}

/* --- shapes --------------------------------------------------------------------------------------------- */

static void straight(struct unit *u, size_t n)
{
    add_chain(u, n);
}

static void ways_out(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t b = 0; b + 2 < n; b++)
        lead(u, f, b, n - 1);
}

static void diamonds(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t b = 0; b + 2 < n; b += 2)
        lead(u, f, b, b + 2);
}

static void loops_in_a_row(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t b = 1; b + 2 < n; b += 2) {
        lead(u, f, b - 1, n - 1); /* the edge of a guard that skips the loop */
        lead(u, f, b, b);
    }
}

static void loops_in_a_loop(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t b = 2; b + 2 < n; b++)
        lead(u, f, b, b);
    lead(u, f, n - 2, 1);
}

static void nest(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t b = 0; b < n / 2 - 1; b++)
        lead(u, f, n - 2 - b, b + 1);
}

static void nests_of_sixty(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t first = 1; first + 122 < n; first += 122)
        for (size_t d = 0; d < 60; d++) {
            lead(u, f, first + 120 - d, first + d);
            lead(u, f, first + 60, first + 121 - d); /* this edge leaves several loops at once */
        }
}

static void large_switch(struct unit *u, size_t n)
{
    struct function *f = add_function(u, n);
    for (size_t b = 1; b + 1 < n; b++) {
        lead(u, f, 0, b);
        if (b % 2)
            lead(u, f, b, b);
        lead(u, f, b, n - 1);
    }
}

static void ways_round(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t b = 2; b + 1 < n; b++)
        lead(u, f, b, 1);
}

static void ways_into_circles(struct unit *u, size_t n)
{
    struct function *f = add_function(u, n);
    for (size_t b = 0; b + 3 < n; b += 2) {
        lead(u, f, b, b + 2);
        lead(u, f, b, b + 3);
        lead(u, f, b + 1, b ? b : 2);
        lead(u, f, b + 1, b + 3);
    }
}

static void calls_in_a_row(struct unit *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct function *f = add_chain(u, 2);
        if (i + 1 < n)
            call(u, f, 0, i + 1);
    }
}

static void calls_of_all(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    for (size_t i = 1; i < n; i++) {
        call(u, f, i, i);
        add_chain(u, 1);
    }
}

static void bound_depth(struct function *f)
{
    static const char *const words[] = {"joule.depth:5"};
    f->annotations = (const char **)words;
    f->annotation_count = 1;
}

/* All functions call each other, directly or through other functions. One function has a depth, which does
 * not bound the other functions. */
static void calls_round(struct unit *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct function *f = add_chain(u, 3);
        call(u, f, 0, (i + 1) % n);
        call(u, f, 1, (7 * i + 3) % n);
    }
    bound_depth(&u->module.functions[0]);
}

static void calls_of_itself(struct unit *u, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct function *f = add_chain(u, 2);
        call(u, f, 0, i);
        bound_depth(f);
    }
}

/* Scalar evolution has text for all loops and addresses. */
static void formulas(struct unit *u, size_t n)
{
    struct function *f = add_chain(u, n);
    f->objects = room(u, n * sizeof *f->objects);
    for (size_t b = 1; b + 1 < n; b++) {
        struct block *block = &f->blocks[b];
        lead(u, f, b, b);
        block->accesses = room(u, sizeof *block->accesses);
        block->access_count = 1;
        block->accesses[0] = (struct access){.address = name_of(u, "a", b), .bytes = 8};
        f->objects[f->object_count++] = (struct object){name_of(u, "x", b), 4096, true};
    }
}

static void budgets(struct unit *u, size_t n)
{
    static const char *const words[] = {"joule.budget:max_joules=1pJ, max_watts=1mW"};
    for (size_t i = 0; i < n; i++) {
        struct function *f = add_chain(u, 3);
        lead(u, f, 1, 1);
        f->annotations = (const char **)words;
        f->annotation_count = 1;
    }
}

/* Loop counts and callees are unknown. */
static void budget_of_open_things(struct unit *u, size_t n)
{
    static const char *const words[] = {"joule.budget:max_joules=1kJ"};
    struct function *f = add_chain(u, n);
    f->annotations = (const char **)words;
    f->annotation_count = 1;
    for (size_t b = 1; b + 1 < n; b++) {
        f->blocks[b].place.line = (unsigned)(n - b);
        f->blocks[b].calls = room(u, sizeof *f->blocks[b].calls);
        f->blocks[b].call_count = 1;
        f->blocks[b].calls[0] =
            (struct call){.name = name_of(u, "x", b), .callee = -1, .number = (uint32_t)f->call_count++};
        lead(u, f, b, b);
    }
}

static void print(struct unit *u, const char *format, size_t number)
{
    char line[160];
    int length = snprintf(line, sizeof line, format, number, number, number, number);
    assert_true(length > 0 && length < (int)sizeof line);
    u->text = realloc(u->text, u->text_size + (size_t)length + 1);
    assert_non_null(u->text);
    memcpy(u->text + u->text_size, line, (size_t)length + 1);
    u->text_size += (size_t)length;
}

static void print_scev_text(struct unit *u, bool has_formulas)
{
    for (size_t i = 0; i < u->module.function_count; i++) {
        const struct function *f = &u->module.functions[i];
        print(u, "Classifying expressions for: @f%zu\n", i);
        for (size_t b = 1; has_formulas && b + 1 < f->block_count; b++)
            print(u, "  %%a%zu = load\n  -->  {%%x%zu,+,8}<%%b%zu> U: full-set\n", b);
        print(u, "Determining loop execution counts for: @f%zu\n", i);
        for (size_t b = 1; has_formulas && b + 1 < f->block_count; b++)
            print(u, "Loop %%b%zu: backedge-taken count is (-1 + (%zu smax (1 + %%n%zu)))\n", b);
    }
}

/* --- steps ---------------------------------------------------------------------------------------------- */

static void print_all(const struct analysis *analysis)
{
    static void (*const reports[])(const void *, struct text *) = {report_messages, report_object,
                                                                   report_sarif};
    struct judged judged = {.analysis = analysis, .source = scratch_path};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct text text;
        text_init(&text, NULL, 0);
        reports[i](&judged, &text);
    }
    report_outcome(&judged);
}

static uint64_t steps_of(void (*shape)(struct unit *, size_t), size_t n)
{
    struct unit u = {.text = NULL};
    struct target target;
    struct analysis analysis;
    struct analysis_options options = {.default_trips = 100, .warmer_kelvin = NAN, .file_joules = NAN};
    joule_error error;
    u.module.functions = room(&u, (n + 1) * sizeof *u.module.functions);
    shape(&u, n);
    print_scev_text(&u, shape == formulas);
    struct scev_facts facts;
    assert_true(scev_text_read(u.text, u.text_size, &facts));
    u.module.scev = &facts;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    steps = 0;
    assert_int_equal(analysis_make(&u.module, &server, &target, &options, &analysis, &error), JOULE_OK);
    print_all(&analysis);
    uint64_t taken = steps;
    analysis_free(&analysis);
    arena_free(&u.module.arena);
    scev_facts_free(&facts);
    free(u.text);
    return taken;
}

static void write_source(size_t lines)
{
    FILE *file = fopen(scratch_path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < lines; i++)
        fprintf(file, "int f%zu(int n);\n", i);
    fclose(file);
}

static void test_steps_grow_as_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*make)(struct unit *, size_t);
    } shapes[] = {{"straight", straight},
                  {"ways out", ways_out},
                  {"diamonds", diamonds},
                  {"loops in a row", loops_in_a_row},
                  {"loops in a loop", loops_in_a_loop},
                  {"nest", nest},
                  {"nests of sixty", nests_of_sixty},
                  {"switch", large_switch},
                  {"ways round", ways_round},
                  {"ways into circles", ways_into_circles},
                  {"calls in a row", calls_in_a_row},
                  {"calls of all", calls_of_all},
                  {"calls round", calls_round},
                  {"calls of itself", calls_of_itself},
                  {"formulas", formulas},
                  {"budgets", budgets},
                  {"open things", budget_of_open_things}};
    int slow = 0;
    write_source(SMALL * TIMES + 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint64_t small = steps_of(shapes[i].make, SMALL),
                 large = steps_of(shapes[i].make, (size_t)SMALL * TIMES);
        double growth = (double)large / (double)small;
        print_message("%-18s %8.0f steps for each of %d, %8.0f of %d: %.1f times as many\n", shapes[i].name,
                      (double)small / SMALL, SMALL, (double)large / (SMALL * TIMES), SMALL * TIMES, growth);
        assert_true(small > SMALL);
        slow += growth > MAX_GROWTH;
    }
    assert_int_equal(slow, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_grow_as_the_file),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
