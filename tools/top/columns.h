/* tools/top/columns.h - which columns of a table fit a width, and where they stand.
 *
 * Owns the choice: while they do not fit, the least important one is left out; one column takes what is left over.
 * Newcomers: a column that nothing is known for is left out first, by whoever makes the table, with `is_empty`.
 */
#ifndef TOP_COLUMNS_H
#define TOP_COLUMNS_H

#include <stdbool.h>

#define MOST_COLUMNS 12

struct column {
    const char *title;
    int width;      /* for the one that grows: the least that it needs */
    int importance; /* the lowest goes first */
    bool is_right;  /* aligned */
    bool grows;     /* one of them */
    bool is_empty;
    /* columns_fit's: */
    bool is_shown;
    int x, given;
};

/* Places columns from `x` on in `width` characters, a blank between two. */
void columns_fit(struct column *columns, int count, int x, int width);

#endif
