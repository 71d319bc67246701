/* joule/picture/skyline_phases.h - phases of a record's power, for programs without regions.
 *
 * Note: phases are a guess. A change of the power need not be a change of what the program does.
 */
#ifndef JOULE_PICTURE_SKYLINE_PHASES_H
#define JOULE_PICTURE_SKYLINE_PHASES_H

#include "joule/picture/skyline_record.h"

/* Finds the phases of a part of a record (joule/stats/change_points.h). *out_phases is in the arena. Errors
 * as skyline_of_record. part->by and part->columns are ignored. */
joule_status skyline_find_phases(const struct record *record, const struct skyline_part *part,
                                 struct arena *arena, struct skyline_phase **out_phases, size_t *out_count,
                                 joule_error *out_error);

#endif
