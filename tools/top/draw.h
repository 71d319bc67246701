/* tools/top/draw.h - draws the view as a page, for any size of terminal.
 *
 * Note: drawing changes only the frame and the scroll positions, so it can be repeated for another size.
 */
#ifndef TOP_DRAW_H
#define TOP_DRAW_H

#include "columns.h"
#include "ui.h"

#define MIN_WIDTH  36
#define MIN_HEIGHT 8

/* Draws the whole page: a view, messages and help. The frame must already have its size. */
void draw(struct frame *frame, struct ui *ui, const struct model *model);
/* Draws the page for --once, with all rows and without interactive parts. Sets the frame's size to `width`
 * and the height needed. Returns false if out of memory. */
bool draw_once(struct frame *frame, struct ui *ui, const struct model *model, int width);

/* --- parts ---------------------------------------------------------------------------------------------- */

/* Draws the lines at the top. Returns their number. */
int draw_header(struct frame *frame, const struct ui *ui, const struct model *model);
/* Draw a table from row y on, in at most `rows` rows including the heading. Return the number of rows
 * used. */
int draw_devices(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows);
int draw_processes(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows);
/* Draws one line with the parts of the total energy. */
void draw_sums(struct frame *frame, const struct model *model, int y);
void draw_detail(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows);
void draw_help(struct frame *frame);
/* Draws a power and the letter of its class, right-aligned in POWER_WIDTH columns. */
void draw_power(struct frame *frame, int y, int x, enum style style, double watts, joule_class cls);
#define POWER_WIDTH 9
/* Draw a cell of a table, the headings of a table, and the range of visible rows. The range, such as "11-20
 * of 35", is drawn only if not all `count` rows are visible. `top` is the index of the first visible row. */
void draw_cell(struct frame *frame, int y, const struct column *c, enum style style, const char *word);
void draw_headings(struct frame *frame, int y, const struct column *columns, int count);
void draw_more(struct frame *frame, int y, size_t top, size_t count, int rows);
/* Writes a title such as "LAST 40 S". */
void draw_span_title(double span_s, char out_title[24]);

#endif
