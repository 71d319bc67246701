/* joule/api/open.c - opens and closes meters; see open.h.
 *
 * A meter gets its listeners here: the collector, which attributes energy to regions, and then the budgets,
 * which judge what the collector has attributed.
 */
#include "joule/api/open.h"

#include "base/error.h"
#include "joule/struct_sizes.h"
#include "joule/api/budget_list.h"
#include "joule/collector/collector.h"

/* Copies the options that this library knows. `given` NULL: the defaults. */
static joule_status take_options(const joule_options *given, joule_options *out, joule_error *error)
{
    *out = (joule_options){.struct_size = sizeof *out};
    joule_status status = given ? abi_read(out, sizeof *out, OPTIONS_SIZE_1, given) : JOULE_OK;
    if (status == JOULE_UNSUPPORTED)
        return error_set(error, status, "joule_options: some options are not supported by libjoule %s",
                         joule_version());
    if (status != JOULE_OK)
        return error_set(error, status, "joule_options.struct_size is %u; set it to sizeof(joule_options)",
                         given->struct_size);
    return JOULE_OK;
}

/* Creates a meter on `host` with its listeners, and starts it. On failure the caller still owns the host. */
static joule_status open_on(struct joule_host *host, bool owns_host, bool watches,
                            const joule_options *options, joule_meter **out_meter, joule_error *out_error)
{
    joule_meter *meter;
    joule_status status = meter_create(host, options, &meter, out_error);
    if (status != JOULE_OK)
        return status;
    if (!meter->is_client)
        collector_create(meter); /* without a collector, regions get no energy */
    budget_list_create(meter);   /* without a list, joule_budget_begin fails */
    status = meter_start(meter, owns_host, watches, out_error);
    if (status != JOULE_OK) {
        meter_close(meter);
        return status;
    }
    *out_meter = meter;
    return JOULE_OK;
}

joule_status meter_open_on(struct joule_host *host, bool owns_host, const joule_options *options,
                           joule_meter **out_meter, joule_error *out_error)
{
    joule_options known;
    joule_status status = take_options(options, &known, out_error);
    return status == JOULE_OK ? open_on(host, owns_host, true, &known, out_meter, out_error) : status;
}

joule_status meter_open(const joule_options *options, bool watches, joule_meter **out_meter,
                        joule_error *out_error)
{
    *out_meter = NULL;
    joule_options known;
    joule_status status = take_options(options, &known, out_error);
    if (status != JOULE_OK)
        return status;
    if (!known.root)
        return open_on(host_real(), false, watches, &known, out_meter, out_error);
    struct joule_host *host = host_tree_open(known.root);
    if (!host)
        return error_set(out_error, JOULE_ABSENT, "cannot open recorded machine %s: not a readable folder",
                         known.root);
    status = open_on(host, true, watches, &known, out_meter, out_error);
    if (status != JOULE_OK)
        host->ops->close(host);
    return status;
}

joule_status joule_open(const joule_options *options, joule_meter **out_meter, joule_error *out_error)
{
    if (!out_meter)
        return error_set(out_error, JOULE_INVALID, "joule_open: out_meter is NULL");
    return meter_open(options, true, out_meter, out_error);
}

void joule_close(joule_meter *meter)
{
    meter_close(meter);
}
