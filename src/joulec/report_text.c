/* joulec/report_text.c - messages, in the form of clang's. */
#include "joulec/report.h"

#include <joule/quantity.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
    struct text *out;
    const struct judged *judged;
    const struct function_result *result;
    struct source_place name; /* of the function */
};

/* --- words -------------------------------------------------------------------------------------------------- */

struct words {
    char text[32];
};

static struct words figure_words(double value, joule_dimension dimension)
{
    struct words w;
    joule_format(value, dimension, 2, w.text, sizeof w.text);
    return w;
}

/* A line of the source, for free(); NULL where it cannot be read. */
static char *source_line(const struct source_place *place)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = place->file && place->line ? fopen(place->file, "re") : NULL;
    ssize_t length = file ? 0 : -1;
    for (unsigned n = 0; n < place->line && length >= 0; n++)
        length = getline(&line, &size, file);
    if (file)
        fclose(file);
    if (length >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        return line;
    }
    free(line);
    return NULL;
}

/* The line of the source with a mark below the column; nothing where the file cannot be read. */
static void quote_source(struct text *out, const struct source_place *place)
{
    char *line = source_line(place);
    if (!line)
        return;
    text_printf(out, "%s\n", line);
    for (unsigned i = 1; i < place->column && line[i - 1]; i++)
        text_add(out, line[i - 1] == '\t' ? "\t" : " ");
    text_add(out, place->column ? "^\n" : "");
    free(line);
}

/* The function's name in the line of its definition, where it stands there. */
static struct source_place place_of_name(const struct function *f)
{
    struct source_place place = f->place;
    char *line = source_line(&place);
    const char *at = line ? strstr(line, f->name) : NULL;
    place.column = at ? (unsigned)(at - line) + 1 : 1;
    free(line);
    return place;
}

static void add_place(const struct message *m, const struct source_place *place)
{
    if (place->file && place->line)
        text_printf(m->out, "%s:%u:%u: ", place->file, place->line, place->column ? place->column : 1);
    else
        text_printf(m->out, "%s: ", m->judged->source);
}

/* --- what is behind a figure -------------------------------------------------------------------------------- */

static void add_largest(const struct message *m)
{
    double part;
    int32_t largest = analysis_largest_loop(m->judged->analysis, m->result, &part);
    if (largest < 0 || part < 0.1)
        return;
    const struct source_place *place = &m->result->loops.list[largest].place;
    const struct trips *trips = &m->result->trips[largest];
    add_place(m, place);
    text_printf(m->out, "note: %.0f %% of it in this loop, %.4g times round in a call (%s)\n",
                100 * fmin(part, 1), trips->iterations.est, trips_class_name(trips->total_cls));
    quote_source(m->out, place);
}

static void add_doubt(const struct message *m, const struct doubt *doubt)
{
    add_place(m, &doubt->place);
    switch (doubt->kind) {
    case DOUBT_CALLEE:
        text_printf(m->out, "note: nobody knows what '%s' takes: it has no body here\n", doubt->name);
        break;
    case DOUBT_POINTER:
        text_add(m->out, "note: nobody knows what is called through this pointer\n");
        break;
    case DOUBT_RECURSION:
        text_printf(m->out, "note: '%s' calls itself in the end, nobody knows how often\n", doubt->name);
        break;
    default:
        text_add(m->out, "note: a jump leads into the middle of a loop of this function\n");
    }
}

static void add_guesses(const struct message *m)
{
    for (size_t i = 0; i < m->result->loops.count; i++)
        if (m->result->trips[i].cls == TRIPS_GUESSED) {
            add_place(m, &m->result->loops.list[i].place);
            text_printf(
                m->out,
                "note: nothing bounds this loop, taken to run %.0f times: JOULE_ASSUME(n <= ...) before it\n",
                m->result->trips[i].per_entry.est);
            quote_source(m->out, &m->result->loops.list[i].place);
        }
    for (size_t i = 0; i < m->result->sum.doubt_count; i++)
        add_doubt(m, &m->result->sum.doubts[i]);
}

/* --- messages ----------------------------------------------------------------------------------------------- */

static bool is_error(const struct judged *judged, enum verdict verdict)
{
    return verdict >= VERDICT_LIKELY_VIOLATED || (judged->is_strict && verdict > VERDICT_PROVED);
}

