/* joulec/source/database.h - reads a compilation database (compile_commands.json): how each file of a project
 * is compiled.
 *
 * Note: an invalid entry is kept with a message, so that the others can be used. Entries omit the compiler, a
 * launcher before it, the file, and its output.
 */
#ifndef JOULEC_DATABASE_H
#define JOULEC_DATABASE_H

#include <joule/base.h>
#include "base/arena.h"

/* The compilation of one file. */
struct database_entry {
    const char *problem; /* error in the entry; NULL: none */
    const char *file;    /* path as written, relative to `folder`; NULL: missing */
    const char *path;    /* absolute path of the file */
    const char *folder;  /* absolute path of the folder in which it is compiled */
    const char *output;  /* path as written; NULL: unknown */
    const char **words;  /* options for the compiler, terminated by NULL */
    size_t word_count;
    bool is_c;
};

struct database {
    struct database_entry *entries;
    size_t count;
};

/* Parses text[0..size) in place; the text must outlive the entries. folder: absolute path of the folder that
 * contains the database. Returns JOULE_INVALID if the text is not a list; the message begins with `what`.
 * Returns JOULE_NO_MEMORY if out of memory. */
joule_status database_read(struct arena *arena, char *text, size_t size, const char *what, const char *folder,
                           struct database *out, joule_error *out_error);

/* Splits a command like a POSIX shell, without expansions. Returns the words, terminated by NULL, in memory
 * of `arena`. Returns NULL if a quote is not closed (*out_count 1), or if out of memory (*out_count 0). */
const char **database_split(struct arena *arena, const char *command, size_t *out_count);

#endif
