/* tools/plot/perfetto.h - writes a record in the Trace Event Format, which ui.perfetto.dev and Chrome open.
 */
#ifndef PLOT_PERFETTO_H
#define PLOT_PERFETTO_H

#include "joule/record/record.h"

/* Writes the trace to `path`; see output_open. Each domain with energy has a counter of its power in watts,
 * and each gauge a counter of its value. Each region is a slice of its thread. The format has no unknown
 * values, so a slice "no data" of a separate thread shows each gap. Times are microseconds since the record's
 * begin. */
joule_status perfetto_write(const struct record *record, const char *path, joule_error *out_error);

#endif
