/* joulec/module/annotation.h - what <joule/budget.h> says of functions, as clang's annotations carry it.
 *
 * Owns their names. Newcomers: of several the last counts, which is the definition's; who cannot do with two asks for the other.
 */
#ifndef JOULEC_ANNOTATION_H
#define JOULEC_ANNOTATION_H

#include "joulec/module/module.h"

#define ANNOTATION_BUDGET        "joule.budget:"
#define ANNOTATION_DEPTH         "joule.depth:"
#define ANNOTATION_THERMAL_AWARE "joule.thermal_aware"
#define ANNOTATION_GPU_KERNEL    "joule.gpu_kernel"

/* What stands behind `name`, which may be nothing; NULL: the function does not have it. */
const char *annotation_of(const struct function *function, const char *name);
/* What another declaration says in its place; NULL: none says anything else. */
const char *annotation_other(const struct function *function, const char *name);

#endif