static void add_limit(const struct message *m, const char *code, const char *what, joule_dimension dimension,
                      const struct figure *figure, const struct limit *limit)
{
    static const char *const said[] = {[VERDICT_LIKELY] = "is likely to be kept, which is not proved,",
                                       [VERDICT_UNDECIDED] = "may or may not be kept",
                                       [VERDICT_LIKELY_VIOLATED] = "is likely to be exceeded",
                                       [VERDICT_VIOLATED] = "is exceeded"};
    bool is_quiet = limit->verdict <= VERDICT_LIKELY && !is_error(m->judged, limit->verdict);
    if (limit->verdict == VERDICT_NONE || is_quiet)
        return;
    add_place(m, &m->name);
    text_printf(m->out, "%s: energy budget %s in '%s' [%s]\n",
                is_error(m->judged, limit->verdict) ? "error" : "warning", said[limit->verdict],
                m->result->function->name, limit->verdict == VERDICT_UNDECIDED ? "JE0004" : code);
    quote_source(m->out, &m->name);
    text_printf(m->out, "  budget    %s = %s\n", what, figure_words(limit->limit, dimension).text);
    text_printf(m->out, "  estimate  %s  (%s to %s, 90 %%, %s), quality %c, P(within) = %.2g\n",
                figure_words(figure->est, dimension).text, figure_words(figure->low, dimension).text,
                figure_words(figure->high, dimension).text,
                joule_class_name(m->judged->analysis->target.table.cls), m->result->judgement.quality,
                limit->probability);
    add_largest(m);
    if (limit->verdict == VERDICT_UNDECIDED)
        add_guesses(m);
    text_printf(m->out, "  table     %s: figures of its family, nothing was measured here\n",
                m->judged->analysis->target.table.id);
}

static void add_vacuous(const struct message *m, const char *what, joule_dimension dimension,
                        const struct figure *figure, const struct limit *limit)
{
    if (!limit->is_vacuous)
        return;
    add_place(m, &m->name);
    text_printf(m->out, "warning: %s of '%s' can never be exceeded: a call takes %s at most", what,
                m->result->function->name, figure_words(figure->most, dimension).text);
    bool is_heat = dimension == JOULE_DIMENSION_TEMPERATURE && !m->result->budget.is_sustained;
    text_add(m->out, is_heat ? "; add 'sustained' for calls without a pause [JW0103]\n" : " [JW0103]\n");
    quote_source(m->out, &m->name);
}

static void add_bad_budget(const struct message *m)
{
    add_place(m, &m->name);
    text_printf(m->out, "error: budget of '%s', column %zu: %s [JE0005]\n  \"%s\"\n",
                m->result->function->name, m->result->bad_column, m->result->bad.message,
                m->result->budget_words);
    text_printf(m->out, "%*s^\n", (int)(m->result->bad_column + 2), "");
}

static enum outcome outcome_of(const struct judged *judged, const struct function_result *result)
{
    enum verdict worst = result->judgement.worst;
    if (result->bad_column || worst >= VERDICT_LIKELY_VIOLATED)
        return OUTCOME_VIOLATED;
    return is_error(judged, worst) ? OUTCOME_UNDECIDED : OUTCOME_GOOD;
}

enum outcome report_outcome(const struct judged *judged)
{
    enum outcome outcome = OUTCOME_GOOD;
    for (size_t i = 0; i < judged->analysis->result_count; i++) {
        enum outcome own = outcome_of(judged, &judged->analysis->results[i]);
        if (own == OUTCOME_VIOLATED || outcome == OUTCOME_GOOD)
            outcome = own;
    }
    return outcome;
}

void report_messages(const void *judged, struct text *out)
{
    const struct analysis *analysis = ((const struct judged *)judged)->analysis;
    for (size_t i = 0; i < analysis->result_count; i++) {
        const struct function_result *r = &analysis->results[i];
        const struct judgement *j = &r->judgement;
        if (!r->budget_words)
            continue;
        struct message m = {out, judged, r, place_of_name(r->function)};
        if (r->bad_column)
            add_bad_budget(&m);
        add_vacuous(&m, "max_joules", JOULE_DIMENSION_ENERGY, &j->joules, &j->joules_limit);
        add_vacuous(&m, "max_watts", JOULE_DIMENSION_POWER, &j->watts, &j->watts_limit);
        add_vacuous(&m, "max_temp_delta", JOULE_DIMENSION_TEMPERATURE, &j->kelvin, &j->kelvin_limit);
        add_limit(&m, "JE0001", "max_joules", JOULE_DIMENSION_ENERGY, &j->joules, &j->joules_limit);
        add_limit(&m, "JE0002", "max_watts", JOULE_DIMENSION_POWER, &j->watts, &j->watts_limit);
        add_limit(&m, "JE0003", "max_temp_delta", JOULE_DIMENSION_TEMPERATURE, &j->kelvin, &j->kelvin_limit);
    }
}
