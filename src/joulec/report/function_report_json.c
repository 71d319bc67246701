/* joulec/report/function_report_json.c - prints an analysed translation unit as JSON
 * (docs/joulec.schema.json). */
#include "joulec/report/function_report.h"

#include <joule/base.h>
#include <joule/quantity.h>
#include <math.h>
#include "base/json_writer.h"

static void add_figure(struct json *json, const char *key, const char *interval_key,
                       const struct figure *figure)
{
    json_double(json, key, figure->est);
    json_open(json, interval_key, '[');
    json_double(json, NULL, figure->low);
    json_double(json, NULL, figure->high);
    json_close(json, ']');
}

static void add_place(struct json *json, const struct source_place *place)
{
    json_string(json, "file", place->file);
    if (place->line)
        json_integer(json, "line", place->line);
    else
        json_null(json, "line");
}

static void add_range(struct json *json, const char *key, const struct trips_range *range)
{
    json_open(json, key, '[');
    json_double(json, NULL, range->low);
    json_double(json, NULL, range->est);
    json_double(json, NULL, range->high);
    json_close(json, ']');
}

/* Adds the bounds in the mark of a loop. */
static void add_mark(struct json *json, const struct analysis *analysis, uint32_t mark)
{
    if (!analysis->options.marks || mark == MARK_NONE) {
        json_null(json, "marked");
        return;
    }
    json_open(json, "marked", '[');
    json_integer(json, NULL, analysis->options.marks->list[mark].low);
    json_integer(json, NULL, analysis->options.marks->list[mark].high);
    json_close(json, ']');
}

