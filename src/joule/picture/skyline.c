/* joule/picture/skyline.c - computes the columns and layers of a skyline. */
#include "joule/picture/skyline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "joule/picture/power_sweep.h"
#include "joule/picture/skyline_marks.h"

#define MIN_COVERAGE 0.1 /* the power of a column with less coverage is unknown */

/* Data of one call of skyline_make. */
struct work {
    const struct skyline_request *request;
    struct skyline *skyline;
    struct power_curve curves[POWER_SWEEP_CURVES];
    size_t curve_count;
    struct power_sweep sweep;
    struct skyline_region *regions; /* sorted, without invalid ones */
    struct power_end *ends;
    double *name_joules;  /* [name_count + 1]; the last one: outside regions */
    uint8_t *name_layers; /* [name_count + 1] */
    uint8_t curve_layers[POWER_SWEEP_CURVES];
};

bool skyline_has_all(const struct skyline *skyline, size_t column)
{
    return skyline->columns[column].covered_s >= MIN_COVERAGE * skyline->column_s;
}

double skyline_watts(const struct skyline *skyline, int layer, size_t column)
{
    double measured_s = skyline->columns[column].measured_s;
    if (!(measured_s >= MIN_COVERAGE * skyline->column_s))
        return NAN;
    double joules = 0;
    for (size_t i = 0; i < skyline->layer_count; i++)
        joules += layer < 0 || (size_t)layer == i ? skyline->layers[i].joules[column] : 0;
    return joules / measured_s;
}

void skyline_free(struct skyline *skyline)
{
    arena_free(&skyline->arena);
    *skyline = (struct skyline){0};
}

/* --- curves --------------------------------------------------------------------------------------------- */

static bool has_domain(const struct cover *cover, int32_t id)
{
    for (size_t i = 0; i < cover->count; i++) {
        if (cover->ids[i] == id)
            return true;
    }
    return false;
}

/* Copies the points of a channel that lie in the window, with one more on each side. Points at equal times
 * are merged. */
static bool copy_points(const struct channel *channel, int64_t begin_ns, int64_t end_ns,
                        struct power_curve *out)
{
    const struct curve *curve = &channel->curve;
    size_t first = curve_count_until(curve, begin_ns), last = curve_count_until(curve, end_ns);
    first -= first > 0;
    last += last < curve->count;
    out->points = malloc((last - first + 2) * sizeof *out->points);
    if (!out->points)
        return false;
    for (size_t i = first; i < last; i++) {
        const struct curve_point *p = &curve->points[i];
        bool is_same = out->count && out->points[out->count - 1].time_ns == p->time_ns;
        out->points[is_same ? out->count - 1 : out->count++] =
            (struct power_point){p->time_ns, p->joules, p->covered_s};
    }
    return true;
}

/* Adds what the meter extrapolates after the last point, as another point. */
static void extend_curve(joule_meter *meter, int64_t end_ns, struct power_curve *curve)
{
    if (curve->count == 0 || curve->points[curve->count - 1].time_ns >= end_ns)
        return;
    struct power_point last = curve->points[curve->count - 1];
    struct window rest = meter_channel_window(meter, curve->domain, last.time_ns, end_ns);
    if (isnan(rest.joules.value) || !(rest.covered_s > 0))
        return;
    int64_t until_ns = last.time_ns + (int64_t)(rest.covered_s * 1e9 + 0.5);
    if (until_ns <= last.time_ns)
        return;
    curve->points[curve->count++] =
        (struct power_point){until_ns < end_ns ? until_ns : end_ns, last.joules + rest.joules.value,
                             last.covered_s + rest.covered_s};
}

/* Reads the curves of the domains of the total. */
static joule_status read_curves(struct work *work)
{
    const struct skyline_request *request = work->request;
    joule_meter *meter = request->meter;
    struct cover total, cpu, gpu;
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, request->end_ns, &total);
    meter_cover(meter, JOULE_CPU, meter->begin_ns, request->end_ns, &cpu);
    meter_cover(meter, JOULE_GPU, meter->begin_ns, request->end_ns, &gpu);
    for (size_t i = 0; i < total.count && i < POWER_SWEEP_CURVES; i++) {
        struct power_curve *curve = &work->curves[work->curve_count++];
        curve->domain = total.ids[i];
        curve->group = has_domain(&cpu, total.ids[i])   ? POWER_CPU
                       : has_domain(&gpu, total.ids[i]) ? POWER_GPU
                                                        : POWER_REST;
        struct meter_channel *mc = &meter->channels[total.ids[i]];
        pthread_mutex_lock(&mc->lane->lock);
        bool succeeded = copy_points(mc->channel, request->begin_ns, request->end_ns, curve);
        pthread_mutex_unlock(&mc->lane->lock);
        if (!succeeded)
            return JOULE_NO_MEMORY;
        extend_curve(meter, request->end_ns, curve);
    }
    struct window window = meter_cover_window(meter, &total, request->begin_ns, request->end_ns);
    work->skyline->total_joules = estimate_quantity(&window.joules);
    work->skyline->coverage = window.length_s > 0 ? fmin(1, window.covered_s / window.length_s) : NAN;
    meter_cover_name(meter, &total, work->skyline->cover, sizeof work->skyline->cover);
    return work->curve_count ? JOULE_OK : JOULE_ABSENT;
}

