/* joulec/verdict/notes.c - writes the notes of a finding: the most expensive loop, and the loops and calls
 * without a bound, with a way to bound each.
 *
 * Note: each loop or call gets only one note, even if inlining repeats it. A user who follows a note must
 * have solved the problem that it describes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "joulec/source/place.h"
#include "joulec/verdict/comparison_words.h"
#include "joulec/verdict/findings.h"

#define MAX_NOTES_OF_FILE 10

/* A category of joules, and its part of a loop's joules. */
struct share {
    const char *name;
    double part;
};

static int by_part(const void *a, const void *b)
{
    double left = ((const struct share *)a)->part, right = ((const struct share *)b)->part;
    return (left < right) - (left > right);
}

/* Appends the two largest categories of a loop's joules, if they take a tenth or more: ": DRAM lines 61 %,
 * core cycles 31 %". */
static void add_shares(const struct finding *f, size_t loop, char *words, size_t size)
{
    struct cost_features work;
    struct cost cost = analysis_loop_cost(f->judged->analysis, f->result, loop, &work);
    const struct estimate *part = cost.part;
    double operations = cost.part[COST_MISPREDICTS].value, total = cost.total.value;
    for (int i = COST_UOPS; i <= COST_BRANCHES; i++)
        operations += part[i].value;
    struct share shares[] = {{"core cycles", part[COST_CYCLES].value},
                             {"idle package", part[COST_PACKAGE_SECONDS].value},
                             {"operations", operations},
                             {"L2 lines", part[COST_L2_LINES].value},
                             {"L3 lines", part[COST_L3_LINES].value},
                             {"DRAM lines", part[COST_DRAM_LINES].value}};
    qsort(shares, sizeof shares / sizeof *shares, sizeof *shares, by_part);
    for (int i = 0; i < 2 && shares[i].part >= 0.1 * total; i++) {
        size_t length = strlen(words);
        string_print(words + length, size - length, "%s%s %.0f %%", i ? ", " : ": ", shares[i].name,
                     100 * shares[i].part / total);
    }
}

static bool note_largest_function(const struct finding *f, struct note *out)
{
    double part;
    const struct function_result *largest = analysis_largest_function(f->judged->analysis, &part);
    if (!largest)
        return false;
    *out = (struct note){.place = source_place_of_name(largest->function), .is_line = true};
    string_print(out->words, sizeof out->words, "%.0f %% of the joules in one call of '%s'",
                 100 * fmin(part, 1), largest->function->name);
    return true;
}

/* Appends the number of iterations that the user's build executes at once, if it is above 1 or unknown. */
static void add_build(const struct loop *loop, char *words, size_t size)
{
    size_t length = strlen(words);
    if (loop->is_unjoined)
        string_print(words + length, size - length,
                     "; not joined: the build's version of this loop is unknown");
    else if (loop->built && loop->built->factor > 1)
        string_print(words + length, size - length, "; %.0f iterations at once", loop->built->factor);
}

/* Appends the class of the trip count, such as "(exact)". If the count is guessed and not every call runs the
 * loop, also appends the guess and the share of such calls: "(guessed: 100 iterations in 95 % of calls)". */
static void add_class(const struct function_result *r, int32_t loop, char *words, size_t size)
{
    const struct trips *trips = &r->trips[loop];
    double entries = r->frames[BOUND_EST] * r->sum.runs[loop].entries;
    size_t length = strlen(words);
    if (trips->cls == TRIPS_GUESSED && entries > 0 && entries < 0.995)
        string_print(words + length, size - length, " (%s: %.0f iterations in %.2g %% of calls)",
                     trips_class_name(trips->total_cls), trips->per_entry.est, 100 * entries);
    else
        string_print(words + length, size - length, " (%s)", trips_class_name(trips->total_cls));
}

