/* support/scratch.h - a temporary folder for a group of tests, with one file name in it.
 *
 * Set-up creates the folder, tear-down removes it. Note: the file `scratch_path` does not exist until a test
 * writes it. Tests must remove all other files, or tear-down fails. */
#ifndef SUPPORT_SCRATCH_H
#define SUPPORT_SCRATCH_H

extern char scratch_folder[], scratch_path[];
extern char scratch_partial[]; /* name of the file while it is being written */

int scratch_set_up(void **state);
int scratch_tear_down(void **state);

/* Removes a folder and all that is in it. Follows no links. Returns 0 on success. */
int scratch_remove_tree(const char *path);

#endif
