/* joulec/module/module.c - the functions of module.h that need no LLVM. */
#include "joulec/module/module.h"

const char *work_name(enum work work)
{
    static const char *const names[WORK_KINDS] = {"int",       "int_mul", "int_div", "float",  "fma",
                                                  "float_div", "load",    "store",   "atomic", "branch"};
    return (unsigned)work < WORK_KINDS ? names[work] : "unknown";
}
