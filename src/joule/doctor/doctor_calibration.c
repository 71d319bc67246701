/* joule/doctor/doctor_calibration.c - checks whether joulec uses a calibration of this machine.
 *
 * Note: a missing calibration is only a fact, because it makes joulec's intervals wider but not wrong. An old
 * or broken calibration gives advice, because its user may rely on it.
 */
#include <math.h>
#include "joule/doctor/doctor_exam.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "joule/sources/cpu/cpu_map.h"

#define CALIBRATE "joule calibrate"

/* Reports a missing calibration, or one of another CPU. */
static void report_uncalibrated(struct exam *exam, const struct cpu_calibration *found)
{
    struct finding *finding =
        exam_find(exam, FINDING_FACT, "uncalibrated", "joulec uses typical figures of this CPU's family.");
    finding->why =
        found->state == CALIBRATION_FOREIGN
            ? exam_format(exam, "%s was made on another CPU. To measure this CPU, run (90 s):", found->path)
            : "To measure this CPU and narrow joulec's intervals, run (90 s):";
    finding->command = CALIBRATE;
}

/* Reports the date and error of the calibration, with advice if it is old. */
static void report_calibrated(struct exam *exam, const struct cpu_calibration *found)
{
    char date[16];
    const struct cost_calibration *calibration = &found->calibration;
    bool has_energy = calibration->prices.cls != JOULE_CLASS_NONE;
    cost_calibration_date(calibration, date);
    struct finding *finding =
        exam_find(exam, found->state == CALIBRATION_OLD ? FINDING_ADVICE : FINDING_FACT,
                  found->state == CALIBRATION_OLD ? "calibration_old" : "calibrated",
                  "joulec's %s for this CPU were measured on %s: error %.0f %%.",
                  has_energy ? "times and joules" : "times", date,
                  100 * expm1(fmax(calibration->speeds.log_sd, has_energy ? calibration->prices.log_sd : 0)));
    if (found->state != CALIBRATION_OLD)
        return;
    finding->why = exam_format(exam, "That was %.0f days ago; microcode and cooling may have changed since.",
                               found->age_days);
    finding->command = CALIBRATE;
}

void check_calibration(struct exam *exam)
{
    struct cost_cpu cpu;
    struct cpu_calibration found;
    if (!cpu_map_identify(exam->host, &cpu))
        return;
    cpu_calibration_find(exam->host, &cpu, &found);
    if (cpu_calibration_is_used(&found))
        report_calibrated(exam, &found);
    else if (found.state != CALIBRATION_BROKEN)
        report_uncalibrated(exam, &found);
    else {
        struct finding *finding =
            exam_find(exam, FINDING_ADVICE, "calibration_broken", "joulec cannot use its calibration.");
        finding->why = exam_format(exam, "%s", found.error.message);
        finding->command = CALIBRATE;
    }
}
