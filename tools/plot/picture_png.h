/* tools/plot/picture_png.h - writes a drawing as PNG, with cairo. */
#ifndef PLOT_PICTURE_PNG_H
#define PLOT_PICTURE_PNG_H

#include "joule/picture/drawing.h"

/* Returns true if this build has cairo. Without it, picture_png_write returns JOULE_UNSUPPORTED. */
bool picture_png_is_supported(void);
/* Writes the drawing with two pixels for each of its pixels, on a light ground; see output_write. */
joule_status picture_png_write(const struct drawing *drawing, const char *path, joule_error *out_error);

#endif
