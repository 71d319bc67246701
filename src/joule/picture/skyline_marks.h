/* joule/picture/skyline_marks.h - the rows of regions below a skyline. */
#ifndef JOULE_PICTURE_SKYLINE_MARKS_H
#define JOULE_PICTURE_SKYLINE_MARKS_H

#include "joule/picture/skyline.h"

#define NO_LAYER UINT8_MAX /* a region without energy */

struct mark_request {
    const struct skyline_region *regions; /* by begin; of equal begins, the longest first */
    size_t region_count;
    const uint8_t *name_layers; /* layer of each name; NULL: by device, without colours of regions */
};

/* Sets the marks of a skyline that has its layers. Each nesting depth of each thread has a row; threads and
 * depths beyond SKYLINE_MAX_ROWS rows have none. Returns false if out of memory. */
bool skyline_add_marks(struct skyline *skyline, const struct mark_request *request);

#endif
