/* joule/report/metrics.c - writes Joule's own families of metrics: sums, domains, sources; see metrics.h.
 *
 * Energy is a counter in joules since the meter opened. So query the joules of an hour with Prometheus'
 * increase() of this counter; do not sum watts. Names of families must not change, because dashboards use
 * them.
 * Note: domains overlap (a package contains its cores), so their energies must not be added; joule_total_...
 * is the sum.
 */
#include "joule/curve/estimate.h"
#include "joule/report/metrics.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* --- sums ----------------------------------------------------------------------------------------------- */

static const struct metric_column sum_columns[] = {
    METRIC_QUANTITY("joule_total_energy", METRIC_COUNTER, "joules", struct overview_sum, joules,
                    "Energy of the outermost domains that do not overlap, since measuring began"),
    METRIC_QUANTITY("joule_total_power", METRIC_GAUGE, "watts", struct overview_sum, watts,
                    "Power of the outermost domains that do not overlap"),
};

/* Adds the labels of a sum; `row` is a struct overview_sum. */
static void label_sum(struct metrics *metrics, const void *row)
{
    const struct overview_sum *sum = row;
    metrics_label(metrics, "part", sum->part);
    metrics_label(metrics, "class", joule_class_name(quantity_first_known(sum->joules, sum->watts).cls));
}

static void add_sums(struct metrics *metrics)
{
    static const struct metric_family cover = {"joule_total_cover", METRIC_INFO, NULL,
                                               "Domains that make up the totals, and whether a part is "
                                               "missing because it cannot be read"};
    const struct metric_table table = {metrics->overview->sums, OVERVIEW_SUMS, sizeof(struct overview_sum),
                                       label_sum};
    metrics_add_columns(metrics, &table, sum_columns, COUNT_OF(sum_columns));
    metrics_begin(metrics, &cover);
    for (size_t i = 0; i < OVERVIEW_SUMS; i++) {
        const struct overview_sum *sum = &metrics->overview->sums[i];
        if (!sum->cover[0])
            continue;
        metrics_open(metrics);
        metrics_label(metrics, "part", sum->part);
        metrics_label(metrics, "cover", sum->cover);
        metrics_label(metrics, "partial", sum->is_partial ? "true" : "false");
        metrics_close(metrics, 1);
    }
}

/* --- domains -------------------------------------------------------------------------------------------- */

static const struct metric_column domain_columns[] = {
    METRIC_QUANTITY("joule_energy", METRIC_COUNTER, "joules", struct overview_domain, joules,
                    "Energy of a domain since measuring began; domains overlap, do not add them"),
    METRIC_QUANTITY("joule_power", METRIC_GAUGE, "watts", struct overview_domain, watts,
                    "Mean power of a domain over its last readings"),
    {{"joule_temperature_celsius", METRIC_GAUGE, "celsius", "Temperature of a sensor"},
     offsetof(struct overview_domain, temperature_celsius)},
    {{"joule_clock_hertz", METRIC_GAUGE, "hertz", "Clock frequency"},
     offsetof(struct overview_domain, clock_megahertz),
     1e6},
    {{"joule_utilisation_ratio", METRIC_GAUGE, "ratio", "Utilisation of the part in the label `of`, 0 to 1"},
     offsetof(struct overview_domain, utilisation)},
    {{"joule_reading_age_seconds", METRIC_GAUGE, "seconds",
      "Time since a sensor of energy or power last answered"},
     offsetof(struct overview_domain, age_s)},
};

static bool is_gauge(const joule_domain *domain)
{
    return domain->reading != JOULE_READING_ENERGY && domain->reading != JOULE_READING_POWER;
}

/* Adds the labels that identify a domain. A domain's labels are equal in all of its series, so that queries
 * can join the series. */
static void add_domain_labels(struct metrics *metrics, const joule_domain *domain)
{
    metrics_label(metrics, "domain", domain->name);
    metrics_label(metrics, "device", domain->device);
    metrics_label(metrics, "source", domain->source);
}

/* Adds the labels of a domain; `row` is a struct overview_domain. */
static void label_domain(struct metrics *metrics, const void *row)
{
    const joule_domain *domain = &((const struct overview_domain *)row)->domain;
    add_domain_labels(metrics, domain);
    if (metrics_has_class(metrics)) {
        metrics_label(metrics, "scope", joule_scope_name(domain->scope));
        metrics_label(metrics, "class", joule_class_name(domain->cls));
    } else if (is_gauge(domain)) {
        metrics_label(metrics, "of", domain->label);
    }
}

