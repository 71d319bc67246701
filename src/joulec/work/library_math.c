/* joulec/work/library_math.c - see library_math.h. */
#include "joulec/work/library_math.h"

#include <stdlib.h>
#include <string.h>
#include "base/string.h"

#define MAX_NAME 24
/* Cycles of a function for binary128 relative to an x87 long double: integer instructions do the work. */
#define BINARY128     12
#define FINITE_SUFFIX "_finite"

/* Cycles of a call for a double: minimum on any core, middle, and 95 % point; then the factors for a float
 * and for a long double. Figures of acos to tanh are from bench/calls.c if it measures the function (minima:
 * see library_call.c). The other figures and the factors were measured on a Zen 4 guest with glibc 2.36 and
 * arguments between 0.1 and 6. The middle is between the times of independent and of dependent calls. A
 * function that is not in glibc 2.36 has the figures of the most similar function. A complex function has
 * those of the real functions that it calls. Sorted by name. */
static const struct family {
    const char *name;
    /* Type of the version for double; NULL: any, because calling conventions pass complex numbers
     * differently. */
    const char *type;
    double cycles[BOUNDS];
    double float_factor, long_factor;
} families[] = {
    {"__finite", "id", {0.25, 1, 4}, 1, 2.5},
    {"__fpclassify", "id", {3.7, 11, 79}, 0.97, 2},
    {"__isinf", "id", {0.25, 1, 4}, 1, 2.5},
    {"__isnan", "id", {0.25, 1, 4}, 1, 2.5},
    {"__issignaling", "id", {3.7, 11, 79}, 0.97, 2},
    {"__signbit", "id", {0.25, 1, 4}, 1, 2.5},
    {"acos", "dd", {8, 30, 150}, 1.1, 6.3},
    {"acosh", "dd", {11, 55, 500}, 1.1, 3.1},
    {"acospi", "dd", {8, 30, 150}, 1.1, 6.3},
    {"asin", "dd", {8, 30, 150}, 0.96, 4.4},
    {"asinh", "dd", {13, 58, 520}, 1, 3.1},
    {"asinpi", "dd", {8, 30, 150}, 0.96, 4.4},
    {"atan", "dd", {8, 30, 150}, 0.95, 5},
    {"atan2", "ddd", {20, 65, 200}, 0.86, 3.6},
    {"atan2pi", "ddd", {20, 65, 200}, 0.86, 3.6},
    {"atanh", "dd", {11, 51, 460}, 1.1, 3.7},
    {"atanpi", "dd", {8, 30, 150}, 0.95, 5},
    {"cabs", NULL, {8, 30, 150}, 0.57, 2.9},
    {"cacos", NULL, {13, 230, 2100}, 1, 3.1},
    {"cacosh", NULL, {11, 220, 2000}, 1.1, 3.1},
    {"carg", NULL, {20, 65, 200}, 0.86, 3.6},
    {"casin", NULL, {13, 230, 2100}, 1, 3.1},
    {"casinh", NULL, {13, 230, 2100}, 1, 3.1},
    {"catan", NULL, {8, 120, 600}, 0.95, 5},
    {"catanh", NULL, {11, 150, 1400}, 1.1, 3.7},
    {"cbrt", "dd", {20, 65, 150}, 0.87, 4},
    {"ccos", NULL, {8, 120, 800}, 0.6, 5.7},
    {"ccosh", NULL, {8.1, 93, 810}, 0.98, 3.7},
    {"ceil", "dd", {1, 8, 30}, 1, 23},
    {"cexp", NULL, {7, 75, 360}, 0.7, 5.1},
    {"cimag", NULL, {0.25, 1, 4}, 1, 2.5},
    {"clog", NULL, {6, 100, 480}, 0.7, 4.7},
    {"clog10", NULL, {12, 160, 600}, 0.87, 3.3},
    {"compoundn", "ddi", {18, 60, 400}, 0.6, 29},
    {"conj", NULL, {0.25, 1, 4}, 1, 2.5},
    {"copysign", "ddd", {3.3, 7.8, 49}, 0.99, 2.9},
    {"cos", "dd", {8, 30, 200}, 0.6, 5.7},
    {"cosh", "dd", {8.1, 31, 270}, 0.98, 3.7},
    {"cospi", "dd", {8, 30, 200}, 0.6, 5.7},
    {"cpow", NULL, {18, 240, 1600}, 0.6, 29},
    {"cproj", NULL, {0.25, 3, 12}, 1, 2.5},
    {"creal", NULL, {0.25, 1, 4}, 1, 2.5},
    {"csin", NULL, {8, 120, 800}, 0.6, 5.5},
    {"csinh", NULL, {10, 130, 1200}, 1.2, 3.1},
    {"csqrt", NULL, {8, 75, 380}, 0.57, 2.9},
    {"ctan", NULL, {9, 160, 1000}, 1.1, 3},
    {"ctanh", NULL, {15, 240, 600}, 1.2, 2.4},
    {"drem", "ddd", {12, 27, 160}, 0.56, 1.6},
    {"erf", "dd", {4.9, 21, 190}, 1.2, 3.6},
    {"erfc", "dd", {5, 22, 200}, 1.1, 3.6},
    {"exp", "dd", {7, 25, 120}, 0.7, 5.1},
    {"exp10", "dd", {10, 36, 300}, 0.5, 2.9},
    {"exp10m1", "dd", {5.5, 30, 290}, 1.2, 3.1},
    {"exp2", "dd", {4.1, 17, 150}, 0.92, 5},
    {"exp2m1", "dd", {5.5, 30, 290}, 1.2, 3.1},
    {"expm1", "dd", {5.5, 30, 290}, 1.2, 3.1},
    {"fabs", "dd", {0.25, 1, 4}, 1, 2.5},
    {"fdim", "ddd", {3.5, 8, 49}, 0.99, 2},
    {"finite", "id", {0.25, 1, 4}, 1, 2.5},
    {"floor", "dd", {1, 8, 30}, 1, 24},
    {"fma", "dddd", {1, 7, 60}, 1, 130},
    {"fmax", "ddd", {3.4, 7.9, 49}, 0.96, 3.1},
    {"fmaximum", "ddd", {3.4, 7.9, 49}, 0.96, 3.1},
    {"fmaximum_num", "ddd", {3.4, 7.9, 49}, 0.96, 3.1},
    {"fmaxmag", "ddd", {3.4, 7.9, 49}, 0.96, 3.1},
    {"fmin", "ddd", {3.2, 7.7, 49}, 0.99, 3.1},
    {"fminimum", "ddd", {3.2, 7.7, 49}, 0.99, 3.1},
    {"fminimum_num", "ddd", {3.2, 7.7, 49}, 0.99, 3.1},
    {"fminmag", "ddd", {3.2, 7.7, 49}, 0.99, 3.1},
    {"fmod", "ddd", {6, 60, 800}, 0.97, 4.4},
    {"frexp", "ddp", {3.7, 10, 71}, 0.93, 2.8},
    {"gamma", "dd", {11, 38, 310}, 0.98, 5.7},
    {"gamma_r", "ddp", {11, 38, 310}, 0.98, 5.7},
    {"hypot", "ddd", {8, 30, 150}, 0.57, 2.9},
    {"ilogb", "id", {5, 12, 79}, 1, 3.4},
    {"isinf", "id", {0.25, 1, 4}, 1, 2.5},
    {"isnan", "id", {0.25, 1, 4}, 1, 2.5},
    {"j0", "dd", {5.1, 23, 200}, 1, 5.3},
    {"j1", "dd", {5.1, 21, 180}, 1.2, 5.7},
    {"jn", "did", {66, 190, 1500}, 0.76, 6.4},
    {"ldexp", "ddi", {5.7, 13, 76}, 1, 3.1},
    {"lgamma", "dd", {11, 38, 310}, 0.98, 5.7},
    {"lgamma_r", "ddp", {11, 38, 310}, 0.98, 5.7},
    {"llogb", "id", {5, 12, 79}, 1, 3.4},
    {"llrint", "id", {3.7, 10, 73}, 1, 2.7},
    {"llround", "id", {3.9, 12, 88}, 1, 2.6},
    {"log", "dd", {6, 25, 120}, 0.7, 4.7},
    {"log10", "dd", {12, 40, 150}, 0.87, 3.3},
    {"log10p1", "dd", {6, 33, 310}, 1.2, 3.2},
    {"log1p", "dd", {6, 33, 310}, 1.2, 3.2},
    {"log2", "dd", {6, 25, 120}, 0.81, 5.1},
    {"log2p1", "dd", {6, 33, 310}, 1.2, 3.2},
    {"logb", "dd", {3.7, 11, 79}, 0.97, 2},
    {"logp1", "dd", {6, 33, 310}, 1.2, 3.2},
    {"lrint", "id", {3.7, 10, 73}, 1, 2.7},
    {"lround", "id", {3.9, 12, 88}, 1, 2.5},
    {"modf", "ddp", {3.5, 8.1, 51}, 1.1, 4.1},
    {"nan", "dp", {3.5, 8.1, 51}, 1.1, 4.1},
    {"nearbyint", "dd", {3.1, 7.6, 49}, 1, 24},
    {"nextafter", "ddd", {4.8, 12, 76}, 0.86, 3.7},
    {"nextdown", "ddd", {4.8, 12, 76}, 0.86, 3.7},
    {"nexttoward", "ddl", {4.8, 12, 76}, 0.86, 3.7},
    {"nextup", "ddd", {4.8, 12, 76}, 0.86, 3.7},
    {"pow", "ddd", {18, 60, 400}, 0.6, 29},
    {"pow10", "dd", {10, 36, 300}, 0.5, 2.9},
    {"pown", "ddi", {18, 60, 400}, 0.6, 29},
    {"powr", "ddd", {18, 60, 400}, 0.6, 29},
    {"remainder", "ddd", {12, 27, 160}, 0.56, 1.6},
    {"remquo", "dddp", {7.8, 17, 100}, 0.91, 3.8},
    {"rint", "dd", {3.4, 7.8, 49}, 0.99, 2.6},
    {"rootn", "ddi", {18, 60, 400}, 0.6, 29},
    {"round", "dd", {1, 12, 30}, 1.1, 4},
    {"roundeven", "dd", {3.3, 7.8, 49}, 0.99, 4.9},
    {"rsqrt", "dd", {20, 65, 150}, 0.87, 4},
    {"scalb", "ddd", {18, 60, 400}, 0.6, 29},
    {"scalbln", "ddi", {5, 13, 86}, 1.1, 4},
    {"scalbn", "ddi", {5.7, 13, 77}, 1, 3},
    {"significand", "dd", {3.7, 11, 79}, 0.97, 2},
    {"sin", "dd", {8, 30, 200}, 0.6, 5.5},
    {"sincos", "vdpp", {11, 33, 250}, 0.57, 6.4},
    {"sinh", "dd", {10, 43, 390}, 1.2, 3.1},
    {"sinpi", "dd", {8, 30, 200}, 0.6, 5.5},
    {"sqrt", "dd", {3, 13, 40}, 0.75, 2.5},
    {"tan", "dd", {9, 40, 250}, 1.1, 3},
    {"tanh", "dd", {15, 60, 150}, 1.2, 2.4},
    {"tanpi", "dd", {9, 40, 250}, 1.1, 3},
    {"tgamma", "dd", {27, 74, 520}, 0.96, 5},
    {"trunc", "dd", {3.1, 7.6, 49}, 1, 24},
    {"y0", "dd", {13, 40, 310}, 1.1, 5.6},
    {"y1", "dd", {13, 41, 310}, 0.99, 5.5},
    {"yn", "did", {38, 140, 1200}, 0.87, 8.7},
};

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct family *)row)->name);
}

