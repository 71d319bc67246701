/* joulec/module/annotation.h - reads the macros of <joule/budget.h> from clang's annotations of functions.
 *
 * Note: if a function has several annotations, the last one is used. It belongs to the definition.
 */
#ifndef JOULEC_ANNOTATION_H
#define JOULEC_ANNOTATION_H

#include "joulec/module/module.h"

#define ANNOTATION_BUDGET        "joule.budget:"
#define ANNOTATION_DEPTH         "joule.depth:"
#define ANNOTATION_THERMAL_AWARE "joule.thermal_aware"
#define ANNOTATION_GPU_KERNEL    "joule.gpu_kernel"

/* Returns the text after `name` in the function's annotation. The text may be empty. NULL: the function has
 * no such annotation. */
const char *annotation_of(const struct function *function, const char *name);
/* Returns the text of the same annotation in another declaration, if the texts differ; NULL: there is
 * none. */
const char *annotation_other(const struct function *function, const char *name);

#endif
