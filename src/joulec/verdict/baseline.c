/* joulec/verdict/baseline.c - see baseline.h. */
#include "joulec/verdict/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/string.h"

/* --- conditions of a run -------------------------------------------------------------------------------- */

void baseline_print_figures(const struct target *target, char out_digits[17])
{
    const struct cost_table *table = &target->table;
    const struct cost_core *core = &target->core;
    uint64_t hash = HASH_START;
    hash = hash_bytes(hash, table->joules, sizeof table->joules);
    hash = hash_bytes(hash, core->per_cycle, sizeof core->per_cycle);
    hash = hash_bytes(hash, core->latency, sizeof core->latency);
    hash = hash_bytes(hash, core->cache_bytes, sizeof core->cache_bytes);
    hash = hash_bytes(hash, &core->overlap, sizeof core->overlap);
    hash = hash_bytes(hash, &core->window, sizeof core->window);
    string_print(out_digits, 17, "%016llx", (unsigned long long)hash);
}

void baseline_print_assumptions(const struct analysis_options *options, char *out_words, size_t size)
{
    struct text text;
    text_init(&text, out_words, size);
    text_add(&text, "");
    if (!isnan(options->warmer_kelvin))
        text_printf(&text, " --thermal-state=%+gK", options->warmer_kelvin);
    if (!isnan(options->default_trips))
        text_printf(&text, " --energy-loop-default=%g", options->default_trips);
    if (options->profile)
        text_add(&text, " --profile-use");
    if (text.length)
        memmove(out_words, out_words + 1, strlen(out_words)); /* removes the leading space */
}

static joule_status refuse(const struct baseline *baseline, const struct baseline_unit *unit,
                           const char *what, const char *then, const char *now, joule_error *out_error)
{
    return error_set(out_error, JOULE_INVALID, "cannot compare with %s: %s of '%s' is %s there and %s here",
                     baseline->path, what, unit->program, then && *then ? then : "none", *now ? now : "none");
}

static bool is_other(const char *then, const char *now)
{
    return strcmp(then ? then : "", now) != 0;
}

joule_status baseline_check(const struct baseline *baseline, const struct target *target,
                            const struct analysis_options *options, joule_error *out_error)
{
    char figures[17], assumptions[128];
    baseline_print_figures(target, figures);
    baseline_print_assumptions(options, assumptions, sizeof assumptions);
    for (size_t i = 0; i < baseline->unit_count; i++) {
        const struct baseline_unit *unit = &baseline->units[i];
        if (is_other(unit->core, target->core.id))
            return refuse(baseline, unit, "the core", unit->core, target->core.id, out_error);
        if (is_other(unit->table, target->table.id))
            return refuse(baseline, unit, "the table of prices", unit->table, target->table.id, out_error);
        if (!unit->figures)
            return error_set(
                out_error, JOULE_INVALID,
                "cannot compare with %s: it was written by an older joulec and lacks data for comparisons",
                baseline->path);
        if (is_other(unit->figures, figures))
            return refuse(baseline, unit, "the revision of prices, caches and latencies", unit->figures,
                          figures, out_error);
        if (is_other(unit->assumptions, assumptions))
            return refuse(baseline, unit, "the option", unit->assumptions, assumptions, out_error);
    }
    return JOULE_OK;
}

/* --- reading -------------------------------------------------------------------------------------------- */

const char *baseline_doubt_key(const char *kind, const char *name, const char *function)
{
    return name && !(kind && function && strcmp(name, function) == 0) ? name : kind;
}

static size_t length_of(const struct json_value *list)
{
    size_t count = 0;
    for (const struct json_value *v = list ? list->first : NULL; v; v = v->next)
        count++;
    return count;
}

static unsigned line_of(const struct json_value *function)
{
    uint64_t line = 0;
    json_u64_of(json_member(function, "line"), &line);
    return (unsigned)line;
}

static void read_doubts(struct arena *arena, const struct json_value *doubts, struct baseline_function *out)
{
    out->missing = arena_alloc(arena, (length_of(doubts) + 1) * sizeof *out->missing);
    for (const struct json_value *v = doubts ? doubts->first : NULL; v && out->missing; v = v->next) {
        const struct json_value *is_missing = json_member(v, "missing");
        const char *key = baseline_doubt_key(json_text_of(json_member(v, "kind")),
                                             json_text_of(json_member(v, "name")), out->name);
        bool is_without_figure = is_missing && is_missing->kind == JSON_TRUE;
        if (is_without_figure && key)
            out->missing[out->missing_count++] = key;
        out->guess_count += !is_without_figure;
    }
}

/* Returns false if the function has no name. */
static bool read_function(struct arena *arena, const struct json_value *value, struct baseline_function *out)
{
    const struct json_value *ends = json_member(value, "compared_joules"),
                            *parts = json_member(value, "breakdown_joules");
    *out = (struct baseline_function){.name = json_text_of(json_member(value, "name")),
                                      .file = json_text_of(json_member(value, "file")),
                                      .line = line_of(value),
                                      .loop_count = length_of(json_member(value, "loops"))};
    out->joules[BOUND_LOW] = json_double_of(ends ? ends->first : NULL);
    out->joules[BOUND_EST] = json_double_of(json_member(value, "energy_joules"));
    out->joules[BOUND_HIGH] = json_double_of(ends && ends->first ? ends->first->next : NULL);
    for (int i = 0; i < COST_FEATURES; i++) {
        double joules = json_double_of(json_member(parts, cost_feature_name((enum cost_feature)i)));
        out->part[i] = isnan(joules) ? 0 : joules;
    }
    read_doubts(arena, json_member(value, "doubts"), out);
    return out->name;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct baseline_function *)a)->name, ((const struct baseline_function *)b)->name);
}

