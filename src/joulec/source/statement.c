/* joulec/source/statement.c - see statement.h. */
#include "joulec/source/statement.h"

#include <stdlib.h>
#include "base/array.h"

/* The part of a loop's statement that is being read. */
enum part {
    PART_HEAD,   /* up to the closing parenthesis of `for (...)` */
    PART_BEGIN,  /* the next token begins the body */
    PART_SIMPLE, /* up to a semicolon */
    PART_BRACES, /* up to the closing brace */
    PART_TAIL    /* after the braces of a `do` */
};

/* A loop whose statement has not ended yet. */
struct statement {
    uint32_t number;
    size_t braces; /* open braces at the keyword */
    size_t parens; /* open parentheses in this part */
    enum part part;
    bool is_do;     /* a `do` whose `while` has not been read yet */
    bool is_inside; /* true if the loop is the whole body of the preceding open loop */
    /* Number of open loops up to and including the innermost `do` between the same braces; 0: no such
     * `do`. */
    size_t do_count;
};

static size_t do_count_of(const struct statement *around, size_t braces)
{
    return around && around->braces == braces ? around->do_count : 0;
}

static void end_last(struct statements *s)
{
    bool ends_around = true;
    while (ends_around && s->count) {
        const struct statement *last = &s->open[--s->count];
        s->end(s->context, last->number);
        ends_around = last->is_inside;
    }
}

void statements_begin(struct statements *s, uint32_t number, size_t braces, bool is_do)
{
    struct statement *around = s->count ? &s->open[s->count - 1] : NULL;
    struct statement begun = {.number = number,
                              .braces = braces,
                              .part = is_do ? PART_BEGIN : PART_HEAD,
                              .is_do = is_do,
                              .is_inside = around && around->part == PART_BEGIN && !around->is_do,
                              .do_count = is_do ? s->count + 1 : do_count_of(around, braces)};
    if (around && around->part == PART_BEGIN && around->is_do)
        around->part = PART_SIMPLE;
    if (!ARRAY_ROOM(s->open, s->room, s->count)) {
        s->is_out_of_memory = true;
        return;
    }
    s->open[s->count++] = begun;
}

static void take_in_head(struct statement *last, char sign)
{
    last->parens += sign == '(';
    if (sign == ')' && last->parens && --last->parens == 0)
        last->part = PART_BEGIN;
}

static void take_begin(struct statements *s, struct statement *last, char sign)
{
    last->part = sign == '{' ? PART_BRACES : PART_SIMPLE;
    last->parens = sign == '(';
    if (sign == ';' && !last->is_do)
        end_last(s);
}

static void take_simple(struct statements *s, struct statement *last, char sign, size_t braces)
{
    last->parens += sign == '(';
    last->parens -= sign == ')' && last->parens;
    if (sign == ';' && !last->parens && braces == last->braces && !last->is_do)
        end_last(s);
}

void statements_take(struct statements *s, char sign, size_t braces)
{
    while (sign == '}' && s->count &&
           braces < s->open[s->count - 1].braces) /* the brace closes a statement that contains these loops */
        end_last(s);
    struct statement *last = s->count ? &s->open[s->count - 1] : NULL;
    if (!last)
        return;
    if (last->part == PART_HEAD) {
        take_in_head(last, sign);
    } else if (last->part == PART_BEGIN) {
        take_begin(s, last, sign);
    } else if (last->part == PART_SIMPLE) {
        take_simple(s, last, sign, braces);
    } else if (sign == '}' && braces == last->braces) {
        if (last->is_do)
            last->part = PART_TAIL;
        else
            end_last(s);
    }
}

bool statements_may_end_do(const struct statements *s, size_t braces, bool *out_must)
{
    const struct statement *last = s->count ? &s->open[s->count - 1] : NULL;
    *out_must = last && last->part == PART_TAIL;
    return last && last->part != PART_HEAD && last->part != PART_BEGIN && last->braces == braces &&
           last->do_count;
}

uint32_t statements_end_do(struct statements *s)
{
    size_t count = s->open[s->count - 1].do_count;
    while (s->count > count) /* loops whose body is an `if` with braces are still open (see statement.h) */
        end_last(s);
    struct statement *last = &s->open[count - 1];
    last->part = PART_SIMPLE;
    last->parens = 0;
    last->is_do = false;
    last->do_count = do_count_of(count > 1 ? last - 1 : NULL, last->braces);
    return last->number;
}

void statements_free(struct statements *s)
{
    free(s->open);
    s->open = NULL;
}