static bool note_largest(const struct finding *f, struct note *out)
{
    double part;
    if (f->result == &f->judged->analysis->whole)
        return note_largest_function(f, out);
    int32_t largest = analysis_largest_loop(f->judged->analysis, f->result, &part);
    if (largest < 0 || part < 0.1)
        return false;
    *out = (struct note){.place = f->result->loops.list[largest].place, .is_line = true};
    bool is_of_joules = f->dimension != JOULE_DIMENSION_POWER && f->dimension != JOULE_DIMENSION_TEMPERATURE;
    string_print(out->words, sizeof out->words, "%.0f %% of %s in this loop, %.4g iterations per call",
                 100 * fmin(part, 1), is_of_joules ? "the joules" : "the energy",
                 f->result->frames[BOUND_EST] * f->result->sum.runs[largest].iterations);
    add_class(f->result, largest, out->words, sizeof out->words);
    add_shares(f, (size_t)largest, out->words, sizeof out->words);
    add_build(&f->result->loops.list[largest], out->words, sizeof out->words);
    return true;
}

/* Writes a note about a loop whose bounds say nothing about its likely count (trips->is_guess_within). */
static void note_guess_within(const struct function_result *r, size_t loop, struct note *out)
{
    const struct trips *trips = &r->trips[loop];
    const char *parameter = r->words[loop].parameter;
    *out = (struct note){.place = r->loops.list[loop].place, .is_line = true};
    string_print(
        out->words, sizeof out->words,
        "this loop is bounded only by %.0f iterations, which is no estimate, and is assumed to run %.0f "
        "times: write JOULE_ASSUME(%s <= 1000) before it, with the actual maximum instead of 1000",
        trips->per_entry.high, trips->per_entry.est, parameter ? parameter : "n");
}

static void note_guess(const struct function_result *r, size_t loop, struct note *out)
{
    const char *parameter = r->words[loop].parameter, *formula = r->words[loop].formula;
    char times[32] = "once";
    if (rint(r->trips[loop].per_entry.est) != 1)
        string_print(times, sizeof times, "%.0f times", r->trips[loop].per_entry.est);
    *out = (struct note){.place = r->loops.list[loop].place, .is_line = true};
    if (!r->loops.list[loop].has_own_place)
        string_print(
            out->words, sizeof out->words,
            "%s has no bound and is assumed to run %s: write JOULE_LOOP(min, max) before its for, while or "
            "do; if it is a tail call of '%s', write JOULE_DEPTH(n) before '%s'; if goto forms the loop, "
            "write it with for, while or do, or write JOULE_ASSUME(n <= ...) before it",
            r->loops.list[loop].place.line ? "the loop around this line" : "a loop of this function", times,
            r->function->name, r->function->name);
    else if (!parameter)
        string_print(out->words, sizeof out->words,
                     "this loop has no bound and is assumed to run %s: write JOULE_LOOP(min, max) or "
                     "JOULE_ASSUME(n <= ...) before it",
                     times);
    else if (r->trips[loop].may_overflow && formula)
        string_print(out->words, sizeof out->words,
                     "this loop has no bound and is assumed to run %s; LLVM's count, %s, overflows for some "
                     "values of '%s': also write JOULE_ASSUME(%s >= ...) before it, or bound its maximum",
                     times, formula, parameter, parameter);
    else
        string_print(out->words, sizeof out->words,
                     "this loop has no bound and is assumed to run %s; its count depends on '%s'%s%s%s: "
                     "write JOULE_ASSUME(%s <= 1000) before it, with the actual maximum instead of 1000",
                     times, parameter, formula ? " (in LLVM: " : "", formula ? formula : "",
                     formula ? " times)" : "", parameter);
}

static const struct function_result *result_of(const struct finding *f, const char *name)
{
    const struct analysis *a = f->judged->analysis;
    for (size_t i = 0; i < a->result_count; i++)
        if (strcmp(a->results[i].function->name, name) == 0)
            return &a->results[i];
    return NULL;
}

/* Appends the first loop of a callee that has no bound. Returns false if there is none. */
static bool append_loop(const struct function_result *callee, char *words, size_t size)
{
    size_t loop = 0;
    while (loop < callee->loops.count && callee->trips[loop].cls != TRIPS_GUESSED)
        loop++;
    if (loop == callee->loops.count)
        return false;
    unsigned line = callee->loops.list[loop].place.line;
    const char *parameter = callee->words[loop].parameter;
    if (parameter)
        string_print(words, size,
                     ": the count of its loop in line %u depends on '%s'; pass a constant, or write "
                     "JOULE_ASSUME(... <= 1000) before the call",
                     line, parameter);
    else
        string_print(words, size,
                     ": its loop in line %u has no bound; write JOULE_LOOP(min, max) before that loop", line);
    return true;
}