/* --- layers --------------------------------------------------------------------------------------------- */

/* Adds the energy of a slice to the joules of each name; the energy without a region to the last one. */
static void add_to_names(const struct power_slice *slice, void *context)
{
    struct work *work = context;
    for (size_t c = 0; c < work->curve_count; c++) {
        enum power_group group = work->curves[c].group;
        if (slice->share_count[group] == 0)
            work->name_joules[work->request->name_count] += slice->joules[c];
        for (size_t i = 0; i < slice->share_count[group]; i++)
            work->name_joules[slice->shares[group][i].name] +=
                slice->joules[c] * slice->shares[group][i].share;
    }
}

static uint8_t add_layer(struct skyline *skyline, const char *name, enum colour colour)
{
    struct skyline_layer *layer = &skyline->layers[skyline->layer_count];
    string_copy(layer->name, sizeof layer->name, name);
    layer->colour = colour;
    layer->joules = arena_alloc(&skyline->arena, skyline->column_count * sizeof *layer->joules);
    return (uint8_t)skyline->layer_count++;
}

/* Returns the name with the most joules that has no layer yet; name_count: none. */
static size_t largest_name(const struct work *work)
{
    size_t best = work->request->name_count;
    for (size_t i = 0; i < work->request->name_count; i++) {
        if (work->name_layers[i] == NO_LAYER && work->name_joules[i] > 0 &&
            (best == work->request->name_count || work->name_joules[i] > work->name_joules[best]))
            best = i;
    }
    return best;
}

/* Makes layers of the regions with the most energy; the others share one. */
static void make_region_layers(struct work *work)
{
    struct skyline *skyline = work->skyline;
    size_t name_count = work->request->name_count;
    memset(work->name_layers, NO_LAYER, name_count + 1);
    for (int i = 0; i < DRAWING_SERIES; i++) {
        size_t name = largest_name(work);
        if (name == name_count)
            break;
        work->name_layers[name] =
            add_layer(skyline, work->request->names[name], (enum colour)(COLOUR_SERIES + i));
    }
    if (largest_name(work) < name_count) {
        uint8_t other = add_layer(skyline, "other regions", COLOUR_OTHER);
        for (size_t i = 0; i < name_count; i++)
            work->name_layers[i] = work->name_layers[i] == NO_LAYER ? other : work->name_layers[i];
    }
    bool has_regions = skyline->layer_count > 0;
    work->name_layers[name_count] = add_layer(skyline, has_regions ? "outside regions" : "all",
                                              has_regions ? COLOUR_UNKNOWN : COLOUR_SERIES);
}

/* Makes a layer of each domain; domains beyond the number of colours share one. */
static void make_device_layers(struct work *work)
{
    uint8_t other = NO_LAYER;
    for (size_t c = 0; c < work->curve_count; c++) {
        const joule_domain *info = &work->request->meter->channels[work->curves[c].domain].channel->info;
        if (c < DRAWING_SERIES)
            work->curve_layers[c] = add_layer(work->skyline, info->name, (enum colour)(COLOUR_SERIES + c));
        else if (other == NO_LAYER)
            other = add_layer(work->skyline, "other devices", COLOUR_OTHER);
        if (c >= DRAWING_SERIES)
            work->curve_layers[c] = other;
    }
}

/* --- columns -------------------------------------------------------------------------------------------- */

/* Adds the time and the extremes of a slice to its column. */
static void add_extremes(struct work *work, const struct power_slice *slice)
{
    struct skyline_column *column = &work->skyline->columns[slice->column];
    double length_s = (double)(slice->end_ns - slice->begin_ns) * 1e-9;
    double least_s = INFINITY, most_s = 0, joules = 0;
    for (size_t c = 0; c < work->curve_count; c++) {
        least_s = fmin(least_s, slice->covered_s[c]);
        most_s = fmax(most_s, slice->covered_s[c]);
        joules += slice->joules[c];
    }
    column->covered_s += fmin(least_s, length_s);
    column->measured_s += fmin(most_s, length_s);
    if (!(least_s > 0.5 * length_s))
        return; /* not all devices were measured: the power is unknown */
    double watts = joules / least_s;
    column->min_watts = fmin(column->min_watts, watts);
    column->max_watts = fmax(column->max_watts, watts);
}

/* Regions without energy have no layer. */
static void add_to_layer(struct work *work, uint8_t layer, size_t column, double joules)
{
    if (layer == NO_LAYER)
        return;
    work->skyline->layers[layer].joules[column] += joules;
    work->skyline->layers[layer].total_joules += joules;
}

