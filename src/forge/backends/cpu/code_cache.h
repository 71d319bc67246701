/* backends/cpu/code_cache.h - the files with compiled code, $XDG_CACHE_HOME/joule/forge/HASH.so.
 *
 * A file is written under another name and renamed when it is complete, so several processes may add the same
 * file. It ends with a checksum. The code in these files is run, so no other user may be able to write to the
 * folder or to replace it.
 */
#ifndef FORGE_CPU_CODE_CACHE_H
#define FORGE_CPU_CODE_CACHE_H

#include <joule/base.h>
#include <stdbool.h>

enum { CODE_CACHE_PATH = 4096 };

/* Finds the folder and creates it, with rights for its user only. JOULE_ABSENT: no variable names a folder.
 * JOULE_DENIED: another user could write to the folder, or to a folder that contains it. */
joule_status code_cache_open(char out_folder[CODE_CACHE_PATH], joule_error *out_error);

/* The names of a new file of the cache. */
struct code_draft {
    char source[CODE_CACHE_PATH + 80], object[CODE_CACHE_PATH + 80];
};

/* Writes the source of a new file, with a name that no other thread or process uses. After an error, there is
 * no draft to end. */
joule_status code_cache_begin(const char *folder, const char *name, const char *source,
                              struct code_draft *out_draft, joule_error *out_error);
/* Adds the checksum to the compiled object and renames it to `path`. Ends the draft in any case. */
joule_status code_cache_commit(struct code_draft *draft, const char *path, joule_error *out_error);
/* Removes the files of the draft. */
void code_cache_discard(struct code_draft *draft);

/* Returns true if the file is complete and has the checksum. */
bool code_cache_check(const char *path);

#endif