/* Appends the part of a callee that has no figure. Prefers a part of the callee itself to a part of a
 * function that it calls. */
static void append_doubt(const struct function_result *callee, char *words, size_t size)
{
    size_t nth = 0;
    while (nth + 1 < callee->sum.doubt_count && callee->sum.doubts[nth].kind == DOUBT_CALL)
        nth++;
    if (!callee->sum.doubt_count)
        return;
    const struct doubt *doubt = &callee->sum.doubts[nth];
    if (doubt->kind == DOUBT_LENGTH)
        string_print(words, size,
                     ": the bytes that '%s' accesses in line %u have no bound; pass a constant, or write "
                     "JOULE_ASSUME(... <= 1000) before the call",
                     doubt->name, doubt->place.line);
    else
        string_print(words, size, ": see line %u%s%s", doubt->place.line,
                     doubt->name ? ", where it calls " : "", doubt->name ? doubt->name : "");
}

/* Writes why the cost of a callee is unknown: its first loop without a bound, or a part without a figure. */
static void note_call(const struct finding *f, const struct doubt *doubt, const char *more, struct note *out)
{
    const struct function_result *callee = result_of(f, doubt->name);
    string_print(out->words, sizeof out->words, "the cost of '%s' is unknown for the arguments here%s",
                 doubt->name, more);
    size_t length = strlen(out->words);
    if (callee && !append_loop(callee, out->words + length, sizeof out->words - length))
        append_doubt(callee, out->words + length, sizeof out->words - length);
}

/* Writes a note about a doubt. more: text about equal doubts, such as ", here and in 2 more calls", or "". */
static void note_doubt(const struct finding *f, const struct doubt *doubt, const char *more, struct note *out)
{
    *out = (struct note){.place = doubt->place};
    switch (doubt->kind) {
    case DOUBT_CALLEE:
        string_print(out->words, sizeof out->words,
                     "the cost of '%s' is unknown%s: it has no body here; define it in this file or in a "
                     "header that it includes, or measure it with joule run",
                     doubt->name, more);
        break;
    case DOUBT_POINTER:
        string_print(out->words, sizeof out->words,
                     "it is unknown which functions this pointer may call: call functions of this file by "
                     "name, as in a switch, or through a static const table; or measure it with joule run");
        break;
    case DOUBT_DEVICE:
        string_print(out->words, sizeof out->words,
                     "'%s' runs on a GPU, which is not modelled: measure it with joule run", doubt->name);
        break;
    case DOUBT_RECURSION:
        string_print(out->words, sizeof out->words,
                     "'%s' is recursive%s, and its depth is unknown: write JOULE_DEPTH(n) before it",
                     doubt->name, more);
        break;
    case DOUBT_FRAMES:
        string_print(out->words, sizeof out->words,
                     "'%s' calls itself several times, so this JOULE_DEPTH allows too many calls: use a "
                     "smaller depth, or fewer recursive calls",
                     doubt->name);
        break;
    case DOUBT_LENGTH:
        string_print(out->words, sizeof out->words,
                     "the bytes that '%s' accesses have no bound%s: write JOULE_ASSUME(n <= ...) before it, "
                     "or before the loop that LLVM has replaced by it; JOULE_LOOP has no effect on that loop",
                     doubt->name, more);
        break;
    case DOUBT_CALL:
        note_call(f, doubt, more, out);
        break;
    case DOUBT_DEPTH:
        string_print(out->words, sizeof out->words,
                     "loops of this function are nested more than %d deep: deeper loops are not counted",
                     LOOPS_MAX_DEPTH);
        break;
    default:
        string_print(out->words, sizeof out->words,
                     "a jump leads into the middle of a loop of this function, so its iterations cannot be "
                     "counted: jump to the beginning of the loop");
    }
}

/* --- removing duplicates -------------------------------------------------------------------------------- */

/* An open item: a loop without a bound, or a doubt. */
struct open {
    const struct function_result *in; /* function with the loop or doubt */
    size_t loop;
    const struct doubt *doubt; /* NULL: the item is the loop */
    size_t order, others;      /* position in the list; number of later equal items */
    bool is_repeated;          /* an earlier item is equal */
};

/* The list of open items to write notes about. */
struct opens {
    struct open *list;
    size_t count, room;
};

