/* Fuzz target: translation units with any graph, as module_read returns them. Analysis must not crash or loop
 * endlessly. Checks that figures are in order, nothing is proved with unmeasured values, and the report is
 * JSON. LLVM's own parser is not tested.
 *
 * Three bytes of the input describe each block of a function: its pattern of successors, their distance, and
 * its contents. Patterns come from a short list and repeat, so that few bytes make large graphs. The
 * remaining bytes are facts about loops in LLVM's notation. They follow generated lines that match the
 * graph. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/json.h"
#include "joulec/report/function_report.h"
#include "require.h"
#include "support/joulec/scev_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_FUNCTIONS 4
#define MAX_BLOCKS    3000
/* values of the size byte below FEW give few blocks, values from FEW on give many */
#define FEW               250
#define MAX_PATTERN       24
#define MAX_SUCCESSORS    300
#define MAX_PRINTED_LOOPS 64 /* maximum number of loops for which lines are generated */

struct input {
    const uint8_t *at, *end;
};

static unsigned take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

enum shape { ON, BRANCH, BACK, TO_END, FAR, TWO_ENTRIES, MANY, RETURN, DEAD, SELF, SHAPES };

static char *print(struct arena *arena, const char *format, unsigned number)
{
    char name[64];
    snprintf(name, sizeof name, format, number);
    char *copy = arena_copy(arena, name, sizeof name);
    require(copy != NULL);
    return copy;
}

static void *room(struct arena *arena, size_t size)
{
    void *memory = arena_alloc(arena, size);
    require(memory != NULL);
    return memory;
}

static void go(struct block *b, size_t count, size_t to, double probability)
{
    b->edges[b->edge_count++] =
        (struct edge){.to = (uint32_t)(to < count ? to : count - 1), .probability = probability};
}

static void lead_on(struct arena *arena, struct block *b, size_t at, size_t count, const uint8_t *pattern)
{
    size_t far = pattern[1], edge_count = pattern[0] % SHAPES == MANY ? 1 + far * MAX_SUCCESSORS / 255 : 2;
    double probability = pattern[0] & 64 ? pattern[2] / 255.0 : NAN;
    b->edges = room(arena, edge_count * sizeof *b->edges);
    switch ((enum shape)(pattern[0] % SHAPES)) {
    case ON:
        go(b, count, at + 1, probability);
        break;
    case BRANCH:
        go(b, count, at + 1, probability);
        go(b, count, at + 2 + far, probability);
        break;
    case BACK:
        go(b, count, at > far ? at - far : at > 0, probability);
        go(b, count, at + 1, probability);
        break;
    case TO_END:
        go(b, count, count - 1 - far % count, probability);
        go(b, count, at + 1, probability);
        break;
    case FAR:
        go(b, count, at * (2 * far + 1) % count, probability);
        go(b, count, at + 1, probability);
        break;
    case TWO_ENTRIES: /* blocks n and n ^ 1 form a cycle, and other blocks have edges to both */
        go(b, count, at ^ 1, probability);
        go(b, count, at + 2, probability);
        break;
    case MANY:
        for (size_t i = 0; i < edge_count; i++)
            go(b, count, at + 1 + i * (pattern[2] % 8), probability);
        break;
    case SELF:
        go(b, count, at, probability);
        go(b, count, at + 1, probability);
        break;
    default:
        b->is_dead_end = pattern[0] % SHAPES == DEAD;
    }
}

/* Adds values that may depend on each other, even in a cycle. */
static void add_monotonic_phis(struct arena *arena, struct block *b, unsigned bits)
{
    static const char *const phi_names[] = {"c", "p", "d", "local"}, *const from[] = {"",  "c",  "d",
                                                                                      "a", "@g", "n"};
    b->monotonic_phis = room(arena, 2 * sizeof *b->monotonic_phis);
    b->monotonic_phi_count = 2;
    for (size_t i = 0; i < b->monotonic_phi_count; i++) {
        b->monotonic_phis[i] = room(arena, sizeof **b->monotonic_phis);
        *b->monotonic_phis[i] = (struct monotonic_phi){.name = phi_names[(bits / 8 + i) % 4],
                                                       .low = bits & 16 ? -7 : 0,
                                                       .high = bits & 32 ? 5 : 0,
                                                       .from = from[(bits / 4 + 3 * i) % 6],
                                                       .constant = bits};
    }
}

/* Makes the call indirect. The list of possible callees has zero to two entries, which may be the same
 * function. If is_closed is false, the call may also reach any other function. */
static void set_targets(struct arena *arena, struct call *call, unsigned bits, size_t functions)
{
    call->target_count = bits % 3;
    call->targets = room(arena, 2 * sizeof *call->targets);
    for (size_t i = 0; i < call->target_count; i++)
        call->targets[i] = (int32_t)((bits / 8 + 3 * i) % functions);
    call->is_closed = call->target_count && bits & 8;
}

