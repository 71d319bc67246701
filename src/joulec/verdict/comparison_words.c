/* joulec/verdict/comparison_words.c - see comparison_words.h. */
#include "joulec/verdict/comparison_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/source/place.h"
#include "joulec/trips/figure_words.h"

#define MIN_PART 0.1 /* parts below this share of a difference are not printed */

struct words ratio_words(double ratio)
{
    struct words words = {"no limit"};
    if (fabs(ratio - 1) < 1e-6)
        string_print(words.text, sizeof words.text, "0 %%");
    else if (ratio >= 2)
        string_print(words.text, sizeof words.text, "%.3g times", ratio);
    else if (fabs(ratio - 1) < 0.01)
        string_print(words.text, sizeof words.text, "%+.2g %%", 100 * (ratio - 1));
    else if (ratio >= 0)
        string_print(words.text, sizeof words.text, "%+.0f %%", 100 * (ratio - 1));
    return words;
}

static const struct comparisons *comparisons_of(const struct finding *f)
{
    return f->judged->comparisons;
}

static bool differ(const char *then, const char *now)
{
    return strcmp(then ? then : "", now ? now : "") != 0;
}

bool comparisons_differ(const struct comparisons *c)
{
    return c->unit && (differ(c->unit->build, c->build) || differ(c->unit->version, joule_version()));
}

static void print_other(const struct finding *f, struct text *out)
{
    const struct comparisons *c = comparisons_of(f);
    const char *path = c->baseline->path;
    if (!c->unit)
        text_printf(out, "%s has no entry for this file: none of its functions was compared", path);
    else if (differ(c->unit->build, c->build))
        text_printf(out, "%s is of a build with '%s', but this build has '%s', which may cause differences",
                    path, c->unit->build ? c->unit->build : "", c->build ? c->build : "");
    else
        text_printf(out, "%s was written by joulec %s, but this is joulec %s, which may cause differences",
                    path, c->unit->version ? c->unit->version : "of an older release", joule_version());
}

static void print_growth(const struct growth *c, struct text *out)
{
    if (c->ratio >= 2)
        text_printf(out, "%.3g times as many joules as", c->ratio);
    else
        text_printf(out, c->ratio < 1.01 ? "%.2g %% more joules than" : "%.0f %% more joules than",
                    100 * (c->ratio - 1));
}

void comparison_say(const struct finding *f, struct text *out)
{
    const struct growth *c = f->comparison;
    const char *name = f->result->function->name;
    if (!c) {
        print_other(f, out);
        return;
    }
    const struct baseline *baseline = comparisons_of(f)->baseline;
    text_printf(out, f->rule == RULE_GROWN ? "'%s' takes " : "'%s' may take ", name);
    if (f->rule == RULE_GROWN) {
        print_growth(c, out);
        text_printf(out, " in %s", baseline->path);
    } else {
        text_printf(out, "over %.3g %% more joules than in %s", 100 * baseline->fail_over, baseline->path);
    }
    const char *open = c->added ? c->added : c->removed;
    if (open)
        text_printf(out, ": the cost of '%s' is unknown, and only the %s version contains it", open,
                    c->added ? "new" : "stored");
}

void comparison_say_before(const struct finding *f, struct text *out)
{
    text_printf(out, "%s before, limit %s",
                figure_words(f->comparison->before->joules[BOUND_EST], JOULE_DIMENSION_ENERGY).text,
                ratio_words(1 + comparisons_of(f)->baseline->fail_over).text);
}

void comparison_say_now(const struct finding *f, struct text *out)
{
    const struct growth *c = f->comparison;
    text_printf(out, "%s now, %s", figure_words(f->result->judgement.joules.est, JOULE_DIMENSION_ENERGY).text,
                ratio_words(c->ratio).text);
    if (c->low > 0 && !isnan(c->high))
        text_printf(out, "  (%s to %s, 90 %%: errors that both share cancel)", ratio_words(c->low).text,
                    ratio_words(c->high).text);
    else
        text_add(out, " of the known part");
}

/* --- notes ---------------------------------------------------------------------------------------------- */

