/* joulec/trips/scev_text.c - see scev_text.h: the lines of the printed text.
 *
 * Note: all lines of a loop are consecutive. The lines of its exits follow it and begin with two blanks.
 * Unknown lines are skipped.
 */
#include "joulec/trips/scev_text.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#define MAX_EXITS 16

struct line {
    const char *at, *end;
};

struct reading {
    struct scev_text *text;
    size_t function_capacity, loop_capacity, value_capacity, exit_capacity;
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

/* Removes a name, which may be quoted, from the beginning of the line and returns it. Empty: there is none,
 * or it contains an escape. */
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

/* Returns the first occurrence of `words`; the end of the line: there is none. */
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
    return reading->text->function_count ? &reading->text->functions[reading->text->function_count - 1]
                                         : NULL;
}

static void begin_function(struct reading *reading, struct line line)
{
    struct scev_text *text = reading->text;
    struct line name = read_name(&line);
    struct scev_function *now = current(reading);
    size_t length = (size_t)(name.end - name.at);
    reading->value_name = (struct line){0};
    if (now && strlen(now->name) == length && memcmp(now->name, name.at, length) == 0)
        return;
    reading->loop_capacity = reading->value_capacity = 0;
    if (!ARRAY_ROOM(text->functions, reading->function_capacity, text->function_count)) {
        reading->is_out_of_memory = true;
        return;
    }
    struct scev_function function = {0};
    function.name = arena_copy(&function.pool.arena, name.at, length);
    if (function.name)
        text->functions[text->function_count++] = function;
    else
        reading->is_out_of_memory = true;
}

/* Returns the loop with this header, which is the last one or a new one; NULL: out of memory, or no name. */
static struct scev_loop *loop_named(struct reading *reading, struct line header)
{
    struct scev_function *function = current(reading);
    if (header.at == header.end)
        return NULL;
    uint32_t name = expr_name(&function->pool, header.at, (size_t)(header.end - header.at));
    if (name != INDEX_NONE && function->loop_count && function->loops[function->loop_count - 1].name == name)
        return &function->loops[function->loop_count - 1];
    if (name == INDEX_NONE || !ARRAY_ROOM(function->loops, reading->loop_capacity, function->loop_count)) {
        reading->is_out_of_memory = true;
        return NULL;
    }
    struct scev_loop *loop = &function->loops[function->loop_count++];
    *loop = (struct scev_loop){.header = function->pool.names[name],
                               .name = name,
                               .taken = expr_unknown(),
                               .taken_guarded = expr_unknown(),
                               .max_taken = -1,
                               .multiple = 1};
    reading->exit_capacity = 0;
    return loop;
}

static const struct expr *expression(struct reading *reading, struct line line)
{
    return scev_expression(&current(reading)->pool, line.at, (size_t)(line.end - line.at));
}

/* Reads a number, with or without its type. Returns `otherwise` if it is negative or no number. */
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
    if (!ARRAY_ROOM(loop->exits, reading->exit_capacity, loop->exit_count)) {
        reading->is_out_of_memory = true;
        return;
    }
    struct scev_exit *exit = &loop->exits[loop->exit_count++];
    exit->block =
        colon > line.at ? arena_copy(&function->pool.arena, line.at, (size_t)(colon - line.at)) : NULL;
    exit->taken = expression(reading, (struct line){colon + 2, line.end});
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
    if (value->kind == EXPR_UNKNOWN)
        return;
    uint32_t number = expr_name(&function->pool, name.at, (size_t)(name.end - name.at));
    if (number == INDEX_NONE ||
        !ARRAY_ROOM(function->values, reading->value_capacity, function->value_count)) {
        reading->is_out_of_memory = true;
        return;
    }
    function->values[function->value_count++] =
        (struct scev_value){number, value, read_range(reading, &(struct line){formula.end, line.end})};
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

static int by_name(const void *a, const void *b)
{
    uint32_t first = ((const struct scev_value *)a)->name, second = ((const struct scev_value *)b)->name;
    return (first > second) - (first < second);
}

/* Sets the count behind the guard. If several conditions end the loop, it is unclear which of them the guard
 * tests; behind the guard none of their counts is negative, so the minimum is used. */
static void add_guarded(struct expr_pool *pool, struct scev_loop *loop)
{
    const struct expr *taken[MAX_EXITS], *all = loop->taken;
    bool is_several = loop->has_several_exits && loop->taken->kind != EXPR_UNKNOWN;
    loop->is_guard_ambiguous = is_several || all->kind == EXPR_UMIN;
    if (!loop->is_guard_ambiguous) {
        loop->taken_guarded = expr_behind_guard(pool, loop->taken);
        return;
    }
    size_t count = is_several ? loop->exit_count : all->count;
    for (size_t i = 0; i < count && count <= MAX_EXITS; i++)
        taken[i] = expr_behind_guard(pool, is_several ? loop->exits[i].taken : all->operand[i]);
    loop->taken_guarded =
        count && count <= MAX_EXITS ? expr_nary(pool, EXPR_SMIN, taken, count) : expr_unknown();
}