static void fill_block(struct arena *arena, struct block *b, size_t at, size_t functions,
                       const uint8_t *pattern)
{
    static const char *const names[] = {"memcpy", "sin", "nobody_knows", "llvm.memset.p0", NULL};
    static const char *const addresses[] = {"a", "p", "@g", "c", "", "local"};
    unsigned bits = pattern[2];
    b->name = print(arena, "b%u", (unsigned)at);
    b->work[bits % WORK_KINDS] = bits % 7;
    b->work[WORK_INT] += 1;
    b->chain[bits % WORK_KINDS] = bits % 11;
    b->has_chain = bits % 5;
    b->is_entry_independent = bits & 2;
    b->is_by_data = bits & 1;
    b->loop_place = b->place = (struct source_place){"fuzz.c", (unsigned)at % 50 + 1, bits};
    if (bits % 4 == 1) {
        b->accesses = room(arena, 2 * sizeof *b->accesses);
        b->access_count = 1 + bits % 2;
        for (size_t i = 0; i < b->access_count; i++)
            b->accesses[i] =
                (struct access){addresses[(bits / 4 + i) % 6], 1 << bits % 6, bits & 8, bits & 16, bits & 32};
    }
    if (bits % 8 >= 5)
        add_monotonic_phis(arena, b, bits);
    if (bits % 16 == 3) {
        b->calls = room(arena, sizeof *b->calls);
        b->call_count = 1;
        bool is_own = bits & 16;
        b->calls[0] = (struct call){.name = is_own ? "f" : names[bits / 32 % 5],
                                    .callee = is_own ? (int32_t)(bits / 32 % functions) : -1};
        if (!b->calls[0].name)
            set_targets(arena, &b->calls[0], pattern[1], functions);
    }
}

static void fill_function(struct module *m, size_t index, struct input *in)
{
    struct function *f = &m->functions[index];
    uint8_t pattern[MAX_PATTERN][3];
    size_t length = 1 + take(in) % MAX_PATTERN, scale = take(in);
    for (size_t i = 0; i < length; i++)
        for (size_t k = 0; k < 3; k++)
            pattern[i][k] = (uint8_t)take(in);
    f->name = print(&m->arena, "f%u", (unsigned)index);
    f->place = (struct source_place){"fuzz.c", 1, 1};
    f->block_count = length + (scale < FEW ? scale / 8 : (scale - FEW + 1) * (MAX_BLOCKS / (256 - FEW)));
    f->blocks = room(&m->arena, f->block_count * sizeof *f->blocks);
    for (size_t b = 0; b < f->block_count; b++) {
        const uint8_t *own = pattern[b + 1 == f->block_count ? length - 1 : b % length];
        fill_block(&m->arena, &f->blocks[b], b, m->function_count, own);
        lead_on(&m->arena, &f->blocks[b], b, f->block_count, own);
        for (size_t e = 0; e < f->blocks[b].edge_count; e++)
            f->blocks[b].edges[e].number = (uint32_t)f->edge_count++;
        for (size_t c = 0; c < f->blocks[b].call_count; c++)
            f->blocks[b].calls[c].number = (uint32_t)f->call_count++;
    }
    f->objects = room(&m->arena, sizeof *f->objects);
    f->objects[0] = (struct object){"local", scale * 100.0, true};
    f->object_count = 1;
    f->annotations = room(&m->arena, 2 * sizeof *f->annotations);
    f->annotations[f->annotation_count++] =
        "joule.budget:max_joules=1uJ, max_watts=3, max_temp_delta=1, sustained";
}

/* --- facts about loops --------------------------------------------------------------------------------- */

static void print_loops(const struct module *m, struct input *in, struct text *out)
{
    static const char *const counts[] = {"99",
                                         "(-1 + %n)",
                                         "{99,+,-1}<%b1>",
                                         "((-1 + (1 smax %n)) /u 4)",
                                         "(%n umin %m)",
                                         "18446744073709551615",
                                         "***COULDNOTCOMPUTE***"};
    for (size_t i = 0; i < m->function_count; i++) {
        const struct function *f = &m->functions[i];
        text_printf(out, "Classifying expressions for: @%s\n", f->name);
        text_add(out, "  %a = getelementptr i32\n  -->  {{%p,+,64}<%b1>,+,4}<%b2> U: full-set S: full-set\n");
        text_add(out, "  %p = phi i32\n  -->  %p U: full-set S: full-set\n"
                      "  %c = phi i32\n  -->  ((4 * %c) + (8 * %d) + @g) U: full-set S: full-set\n"
                      "  %d = phi i32\n  -->  {(%c + %d),+,(-3 * %c)}<%b1> U: full-set S: full-set\n");
        text_printf(out, "Determining loop execution counts for: @%s\n", f->name);
        for (size_t b = 0; b < f->block_count && b < MAX_PRINTED_LOOPS; b++)
            text_printf(out, "Loop %%%s: backedge-taken count is %s\n", f->blocks[b].name,
                        counts[take(in) % (sizeof counts / sizeof *counts)]);
    }
    text_add_bytes(out, (const char *)in->at, (size_t)(in->end - in->at));
}

