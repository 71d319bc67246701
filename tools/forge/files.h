/* tools/forge/files.h - what the subcommands share about files, and about what they print.
 *
 * Owns reading a graph's text, telling kinds of files apart, and amounts in words. What the bytes mean is for libforge to
 * say. Newcomers: a file is told by its bytes and never by its name.
 */
#ifndef FORGE_FILES_H
#define FORGE_FILES_H

#include <forge/program.h>

enum file_kind { FILE_UNKNOWN, FILE_GRAPH, FILE_PROGRAM, FILE_SAFETENSORS, FILE_NPY };
joule_status file_kind(const char *path, enum file_kind *out_kind, joule_error *out_error);

/* The graph whose text the file holds; messages begin with its path. The graph is the caller's. */
joule_status graph_read(const char *path, forge_graph **out_graph, joule_error *out_error);

/* "12.3 MiB", "96 bytes", in `out`; "unknown" for NaN. */
enum { BYTES_TEXT = 32 };
const char *bytes_text(double bytes, char out[BYTES_TEXT]);
/* "1.53 GFLOP"; likewise. */
const char *flop_text(double flop, char out[BYTES_TEXT]);
/* Of a program: "arena 1.5 MiB (at least 1.4 MiB), state 12 bytes, constants 8 bytes". */
enum { MEMORY_TEXT = 6 * BYTES_TEXT };
const char *memory_text(const forge_program *program, char out[MEMORY_TEXT]);

#endif