/* A suffix of names, with the letter of its number type in a call's type. */
static const struct suffix {
    const char *end;
    char letter;
    double times;
} suffixes[] = {{"", 'd', 1},    {"f", 'f', 1},    {"l", 'l', 1},    {"f32", 'f', 1},
                {"f64", 'd', 1}, {"f32x", 'd', 1}, {"f64x", 'l', 1}, {"f128", 'l', BINARY128}};

static const struct family *find_family(const char *name, const struct suffix *suffix)
{
    char base[MAX_NAME];
    size_t length = strlen(name), end = strlen(suffix->end);
    if (length <= end || length - end >= sizeof base || strcmp(name + length - end, suffix->end) != 0)
        return NULL;
    string_print(base, sizeof base, "%.*s", (int)(length - end), name);
    return bsearch(base, families, sizeof families / sizeof *families, sizeof *families, by_name);
}

/* Returns the name without the parts that glibc adds for -ffinite-math-only: "exp" for "__exp_finite". */
static const char *without_finite(const char *name, char *buffer, size_t size)
{
    size_t length = strlen(name), end = strlen(FINITE_SUFFIX);
    if (!string_starts(name, "__") || !string_ends(name, FINITE_SUFFIX) || length - end - 2 >= size)
        return name;
    string_print(buffer, size, "%.*s", (int)(length - end - 2), name + 2);
    return buffer;
}

