/* joulec/report/function_report_eir.c - prints functions as costed blocks and loops (--emit eir), or one line
 * for each function (--lift).
 *
 * Figures of a block apply to one execution, and figures of a loop to one entry. The lower and upper figures
 * belong to the cheapest and the most expensive path, at the middle prices of the table.
 */
#include "joulec/report/function_report.h"

#include <math.h>
#include <string.h>
#include "joulec/trips/figure_words.h"
#include "joulec/work/library_call.h"

/* State of the output: the function that is being printed. */
struct page {
    struct text *out;
    const struct analysis *analysis;
    const struct function_result *result;
};

static void indent(const struct page *p, unsigned depth)
{
    text_printf(p->out, "%*s", (int)(2 * depth), "");
}

static void add_place(const struct page *p, const struct source_place *place)
{
    if (place->file && place->line)
        text_printf(p->out, " %s:%u", place->file, place->line);
    if (place->file && place->line && place->column)
        text_printf(p->out, ":%u", place->column);
}

/* Adds the estimate and its range, in J. is_open: true if the upper end is unknown. */
static void add_bounds(const struct page *p, const double joules[BOUNDS], bool is_open)
{
    text_printf(p->out, "%s (%s%s%s)", figure_words(joules[BOUND_EST], JOULE_DIMENSION_ENERGY).text,
                figure_words(joules[BOUND_LOW], JOULE_DIMENSION_ENERGY).text, is_open ? "" : " .. ",
                is_open ? " and more" : figure_words(joules[BOUND_HIGH], JOULE_DIMENSION_ENERGY).text);
}

/* --- blocks --------------------------------------------------------------------------------------------- */

static void add_work(const struct page *p, const struct block *block)
{
    bool has_any = false;
    for (int k = 0; k < WORK_KINDS; k++) {
        if (block->work[k] > 0)
            text_printf(p->out, " %s %.4g", work_name((enum work)k), block->work[k]);
        has_any = has_any || block->work[k] > 0;
    }
    text_add(p->out, has_any ? "" : " nothing");
}

static double joules_of_call(const struct page *p, const struct call *call)
{
    struct amounts work;
    if (call->callee >= 0)
        return p->analysis->results[call->callee].judgement.joules.est;
    if (call->name && library_call_work(call, NULL, &p->analysis->target, &work))
        return amounts_joules(&p->analysis->target, &work, BOUND_EST);
    return NAN;
}

static bool is_open_call(const struct page *p, const struct call *call)
{
    const struct function_sum *sum = &p->result->sum;
    for (size_t i = 0; i < sum->doubt_count; i++)
        if (call->name && sum->doubts[i].name && strcmp(sum->doubts[i].name, call->name) == 0)
            return true;
    return isnan(joules_of_call(p, call));
}

/* Returns true if a call in the block has no upper end of joules. */
static bool is_open_block(const struct page *p, uint32_t index)
{
    const struct block *block = &p->result->function->blocks[index];
    for (size_t i = 0; i < block->call_count; i++)
        if (is_open_call(p, &block->calls[i]))
            return true;
    return false;
}

static void add_block(const struct page *p, uint32_t index, unsigned depth)
{
    const struct block *block = &p->result->function->blocks[index];
    const struct block_sum *sum = &p->result->sum.blocks[index];
    indent(p, depth);
    text_printf(p->out, "block %s x %.4g:", block->name, sum->frequency);
    add_work(p, block);
    text_printf(p->out, "; cycles %.4g (%.4g .. %.4g); ", sum->cycles[BOUND_EST], sum->cycles[BOUND_LOW],
                sum->cycles[BOUND_HIGH]);
    add_bounds(p, sum->joules, is_open_block(p, index));
    text_add(p->out, "\n");
    for (size_t i = 0; i < block->call_count; i++) {
        const struct call *call = &block->calls[i];
        indent(p, depth + 1);
        text_printf(p->out, "call %s: %s\n", call->name ? call->name : "through a pointer",
                    figure_words(joules_of_call(p, call), JOULE_DIMENSION_ENERGY).text);
    }
}

/* --- loops ---------------------------------------------------------------------------------------------- */

/* Returns true if the loop, a loop within it, or a call within it has no bound. */
static bool is_open_loop(const struct page *p, int32_t loop)
{
    const struct loops *loops = &p->result->loops;
    for (uint32_t i = loops->list[loop].first; i < loops->list[loop].end; i++) {
        uint32_t block = loops->members[i];
        for (int32_t l = loops->innermost[block]; l >= 0; l = l == loop ? -1 : loops->list[l].parent)
            if (p->result->trips[l].cls == TRIPS_GUESSED)
                return true;
        if (is_open_block(p, block))
            return true;
    }
    return false;
}

