/* tools/forge/files.h - recognises the kind of a file, reads graphs, and formats numbers of bytes and FLOP.
 *
 * Note: a file's kind is recognised by its bytes, never by its name.
 */
#ifndef FORGE_FILES_H
#define FORGE_FILES_H

#include <forge/program.h>

enum file_kind { FILE_UNKNOWN, FILE_GRAPH, FILE_PROGRAM, FILE_SAFETENSORS, FILE_NPY };
/* Sets *out_kind to the kind of the file at `path`. FILE_UNKNOWN is not an error. */
joule_status file_kind(const char *path, enum file_kind *out_kind, joule_error *out_error);

/* Reads a graph from the text in the file `path`. The caller owns the graph. Messages begin with the path. */
joule_status graph_read(const char *path, forge_graph **out_graph, joule_error *out_error);

/* Returns a number of bytes as text, such as "12.3 MiB" or "96 bytes"; NaN: "unknown". The text is in `out`
 * or in static storage. */
enum { BYTES_TEXT = 32 };
const char *bytes_text(double bytes, char out[BYTES_TEXT]);
/* Returns a number of floating-point operations as text, such as "1.53 GFLOP". Otherwise like bytes_text. */
const char *flop_text(double flop, char out[BYTES_TEXT]);
/* Writes the memory of a program to `out`, such as "arena 1.5 MiB (at least 1.4 MiB), state 12 bytes,
 * constants 8 bytes". Returns `out`. */
enum { MEMORY_TEXT = 6 * BYTES_TEXT };
const char *memory_text(const forge_program *program, char out[MEMORY_TEXT]);

#endif