static char *random_loop_text(struct module *m, struct input *in)
{
    struct text text;
    struct input again = *in;
    text_init(&text, NULL, 0);
    print_loops(m, in, &text);
    char *buffer = room(&m->arena, text.length + 1);
    text_init(&text, buffer, text.length + 1);
    print_loops(m, &again, &text);
    return buffer;
}

/* --- invariants ----------------------------------------------------------------------------------------- */

/* Checks that the values of a figure are in order. is_open: some work has no upper limit, so the figure has
 * no upper limit either. */
static void check_figure(const struct figure *f, bool is_open)
{
    const double rounding = 1 + 1e-9;
    if (isnan(f->est))
        return;
    require(is_open ? isnan(f->high) : f->low >= 0 && f->high >= 0);
    require(!(f->low < 0) && !(f->low > f->est * rounding) && !(f->est > f->high * rounding));
    require(!(f->min > f->est * rounding) && !(f->est > f->max * rounding));
}

static void check_limit(const struct limit *limit)
{
    require(isnan(limit->probability) || (limit->probability >= 0 && limit->probability <= 1));
    require(limit->verdict != VERDICT_PROVED);
}

static void check_result(const struct function_result *r)
{
    bool is_open = r->judgement.basis >= BASIS_OPEN;
    check_figure(&r->judgement.joules, is_open);
    check_figure(&r->judgement.seconds, is_open);
    check_figure(&r->judgement.watts, r->judgement.basis == BASIS_MISSING);
    /* The temperature can have an upper limit although is_open is true: repeated calls reach a final
     * temperature, which depends only on the watts. */
    bool is_warm_open = isnan(r->judgement.kelvin.high);
    check_figure(&r->judgement.kelvin, is_warm_open);
    require(is_open || !is_warm_open || isnan(r->judgement.kelvin.est));
    check_limit(&r->judgement.joules_limit);
    check_limit(&r->judgement.watts_limit);
    check_limit(&r->judgement.kelvin_limit);
    require(r->loops.count <= r->function->block_count);
}

static char *printed(void (*print_all)(const void *, struct text *), const struct judged *judged,
                     size_t *out_length)
{
    struct text text;
    text_init(&text, NULL, 0);
    print_all(judged, &text);
    char *buffer = malloc(text.length + 1);
    require(buffer != NULL);
    *out_length = text.length;
    text_init(&text, buffer, *out_length + 1);
    print_all(judged, &text);
    require(text.length == *out_length);
    return buffer;
}

static void check_reports(const struct analysis *analysis)
{
    struct judged judged = {.analysis = analysis, .source = "fuzz.c"};
    struct arena arena = {0};
    joule_error error;
    size_t length;
    free(printed(report_messages, &judged, &length));
    free(printed(report_sarif, &judged, &length));
    free(printed(report_github, &judged, &length));
    char *json = printed(report_object, &judged, &length);
    require(json_parse(&arena, json, length, "the report", &error) != NULL);
    arena_free(&arena);
    free(json);
    report_outcome(&judged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};
    struct input in = {data, data + size};
    struct module m = {.function_count = 1 + take(&in) % MAX_FUNCTIONS};
    struct object global = {"@g", 4096, false};
    struct target target;
    struct analysis analysis;
    struct analysis_options options = {.default_trips = 100, .warmer_kelvin = NAN, .file_joules = NAN};
    joule_error error;
    struct scev_facts facts;
    m.objects = &global;
    m.object_count = 1;
    m.functions = room(&m.arena, m.function_count * sizeof *m.functions);
    for (size_t i = 0; i < m.function_count; i++)
        fill_function(&m, i, &in);
    const char *text = random_loop_text(&m, &in);
    require(scev_text_read(text, strlen(text), &facts));
    m.scev = &facts;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    require(analysis_make(&m, &server, &target, &options, &analysis, &error) == JOULE_OK);
    for (size_t i = 0; i < analysis.result_count; i++)
        check_result(&analysis.results[i]);
    check_reports(&analysis);
    analysis_free(&analysis);
    scev_facts_free(&facts);
    arena_free(&m.arena);
    return 0;
}
