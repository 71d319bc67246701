/* joulec/source/statement.c - see statement.h. */
#include "joulec/source/statement.h"

#include <stdlib.h>
#include "base/array.h"

enum part {
    PART_HEAD,   /* up to the parenthesis that ends `for (...)` */
    PART_BEGIN,  /* what comes next begins the body */
    PART_SIMPLE, /* up to a semicolon */
    PART_BRACES  /* up to the brace that ends them */
};

struct statement {
    uint32_t number;
    size_t braces; /* that were open as it began */
    size_t parens; /* that are open in this part */
    enum part part;
    bool is_do;     /* behind its body the `while` is still to come */
    bool is_inside; /* it is all of the body of the loop before */
};

static void end_last(struct statements *s)
{
    bool goes_on = true;
    while (goes_on && s->count) {
        const struct statement *last = &s->open[--s->count];
        s->end(s->context, last->number);
        goes_on = last->is_inside;
    }
}

void statements_begin(struct statements *s, uint32_t number, size_t braces, bool is_do)
{
    const struct statement *around = s->count ? &s->open[s->count - 1] : NULL;
    struct statement begun = {.number = number,
                              .braces = braces,
                              .part = is_do ? PART_BEGIN : PART_HEAD,
                              .is_do = is_do,
                              .is_inside = around && around->part == PART_BEGIN && !around->is_do};
    if (!ARRAY_ROOM(s->open, s->room, s->count)) {
        s->is_short = true;
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
    if (sign == ';')
        end_last(s);
}

static void take_simple(struct statements *s, struct statement *last, char sign, size_t braces)
{
    last->parens += sign == '(';
    last->parens -= sign == ')' && last->parens;
    if (sign == ';' && !last->parens && braces == last->braces)
        end_last(s);
}

void statements_take(struct statements *s, char sign, size_t braces)
{
    while (sign == '}' && s->count &&
           braces < s->open[s->count - 1].braces) /* it is of what is around them */
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
            last->part = PART_SIMPLE;
        else
            end_last(s);
    }
}

void statements_free(struct statements *s)
{
    free(s->open);
    s->open = NULL;
}
