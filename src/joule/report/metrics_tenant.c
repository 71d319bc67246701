/* joule/report/metrics_tenant.c - writes the energy of jobs, containers, services, users and single processes
 * as metrics.
 *
 * The series of one family and part add up to the meter's energy. The series of kind "unattributed" is the
 * energy that belongs to no tenant. The series of kind "ended" is the energy of tenants that ended some
 * minutes ago.
 * Note: tenants and processes are two ways to divide the same joules; see attribute_tenant.h and
 * attribute_process.h.
 */
#include "joule/attribute/attribute_process.h"
#include "joule/report/metrics.h"

/* Adds the labels that identify a tenant's job, pod, container or unit. Omits unknown labels. */
static void add_name(struct metrics *metrics, const struct tenant_name *name)
{
    metrics_label(metrics, "slurm_job", name->slurm_job);
    metrics_label(metrics, "user", name->user);
    metrics_label(metrics, "pod", name->pod);
    metrics_label(metrics, "namespace", name->namespace);
    metrics_label(metrics, "container", name->container);
    metrics_label(metrics, "pod_uid", name->pod_uid);
    metrics_label(metrics, "container_id", name->container_id);
    metrics_label(metrics, "unit", name->unit);
}

static void add_labels(struct metrics *metrics, const struct tenant *tenant)
{
    metrics_label(metrics, "tenant", tenant->path);
    metrics_label(metrics, "kind", tenant->name.kind);
    add_name(metrics, &tenant->name);
}

static void add_energy(struct metrics *metrics, const struct tenant *tenant, const char *part,
                       joule_class cls, double joules)
{
    metrics_open(metrics);
    add_labels(metrics, tenant);
    metrics_label(metrics, "part", part);
    metrics_label(metrics, "class", joule_class_name(cls));
    metrics_close(metrics, joules);
}

/* Adds the tenants' series of a part, "cpu" or "gpu". Adds no series if no energy of the part was attributed
 * yet. */
static void add_part(struct metrics *metrics, const struct tenants *tenants, const char *part)
{
    static const struct tenant rest = {.name.kind = "unattributed"}, ended = {.name.kind = "ended"};
    bool is_cpu = part[0] == 'c';
    joule_class cls = is_cpu ? tenants->cpu_class : tenants->gpu_class;
    if (cls == JOULE_CLASS_NONE)
        return;
    for (size_t i = 0; i < tenants->count; i++)
        add_energy(metrics, &tenants->list[i], part, cls,
                   is_cpu ? tenants->list[i].cpu_joules : tenants->list[i].gpu_joules);
    add_energy(metrics, &rest, part, cls, is_cpu ? tenants->rest_cpu_joules : tenants->rest_gpu_joules);
    add_energy(metrics, &ended, part, cls, is_cpu ? tenants->ended_cpu_joules : tenants->ended_gpu_joules);
}

/* --- processes ------------------------------------------------------------------------------------------ */

/* Adds a series of a process. `row` NULL: a series of the sum of several processes, without labels of a
 * process. */
static void add_process(struct metrics *metrics, const char *kind, const struct process_row *row,
                        const char *part, joule_class cls, double joules)
{
    char pid[16] = "";
    metrics_open(metrics);
    metrics_label(metrics, "kind", kind);
    if (row) {
        string_print(pid, sizeof pid, "%d", (int)row->pid);
        metrics_label(metrics, "pid", pid);
        metrics_label(metrics, "comm", row->name);
        metrics_label(metrics, "tenant", row->tenant);
        add_name(metrics, &row->tenant_name);
    }
    metrics_label(metrics, "part", part);
    metrics_label(metrics, "class", joule_class_name(cls));
    metrics_close(metrics, joules);
}

/* Adds the processes' series of a part, "cpu" or "gpu". A process that never used a GPU has no series for
 * GPUs. */
static void add_process_part(struct metrics *metrics, const struct process_shares *shares, const char *part)
{
    bool is_cpu = part[0] == 'c';
    joule_class cls = is_cpu ? shares->cpu_class : shares->gpu_class;
    if (cls == JOULE_CLASS_NONE)
        return;
    for (size_t i = 0; i < shares->count; i++) {
        const struct process_row *row = &shares->rows[i];
        if (is_cpu || row->gpu_joules > 0)
            add_process(metrics, "process", row, part, cls, is_cpu ? row->cpu_joules : row->gpu_joules);
    }
    add_process(metrics, "other", NULL, part, cls,
                is_cpu ? shares->other_cpu_joules : shares->other_gpu_joules);
    add_process(metrics, "ended", NULL, part, cls,
                is_cpu ? shares->ended_cpu_joules : shares->ended_gpu_joules);
    add_process(metrics, "unattributed", NULL, part, cls,
                is_cpu ? shares->rest_cpu_joules : shares->rest_gpu_joules);
    if (is_cpu && shares->knows_idle)
        add_process(metrics, "idle", NULL, part, cls, shares->idle_cpu_joules);
}

/* Adds the family of processes if energy by process is on. */
static void add_processes(struct metrics *metrics)
{
    static const struct metric_family energy = {"joule_process_energy_joules", METRIC_COUNTER, "joules",
                                                "Energy of the processes that use most energy, each since "
                                                "its series began, and of all others together"};
    const struct process_shares *shares = metrics->overview->processes;
    if (!shares)
        return;
    metrics_begin(metrics, &energy);
    add_process_part(metrics, shares, "cpu");
    add_process_part(metrics, shares, "gpu");
}

void metrics_add_tenants(struct metrics *metrics)
{
    static const struct metric_family energy = {
        "joule_tenant_energy_joules", METRIC_COUNTER, "joules",
        "Energy by tenant since measuring began: processors by CPU time, GPUs by time of use"};
    static const struct metric_family cpu = {"joule_tenant_cpu_seconds", METRIC_COUNTER, "seconds",
                                             "CPU time to which the energy of part cpu is attributed"};
    const struct tenants *tenants = metrics->overview->tenants;
    add_processes(metrics);
    if (!tenants)
        return;
    metrics_begin(metrics, &energy);
    add_part(metrics, tenants, "cpu");
    add_part(metrics, tenants, "gpu");
    metrics_begin(metrics, &cpu);
    for (size_t i = 0; i < tenants->count; i++) {
        metrics_open(metrics);
        add_labels(metrics, &tenants->list[i]);
        metrics_close(metrics, tenants->list[i].cpu_s);
    }
}
