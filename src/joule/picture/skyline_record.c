/* joule/picture/skyline_record.c - see skyline_record.h. */
#include "joule/picture/skyline_record.h"

#include <math.h>
#include <stdlib.h>
#include "base/error.h"

/* Sets the time of a request. Returns false if the part is empty or outside the record. */
static bool choose_time(const struct record *record, const struct skyline_part *part,
                        struct skyline_request *request)
{
    double length_s = (double)(record->end_ns - record->begin_ns) * 1e-9;
    double from_s = isnan(part->from_s) ? 0 : part->from_s;
    double to_s = isnan(part->to_s) ? length_s : fmin(part->to_s, length_s);
    if (!(from_s >= 0) || !(to_s > from_s))
        return false;
    request->begin_ns = record->begin_ns + llround(from_s * 1e9);
    request->end_ns = to_s < length_s ? record->begin_ns + llround(to_s * 1e9) : record->end_ns;
    request->zero_ns = record->begin_ns;
    int64_t length_ns = request->end_ns - request->begin_ns;
    request->columns = length_ns < (int64_t)part->columns ? (size_t)length_ns : part->columns;
    return length_ns > 0;
}

joule_status skyline_of_record(const struct record *record, const struct skyline_part *part,
                               struct skyline *out_skyline, joule_error *out_error)
{
    struct skyline_request request = {.meter = record->meter,
                                      .by = part->by,
                                      .region_count = record->region_count,
                                      .name_count = record->name_count};
    *out_skyline = (struct skyline){0};
    if (!choose_time(record, part, &request))
        return error_set(out_error, JOULE_INVALID,
                         "cannot draw the power: the chosen time is not a part of the record, which has %g s",
                         (double)(record->end_ns - record->begin_ns) * 1e-9);
    struct skyline_region *regions = malloc((record->region_count + 1) * sizeof *regions);
    const char **names = malloc((record->name_count + 1) * sizeof *names);
    joule_status status = JOULE_NO_MEMORY;
    if (regions && names) {
        for (size_t i = 0; i < record->region_count; i++) {
            const struct record_region *r = &record->regions[i];
            regions[i] = (struct skyline_region){r->begin_ns, r->end_ns, r->name, r->thread, r->flags};
        }
        for (size_t i = 0; i < record->name_count; i++)
            names[i] = record->names[i];
        request.regions = regions;
        request.names = names;
        status = skyline_make(&request, out_skyline, out_error);
    } else {
        error_set(out_error, status, "cannot draw the power: out of memory");
    }
    free(regions);
    free(names);
    return status;
}

struct skyline_view skyline_view_of_record(const struct record *record, const char **names)
{
    for (size_t i = 0; i < record->name_count; i++)
        names[i] = record->names[i];
    return (struct skyline_view){
        .title = record->program,
        .idle_watts = record->found.idle_watts,
        .names = names,
    };
}