/* Returns false if the value is not a report of joulec. */
static bool read_unit(struct arena *arena, const struct json_value *value, struct baseline_unit *out)
{
    const struct json_value *functions = json_member(value, "functions");
    const char *schema = json_text_of(json_member(value, "schema"));
    if (!schema || strcmp(schema, "joulec-report-1") != 0 || !functions)
        return false;
    *out = (struct baseline_unit){.program = json_text_of(json_member(value, "program")),
                                  .version = json_text_of(json_member(value, "joulec_version")),
                                  .table = json_text_of(json_member(value, "table")),
                                  .core = json_text_of(json_member(value, "core")),
                                  .figures = json_text_of(json_member(value, "figures")),
                                  .assumptions = json_text_of(json_member(value, "assumptions")),
                                  .build = json_text_of(json_member(value, "build"))};
    out->functions = arena_alloc(arena, (length_of(functions) + 1) * sizeof *out->functions);
    bool is_good = out->program && out->table && out->core;
    for (const struct json_value *v = functions->first; v && out->functions && is_good; v = v->next)
        is_good = read_function(arena, v, &out->functions[out->function_count++]);
    if (is_good && out->function_count)
        qsort(out->functions, out->function_count, sizeof *out->functions, by_name);
    return is_good;
}

static size_t count_lines(const char *text)
{
    size_t count = 1;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static joule_status read_line(struct baseline *baseline, char *line, size_t length, size_t number,
                              joule_error *out_error)
{
    char what[512];
    string_print(what, sizeof what, "%s:%zu", baseline->path, number);
    const struct json_value *value = json_parse(&baseline->arena, line, length, what, out_error);
    if (!value)
        return out_error->status;
    if (!read_unit(&baseline->arena, value, &baseline->units[baseline->unit_count++]))
        return error_set(out_error, JOULE_INVALID, "%s is not a report of joulec", what);
    return JOULE_OK;
}

joule_status baseline_read(char *text, size_t size, const char *path, struct baseline *out_baseline,
                           joule_error *out_error)
{
    struct baseline *b = out_baseline;
    joule_status status = JOULE_OK;
    *b = (struct baseline){.path = path};
    b->units = arena_alloc(&b->arena, count_lines(text) * sizeof *b->units);
    char *line = text, *end = text + size;
    for (size_t number = 1; line < end && b->units && status == JOULE_OK; number++) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop ? stop : end) - line);
        line[length] = '\0';
        if (line[strspn(line, " \t\r")])
            status = read_line(b, line, length, number, out_error);
        line += length + 1;
    }
    if (b->arena.is_out_of_memory || !b->units)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
    if (status == JOULE_OK && !b->unit_count)
        return error_set(out_error, JOULE_INVALID, "%s is empty, and not a report of joulec", path);
    return status;
}

void baseline_free(struct baseline *baseline)
{
    arena_free(&baseline->arena);
}

/* --- searching ------------------------------------------------------------------------------------------ */

static const char *without_dots(const char *path)
{
    for (;;)
        if (string_starts(path, "./"))
            path += 2;
        else if (string_starts(path, "../"))
            path += 3;
        else
            return path;
}

/* Returns true if the longer path consists of any folders followed by the shorter path. */
static bool is_same_file(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    const char *longer = a_length > b_length ? a : b, *shorter = a_length > b_length ? b : a;
    const char *end = longer + (a_length > b_length ? a_length - b_length : b_length - a_length);
    return strcmp(end, shorter) == 0 && (end == longer || end[-1] == '/');
}

/* Returns the unit of the file `program`. is_exact: the paths must be equal. If several units of one path
 * match, prefers the unit with the options `build`. Returns NULL if no path, or several different paths,
 * match. */
static const struct baseline_unit *find_unit(const struct baseline *baseline, const char *program,
                                             const char *build, bool is_exact)
{
    const struct baseline_unit *found = NULL;
    for (size_t i = 0; i < baseline->unit_count; i++) {
        const struct baseline_unit *unit = &baseline->units[i];
        const char *name = without_dots(unit->program);
        if (is_exact ? strcmp(name, program) != 0 : !is_same_file(name, program))
            continue;
        if (found && strcmp(unit->program, found->program) != 0)
            return NULL;
        if (!found || (is_other(found->build, build) && !is_other(unit->build, build)))
            found = unit;
    }
    return found;
}

const struct baseline_unit *baseline_find(const struct baseline *baseline, const char *program,
                                          const char *build)
{
    program = without_dots(program);
    const struct baseline_unit *found = find_unit(baseline, program, build, true);
    return found ? found : find_unit(baseline, program, build, false);
}

const struct baseline_function *baseline_find_function(const struct baseline_unit *unit, const char *name)
{
    const struct baseline_function wanted = {.name = name};
    return unit->function_count
               ? bsearch(&wanted, unit->functions, unit->function_count, sizeof wanted, by_name)
               : NULL;
}
