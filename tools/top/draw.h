/* tools/top/draw.h - the view as a page.
 *
 * Owns what stands where for every size of terminal. Newcomers: drawing changes nothing but the frame and how far the lists are
 * scrolled, so that it may be done again for another size.
 */
#ifndef TOP_DRAW_H
#define TOP_DRAW_H

#include "columns.h"
#include "ui.h"

#define LEAST_WIDTH  36
#define LEAST_HEIGHT 8

/* All of it: one of the views, what is said about it, help. The frame has its size already. */
void draw(struct frame *frame, struct ui *ui, const struct model *model);
/* For --once: as long as it must be, without anything that is for a terminal. False when memory is used up. */
bool draw_once(struct frame *frame, struct ui *ui, const struct model *model, int width);

/* --- parts ---------------------------------------------------------------------------------------------- */

/* The lines at the top; how many. */
int draw_header(struct frame *frame, const struct ui *ui, const struct model *model);
/* Tables from row y on, in at most `rows` with their heading; how many it took. */
int draw_devices(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows);
int draw_processes(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows);
/* Where the joules went, in one line. */
void draw_sums(struct frame *frame, const struct model *model, int y);
void draw_detail(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows);
void draw_help(struct frame *frame);
/* A power with its letter, right-aligned in 9 columns. */
void draw_power(struct frame *frame, int y, int x, enum style style, double watts, joule_class cls);
#define POWER_WIDTH 9
/* Draw a cell of a table, the headings, and the number of rows that are not shown. */
void draw_cell(struct frame *frame, int y, const struct column *c, enum style style, const char *word);
void draw_headings(struct frame *frame, int y, const struct column *columns, int count);
void draw_more(struct frame *frame, int y, size_t top, size_t count, int rows);
/* "LAST 40 S" */
void draw_span_title(double span_s, char out_title[24]);

#endif
