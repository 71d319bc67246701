/* tools/plot/perfetto.h - writes a record in the Trace Event Format, which ui.perfetto.dev and Chrome open.
 */
#ifndef PLOT_PERFETTO_H
#define PLOT_PERFETTO_H

#include "joule/picture/skyline.h"
#include "joule/record/record.h"

/* Writes the trace to `path`; see output_open. Each domain with energy has a counter of its power in watts,
 * and each gauge a counter of its value. Each region is a slice of its thread. Slices of a thread must nest:
 * a region that begins within another one and ends after it is an asynchronous slice. The format has no
 * unknown values, so slices "no data" show the gaps of a domain, on a track of its own. Guessed phases
 * (`phase_count` may be 0) are slices of another track. Times are microseconds since the record's begin, and
 * ascend on each track. */
joule_status perfetto_write(const struct record *record, const struct skyline_phase *phases,
                            size_t phase_count, const char *path, joule_error *out_error);

#endif
