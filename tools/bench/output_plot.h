/* bench/output_plot.h - pictures of experiments and of the history of a benchmark. */
#ifndef BENCH_OUTPUT_PLOT_H
#define BENCH_OUTPUT_PLOT_H

#include "history.h"
#include "output.h"

/* Write a picture to a file; its name ends with .svg, .png or .html. The first draws bars, or lines if one
 * parameter with ascending numbers was swept. The second draws the energy of stored benchmarks over time, one
 * line for each command, that of `name` first. Errors have a message. */
joule_status plot_results(const struct results *results, const char *path, joule_error *out_error);
joule_status plot_history(const struct history *history, const char *name, const char *path,
                          joule_error *out_error);

#endif
