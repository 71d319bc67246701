/* tools/top/columns.h - chooses the columns of a table that fit a width, and places them.
 *
 * The least important columns are removed until the remaining ones fit; one column takes the spare width.
 *
 * Note: the caller marks columns without known values by `is_empty`; they are removed first.
 */
#ifndef TOP_COLUMNS_H
#define TOP_COLUMNS_H

#include <stdbool.h>

#define MAX_COLUMNS 12

struct column {
    const char *title;
    int width;      /* width in characters; for a growing column, its minimum */
    int importance; /* the lowest is removed first */
    bool is_right;  /* right-aligned */
    bool grows;     /* takes the spare width; at most one column */
    bool is_empty;  /* has no known value; set by the caller */
    /* set by columns_fit: */
    bool is_shown;
    int x, given; /* position on the page, and width, in characters */
};

/* Chooses the columns that fit `width` characters and places them from `x` on, with one blank between two
 * columns. */
void columns_fit(struct column *columns, int count, int x, int width);

#endif
