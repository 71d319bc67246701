/* joulec/work/assembly.c - see assembly.h. What is read of a line is its label and the name in its comment:
 *
 *     add:                                    # @add
 *     .LBB0_1:                                # %for.body
 *     # %bb.2:                                # %for.end
 *
 * where "//" begins a comment for Arm. All else that does not stand at the start of a line is the block's.
 */
#include "joulec/work/assembly.h"

#include <stdlib.h>
#include <string.h>

struct part {
    const char *begin;
    size_t length;
};

struct finder {
    struct assembly_loop *loops;
    size_t count;
    struct part function, label;
    struct assembly_loop *open; /* whose body is being read */
    const char *last;           /* its last line that does something */
};

/* --- a list of loops -------------------------------------------------------------------------------------------- */

static bool is_simple(const struct wide_loop *loop)
{
    return loop->is_whole && loop->only_block && !loop->round.call_count;
}

struct assembly_loop *assembly_loops(struct arena *arena, const struct module *module, size_t *out_count)
{
    size_t all = 0;
    *out_count = 0;
    for (size_t i = 0; i < module->function_count; i++)
        all += module->functions[i].wide_count;
    struct assembly_loop *loops = arena_alloc(arena, (all + 1) * sizeof *loops);
    for (size_t i = 0; i < module->function_count && loops; i++)
        for (size_t k = 0; k < module->functions[i].wide_count; k++)
            if (is_simple(&module->functions[i].wide[k]))
                loops[(*out_count)++] = (struct assembly_loop){.function = module->functions[i].name,
                                                               .loop = &module->functions[i].wide[k]};
    return loops;
}

/* --- names ------------------------------------------------------------------------------------------------------ */

static int compare_words(struct part a, const char *b)
{
    size_t length = strlen(b);
    int order = memcmp(a.begin, b, a.length < length ? a.length : length);
    return order ? order : (a.length > length) - (a.length < length);
}

static struct part part_of(const char *words)
{
    return (struct part){words, strlen(words)};
}

static int compare_names(struct part function, struct part block, const struct assembly_loop *loop)
{
    int order = compare_words(function, loop->function);
    return order ? order : compare_words(block, loop->loop->only_block);
}

static int by_names(const void *a, const void *b)
{
    const struct assembly_loop *x = a;
    return compare_names(part_of(x->function), part_of(x->loop->only_block), b);
}

static struct assembly_loop *find_loop(const struct finder *f, struct part block)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(f->function, block, &f->loops[middle]);
        if (order == 0)
            return &f->loops[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* --- lines ------------------------------------------------------------------------------------------------------ */

/* What stands behind the last `mark` that follows a sign of comment and a blank. Empty: nothing does. */
static struct part name_in_comment(struct part line, char mark)
{
    const char *end = line.begin + line.length;
    for (const char *at = end - 1; at - line.begin >= 2; at--)
        if (*at == mark && at[-1] == ' ' && (at[-2] == '#' || at[-2] == '/'))
            return (struct part){at + 1, (size_t)(end - at - 1)};
    return (struct part){end, 0};
}

/* "addl 8(%rsi), %eax": x86 alone has instructions that work with what they load. What they store to stands last. */
static bool folds_load(struct part line)
{
    static const char *const others[] = {"mov",  "vmov", "lea",      "cmp", "test",
                                         "push", "pop",  "prefetch", NULL};
    size_t blank = 0;
    while (blank < line.length && (line.begin[blank] == ' ' || line.begin[blank] == '\t'))
        blank++;
    for (size_t i = 0; others[i]; i++)
        if (line.length - blank >= strlen(others[i]) &&
            memcmp(line.begin + blank, others[i], strlen(others[i])) == 0)
            return false;
    const char *bracket = memchr(line.begin, ')', line.length);
    return bracket && bracket + 1 < line.begin + line.length && bracket[1] == ',';
}

/* "xorl %eax, %eax", "vpxor %xmm1, %xmm1, %xmm0". */
static bool makes_zero(struct part line)
{
    const char *end = line.begin + line.length, *first = memchr(line.begin, '%', line.length);
    const char *comma = first ? memchr(first, ',', (size_t)(end - first)) : NULL;
    const char *x = memmem(line.begin, line.length, "xor", 3);
    if (!comma || !x || x > first)
        return false;
    struct part name = {first, (size_t)(comma - first)};
    const char *second = comma + 1;
    while (second < end && (*second == ' ' || *second == '\t'))
        second++;
    return (size_t)(end - second) >= name.length && memcmp(second, name.begin, name.length) == 0;
}

/* A whole word of a line. */
static bool names(struct part line, struct part word)
{
    const char *end = line.begin + line.length;
    for (const char *at = line.begin; word.length && at + word.length <= end; at++) {
        const char *behind = at + word.length;
        bool is_whole = behind == end || strchr(" \t\r#/,", *behind);
        if (is_whole && memcmp(at, word.begin, word.length) == 0)
            return true;
    }
    return false;
}

static void end_block(struct finder *f, const char *end)
{
    struct assembly_loop *loop = f->open;
    f->open = NULL;
    if (!loop)
        return;
    if (!f->last) {
        loop->body = NULL;
        return;
    }
    const char *line_end = memchr(f->last, '\n', (size_t)(end - f->last));
    struct part jump = {f->last, (size_t)((line_end ? line_end : end) - f->last)};
    if (names(jump, f->label))
        loop->body_bytes = (size_t)(jump.begin + jump.length - loop->body);
    else
        loop->body = NULL;
}

static void begin_block(struct finder *f, struct part label, struct part name, const char *body)
{
    f->open = find_loop(f, name);
    f->label = label;
    f->last = NULL;
    if (f->open && f->open->body) /* names stand for one block each */
        f->open = NULL;
    if (f->open)
        f->open->body = body;
}

/* A line that begins at its first column. */
static void read_label(struct finder *f, struct part line)
{
    const char *colon = memchr(line.begin, ':', line.length);
    struct part block = name_in_comment(line, '%'), function = name_in_comment(line, '@');
    struct part label = {line.begin, (size_t)(colon ? colon - line.begin : 0)};
    if (colon && block.length) {
        end_block(f, line.begin);
        begin_block(f, label, block, line.begin + line.length);
    } else if (colon && function.length) {
        end_block(f, line.begin);
        f->function = function;
    } else if (line.length > 10 && memcmp(line.begin, ".Lfunc_end", 10) == 0) {
        end_block(f, line.begin);
        f->function = part_of("");
    }
}

static bool does_something(struct part line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.begin[i] != ' ' && line.begin[i] != '\t')
            return line.begin[i] != '#' && line.begin[i] != '/' && line.begin[i] != '.' &&
                   line.begin[i] != '\r';
    return false;
}

static void read_instruction(struct finder *f, struct part line)
{
    f->last = line.begin;
    if (!f->open)
        return;
    struct simulated *simulated = &f->open->loop->simulated;
    simulated->folds_loads = simulated->folds_loads || folds_load(line);
    simulated->makes_zeros = simulated->makes_zeros || makes_zero(line);
}

void assembly_find(const char *text, size_t size, struct assembly_loop *loops, size_t count)
{
    struct finder f = {loops, count, part_of(""), part_of(""), NULL, NULL};
    const char *end = text + size;
    qsort(loops, count, sizeof *loops, by_names);
    for (const char *at = text; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        struct part line = {at, (size_t)((line_end ? line_end : end) - at)};
        if (line.length && *at != ' ' && *at != '\t')
            read_label(&f, line);
        else if (does_something(line))
            read_instruction(&f, line);
        at += line.length + (line_end != NULL);
    }
    end_block(&f, end);
}
