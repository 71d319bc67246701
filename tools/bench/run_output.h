/* bench/run_output.h - one run as a row of CSV and as JSON. */
#ifndef BENCH_RUN_OUTPUT_H
#define BENCH_RUN_OUTPUT_H

#include "base/json_writer.h"
#include "run.h"

/* Adds the reasons of reduced clocks, separated by commas. throttled: see struct run */
void run_add_reasons(struct text *out, int throttled);
/* Adds a run to an array. */
void run_json(struct json *json, const struct run *run);
/* Print the header line, and the row of a run of the command `name`; setting: values of sweeps, or "". */
void run_csv_header(struct text *out);
void run_csv(struct text *out, const char *name, const char *setting, const struct run *run);

#endif
