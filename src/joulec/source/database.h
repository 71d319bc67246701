/* joulec/source/database.h - a compilation database (compile_commands.json): how each file of a project is compiled.
 *
 * Owns reading it, and the quotes of a shell. Newcomers: an entry that is wrong is kept, with what is wrong, as the others are
 * still good; words that name the compiler, a launcher before it, the file, and its output are left out.
 */
#ifndef JOULEC_DATABASE_H
#define JOULEC_DATABASE_H

#include <joule/base.h>
#include "base/arena.h"

struct database_entry {
    const char *problem; /* what is wrong with it; NULL: nothing */
    const char *file;    /* as it is named, from `folder`; NULL: it is not */
    const char *path;    /* of it, absolute */
    const char *folder;  /* in which it is compiled, absolute */
    const char *output;  /* as it is named; NULL: unknown */
    const char **words;  /* the compiler's options, ended by NULL */
    size_t word_count;
    bool is_c;
};

struct database {
    struct database_entry *entries;
    size_t count;
};

/* text[0..size), which is changed and must outlive the entries, lies in `folder`, an absolute one. INVALID, with a message that
 * begins with `what`: it is no list; NO_MEMORY. */
joule_status database_read(struct arena *arena, char *text, size_t size, const char *what, const char *folder,
                           struct database *out, joule_error *out_error);

/* The words of a command as a POSIX shell takes them, without expansions; ended by NULL. NULL: a quote does not end
 * (*out_count 1), or there is no memory (0). */
const char **database_split(struct arena *arena, const char *command, size_t *out_count);

#endif
