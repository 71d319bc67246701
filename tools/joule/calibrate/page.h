/* tools/joule/calibrate/page.h - a calibration as JSON, which is also the file that is kept, and in words.
 *
 * Newcomers: both are pages (common/page.h), printed twice.
 */
#ifndef CALIBRATE_PAGE_H
#define CALIBRATE_PAGE_H

#include "base/string.h"
#include "calibrate/measure.h"

struct calibrated {
    struct cost_calibration calibration;
    struct measured measured;
    struct cost_core typical;       /* of the family */
    struct fit_errors time, energy; /* energy: where calibration.prices.cls is not NONE */
    const char *no_energy;          /* why; NULL: there is energy */
    const char *path;               /* that it was written to; NULL: nowhere */
};

void calibrate_json(const void *calibrated, struct text *out);
void calibrate_words(const void *calibrated, struct text *out);
/* The kernels of a core, which the context is. */
void calibrate_list(const void *core, struct text *out);

#endif
