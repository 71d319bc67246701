/* support/directional.h - checks derivatives of whole models along random directions.
 *
 * The loss is in double precision and depends on a graph's parameters. At random points, the program's slope
 * along a direction is compared with a finite difference. The step is 1e-6, and the tolerance is 1e-5 + 1e-3
 * of the slope. If is_second is set, the change of the slope along a second direction is also compared. Note:
 * if the finite differences on both sides of a point differ by more than the tolerance, the point is near a
 * kink and another point is used. For first derivatives, this decision uses only the loss, so a wrong
 * gradient is not mistaken for a kink. */
#ifndef SUPPORT_DIRECTIONAL_H
#define SUPPORT_DIRECTIONAL_H

#include <forge/nn.h>

struct directional {
    const char *name;
    /* returns the loss, one f64 that is computed from f64 parameters */
    forge_value (*loss)(forge_builder *b, const void *context);
    const void *context;
    uint64_t seed;   /* for points and directions */
    unsigned points; /* number of points to try */
    bool is_second;  /* check second derivatives, too */
};

/* Numbers of points rejected because of a kink, and of points tried, in all checks of the program. */
extern unsigned directional_kinks, directional_points;

void directional_check(const struct directional *directional);

/* Returns the f64 parameter with this number and shape. Its elements are drawn from a normal distribution
 * with mean 0 and standard deviation 1. */
forge_value directional_variable(forge_builder *b, unsigned number, forge_shape shape);

#endif
