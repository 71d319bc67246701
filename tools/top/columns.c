/* tools/top/columns.c - see columns.h. */
#include "columns.h"

#include <stddef.h>

/* Returns the width of the shown columns. */
static int needed(const struct column *columns, int count)
{
    int width = -1;
    for (int i = 0; i < count; i++)
        width += columns[i].is_shown ? columns[i].width + 1 : 0;
    return width;
}

static struct column *find_least_important(struct column *columns, int count)
{
    struct column *found = NULL;
    for (int i = 0; i < count; i++)
        if (columns[i].is_shown && (!found || columns[i].importance < found->importance))
            found = &columns[i];
    return found;
}

void columns_fit(struct column *columns, int count, int x, int width)
{
    int shown = 0;
    for (int i = 0; i < count; i++) {
        columns[i].is_shown = !columns[i].is_empty;
        shown += columns[i].is_shown;
    }
    for (; shown > 1 && needed(columns, count) > width; shown--)
        find_least_important(columns, count)->is_shown = false;
    int spare = width - needed(columns, count);
    for (int i = 0; i < count; i++) {
        columns[i].x = x;
        columns[i].given = columns[i].width + (columns[i].grows && spare > 0 ? spare : 0);
        x += columns[i].is_shown ? columns[i].given + 1 : 0;
    }
}
