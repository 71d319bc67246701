/* tools/top/gather.c - see gather.h. Gathers devices; gather_processes.c gathers processes.
 *
 * Note: the row of a device collects the domains that have its name in joule_domain.device. The row's power
 * is that of one domain: the domain in the total, else the outermost domain that can be read.
 */
#include "gather.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "../joule/idle.h"

#define FIRST_NAP_NS 120000000 /* pause between the first two readings; power needs two */

/* --- devices -------------------------------------------------------------------------------------------- */

static bool is_gauge(const joule_domain *domain)
{
    return domain->reading != JOULE_READING_ENERGY && domain->reading != JOULE_READING_POWER;
}

/* Returns the priority of a domain as the source of its device's power; 0: not usable. */
static int priority_of(const joule_domain *domain)
{
    if (is_gauge(domain))
        return 0;
    bool is_whole = domain->scope == JOULE_SCOPE_PACKAGE || domain->scope == JOULE_SCOPE_DRAM ||
                    domain->scope == JOULE_SCOPE_GPU || domain->scope == JOULE_SCOPE_NODE ||
                    domain->scope == JOULE_SCOPE_BATTERY;
    return domain->in_total ? 5 : domain->state != JOULE_OK ? 1 : is_whole ? 4 : 3;
}

static void update_from_domain(struct gathering *g, struct device_row *row, const joule_domain *domain,
                               int *priority)
{
    if (!row->model[0])
        string_copy(row->model, sizeof row->model, domain->model);
    if (!row->vendor[0])
        string_copy(row->vendor, sizeof row->vendor, domain->vendor);
    double celsius;
    if (domain->reading == JOULE_READING_TEMPERATURE &&
        joule_gauge(g->meter, domain->id, &celsius) == JOULE_OK)
        row->celsius = fmax(row->celsius, celsius);
    joule_quantity watts;
    int own = priority_of(domain);
    if (own > 2 && joule_power_watts(g->meter, domain->id, &watts) != JOULE_OK)
        own = 2; /* no power, for example because the domain's counter does not change */
    if (own <= *priority)
        return;
    *priority = own;
    row->domain = domain->id;
    row->in_total = domain->in_total;
    row->state = domain->state;
    string_copy(row->remedy, sizeof row->remedy, domain->remedy);
}

static void reset_row(struct device_row *row)
{
    joule_quantity unknown = quantity_unknown();
    row->watts = row->joules = unknown;
    row->busy = row->celsius = row->limit_watts = NAN;
    row->memory_used_bytes = row->memory_total_bytes = JOULE_BYTES_UNKNOWN;
    row->domain = -1;
    row->state = JOULE_PENDING;
    row->remedy[0] = '\0';
    row->is_board = row->in_total = false;
}

static void update_from_domains(struct gathering *g, struct model *model)
{
    size_t count = joule_domain_count(g->meter);
    int priorities[METER_MAX_CHANNELS] = {0};
    for (size_t i = 0; i < count && i < METER_MAX_CHANNELS; i++) {
        joule_domain domain = {.struct_size = sizeof domain};
        if (joule_domain_get(g->meter, i, &domain) != JOULE_OK || !domain.device[0])
            continue;
        struct device_row *row = model_device(model, domain.device);
        if (!row && !is_gauge(&domain) && (row = model_add_device(model, domain.device)))
            reset_row(row);
        if (!row)
            continue;
        row->is_listed = true;
        update_from_domain(g, row, &domain, &priorities[row - model->devices]);
    }
}

/* Adds boards and other devices that sources describe. */
static void update_from_boards(struct gathering *g, struct model *model)
{
    for (size_t i = 0; i < joule_device_count(g->meter); i++) {
        joule_device board = {.struct_size = sizeof board};
        if (joule_device_get(g->meter, i, &board) != JOULE_OK)
            continue;
        struct device_row *row = model_device(model, board.name);
        if (!row && (row = model_add_device(model, board.name)))
            reset_row(row);
        if (!row)
            continue;
        row->is_listed = row->is_board = true;
        row->board = board;
        if (board.domain >= 0)
            row->domain = board.domain;
        if (board.model[0])
            string_copy(row->model, sizeof row->model, board.model);
        row->busy = board.busy;
        row->celsius = isnan(board.temperature_celsius) ? row->celsius : board.temperature_celsius;
        row->limit_watts = isnan(board.power_limit_enforced_watts) ? board.power_limit_watts
                                                                   : board.power_limit_enforced_watts;
        row->memory_used_bytes = board.memory_used_bytes;
        row->memory_total_bytes = board.memory_total_bytes;
        row->state = board.state != JOULE_OK && board.state != JOULE_PENDING ? board.state : row->state;
    }
}

static void update_power(struct gathering *g, struct model *model, uint64_t tick)
{
    for (size_t i = 0; i < model->device_count; i++) {
        struct device_row *row = &model->devices[i];
        if (row->domain >= 0) {
            joule_power_watts(g->meter, row->domain, &row->watts);
            joule_energy_joules(g->meter, row->domain, &row->joules);
        }
        history_add(&row->history, tick, row->watts.value);
    }
}

static void remove_unlisted(struct model *model)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->device_count; i++)
        if (model->devices[i].is_listed && kept++ != i)
            model->devices[kept - 1] = model->devices[i];
    model->device_count = kept;
}

/* --- idle baseline -------------------------------------------------------------------------------------- */

/* Loads the idle baseline when the cover is known. A baseline is used only if it has the same cover and
 * class, and if the machine was idle when it was measured. */