/* Returns the name of a reentrant function with the letter of its type at the end: "lgamma_rf" for
 * "lgammaf_r". */
static const char *with_letter_last(const char *name, char *buffer, size_t size)
{
    size_t length = strlen(name);
    bool is_reentrant = length > 3 && (string_ends(name, "f_r") || string_ends(name, "l_r"));
    if (!is_reentrant || length >= size)
        return name;
    string_print(buffer, size, "%.*s_r%c", (int)(length - 3), name, name[length - 3]);
    return buffer;
}

/* Sets out->type to the type for another number: for a float, "ddp" becomes "ffp". */
static void set_type(const char *type, char letter, struct library_math *out)
{
    string_copy(out->type, sizeof out->type, type ? type : MATH_COMPLEX);
    for (char *at = out->type; *at; at++)
        *at = *at == 'd' ? letter : *at;
}

bool library_math_find(const char *name, struct library_math *out_math)
{
    char buffer[MAX_NAME], reordered[MAX_NAME];
    name = with_letter_last(without_finite(name, buffer, sizeof buffer), reordered, sizeof reordered);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const struct family *family = find_family(name, &suffixes[i]);
        if (!family)
            continue;
        char letter = suffixes[i].letter;
        double times = letter == 'f' ? family->float_factor : letter == 'l' ? family->long_factor : 1;
        for (int b = 0; b < BOUNDS; b++)
            out_math->cycles[b] = family->cycles[b] * times * suffixes[i].times;
        if (letter == 'f') /* the minimum for float was not measured separately */
            out_math->cycles[BOUND_LOW] = family->cycles[BOUND_LOW] * (times < 1 ? times : 1);
        set_type(family->type, letter, out_math);
        return true;
    }
    return false;
}