/* One part of the difference, in joules. */
struct part {
    const char *name;
    double joules;
};

static int by_size(const void *a, const void *b)
{
    double left = fabs(((const struct part *)a)->joules), right = fabs(((const struct part *)b)->joules);
    return (left < right) - (left > right);
}

static double difference(const double *now, const double *before, int first, int last)
{
    double sum = 0;
    for (int i = first; i <= last; i++)
        sum += now[i] - before[i];
    return sum;
}

/* Sets *out to a note with the two parts that differ most: "core cycles +1.2 nJ, DRAM lines +0.4 nJ". Returns
 * false if no part differs. */
static bool note_parts(const struct finding *f, struct note *out)
{
    const struct analysis *a = f->judged->analysis;
    struct target target = analysis_target(a, f->result);
    struct cost cost = cost_of(&target.table, &f->result->sum.call.of[BOUND_EST]);
    const double *was = f->comparison->before->part;
    double now[COST_FEATURES];
    for (int i = 0; i < COST_FEATURES; i++)
        now[i] = cost.part[i].value;
    struct part parts[] = {{"core cycles", difference(now, was, COST_CYCLES, COST_CYCLES)},
                           {"idle package", difference(now, was, COST_PACKAGE_SECONDS, COST_PACKAGE_SECONDS)},
                           {"operations", difference(now, was, COST_UOPS, COST_MISPREDICTS)},
                           {"L2 lines", difference(now, was, COST_L2_LINES, COST_L2_LINES)},
                           {"L3 lines", difference(now, was, COST_L3_LINES, COST_L3_LINES)},
                           {"DRAM lines", difference(now, was, COST_DRAM_LINES, COST_DRAM_LINES)}};
    size_t count = sizeof parts / sizeof *parts;
    double all = 0;
    qsort(parts, count, sizeof *parts, by_size);
    for (size_t i = 0; i < count; i++)
        all += fabs(parts[i].joules);
    *out = (struct note){.place = source_place_of_name(f->result->function)};
    for (size_t i = 0; i < 2 && fabs(parts[i].joules) > MIN_PART * all; i++) {
        size_t length = strlen(out->words);
        string_print(out->words + length, sizeof out->words - length, "%s%s %s%s",
                     i ? ", " : "the difference is mostly in: ", parts[i].name,
                     parts[i].joules < 0 ? "-" : "+",
                     figure_words(fabs(parts[i].joules), JOULE_DIMENSION_ENERGY).text);
    }
    return out->words[0];
}

static const struct growth *comparison_of_callee(const struct finding *f, const struct call *call)
{
    if (call->callee < 0 || &f->judged->analysis->results[call->callee] == f->result)
        return NULL;
    const struct growth *c = &comparisons_of(f)->of[call->callee];
    return c->change == CHANGE_OVER ? c : NULL;
}

/* Sets *out to a note about the first call of a function in the same file that has also grown over its limit.
 * Returns false if there is no such call. */
static bool note_callee(const struct finding *f, struct note *out)
{
    const struct function *function = f->result->function;
    for (size_t b = 0; b < function->block_count; b++)
        for (size_t i = 0; i < function->blocks[b].call_count; i++) {
            const struct call *call = &function->blocks[b].calls[i];
            const struct growth *callee = comparison_of_callee(f, call);
            if (!callee)
                continue;
            *out = (struct note){.place = call->place, .is_line = true};
            string_print(out->words, sizeof out->words, "it calls '%s', which also takes more: %s",
                         f->judged->analysis->results[call->callee].function->name,
                         ratio_words(callee->ratio).text);
            return true;
        }
    return false;
}

void comparison_notes(const struct finding *f, void (*each)(void *context, const struct note *note),
                      void *context)
{
    struct note note;
    if (f->comparison->is_renamed) {
        note = (struct note){.place = source_place_of_name(f->result->function)};
        string_print(note.words, sizeof note.words,
                     "compared with '%s', which no longer exists and took the same joules",
                     f->comparison->before->name);
        each(context, &note);
    }
    if (note_callee(f, &note))
        each(context, &note);
    if (note_parts(f, &note))
        each(context, &note);
}
