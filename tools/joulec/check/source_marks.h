/* tools/joulec/check/source_marks.h - JOULE_LOOP of one C source, as its preprocessor leaves them.
 *
 * Owns the second run of clang, with -E. Newcomers: that takes a tenth of a compilation, so the files that the source is made of
 * are looked through first for a word without which there is none.
 */
#ifndef CHECK_SOURCE_MARKS_H
#define CHECK_SOURCE_MARKS_H

#include "check.h"
#include "joulec/source/marks.h"

/* `dependencies` is an open file with what clang's -MD wrote; where that is empty, nothing is taken for granted. `root`: this folder. False after a
 * message. */
bool source_marks_read(const struct order *order, const char *root, int dependencies,
                       struct marks *out_marks);

/* Whether a directive of OpenMP may stand in one of these files; -fopenmp is often given to files without any. */
bool source_may_have_openmp(const struct order *order, int dependencies);

#endif
