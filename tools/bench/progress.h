/* bench/progress.h - shows the progress of an experiment on the terminal. */
#ifndef BENCH_PROGRESS_H
#define BENCH_PROGRESS_H

struct experiment;
struct variant;

/* Replaces the line on standard error by the state after a run of `variant`. Does nothing if standard error
 * is not a terminal, or with --quiet. */
void progress_show(const struct experiment *e, const struct variant *variant);
void progress_clear(const struct experiment *e);

#endif
