/* tools/plot/picture_file.h - writes a drawing to a file, in the format that the file's name ends with.
 */
#ifndef PLOT_PICTURE_FILE_H
#define PLOT_PICTURE_FILE_H

#include "joule/picture/drawing.h"

enum picture_format { PICTURE_UNKNOWN, PICTURE_SVG, PICTURE_PNG, PICTURE_HTML };

/* Returns the format of a file's name (.svg, .png, .html or .htm; upper or lower case). */
enum picture_format picture_format_of(const char *path);
/* Returns JOULE_OK if a picture can be written to `path`. Call it before a long measurement. JOULE_INVALID:
 * unknown extension. JOULE_UNSUPPORTED: PNG in a build without cairo. Otherwise as output_check. */
joule_status picture_check(const char *path, joule_error *out_error);
/* Writes the drawing; see output_write. HTML is a page that contains the SVG and makes no requests. PNG has
 * twice the drawing's pixels in each direction and a light ground. The errors of picture_check also apply. */
joule_status picture_write(const struct drawing *drawing, const char *path, joule_error *out_error);

#endif
