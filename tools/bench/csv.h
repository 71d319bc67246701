/* bench/csv.h - cells of tables, RFC 4180. Each except the last is followed by a comma. */
#ifndef BENCH_CSV_H
#define BENCH_CSV_H

#include "base/string.h"

/* Append a text in quotes (NULL: empty), or a number (empty if it is unknown). */
void csv_text(struct text *out, const char *cell);
void csv_last_text(struct text *out, const char *cell);
void csv_number(struct text *out, double value);

#endif