static void find_idle(struct gathering *g)
{
    struct cover cover;
    char name[IDLE_COVER_SIZE];
    meter_cover(g->meter, JOULE_TOTAL, g->meter->begin_ns, meter_now_ns(g->meter), &cover);
    if (!g->seeks_idle || meter_cover_horizon_ns(g->meter, &cover) == 0)
        return;
    g->seeks_idle = false;
    meter_cover_name(g->meter, &cover, name, sizeof name);
    struct idle_baseline idle = idle_load(name);
    if (idle.total_watts.cls == cover.cls && idle.busy <= IDLE_BUSY_MAX && !isnan(idle.cpu_watts.value))
        live_set_idle(g->live, &idle.cpu_watts);
}

/* --- the total ------------------------------------------------------------------------------------------ */

static void update_total(struct gathering *g, struct model *model, uint64_t tick)
{
    struct cover cover;
    meter_cover(g->meter, JOULE_TOTAL, g->meter->begin_ns, meter_now_ns(g->meter), &cover);
    meter_cover_name(g->meter, &cover, model->cover, sizeof model->cover);
    model->is_partial = cover.is_partial;
    joule_power_watts(g->meter, JOULE_TOTAL, &model->watts);
    joule_energy_joules(g->meter, JOULE_TOTAL, &model->joules);
    model->running_s = (double)(meter_now_ns(g->meter) - g->meter->begin_ns) * 1e-9;
    history_add(&model->history, tick, model->watts.value);
}

/* --- the detail view ------------------------------------------------------------------------------------ */

static void update_detail(struct gathering *g, struct model *model)
{
    model->domain_count = 0;
    for (size_t i = 0; model->detail[0] && i < joule_domain_count(g->meter); i++) {
        struct domain_row row = {.domain.struct_size = sizeof row.domain,
                                 .watts = quantity_unknown(),
                                 .joules = quantity_unknown(),
                                 .gauge = NAN};
        if (joule_domain_get(g->meter, i, &row.domain) != JOULE_OK ||
            strcmp(row.domain.device, model->detail) != 0 ||
            !ARRAY_ROOM(model->domains, model->domain_capacity, model->domain_count))
            continue;
        if (is_gauge(&row.domain)) {
            joule_gauge(g->meter, row.domain.id, &row.gauge);
        } else {
            joule_power_watts(g->meter, row.domain.id, &row.watts);
            joule_energy_joules(g->meter, row.domain.id, &row.joules);
        }
        model->domains[model->domain_count++] = row;
    }
}

/* --- one tick ------------------------------------------------------------------------------------------- */

static void add_histories(struct gathering *g, struct model *model, uint64_t tick)
{
    joule_quantity watts = quantity_unknown();
    joule_power_watts(g->meter, JOULE_TOTAL, &watts);
    history_add(&model->history, tick, watts.value);
    for (size_t i = 0; i < model->device_count; i++) {
        watts = quantity_unknown();
        if (model->devices[i].domain >= 0)
            joule_power_watts(g->meter, model->devices[i].domain, &watts);
        history_add(&model->devices[i].history, tick, watts.value);
    }
}

void gather_tick(struct gathering *g, struct model *model, uint64_t tick, bool is_paused)
{
    joule_sample_now(g->meter);
    find_idle(g);
    joule_status proc_state = live_update(g->live);
    if (is_paused) {
        add_histories(g, model, tick);
        return;
    }
    model->proc_state = proc_state;
    model->tick = tick;
    for (size_t i = 0; i < model->device_count; i++) {
        reset_row(&model->devices[i]);
        model->devices[i].is_listed = false;
    }
    update_from_domains(g, model);
    update_from_boards(g, model);
    remove_unlisted(model);
    update_power(g, model, tick);
    gather_machine(g->machine, g->meter, g->live, model);
    update_total(g, model, tick);
    model_sort_devices(model);
    update_detail(g, model);
    gather_processes(g, model);
}

void gather_detail(struct gathering *g, struct model *model)
{
    update_detail(g, model);
    gather_processes(g, model);
}

/* --- open and close ------------------------------------------------------------------------------------- */

/* Returns the last component of a path. */
static const char *folder_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

joule_status gather_open(struct gathering *g, const joule_options *options, struct model *model,
                         joule_error *out_error)
{
    *g = (struct gathering){0};
    joule_status status = joule_open(options, &g->meter, out_error);
    if (status != JOULE_OK)
        return status;
    g->live = live_open(g->meter);
    g->machine = calloc(1, sizeof *g->machine);
    if (!g->live || !g->machine)
        return error_set(out_error, JOULE_NO_MEMORY, "out of memory");
    gather_machine_open(g->machine, g->meter);
    g->seeks_idle = !options->root;
    model->period_s = options->period_s;
    model->cpus = g->machine->map.info.threads;
    if (!options->root)
        gethostname(model->host, sizeof model->host - 1);
    else
        string_print(model->host, sizeof model->host, "recorded %s", folder_name(options->root));
    joule_sample_now(g->meter);
    live_update(g->live);
    nanosleep(&(struct timespec){.tv_nsec = FIRST_NAP_NS}, NULL);
    return JOULE_OK;
}

joule_status gather_record(struct gathering *g, const char *path, joule_error *out_error)
{
    joule_status status = recorder_open(g->meter, path, "joule top", &g->recorder, out_error);
    if (status == JOULE_OK)
        string_copy(g->record_path, sizeof g->record_path, path);
    return status;
}

joule_status gather_end_record(struct gathering *g, joule_error *out_error)
{
    struct recorder *recorder = g->recorder;
    g->recorder = NULL;
    return recorder ? recorder_close(recorder, out_error) : JOULE_OK;
}

void gather_close(struct gathering *g)
{
    gather_end_record(g, NULL);
    live_close(g->live);
    if (g->machine)
        gather_machine_close(g->machine);
    free(g->machine);
    joule_close(g->meter);
    free(g->known);
    *g = (struct gathering){0};
}
