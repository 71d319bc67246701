/* joule/attribute/idle_baseline.c - see idle_baseline.h. */
#include "joule/attribute/idle_baseline.h"

#include <math.h>

#define PIECES 10 /* parts of a measurement whose scatter shows how steady the power was */

/* Returns the standard deviation, in watts, of the mean power of PIECES equal parts of the interval. */
static double scatter_watts(joule_meter *meter, const struct cover *cover, int64_t begin_ns, int64_t end_ns,
                            double mean_watts)
{
    int64_t piece_ns = (end_ns - begin_ns) / PIECES;
    double squares = 0;
    for (int i = 0; i < PIECES; i++) {
        int64_t from_ns = begin_ns + piece_ns * i;
        struct window piece = meter_cover_window(meter, cover, from_ns, from_ns + piece_ns);
        double difference = piece.joules.value / ((double)piece_ns * 1e-9) - mean_watts;
        squares += isnan(difference) ? 0 : difference * difference;
    }
    /* The estimate from ten pieces is inaccurate, and neighbouring pieces are correlated. The factor 1 + 3/n
     * widens the estimate about as a t distribution would. */
    return sqrt(squares / (PIECES - 1) * (1 + 3.0 / PIECES));
}

/* Note: a baseline is used at a later time than it was measured. So the scatter is not reduced by the number
 * of pieces, as the error of a mean would be. */
struct estimate baseline_watts(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns)
{
    struct cover cover;
    meter_cover(meter, domain, begin_ns, end_ns, &cover);
    struct window whole = meter_cover_window(meter, &cover, begin_ns, end_ns);
    struct estimate watts = estimate_scale(whole.joules, 1e9 / (double)(end_ns - begin_ns));
    if (isnan(watts.value))
        return watts;
    double scatter = scatter_watts(meter, &cover, begin_ns, end_ns, watts.value);
    struct estimate idle = estimate_make(0, watts.cls, 0, CAUSE_IDLE, hypot(scatter, sqrt(watts.variance)));
    watts.variance = 0;
    return estimate_add(watts, 1, &idle);
}

/* Returns a - b for two modelled quantities. Their errors are relative, but the error of the difference is
 * not. So each side of the result's interval is combined in quadrature from the intervals of a and b. */
static joule_quantity difference_of_models(joule_quantity a, joule_quantity b)
{
    double value = a.value - b.value;
    return (joule_quantity){.value = value,
                            .low = value - hypot(a.value - a.low, b.high - b.value),
                            .high = value + hypot(a.high - a.value, b.value - b.low),
                            .cls = a.cls > b.cls ? a.cls : b.cls};
}

joule_quantity baseline_net(const struct estimate *total, const struct estimate *idle)
{
    struct estimate net = estimate_add(*total, -1, idle);
    if (isnan(net.value) || net.cls < JOULE_CLASS_MODELLED)
        return estimate_quantity(&net);
    return difference_of_models(estimate_quantity(total), estimate_quantity(idle));
}
