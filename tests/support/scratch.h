/* support/scratch.h - a folder of a test's own, with one file in it that the test writes and reads.
 *
 * Owns the folder's making and removing, as set-up and tear-down of a group of tests. Newcomers: `scratch_path` names a file
 * that is not there until something writes it; whoever leaves other files in the folder must remove them, or tear-down fails.
 */
#ifndef SUPPORT_SCRATCH_H
#define SUPPORT_SCRATCH_H

extern char scratch_folder[], scratch_path[];
extern char scratch_partial[]; /* beside it, while it is written */

int scratch_set_up(void **state);
int scratch_tear_down(void **state);

#endif
