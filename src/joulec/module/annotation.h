/* joulec/module/annotation.h - reads the macros of <joule/budget.h> from clang's annotations of functions.
 *
 * Note: if a function has several annotations with the same name, the last one is used, because the last one
 * belongs to the definition.
 */
#ifndef JOULEC_ANNOTATION_H
#define JOULEC_ANNOTATION_H

#include "joulec/module/module.h"

#define ANNOTATION_BUDGET        "joule.budget:"
#define ANNOTATION_DEPTH         "joule.depth:"
#define ANNOTATION_THERMAL_AWARE "joule.thermal_aware"
#define ANNOTATION_GPU_KERNEL    "joule.gpu_kernel"

/* Returns the text after `name` in the function's annotation; the text may be empty. The module owns the
 * text. Returns NULL if the function has no such annotation. */
const char *annotation_of(const struct function *function, const char *name);
/* Returns the text of the last annotation `name` that differs from the result of annotation_of. The module
 * owns the text. Returns NULL if all such annotations have the same text. */
const char *annotation_other(const struct function *function, const char *name);

#endif
