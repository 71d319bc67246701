/* support/joulec/scev_text.c - see scev_text.h: the lines of the printed text.
 *
 * Note: all lines of a loop are consecutive. The lines of its exits follow it and begin with two blanks.
 * Unknown lines are skipped.
 */
#include "support/joulec/scev_text.h"

#include <string.h>

struct line {
    const char *at, *end;
};

struct reading {
    struct scev_facts *facts;
    struct line value_name; /* name of the instruction in the previous line */
    bool is_in_loops, is_out_of_memory;
};

static bool accept(struct line *line, const char *words)
{
    size_t length = strlen(words);
    if ((size_t)(line->end - line->at) < length || memcmp(line->at, words, length) != 0)
        return false;
    line->at += length;
    return true;
}

/* Removes a name, which may be quoted, from the beginning of the line and returns it. Returns an empty line
 * if there is no name or the name contains an escape. */
static struct line read_name(struct line *line)
{
    bool is_quoted = accept(line, "\"");
    struct line name = {line->at, line->at};
    while (name.end < line->end && !strchr(is_quoted ? "\"\\" : ": =", *name.end))
        name.end++;
    line->at = name.end;
    if (is_quoted && !accept(line, "\""))
        name.end = name.at;
    return name;
}

/* Returns the first occurrence of `words`, or the end of the line if there is none. */
static const char *find(const struct line *line, const char *words)
{
    size_t length = strlen(words);
    for (const char *at = line->at; (size_t)(line->end - at) >= length; at++)
        if (memcmp(at, words, length) == 0)
            return at;
    return line->end;
}

static struct scev_function *current(const struct reading *reading)
{
    struct scev_facts *facts = reading->facts;
    return facts->function_count ? &facts->functions[facts->function_count - 1] : NULL;
}

static void begin_function(struct reading *reading, struct line line)
{
    struct line name = read_name(&line);
    struct scev_function *now = current(reading);
    size_t length = (size_t)(name.end - name.at);
    reading->value_name = (struct line){0};
    if (now && strlen(now->name) == length && memcmp(now->name, name.at, length) == 0)
        return;
    if (!scev_add_function(reading->facts, name.at, length))
        reading->is_out_of_memory = true;
}

/* Returns the loop with this header: the last loop, or a new one. Returns NULL if out of memory or if the
 * header has no name. */
static struct scev_loop *loop_named(struct reading *reading, struct line header)
{
    struct scev_function *function = current(reading);
    size_t length = (size_t)(header.end - header.at);
    if (!length)
        return NULL;
    struct scev_loop *last = function->loop_count ? &function->loops[function->loop_count - 1] : NULL;
    if (last && strlen(last->header) == length && memcmp(last->header, header.at, length) == 0)
        return last;
    struct scev_loop *loop = scev_add_loop(function, header.at, length);
    reading->is_out_of_memory = reading->is_out_of_memory || !loop;
    return loop;
}

static const struct expr *expression(struct reading *reading, struct line line)
{
    return scev_expression(&current(reading)->pool, line.at, (size_t)(line.end - line.at));
}

/* Reads a number such as "99" or "i32 99". Returns `otherwise` if the text is a negative number or not a
 * number. */
static int64_t number(struct reading *reading, struct line line, int64_t otherwise)
{
    line.end = find(&line, ",");
    const struct expr *expr = expression(reading, line);
    return expr->kind == EXPR_INTEGER && expr->integer >= 0 ? expr->integer : otherwise;
}

static void read_loop(struct reading *reading, struct line line)
{
    struct scev_loop *loop = loop_named(reading, read_name(&line));
    if (!loop || !accept(&line, ": "))
        return;
    if (accept(&line, "<multiple exits> "))
        loop->has_several_exits = true;
    if (accept(&line, "backedge-taken count is ")) {
        loop->taken = expression(reading, line);
    } else if (accept(&line, "max backedge-taken count is ") ||
               accept(&line, "constant max backedge-taken count is ")) {
        int64_t max = number(reading, line, -1);
        loop->max_taken = max <= SCEV_MAX_TAKEN ? max : -1;
    } else if (accept(&line, "Trip multiple is ")) {
        int64_t multiple = number(reading, line, 1);
        loop->multiple = multiple ? multiple : 1;
    }
}

static void read_exit(struct reading *reading, struct line line)
{
    struct scev_function *function = current(reading);
    struct scev_loop *loop = function->loop_count ? &function->loops[function->loop_count - 1] : NULL;
    const char *colon = find(&line, ": ");
    if (!loop || colon == line.end)
        return;
    const struct expr *taken = expression(reading, (struct line){colon + 2, line.end});
    if (!scev_add_exit(function, loop, line.at, (size_t)(colon - line.at), taken))
        reading->is_out_of_memory = true;
}

/* Reads the range of a value, such as "[0,65)". Ranges that wrap around are unknown. */
static struct expr_range read_range(struct reading *reading, const struct line *line)
{
    struct line rest = {find(line, " S: ["), line->end};
    if (!accept(&rest, " S: ["))
        return (struct expr_range){0};
    const char *comma = find(&rest, ","), *close = find(&rest, ")");
    if (comma >= close || close == rest.end)
        return (struct expr_range){0};
    const struct expr *low = expression(reading, (struct line){rest.at, comma}),
                      *high = expression(reading, (struct line){comma + 1, close});
    if (low->kind != EXPR_INTEGER || high->kind != EXPR_INTEGER || low->integer >= high->integer)
        return (struct expr_range){0};
    return (struct expr_range){low->integer, (expr_int)high->integer - 1, true, false, 0};
}

static void read_value(struct reading *reading, struct line line)
{
    struct line name = reading->value_name, formula = {line.at, find(&line, " U: ")};
    struct scev_function *function = current(reading);
    reading->value_name = (struct line){0};
    if (name.at == name.end)
        return;
    const struct expr *value = expression(reading, formula);
    struct expr_range range = read_range(reading, &(struct line){formula.end, line.end});
    if (!scev_add_value(function, name.at, (size_t)(name.end - name.at), value, range))
        reading->is_out_of_memory = true;
}

static void read_line(struct reading *reading, struct line line)
{
    bool is_values = accept(&line, "Classifying expressions for: @");
    if (is_values || accept(&line, "Determining loop execution counts for: @")) {
        reading->is_in_loops = !is_values;
        begin_function(reading, line);
    } else if (!current(reading)) {
        return;
    } else if (!reading->is_in_loops && accept(&line, "  %")) {
        reading->value_name = read_name(&line);
    } else if (!reading->is_in_loops && accept(&line, "  -->  ")) {
        read_value(reading, line);
    } else if (reading->is_in_loops && accept(&line, "Loop %")) {
        read_loop(reading, line);
    } else if (reading->is_in_loops && accept(&line, "  exit count for ")) {
        read_exit(reading, line);
    }
}

bool scev_text_read(const char *text, size_t size, struct scev_facts *out)
{
    *out = (struct scev_facts){0};
    struct reading reading = {.facts = out};
    for (const char *at = text, *end = text + size; at < end && !reading.is_out_of_memory;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        read_line(&reading, (struct line){at, stop});
        at = stop + 1;
    }
    if (!reading.is_out_of_memory && scev_facts_finish(out))
        return true;
    scev_facts_free(out);
    return false;
}