static void add_bad_marks(struct json *json, const struct marks *marks)
{
    json_open(json, "bad_marks", '[');
    for (size_t i = 0; marks && i < marks->count; i++) {
        const struct mark *mark = &marks->list[i];
        if (!mark->fault)
            continue;
        json_open(json, NULL, '{');
        add_place(json, &mark->place);
        json_string(json, "words", mark->words);
        json_string(json, "fault", mark->fault);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Adds the numbers of cache lines that a call moves, by the level from which the lines come. */
static void add_lines(struct json *json, const struct cost_features *work)
{
    json_open(json, "lines", '{');
    json_double(json, "l2", work->amount[COST_L2_LINES]);
    json_double(json, "l3", work->amount[COST_L3_LINES]);
    json_double(json, "dram", work->amount[COST_DRAM_LINES]);
    json_close(json, '}');
}

/* Adds the number of iterations that the built loop executes at once. */
static void add_at_once(struct json *json, const struct loop *loop)
{
    if (loop->is_unjoined)
        json_null(json, "at_once");
    else
        json_double(json, "at_once", loop->built ? loop->built->factor : 1);
}

static void add_loops(struct json *json, const struct analysis *analysis, const struct function_result *r)
{
    json_open(json, "loops", '[');
    for (size_t i = 0; i < r->loops.count && !r->is_gpu_kernel; i++) {
        const struct loop *loop = &r->loops.list[i];
        const struct trips *trips = &r->trips[i];
        struct cost_features work;
        struct cost cost = analysis_loop_cost(analysis, r, i, &work);
        json_open(json, NULL, '{');
        add_place(json, &loop->place);
        json_integer(json, "depth", loop->depth);
        json_string(json, "class", trips_class_name(trips->total_cls));
        json_bool(json, "is_guess", trips_is_guess(trips));
        add_mark(json, analysis, r->marks[i]);
        json_string(json, "formula", r->words[i].formula);
        add_range(json, "iterations_each", &trips->per_entry);
        add_range(json, "iterations", &trips->iterations);
        json_double(json, "energy_joules", cost.total.value);
        add_lines(json, &work);
        add_at_once(json, loop);
        json_null(json, "simulated"); /* required by the schema, but without a meaning */
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void add_doubt(struct json *json, const struct doubt *doubt)
{
    json_open(json, NULL, '{');
    json_string(json, "kind", doubt_name(doubt->kind));
    json_string(json, "name", doubt->name);
    add_place(json, &doubt->place);
    json_bool(json, "missing", doubt->is_missing);
    json_close(json, '}');
}

static void add_doubts(struct json *json, const struct function_result *r)
{
    json_open(json, "doubts", '[');
    for (size_t i = 0; i < r->loops.count && !r->is_gpu_kernel; i++)
        if (r->trips[i].cls == TRIPS_GUESSED)
            add_doubt(json, &(struct doubt){DOUBT_LOOP, NULL, r->loops.list[i].place, false});
    for (size_t i = 0; i < r->sum.doubt_count; i++)
        add_doubt(json, &r->sum.doubts[i]);
    json_close(json, ']');
}

static void add_advice(struct json *json, const struct function_result *r)
{
    json_open(json, "advice", '[');
    for (size_t i = 0; i < r->advice_count; i++) {
        const struct advice *advice = &r->advice[i];
        json_open(json, NULL, '{');
        json_string(json, "kind", advice_name(advice->kind));
        json_string(json, "severity", advice_severity(advice));
        add_place(json, &advice->place);
        json_string(json, "name", advice->name);
        json_double(json, "saves_joules", advice->joules);
        json_double(json, "saves_share", advice->part);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Adds the joules of the estimate by category. */
static void add_breakdown(struct json *json, const struct analysis *analysis, const struct function_result *r)
{
    struct target target = analysis_target(analysis, r);
    struct cost cost = cost_of(&target.table, &r->sum.call.of[BOUND_EST]);
    json_open(json, "breakdown_joules", '{');
    for (int i = 0; i < COST_FEATURES; i++)
        if (cost.part[i].value > 0)
            json_double(json, cost_feature_name((enum cost_feature)i), cost.part[i].value);
    json_close(json, '}');
}

static void add_limit(struct json *json, const char *key, const struct limit *limit)
{
    if (limit->verdict == VERDICT_NONE)
        return;
    json_open(json, key, '{');
    json_double(json, "limit", limit->limit);
    json_double(json, "probability", limit->probability);
    json_string(json, "verdict", verdict_name(limit->verdict));
    json_bool(json, "vacuous", limit->is_vacuous);
    json_close(json, '}');
}

/* Adds the joules of a call with the least work and of a call with the most work, at middle prices. Note:
 * these joules are no bounds if the trip count of a loop is guessed. */
static void add_compared(struct json *json, const struct analysis *analysis, const struct function_result *r)
{
    struct target target = analysis_target(analysis, r);
    bool is_known = !r->is_gpu_kernel;
    json_open(json, "compared_joules", '[');
    json_double(json, NULL, is_known ? amounts_joules(&target, &r->sum.call, BOUND_LOW) : NAN);
    json_double(json, NULL, is_known ? amounts_joules(&target, &r->sum.call, BOUND_HIGH) : NAN);
    json_close(json, ']');
}

static void add_before(struct json *json, const char *key, const struct baseline_function *before)
{
    json_open(json, key, '{');
    json_string(json, "name", before->name);
    json_string(json, "file", before->file);
    if (before->line)
        json_integer(json, "line", before->line);
    else
        json_null(json, "line");
    json_double(json, "energy_joules", before->joules[BOUND_EST]);
    json_close(json, '}');
}

static void add_comparison(struct json *json, const struct growth *c)
{
    json_open(json, "comparison", '{');
    json_string(json, "change", change_name(c->change));
    if (c->before)
        add_before(json, "baseline", c->before);
    else
        json_null(json, "baseline");
    json_double(json, "ratio", c->ratio);
    json_open(json, "interval_ratio", '[');
    json_double(json, NULL, c->low);
    json_double(json, NULL, c->high);
    json_close(json, ']');
    json_double(json, "probability", c->probability);
    json_close(json, '}');
}

static void add_function(struct json *json, const struct judged *judged, size_t index)
{
    const struct analysis *analysis = judged->analysis;
    const struct function_result *r = &analysis->results[index];
    const struct judgement *j = &r->judgement;
    joule_quantity joules = {j->joules.est, j->joules.low, j->joules.high, analysis->target.table.cls};
    json_open(json, NULL, '{');
    json_string(json, "name", r->function->name);
    add_place(json, &r->function->place);
    add_figure(json, "energy_joules", "interval_joules", &j->joules);
    add_compared(json, analysis, r);
    add_figure(json, "time_seconds", "interval_seconds", &j->seconds);
    add_figure(json, "power_watts", "interval_watts", &j->watts);
    add_figure(json, "temperature_rise_kelvin", "interval_kelvin", &j->kelvin);
    json_double(json, "confidence", joule_confidence(joules));
    json_string(json, "quality", (char[2]){j->quality, '\0'});
    json_open(json, "frames", '[');
    for (int b = 0; b < BOUNDS; b++)
        json_double(json, NULL, r->frames[b]);
    json_close(json, ']');
    json_string(json, "device", r->is_gpu_kernel ? "gpu" : "cpu");
    json_bool(json, "thermal_aware", r->is_thermal_aware);
    json_double(json, "warmer_kelvin", r->warmer_kelvin);
    json_string(json, "budget", r->budget_words);
    json_double(json, "budget_joules", j->joules_limit.limit);
    json_double(json, "budget_probability", j->joules_limit.probability);
    json_string(json, "verdict", r->bad_column ? "bad_budget" : verdict_name(j->worst));
    add_limit(json, "max_joules", &j->joules_limit);
    add_limit(json, "max_watts", &j->watts_limit);
    add_limit(json, "max_temp_delta", &j->kelvin_limit);
    add_breakdown(json, analysis, r);
    add_loops(json, analysis, r);
    add_doubts(json, r);
    add_advice(json, r);
    if (judged->comparisons)
        add_comparison(json, &judged->comparisons->of[index]);
    json_close(json, '}');
}

static void add_whole(struct json *json, const struct analysis *analysis)
{
    const struct judgement *j = &analysis->whole.judgement;
    add_figure(json, "total_energy_joules", "interval_total_joules", &j->joules);
    add_limit(json, "file_budget", &j->joules_limit);
}

static void add_calibration(struct json *json, const struct cpu_calibration *found)
{
    static const char *const states[] = {"none", "good", "old", "foreign", "broken"};
    bool is_used = found && cpu_calibration_is_used(found);
    char date[16];
    json_open(json, "calibration", '{');
    json_string(json, "state", states[found ? found->state : CALIBRATION_NONE]);
    if (is_used) {
        cost_calibration_date(&found->calibration, date);
        json_string(json, "date", date);
        json_double(json, "age_days", found->age_days);
        json_double(json, "time_log_sd", found->calibration.speeds.log_sd);
        json_double(json, "energy_log_sd", found->calibration.prices.log_sd);
    }
    json_close(json, '}');
}

/* Adds everything on which figures depend, except the source. The figures of two reports are comparable if
 * these members are equal. */
static void add_conditions(struct json *json, const struct judged *judged)
{
    const struct analysis *analysis = judged->analysis;
    char figures[17], assumptions[128];
    baseline_print_figures(&analysis->target, figures);
    baseline_print_assumptions(&analysis->options, assumptions, sizeof assumptions);
    json_string(json, "joulec_version", joule_version());
    json_string(json, "figures", figures);
    json_string(json, "assumptions", assumptions);
    json_string(json, "build", judged->build);
    json_bool(json, "threads_as_one", analysis->options.merges_threads);
}

static void add_baseline(struct json *json, const struct comparisons *c)
{
    if (!c)
        return;
    json_open(json, "baseline", '{');
    json_string(json, "file", c->baseline->path);
    json_string(json, "program", c->unit ? c->unit->program : NULL);
    json_double(json, "fail_over", c->baseline->fail_over);
    json_open(json, "gone", '[');
    for (size_t i = 0; i < c->gone_count; i++)
        add_before(json, NULL, c->gone[i]);
    json_close(json, ']');
    json_close(json, '}');
}

void report_object(const void *judged, struct text *out)
{
    const struct judged *unit = judged;
    const struct analysis *analysis = unit->analysis;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", "joulec-report-1");
    json_string(&json, "program", unit->source);
    json_string(&json, "class", joule_class_name(analysis->target.table.cls));
    json_string(&json, "table", analysis->target.table.id);
    json_string(&json, "core", analysis->target.core.id);
    json_string(&json, "time_class", joule_class_name(analysis->target.core.cls));
    add_calibration(&json, unit->calibration);
    json_null(&json, "simulator"); /* required by the schema, but without a meaning */
    add_conditions(&json, unit);
    json_open(&json, "functions", '[');
    for (size_t i = 0; i < analysis->result_count; i++)
        add_function(&json, unit, i);
    json_close(&json, ']');
    add_whole(&json, analysis);
    add_bad_marks(&json, analysis->options.marks);
    add_baseline(&json, unit->comparisons);
    json_close(&json, '}');
    text_add(out, "\n");
}