static void add_domain_info(struct metrics *metrics)
{
    static const struct metric_family info = {
        "joule_domain", METRIC_INFO, NULL,
        "Properties of an energy domain, and whether it is part of the total"};
    metrics_begin(metrics, &info);
    for (size_t i = 0; i < metrics->overview->domain_count; i++) {
        const joule_domain *domain = &metrics->overview->domains[i].domain;
        if (is_gauge(domain))
            continue;
        metrics_open(metrics);
        add_domain_labels(metrics, domain);
        metrics_label(metrics, "scope", joule_scope_name(domain->scope));
        metrics_label(metrics, "reading", joule_reading_kind_name(domain->reading));
        metrics_label(metrics, "measurement", domain->measurement);
        metrics_label(metrics, "label", domain->label);
        metrics_label(metrics, "vendor", domain->vendor);
        metrics_label(metrics, "model", domain->model);
        metrics_label(metrics, "uuid", domain->uuid);
        metrics_label(metrics, "in_total", domain->in_total ? "true" : "false");
        metrics_close(metrics, 1);
    }
}

/* Adds joule_domain_up and joule_domain_state. A domain that waits for its first reading is neither up nor
 * down. */
static void add_domain_states(struct metrics *metrics)
{
    static const struct metric_family up = {"joule_domain_up", METRIC_GAUGE, NULL,
                                            "1: the domain answers; 0: it does not, see joule_domain_state"};
    static const struct metric_family state = {"joule_domain_state", METRIC_GAUGE, NULL,
                                               "1 for the state of a domain that is not up"};
    const struct overview *overview = metrics->overview;
    metrics_begin(metrics, &up);
    for (size_t i = 0; i < overview->domain_count; i++) {
        const joule_domain *domain = &overview->domains[i].domain;
        if (domain->state == JOULE_PENDING)
            continue;
        metrics_open(metrics);
        add_domain_labels(metrics, domain);
        metrics_close(metrics, domain->state == JOULE_OK);
    }
    metrics_begin(metrics, &state);
    for (size_t i = 0; i < overview->domain_count; i++) {
        const joule_domain *domain = &overview->domains[i].domain;
        if (domain->state == JOULE_OK)
            continue;
        metrics_open(metrics);
        add_domain_labels(metrics, domain);
        metrics_label(metrics, "state", joule_status_name(domain->state));
        metrics_close(metrics, 1);
    }
}

/* --- sources, and Joule itself -------------------------------------------------------------------------- */

static void add_sources(struct metrics *metrics)
{
    static const struct metric_family state = {
        "joule_source_state", METRIC_GAUGE, NULL,
        "1 for the state of a source of readings; absent: this machine has no "
        "such hardware"};
    metrics_begin(metrics, &state);
    for (size_t i = 0; i < metrics->overview->source_count; i++) {
        const struct overview_source *source = &metrics->overview->sources[i];
        metrics_open(metrics);
        metrics_label(metrics, "source", source->name);
        metrics_label(metrics, "measurement", source->measurement);
        metrics_label(metrics, "state", joule_status_name(source->state));
        metrics_close(metrics, 1);
    }
}

/* Writes a family with one sample and no labels. */
static void add_number(struct metrics *metrics, const struct metric_family *family, double value)
{
    metrics_begin(metrics, family);
    metrics_open(metrics);
    metrics_close(metrics, value);
}

static void add_joule(struct metrics *metrics)
{
    static const struct metric_family build = {"joule_build", METRIC_INFO, NULL, "Version of Joule"};
    static const struct metric_family age = {"joule_measuring_seconds", METRIC_COUNTER, "seconds",
                                             "Time since counters began at 0"};
    static const struct metric_family period = {"joule_period_seconds", METRIC_GAUGE, "seconds",
                                                "Mean time between readings"};
    static const struct metric_family overhead = {"joule_overhead_cpu_seconds", METRIC_COUNTER, "seconds",
                                                  "CPU time of the threads that read sensors"};
    metrics_begin(metrics, &build);
    metrics_open(metrics);
    metrics_label(metrics, "version", joule_version());
    metrics_close(metrics, 1);
    add_number(metrics, &age, metrics->overview->age_s);
    add_number(metrics, &period, metrics->overview->period_s);
    add_number(metrics, &overhead, metrics->overview->overhead_cpu_s);
}

void metrics_print(const struct overview *overview, enum metrics_format format, struct text *out)
{
    struct metrics metrics = {.overview = overview, .format = format, .out = out};
    const struct metric_table domains = {overview->domains, overview->domain_count, sizeof *overview->domains,
                                         label_domain};
    add_sums(&metrics);
    metrics_add_columns(&metrics, &domains, domain_columns, COUNT_OF(domain_columns));
    add_domain_info(&metrics);
    add_domain_states(&metrics);
    metrics_add_devices(&metrics);
    metrics_add_dcgm(&metrics);
    metrics_add_tenants(&metrics);
    add_sources(&metrics);
    add_joule(&metrics);
    if (format == METRICS_OPENMETRICS)
        text_add(out, "# EOF\n");
}
