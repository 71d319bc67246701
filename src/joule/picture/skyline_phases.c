/* joule/picture/skyline_phases.c - see skyline_phases.h. */
#include "joule/picture/skyline_phases.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "joule/picture/power_sweep.h"
#include "joule/stats/change_points.h"

#define MAX_VALUES 5000
#define MIN_VALUES 8
#define MIN_COUNT  3 /* values of a phase: shorter excursions are outliers */

/* Returns the number of values: one for each step of the slowest sensor of the total, so that neighbours are
 * independent. */
static size_t choose_count(const struct record *record)
{
    struct cover cover;
    size_t count = MAX_VALUES;
    meter_cover(record->meter, JOULE_TOTAL, record->begin_ns, record->end_ns, &cover);
    for (size_t i = 0; i < cover.count; i++) {
        size_t points = record->meter->channels[cover.ids[i]].channel->curve.count;
        count = points < count ? points : count;
    }
    return count > MIN_VALUES ? count : MIN_VALUES;
}

/* Returns the power of a column if all devices were measured, otherwise NaN. */
static double known_watts(const struct skyline *skyline, size_t column)
{
    return skyline_has_all(skyline, column) ? skyline_watts(skyline, -1, column) : NAN;
}

/* Writes the power of the columns. An unknown power continues the value before, so that a gap is no change.
 */
static void read_watts(const struct skyline *skyline, double *watts)
{
    double before = 0;
    for (size_t i = skyline->column_count; i-- > 0;) { /* the first known power also applies before it */
        double known = known_watts(skyline, i);
        before = isnan(known) ? before : known;
    }
    for (size_t i = 0; i < skyline->column_count; i++) {
        double known = known_watts(skyline, i);
        watts[i] = before = isnan(known) ? before : known;
    }
}

static struct skyline_phase phase_of(const struct skyline *skyline, const struct phase *phase)
{
    struct skyline_phase result = {
        .begin_ns =
            power_sweep_edge_ns(skyline->begin_ns, skyline->end_ns, skyline->column_count, phase->first),
        .end_ns = power_sweep_edge_ns(skyline->begin_ns, skyline->end_ns, skyline->column_count,
                                      phase->first + phase->count)};
    double measured_s = 0;
    for (size_t i = phase->first; i < phase->first + phase->count; i++) {
        measured_s += skyline->columns[i].measured_s;
        for (size_t k = 0; k < skyline->layer_count; k++)
            result.joules += skyline->layers[k].joules[i];
    }
    result.mean_watts = measured_s > 0 ? result.joules / measured_s : NAN;
    if (!(measured_s > 0))
        result.joules = NAN;
    return result;
}

/* Finds the phases of a skyline. Returns false if out of memory. */
static bool find(const struct skyline *skyline, struct arena *arena, struct skyline_phase **out_phases,
                 size_t *out_count)
{
    struct phases phases = {0};
    double *watts = arena_alloc(arena, skyline->column_count * sizeof *watts);
    if (!watts)
        return false;
    read_watts(skyline, watts);
    if (!change_points_find(watts, skyline->column_count, &(struct phase_rule){.min_count = MIN_COUNT}, arena,
                            &phases))
        return false;
    *out_phases = arena_alloc(arena, (phases.count + 1) * sizeof **out_phases);
    if (!*out_phases)
        return false;
    for (size_t i = 0; i < phases.count; i++)
        (*out_phases)[i] = phase_of(skyline, &phases.items[i]);
    *out_count = phases.count;
    return true;
}

joule_status skyline_find_phases(const struct record *record, const struct skyline_part *part,
                                 struct arena *arena, struct skyline_phase **out_phases, size_t *out_count,
                                 joule_error *out_error)
{
    struct skyline skyline;
    struct skyline_part shown = {part->from_s, part->to_s, SKYLINE_BY_DEVICE, choose_count(record)};
    *out_count = 0;
    joule_status status = skyline_of_record(record, &shown, &skyline, out_error);
    if (status == JOULE_OK && !find(&skyline, arena, out_phases, out_count))
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot find phases: out of memory");
    skyline_free(&skyline);
    return status;
}
