/* tools/joule/idle_option.c - see idle_option.h. */
#include "idle_option.h"

#include <string.h>
#include "common/options.h"

bool idle_option_read(const char *subject, const char *text, struct measurement_options *options,
                      double *out_seconds)
{
    joule_error error;
    *out_seconds = 0;
    /* A stored baseline belongs to this machine and is not used for a recorded machine. */
    options->uses_idle = (!text || strcmp(text, "none") != 0) && !options->root;
    if (!text || strcmp(text, "none") == 0 || strcmp(text, "auto") == 0)
        return true;
    if (joule_parse(text, JOULE_DIMENSION_TIME, out_seconds, &error) == JOULE_OK && *out_seconds > 0)
        return true;
    complain(subject, "--idle takes 'auto', 'none' or a duration such as 10s, not '%s'", text);
    return false;
}

bool idle_option_measure(const char *subject, struct measurement_options *options, double seconds)
{
    joule_options how = {.struct_size = sizeof how,
                         .flags = JOULE_OPEN_NO_SESSION,
                         .period_s = options->period_s,
                         .sources = options->sources,
                         .root = options->root};
    joule_meter *meter;
    joule_error error;
    if (!(seconds > 0))
        return true;
    joule_status status = joule_open(&how, &meter, &error);
    if (status == JOULE_OK) {
        status = idle_measure(meter, seconds, &options->idle, &error);
        joule_close(meter);
    }
    if (status != JOULE_OK) {
        complain(subject, "cannot measure the idle baseline: %s", error.message);
        return false;
    }
    if (options->idle.busy > IDLE_BUSY_MAX)
        complain(subject,
                 "the idle baseline is too high, because the CPUs were %.0f %% busy while it was measured; "
                 "measure it again on an idle machine",
                 100 * options->idle.busy);
    if (!options->root && idle_store(&options->idle, &error) != JOULE_OK)
        complain(subject, "cannot store the idle baseline: %s", error.message);
    return true;
}