static void add_open(struct opens *opens, struct open open)
{
    open.order = opens->count;
    if (ARRAY_ROOM(opens->list, opens->room, opens->count))
        opens->list[opens->count++] = open;
}

static void add_function(struct opens *opens, const struct function_result *r)
{
    for (size_t i = 0; i < r->loops.count; i++)
        if (trips_is_guess(&r->trips[i]))
            add_open(opens, (struct open){.in = r, .loop = i});
    for (size_t i = 0; i < r->sum.doubt_count; i++)
        add_open(opens, (struct open){.in = r, .doubt = &r->sum.doubts[i]});
}

static const struct source_place *place_of(const struct open *open)
{
    return &open->in->loops.list[open->loop].place;
}

/* Compares open items, for a sort that makes equal items adjacent. Two loops are equal if they have the same
 * place in the source and depend on the same parameter. */
static int order_of(const struct open *a, const struct open *b)
{
    if (!a->doubt != !b->doubt)
        return a->doubt ? 1 : -1;
    if (a->doubt)
        return doubt_order(a->doubt, b->doubt);
    const char *left = a->in->words[a->loop].parameter, *right = b->in->words[b->loop].parameter;
    int order = source_place_order(place_of(a), place_of(b));
    return order ? order : strcmp(left ? left : "", right ? right : "");
}

static bool is_same(const struct open *a, const struct open *b)
{
    return order_of(a, b) == 0 && (a->doubt || place_of(a)->line);
}

static int by_order(const void *a, const void *b)
{
    size_t left = ((const struct open *)a)->order, right = ((const struct open *)b)->order;
    return (left > right) - (left < right);
}

static int by_item(const void *a, const void *b)
{
    int order = order_of(a, b);
    return order ? order : by_order(a, b);
}

static void find_repeated(struct opens *opens)
{
    if (!opens->count)
        return;
    qsort(opens->list, opens->count, sizeof *opens->list, by_item);
    struct open *first = opens->list;
    for (size_t i = 1; i < opens->count; i++) {
        struct open *open = &opens->list[i];
        open->is_repeated = is_same(first, open);
        first->others += open->is_repeated;
        first = open->is_repeated ? first : open;
    }
    qsort(opens->list, opens->count, sizeof *opens->list, by_order);
}

static void note_open(const struct finding *f, const struct open *open, struct note *out)
{
    char more[40] = "";
    if (!open->doubt) {
        if (open->in->trips[open->loop].is_guess_within)
            note_guess_within(open->in, open->loop, out);
        else
            note_guess(open->in, open->loop, out);
        if (!out->place.line) /* the loop consists of jumps without places */
            out->place = source_place_of_name(open->in->function);
        return;
    }
    if (open->others)
        string_print(more, sizeof more, ", here and in %zu more call%s", open->others,
                     open->others == 1 ? "" : "s");
    note_doubt(f, open->doubt, more, out);
}

/* Writes notes about all open items of the function. If the finding is not about a function, writes notes
 * about all open items of the file. */
static void each_open(const struct finding *f, void (*each)(void *context, const struct note *note),
                      void *context)
{
    const struct analysis *a = f->judged->analysis;
    bool is_whole = f->result == &a->whole;
    size_t left = is_whole ? MAX_NOTES_OF_FILE : SIZE_MAX, omitted = 0;
    struct opens opens = {0};
    struct note note;
    for (size_t i = 0; i < (is_whole ? a->result_count : 1); i++)
        add_function(&opens, is_whole ? &a->results[i] : f->result);
    find_repeated(&opens);
    for (size_t i = 0; i < opens.count; i++) {
        if (opens.list[i].is_repeated)
            continue;
        if (!left) {
            omitted++;
            continue;
        }
        left--;
        note_open(f, &opens.list[i], &note);
        each(context, &note);
    }
    free(opens.list);
    if (!omitted)
        return;
    note = (struct note){0};
    string_print(note.words, sizeof note.words, "and %zu more; --energy-report lists all", omitted);
    each(context, &note);
}

void finding_notes(const struct finding *finding, void (*each)(void *context, const struct note *note),
                   void *context)
{
    struct note note;
    if (!finding_has_estimate(finding))
        return;
    if (finding->comparison)
        comparison_notes(finding, each, context);
    if (note_largest(finding, &note))
        each(context, &note);
    if (finding->rule == RULE_UNDECIDED)
        each_open(finding, each, context);
}
