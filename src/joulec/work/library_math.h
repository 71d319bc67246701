/* joulec/work/library_math.h - cycles of the functions of the mathematical library, for all number types. */
#ifndef JOULEC_LIBRARY_MATH_H
#define JOULEC_LIBRARY_MATH_H

#include "joulec/work/sum.h"

/* Type of a function with complex numbers, which calling conventions pass differently */
#define MATH_COMPLEX "*"

struct library_math {
    char type[8]; /* like the type of a call, or MATH_COMPLEX */
    double cycles[BOUNDS];
};

/* Finds a function by its name, such as "exp2", "exp2f", "exp2l", "exp2f32" or "__exp2_finite". Returns false
 * if there is none. */
bool library_math_find(const char *name, struct library_math *out_contract);

#endif
