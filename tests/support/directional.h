/* support/directional.h - derivatives of whole models along random directions.
 *
 * Owns the trial of a loss in double that depends on a graph's parameters: at random points, its slope along a direction by
 * the program and by differences (step 1e-6, tolerance 1e-5 + 1e-3 of the slope), and, where asked, how the slope along a
 * second direction changes along the first. Newcomers: where the slopes on both sides differ by more than the tolerance a kink
 * is near, and another point is taken; that is decided by the loss alone, so that a wrong gradient cannot hide behind it.
 */
#ifndef SUPPORT_DIRECTIONAL_H
#define SUPPORT_DIRECTIONAL_H

#include <forge/nn.h>

struct directional {
    const char *name;
    forge_value (*loss)(forge_builder *b, const void *context); /* one f64, of f64 parameters */
    const void *context;
    uint64_t seed;   /* of points and directions */
    unsigned points; /* where it is tried */
    bool is_second;  /* second derivatives, too */
};

/* How often it had to look for another point so far, and how many were tried, in all checks of the program. */
extern unsigned directional_kinks, directional_points;

void directional_check(const struct directional *directional);

/* A parameter in f64, normal with sd 1, by number. */
forge_value directional_variable(forge_builder *b, unsigned number, forge_shape shape);

#endif
