/* tools/joule/calibrate/calibration_page.h - prints a calibration as JSON, the format of the stored file, and
 * as text. */
#ifndef CALIBRATE_CALIBRATION_PAGE_H
#define CALIBRATE_CALIBRATION_PAGE_H

#include "base/string.h"
#include "calibrate/measure_kernels.h"

struct calibrated {
    struct cost_calibration calibration;
    struct measured measured;
    struct cost_core typical;       /* typical core of the family */
    struct fit_errors time, energy; /* energy: only if calibration.prices.cls is not NONE */
    const char *no_energy;          /* reason for missing energy; NULL: energy was measured */
    const char *path;               /* output file; NULL: none */
};

/* Print the calibration; `calibrated`: a struct calibrated. */
void calibrate_json(const void *calibrated, struct text *out);
void calibrate_text(const void *calibrated, struct text *out);
/* Lists the kernels that run on `core`, a struct cost_core, with their operation counts. */
void calibrate_list(const void *core, struct text *out);

#endif