static void add_loop(const struct page *p, size_t index, unsigned depth)
{
    const struct trips *trips = &p->result->trips[index];
    double joules[BOUNDS];
    for (enum bound b = BOUND_LOW; b < BOUNDS; b++)
        joules[b] = amounts_joules(&p->analysis->target, &p->result->sum.loops[index], b);
    indent(p, depth);
    text_add(p->out, "loop");
    add_place(p, &p->result->loops.list[index].place);
    text_printf(p->out, ": %s, %s", trips_class_name(trips->cls), trips_words(&trips->per_entry).text);
    if (trips->entries.low != 1 || trips->entries.high != 1)
        text_printf(p->out, "; %s in a call: %s", trips_class_name(trips->total_cls),
                    trips_words(&trips->iterations).text);
    text_add(p->out, "; per entry ");
    add_bounds(p, joules, is_open_loop(p, (int32_t)index));
    text_add(p->out, "\n");
}

/* Adds the nodes of a region. Calls itself for nested loops, at most LOOPS_MAX_DEPTH deep. */
static void add_region(const struct page *p, int32_t loop, unsigned depth)
{
    const struct loops *loops = &p->result->loops;
    for (uint32_t i = loops->node_begin[loop + 1]; i < loops->node_begin[loop + 2]; i++) {
        int32_t inner = loop_at_node(loops, loops->nodes[i], loop);
        if (inner < 0) {
            add_block(p, loops->nodes[i], depth);
            continue;
        }
        add_loop(p, (size_t)inner, depth);
        add_region(p, inner, depth + 1);
    }
}

/* --- functions ------------------------------------------------------------------------------------------ */

static void add_figures(const struct page *p)
{
    const struct judgement *j = &p->result->judgement;
    bool has_end = !isnan(j->joules.high);
    joule_quantity joules = {j->joules.est, j->joules.low, j->joules.high, p->analysis->target.table.cls};
    text_printf(p->out, "  call %s (%s%s%s, 90 %%), %s, %s, quality %c",
                figure_words(j->joules.est, JOULE_DIMENSION_ENERGY).text,
                figure_words(j->joules.low, JOULE_DIMENSION_ENERGY).text, has_end ? " .. " : "",
                has_end ? figure_words(j->joules.high, JOULE_DIMENSION_ENERGY).text : " and more",
                figure_words(j->seconds.est, JOULE_DIMENSION_TIME).text,
                figure_words(j->watts.est, JOULE_DIMENSION_POWER).text, j->quality);
    if (!isnan(joule_confidence(joules)))
        text_printf(p->out, ", confidence %.2g", joule_confidence(joules));
    text_add(p->out, "\n");
}

static void add_function(const struct page *p)
{
    const struct function_result *r = p->result;
    text_printf(p->out, "\nfunction %s", r->function->name);
    add_place(p, &r->function->place);
    text_add(p->out, "\n");
    if (r->budget_words)
        text_printf(p->out, "  budget \"%s\": %s\n", r->budget_words,
                    r->bad_column ? "invalid" : verdict_name(r->judgement.worst));
    add_figures(p);
    for (size_t i = 0; i < r->sum.doubt_count; i++) {
        text_printf(p->out, "  open: %s", doubt_name(r->sum.doubts[i].kind));
        text_printf(p->out, r->sum.doubts[i].name ? " %s" : "%s",
                    r->sum.doubts[i].name ? r->sum.doubts[i].name : "");
        add_place(p, &r->sum.doubts[i].place);
        text_add(p->out, "\n");
    }
    add_region(p, -1, 1);
}

void report_eir(const void *judged, struct text *out)
{
    const struct judged *j = judged;
    const struct target *target = &j->analysis->target;
    text_printf(out,
                "; %s as joulec counts it: at -O2, loops left whole\n; core %s, table %s (%s)\n; block NAME "
                "x TIMES (per iteration or call): work; cycles; joules, including calls\n; call NAME: joules "
                "for any arguments; those of the block use what is known of its arguments\n",
                j->source, target->core.id, target->table.id, joule_class_name(target->table.cls));
    for (size_t i = 0; i < j->analysis->result_count; i++)
        add_function(&(struct page){out, j->analysis, &j->analysis->results[i]});
}

void report_lift(const void *judged, struct text *out)
{
    const struct judged *j = judged;
    double total = 0;
    for (size_t i = 0; i < j->analysis->result_count; i++) {
        const struct function_result *r = &j->analysis->results[i];
        const struct figure *f = &r->judgement.joules;
        joule_quantity joules = {f->est, f->low, f->high, j->analysis->target.table.cls};
        total += f->est;
        text_printf(out, "%-32s %10s  (%s)", r->function->name,
                    figure_words(f->est, JOULE_DIMENSION_ENERGY).text,
                    range_words(f->low, f->high, JOULE_DIMENSION_ENERGY).text);
        double confidence = joule_confidence(joules);
        if (isnan(confidence))
            text_add(out, "  (confidence: unknown)\n");
        else
            text_printf(out, "  (confidence: %.2f)\n", confidence);
    }
    text_printf(out, "%-32s %10s  one call of each, in %s\n", "total",
                figure_words(total, JOULE_DIMENSION_ENERGY).text, j->source);
}
