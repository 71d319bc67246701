/* support/directional.h - checks derivatives of whole models along random directions.
 *
 * The loss is in double precision and depends on a graph's parameters. At random points, the program's slope
 * along a direction is compared with a finite difference (step 1e-6, tolerance 1e-5 + 1e-3 of the slope). If
 * is_second is set, the change of the slope along a second direction is compared, too. Note: if the
 * differences on both sides of a point differ by more than the tolerance, a kink is near and another point is
 * used. For first derivatives only the loss decides this, so a wrong gradient is not mistaken for a kink. */
#ifndef SUPPORT_DIRECTIONAL_H
#define SUPPORT_DIRECTIONAL_H

#include <forge/nn.h>

struct directional {
    const char *name;
    /* loss: returns one f64, computed from f64 parameters */
    forge_value (*loss)(forge_builder *b, const void *context);
    const void *context;
    uint64_t seed;   /* for points and directions */
    unsigned points; /* number of points to try */
    bool is_second;  /* check second derivatives, too */
};

/* Numbers of points rejected because of a kink, and of points tried, in all checks of the program. */
extern unsigned directional_kinks, directional_points;

void directional_check(const struct directional *directional);

/* Returns the f64 parameter `number` of this shape. Its elements are normal with standard deviation 1. */
forge_value directional_variable(forge_builder *b, unsigned number, forge_shape shape);

#endif
