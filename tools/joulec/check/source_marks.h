/* tools/joulec/check/source_marks.h - reads the JOULE_LOOP pragmas of a C source from its preprocessed text.
 *
 * Note: preprocessing takes a tenth of the time of a compilation. So it runs only if a file of the source
 * contains a word without which there can be no JOULE_LOOP.
 */
#ifndef CHECK_SOURCE_MARKS_H
#define CHECK_SOURCE_MARKS_H

#include "check.h"
#include "joulec/source/marks.h"

/* Reads the marks of a source. `dependencies`: descriptor of a file that clang's -MD wrote. If the file is
 * empty, the source is always preprocessed. `root`: the current folder. The caller frees *out_marks with
 * marks_free. Returns false after a message. */
bool source_marks_read(const struct order *order, const char *root, int dependencies,
                       struct marks *out_marks);

/* Returns true if a file of the source may contain a directive of OpenMP. The option -fopenmp is no evidence,
 * because many builds set it for all files. dependencies: as for source_marks_read. */
bool source_may_have_openmp(const struct order *order, int dependencies);

#endif
