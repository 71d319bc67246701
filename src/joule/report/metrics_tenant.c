/* joule/report/metrics_tenant.c - who used the energy: jobs, containers, services, users. See attribute_tenant.h.
 *
 * Owns two families. Over all series of one part the energies add up to what the meter saw: what nobody had is the
 * series of kind "unattributed", what those had who ended some minutes ago that of kind "ended".
 */
#include "joule/attribute_tenant.h"
#include "joule/report/metrics.h"

static void add_labels(struct metrics *metrics, const struct tenant *tenant)
{
    metrics_label(metrics, "tenant", tenant->path);
    metrics_label(metrics, "kind", tenant->name.kind);
    metrics_label(metrics, "slurm_job", tenant->name.slurm_job);
    metrics_label(metrics, "user", tenant->name.user);
    metrics_label(metrics, "pod", tenant->name.pod);
    metrics_label(metrics, "namespace", tenant->name.namespace);
    metrics_label(metrics, "container", tenant->name.container);
    metrics_label(metrics, "pod_uid", tenant->name.pod_uid);
    metrics_label(metrics, "container_id", tenant->name.container_id);
    metrics_label(metrics, "unit", tenant->name.unit);
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

/* A part of which nothing has been shared out is not known. */
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

void metrics_add_tenants(struct metrics *metrics)
{
    static const struct metric_family energy = {
        "joule_tenant_energy_joules", METRIC_COUNTER, "joules",
        "Energy by who used it, since measuring began: of processors by CPU time, of GPUs by time on them"};
    static const struct metric_family cpu = {"joule_tenant_cpu_seconds", METRIC_COUNTER, "seconds",
                                             "CPU time that was paid with the energy of part cpu"};
    const struct tenants *tenants = metrics->overview->tenants;
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
