/* joulec/work/contract_math.h - what the functions of the mathematical library take, for all types of
 * numbers. */
#ifndef JOULEC_CONTRACT_MATH_H
#define JOULEC_CONTRACT_MATH_H

#include "joulec/work/sum.h"

#define MATH_COMPLEX "*" /* the type of a function of complex numbers, which machines pass differently */

struct math_contract {
    char type[8]; /* as a call's, or MATH_COMPLEX */
    double cycles[BOUNDS];
};

/* A function by its name: "exp2", "exp2f", "exp2l", "exp2f32", "__exp2_finite". False: it is none. */
bool contract_math_find(const char *name, struct math_contract *out_contract);

#endif