static void add_to_columns(const struct power_slice *slice, void *context)
{
    struct work *work = context;
    add_extremes(work, slice);
    for (size_t c = 0; c < work->curve_count; c++) {
        enum power_group group = work->curves[c].group;
        double joules = slice->joules[c];
        if (work->skyline->by == SKYLINE_BY_DEVICE)
            add_to_layer(work, work->curve_layers[c], slice->column, joules);
        else if (slice->share_count[group] == 0)
            add_to_layer(work, work->name_layers[work->request->name_count], slice->column, joules);
        else
            for (size_t i = 0; i < slice->share_count[group]; i++) {
                const struct power_share *share = &slice->shares[group][i];
                add_to_layer(work, work->name_layers[share->name], slice->column, joules * share->share);
            }
    }
}

/* --- the whole ------------------------------------------------------------------------------------------ */

static int by_begin(const void *a, const void *b)
{
    const struct skyline_region *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns); /* the outer region first */
}

static int by_time(const void *a, const void *b)
{
    const struct power_end *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* Copies and sorts the regions that overlap the shown time. */
static bool sort_regions(struct work *work)
{
    const struct skyline_request *request = work->request;
    size_t count = 0;
    work->regions = malloc((request->region_count + 1) * sizeof *work->regions);
    work->ends = malloc((request->region_count + 1) * sizeof *work->ends);
    if (!work->regions || !work->ends)
        return false;
    for (size_t i = 0; i < request->region_count; i++) {
        const struct skyline_region *region = &request->regions[i];
        bool is_valid = region->name < request->name_count && region->begin_ns < region->end_ns;
        if (is_valid && region->begin_ns < (uint64_t)request->end_ns &&
            region->end_ns > (uint64_t)request->begin_ns)
            work->regions[count++] = *region;
    }
    qsort(work->regions, count, sizeof *work->regions, by_begin);
    for (size_t i = 0; i < count; i++)
        work->ends[i] = (struct power_end){work->regions[i].end_ns, i};
    qsort(work->ends, count, sizeof *work->ends, by_time);
    work->sweep = (struct power_sweep){.curves = work->curves,
                                       .curve_count = work->curve_count,
                                       .begin_ns = request->begin_ns,
                                       .end_ns = request->end_ns,
                                       .column_count = request->columns,
                                       .regions = work->regions,
                                       .ends = work->ends,
                                       .region_count = count};
    return true;
}

/* Allocates the columns, which are unknown at first. */
static bool make_columns(struct skyline *skyline)
{
    skyline->columns = arena_alloc(&skyline->arena, skyline->column_count * sizeof *skyline->columns);
    for (size_t i = 0; skyline->columns && i < skyline->column_count; i++)
        skyline->columns[i] = (struct skyline_column){.min_watts = NAN, .max_watts = NAN};
    return skyline->columns != NULL;
}

static joule_status fill(struct work *work)
{
    const struct skyline_request *request = work->request;
    struct skyline *skyline = work->skyline;
    joule_status status = read_curves(work);
    if (status != JOULE_OK)
        return status;
    work->name_joules = calloc(request->name_count + 1, sizeof *work->name_joules);
    work->name_layers = calloc(request->name_count + 1, sizeof *work->name_layers);
    if (!work->name_joules || !work->name_layers || !make_columns(skyline) || !sort_regions(work))
        return JOULE_NO_MEMORY;
    if (!power_sweep_run(&work->sweep, add_to_names, work))
        return JOULE_NO_MEMORY;
    if (request->by == SKYLINE_BY_DEVICE)
        make_device_layers(work);
    else
        make_region_layers(work);
    if (skyline->arena.is_out_of_memory || !power_sweep_run(&work->sweep, add_to_columns, work))
        return JOULE_NO_MEMORY;
    struct mark_request marks = {.regions = work->regions,
                                 .region_count = work->sweep.region_count,
                                 .name_layers = request->by == SKYLINE_BY_REGION ? work->name_layers : NULL};
    return skyline_add_marks(skyline, &marks) ? JOULE_OK : JOULE_NO_MEMORY;
}

joule_status skyline_make(const struct skyline_request *request, struct skyline *out_skyline,
                          joule_error *out_error)
{
    *out_skyline = (struct skyline){.arena.block_size = 1 << 16,
                                    .begin_ns = request->begin_ns,
                                    .end_ns = request->end_ns,
                                    .zero_ns = request->zero_ns,
                                    .by = request->by,
                                    .column_count = request->columns};
    if (request->columns < 1 || request->columns > SKYLINE_MAX_COLUMNS || request->begin_ns < 0 ||
        request->end_ns - request->begin_ns < (int64_t)request->columns)
        return error_set(out_error, JOULE_INVALID, "cannot draw the power: the time is too short");
    out_skyline->column_s = (double)(request->end_ns - request->begin_ns) * 1e-9 / (double)request->columns;
    struct work work = {.request = request, .skyline = out_skyline};
    joule_status status = fill(&work);
    for (size_t c = 0; c < work.curve_count; c++)
        free(work.curves[c].points);
    free(work.regions);
    free(work.ends);
    free(work.name_joules);
    free(work.name_layers);
    if (status == JOULE_NO_MEMORY)
        error_set(out_error, status, "cannot draw the power: out of memory");
    else if (status != JOULE_OK)
        error_set(out_error, status, "cannot draw the power: no energy was measured or modelled");
    return status;
}
