/* joulec/work/library_math.h - cycles of the functions of the mathematical library, for all number types. */
#ifndef JOULEC_LIBRARY_MATH_H
#define JOULEC_LIBRARY_MATH_H

#include "joulec/work/sum.h"

/* Type of a function with complex numbers. The types of its arguments depend on the calling convention. */
#define MATH_COMPLEX "*"

struct library_math {
    char type[8];          /* as in struct call, or MATH_COMPLEX */
    double cycles[BOUNDS]; /* minimum on any core, middle, 95 % point */
};

/* Sets *out_contract to the figures of the function `name`, such as "exp2", "exp2f", "exp2l", "exp2f32" or
 * "__exp2_finite". Returns false if the name is unknown. */
bool library_math_find(const char *name, struct library_math *out_math);

#endif
