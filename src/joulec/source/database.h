/* joulec/source/database.h - reads a compilation database (compile_commands.json): how each file of a project
 * is compiled.
 *
 * Note: an invalid entry stays in the list with an error text, so that the other entries can be used.
 */
#ifndef JOULEC_DATABASE_H
#define JOULEC_DATABASE_H

#include <joule/base.h>
#include "base/arena.h"

/* The compilation of one file. */
struct database_entry {
    const char *problem; /* text of the error in the entry; NULL: none */
    const char *file;    /* path as written, relative to `folder`; NULL: missing */
    const char *path;    /* absolute path of the file */
    const char *folder;  /* absolute path of the folder in which the compiler runs */
    const char *output;  /* path as written; NULL: unknown */
    /* Options for the compiler, terminated by NULL, without the compiler, its launcher, the file and the
     * output. */
    const char **words;
    size_t word_count;
    bool is_c;
};

struct database {
    struct database_entry *entries;
    size_t count;
};

/* Parses text[0..size) in place; the text must outlive the entries. Allocates the entries in `arena`. folder:
 * absolute path of the folder that contains the database. Returns JOULE_OK, JOULE_NO_MEMORY, or JOULE_INVALID
 * if the text is not a list. Messages begin with `what`. */
joule_status database_read(struct arena *arena, char *text, size_t size, const char *what, const char *folder,
                           struct database *out, joule_error *out_error);

/* Splits a command into words like a POSIX shell, but without expansions. Returns the list of words,
 * terminated by NULL and allocated in `arena`. Sets *out_count to its length. Returns NULL if a quote is not
 * closed (*out_count 1), or if out of memory (*out_count 0). */
const char **database_split(struct arena *arena, const char *command, size_t *out_count);

#endif
