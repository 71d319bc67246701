/* joulec/report/function_report_text.c - prints findings as messages in the format of clang, and derives the
 * outcome of a check. */
#include "joulec/report/function_report.h"

#include <math.h>
#include <stdlib.h>
#include "joulec/source/place.h"

/* How warnings are printed: as requested, or as changed by -Werror or -w. */
enum warnings { AS_WARNINGS, AS_ERRORS, HIDDEN };

/* State of the messages that are printed. */
struct message {
    struct text *out;
    const struct judged *judged;
    enum warnings warnings;
    bool has_figures;
};

/* Prints the source line with a caret below the column. Prints nothing if the file cannot be read. */
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

static void add_place(const struct message *m, const struct source_place *place)
{
    if (place->file && place->line)
        text_printf(m->out, "%s:%u:%u: ", place->file, place->line, place->column ? place->column : 1);
    else
        text_printf(m->out, "%s: ", m->judged->source);
}

static void add_note(void *context, const struct note *note)
{
    const struct message *m = context;
    add_place(m, &note->place);
    text_printf(m->out, "note: %s\n", note->words);
    if (note->is_line)
        quote_source(m->out, &note->place);
}

static void quote_budget(struct text *out, const struct function_result *result)
{
    text_printf(out, "  \"%s\"\n%*s^\n", result->budget_words, (int)(result->bad_column + 2), "");
}

static void add_temperature(const struct message *m, const struct function_result *result)
{
    bool is_named = !isnan(m->judged->analysis->options.warmer_kelvin);
    if (result->warmer_kelvin != 0 || result->is_thermal_aware)
        text_printf(m->out, "  thermal   %+.2g K relative to the temperature of the table, %s\n",
                    result->warmer_kelvin, is_named ? "set by --thermal-state" : "caused by its own power");
}

static void add_figures(struct message *m, const struct finding *finding)
{
    text_add(m->out, finding->comparison ? "  baseline  " : "  budget    ");
    finding_budget(finding, m->out);
    text_add(m->out, "\n  estimate  ");
    finding_estimate(finding, m->out);
    text_add(m->out, "\n");
    finding_notes(finding, add_note, m);
    add_temperature(m, finding->result);
    m->has_figures = true;
}

static bool is_warning(const struct finding *finding)
{
    return !finding->is_error && !finding->advice && !finding->is_note;
}

/* Returns true if the finding is about the machine or the build, and not about the source. */
static bool is_of_figures(const struct finding *finding)
{
    return finding->rule == RULE_STALE || finding->rule == RULE_FOREIGN || finding->rule == RULE_LEVEL ||
           finding->rule == RULE_OTHER_BASELINE || finding->rule == RULE_THREADS;
}

/* Returns true if -Werror turns the finding into an error. */
static bool may_be_error(const struct finding *finding)
{
    return is_warning(finding) && !is_of_figures(finding);
}

static void add_finding(void *context, const struct finding *finding)
{
    struct message *m = context;
    bool is_made_error = m->warnings == AS_ERRORS && may_be_error(finding);
    if (is_warning(finding) && m->warnings == HIDDEN)
        return;
    add_place(m, &finding->name);
    text_add(m->out, finding->is_error || is_made_error ? "error: "
                     : finding->advice                  ? "remark: "
                     : finding->is_note                 ? "note: "
                                                        : "warning: ");
    finding_say(finding, m->out);
    text_printf(m->out, " [%s]%s\n", rule_words(finding->rule)->id, is_made_error ? " [-Werror]" : "");
    if (finding->rule == RULE_BAD_BUDGET) {
        quote_budget(m->out, finding->result);
        return;
    }
    if (is_of_figures(finding))
        return;
    quote_source(m->out, &finding->name);
    if (finding_has_estimate(finding))
        add_figures(m, finding);
}

static void print_messages(const struct judged *judged, enum warnings warnings, struct text *out)
{
    struct message m = {out, judged, warnings, false};
    findings_each(judged, add_finding, &m);
    if (!m.has_figures)
        return;
    text_add(out, "  table     "); /* the table is the same for all findings, so it is printed once */
    finding_table(m.judged, out);
    text_add(out, "\n");
}

void report_messages(const void *judged, struct text *out)
{
    print_messages(judged, AS_WARNINGS, out);
}

void report_messages_as_errors(const void *judged, struct text *out)
{
    print_messages(judged, AS_ERRORS, out);
}

void report_messages_without_warnings(const void *judged, struct text *out)
{
    print_messages(judged, HIDDEN, out);
}

static void find_warning(void *has, const struct finding *finding)
{
    *(bool *)has = *(bool *)has || may_be_error(finding);
}

bool report_has_warnings(const struct judged *judged)
{
    bool has = false;
    findings_each(judged, find_warning, &has);
    return has;
}

/* --- outcome -------------------------------------------------------------------------------------------- */

static enum outcome outcome_of(const struct judged *judged, const struct function_result *result)
{
    enum verdict worst = result->judgement.worst;
    if (result->bad_column || result->bad_depth.message[0] || worst >= VERDICT_LIKELY_VIOLATED)
        return OUTCOME_VIOLATED;
    return judged->is_strict && worst > VERDICT_PROVED ? OUTCOME_UNDECIDED : OUTCOME_GOOD;
}

static enum outcome outcome_of_change(const struct judged *judged, enum change change)
{
    if (change == CHANGE_OVER)
        return OUTCOME_VIOLATED;
    return judged->is_strict && change == CHANGE_UNDECIDED ? OUTCOME_UNDECIDED : OUTCOME_GOOD;
}

enum outcome outcome_worse(enum outcome a, enum outcome b)
{
    return b == OUTCOME_VIOLATED || a == OUTCOME_GOOD ? b : a;
}

enum outcome report_outcome(const struct judged *judged)
{
    const struct marks *marks = judged->analysis->options.marks;
    enum outcome outcome = OUTCOME_GOOD;
    for (size_t i = 0; marks && i < marks->count; i++)
        if (marks->list[i].fault)
            return OUTCOME_VIOLATED;
    for (size_t i = 0; i < judged->analysis->result_count; i++)
        outcome = outcome_worse(outcome, outcome_of(judged, &judged->analysis->results[i]));
    for (size_t i = 0; judged->comparisons && i < judged->analysis->result_count; i++)
        outcome = outcome_worse(outcome, outcome_of_change(judged, judged->comparisons->of[i].change));
    return outcome_worse(outcome, outcome_of(judged, &judged->analysis->whole));
}