/* Returns the minimum of all counts; unknown if one is unknown. */
static const struct expr *first_of_exits(struct expr_pool *pool, const struct scev_loop *loop)
{
    const struct expr *taken[MAX_EXITS];
    for (size_t i = 0; i < loop->exit_count && loop->exit_count <= MAX_EXITS; i++) {
        taken[i] = loop->exits[i].taken;
        if (taken[i]->kind == EXPR_UNKNOWN)
            return expr_unknown();
    }
    if (loop->exit_count == 1)
        return taken[0];
    return loop->exit_count <= MAX_EXITS ? expr_nary(pool, EXPR_UMIN, taken, loop->exit_count)
                                         : expr_unknown();
}

struct scev_loop scev_loop_without(struct expr_pool *pool, const struct scev_loop *loop,
                                   const bool *is_left_out)
{
    struct scev_loop out = *loop;
    out.exits = arena_alloc(&pool->arena, (loop->exit_count + 1) * sizeof *out.exits);
    out.exit_count = 0;
    for (size_t i = 0; i < loop->exit_count && out.exits; i++)
        if (!is_left_out[i])
            out.exits[out.exit_count++] = loop->exits[i];
    out.has_several_exits = out.exit_count > 1;
    out.taken = out.exit_count ? first_of_exits(pool, &out) : expr_unknown();
    out.taken_guarded = expr_unknown();
    if (out.taken->kind != EXPR_UNKNOWN)
        add_guarded(pool, &out);
    return out;
}

static struct index_key function_key(const void *context, uint32_t number)
{
    return index_name(((const struct scev_text *)context)->functions[number].name);
}

/* Returns false if out of memory. The first of several functions with one name is indexed. */
static bool index_functions(struct scev_text *text)
{
    bool is_good = text->function_count < INDEX_NONE;
    text->index.key_of = function_key;
    for (uint32_t i = 0; i < text->function_count && is_good; i++)
        if (index_find(&text->index, text, function_key(text, i)) == INDEX_NONE)
            is_good = index_add(&text->index, text, i);
    return is_good;
}

static bool finish(struct scev_function *function)
{
    function->loop_of_count = function->pool.name_count;
    function->loop_of =
        arena_alloc(&function->pool.arena, (function->loop_of_count + 1) * sizeof *function->loop_of);
    for (size_t i = function->loop_count; i-- > 0 && function->loop_of;)
        function->loop_of[function->loops[i].name] = (uint32_t)i + 1;
    for (size_t i = 0; i < function->loop_count; i++)
        add_guarded(&function->pool, &function->loops[i]);
    if (function->value_count)
        qsort(function->values, function->value_count, sizeof *function->values, by_name);
    return !function->pool.arena.is_out_of_memory;
}

bool scev_text_read(const char *text, size_t size, struct scev_text *out)
{
    *out = (struct scev_text){0};
    struct reading reading = {.text = out};
    for (const char *at = text, *end = text + size; at < end && !reading.is_out_of_memory;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        read_line(&reading, (struct line){at, stop});
        at = stop + 1;
    }
    for (size_t i = 0; i < out->function_count; i++)
        reading.is_out_of_memory = !finish(&out->functions[i]) || reading.is_out_of_memory;
    reading.is_out_of_memory = reading.is_out_of_memory || !index_functions(out);
    if (reading.is_out_of_memory)
        scev_text_free(out);
    return !reading.is_out_of_memory;
}

void scev_text_free(struct scev_text *text)
{
    for (size_t i = 0; i < text->function_count; i++) {
        struct scev_function *function = &text->functions[i];
        for (size_t k = 0; k < function->loop_count; k++)
            free(function->loops[k].exits);
        free(function->loops);
        free(function->values);
        expr_pool_free(&function->pool);
    }
    free(text->functions);
    index_free(&text->index);
    *text = (struct scev_text){0};
}

const struct scev_function *scev_text_function(const struct scev_text *text, const char *name)
{
    uint32_t number = text->function_count ? index_find(&text->index, text, index_name(name)) : INDEX_NONE;
    return number == INDEX_NONE ? NULL : &text->functions[number];
}

const struct scev_loop *scev_loop_of(const struct scev_function *function, const char *header)
{
    uint32_t name = expr_find_name(&function->pool, header);
    uint32_t number = name < function->loop_of_count ? function->loop_of[name] : 0;
    return number ? &function->loops[number - 1] : NULL;
}

const struct scev_value *scev_find_value(const struct scev_function *function, uint32_t name)
{
    struct scev_value key = {.name = name};
    return name != INDEX_NONE && function->value_count
               ? bsearch(&key, function->values, function->value_count, sizeof key, by_name)
               : NULL;
}

const struct expr *scev_value_of(const struct scev_function *function, const char *name)
{
    const struct scev_value *found = scev_find_value(function, expr_find_name(&function->pool, name));
    return found ? found->value : NULL;
}
