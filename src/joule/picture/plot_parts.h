/* joule/picture/plot_parts.h - parts that all plots share: title, caption, legend. */
#ifndef JOULE_PICTURE_PLOT_PARTS_H
#define JOULE_PICTURE_PLOT_PARTS_H

#include "joule/picture/drawing.h"

#define PLOT_MARGIN 16 /* pixels */

/* Draws a title at the top, and below it a caption of secondary text that wraps to at most 3 lines; NULL:
 * none. Returns the y below them. */
double plot_draw_title(struct drawing *drawing, double top, const char *title, const char *caption);

/* An entry of a legend. */
struct legend_entry {
    const char *text;
    enum colour colour;
    double opacity; /* of the swatch; 0: opaque */
    bool is_line;   /* the swatch is a line */
    bool is_dashed;
};
/* Draws a legend that wraps within the drawing's width, at most two lines. Returns the y below it. */
double plot_draw_legend(struct drawing *drawing, double top, const struct legend_entry *entries,
                        size_t count);

#endif
