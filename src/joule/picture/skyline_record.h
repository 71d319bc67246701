/* joule/picture/skyline_record.h - the skyline of a record. */
#ifndef JOULE_PICTURE_SKYLINE_RECORD_H
#define JOULE_PICTURE_SKYLINE_RECORD_H

#include "joule/picture/skyline.h"
#include "joule/record/record.h"

/* The part of a record that is shown. */
struct skyline_part {
    double from_s, to_s; /* since the record's begin; NaN: from its begin, to its end */
    enum skyline_by by;
    size_t columns; /* fewer are used if the time is too short */
};

/* Computes the skyline of a part of a record. *out_skyline is freed with skyline_free, also after an error.
 * JOULE_INVALID: the part is empty or outside the record. Other errors as skyline_make. */
joule_status skyline_of_record(const struct record *record, const struct skyline_part *part,
                               struct skyline *out_skyline, joule_error *out_error);
/* Returns the view of a record: title, idle power and names. `names` is an array of the record's name_count
 * pointers, which the caller allocates; the view points to it and to the record. */
struct skyline_view skyline_view_of_record(const struct record *record, const char **names);

#endif
