/* infer/engine/engine_options.c - reads and checks the options of an engine; see <forge/engine.h>. */
#include "base/abi.h"
#include "base/error.h"
#include "forge/infer/engine/engine.h"

#define DEFAULT_CACHE_BYTES (UINT64_C(1) << 30)

static uint64_t or_default(uint64_t value, uint64_t default_value)
{
    return value ? value : default_value;
}

/* Returns the size of the keys and values of one token, in bytes. */
static uint64_t token_bytes(const struct model_config *c, forge_dtype dtype)
{
    return 2 * (uint64_t)c->layers * (uint64_t)c->kv_heads *
           forge_dtype_size_bytes(dtype, (size_t)c->head_dim);
}

static bool is_cache_dtype(forge_dtype dtype, int64_t head_dim)
{
    return dtype == FORGE_F32 || dtype == FORGE_F16 || dtype == FORGE_BF16 ||
           (dtype == FORGE_Q8_0 && head_dim % 32 == 0);
}

/* Sets the members that are 0 to their defaults. */
static joule_status set_defaults(const forge_model *model, forge_engine_options *o, joule_error *error)
{
    const struct model_config *c = &model->file->config;
    forge_model_facts facts = {.struct_size = sizeof facts};
    forge_model_query(model, &facts);
    o->page_size = (uint32_t)or_default(o->page_size, 16);
    o->max_batch_size = (uint32_t)or_default(o->max_batch_size, 16);
    o->max_batch_tokens = (uint32_t)or_default(o->max_batch_tokens, 512);
    o->max_length = (uint32_t)or_default(o->max_length, (uint64_t)c->context);
    if (!o->cache_dtype)
        o->cache_dtype = facts.dtype == FORGE_F32 ? FORGE_F32 : FORGE_F16;
    if (!is_cache_dtype(o->cache_dtype, c->head_dim))
        return error_set(error, JOULE_INVALID,
                         "cache_dtype must be f32, f16, bf16, or q8_0 if heads are a multiple of 32");
    uint64_t max = DEFAULT_CACHE_BYTES / token_bytes(c, o->cache_dtype),
             all = (uint64_t)o->max_batch_size * o->max_length;
    o->cache_tokens = or_default(o->cache_tokens, all < max ? all : max);
    return JOULE_OK;
}

static joule_status check_sizes(const forge_model *model, const forge_engine_options *o, joule_error *error)
{
    const struct model_config *c = &model->file->config;
    if (o->page_size > 1024)
        return error_set(error, JOULE_INVALID, "page_size %u is above 1024", o->page_size);
    if (o->max_batch_size > 4096 || o->max_batch_tokens > 32768 || o->max_batch_tokens < o->max_batch_size)
        return error_set(
            error, JOULE_INVALID,
            "max_batch_size must be at most 4096, and max_batch_tokens from max_batch_size to 32768");
    if (o->max_length > (uint64_t)c->context)
        return error_set(error, JOULE_INVALID, "max_length %u is above the model's context of %lld tokens",
                         o->max_length, (long long)c->context);
    if (o->cache_tokens < 2 * o->page_size || o->cache_tokens > INT32_MAX)
        return error_set(error, JOULE_INVALID, "cache_tokens must be at least two pages, and below 2^31");
    return JOULE_OK;
}

static joule_status check_options(const forge_model *model, const forge_engine_options *o, joule_error *error)
{
    const forge_energy_source *source = o->energy_source;
    if (o->objective > FORGE_OBJECTIVE_ENERGY || !(o->max_power_watts >= 0) || !(o->max_request_joules >= 0))
        return error_set(error, JOULE_INVALID,
                         "the objective is unknown, or max_power_watts or max_request_joules is negative");
    if (source && (!source->now_ns || !source->wait))
        return error_set(error, JOULE_INVALID, "energy_source has no function now_ns or wait");
    if (source && o->max_power_watts > 0 && source->idle_watts >= o->max_power_watts)
        return error_set(error, JOULE_INVALID,
                         "max_power_watts %g is not above the idle power of %g W: no step could ever run",
                         o->max_power_watts, source->idle_watts);
    if (o->speculation > FORGE_SPECULATION_MODEL || o->draft_tokens > FORGE_MAX_DRAFT_TOKENS ||
        (o->speculation == FORGE_SPECULATION_MODEL && !o->draft_model))
        return error_set(error, JOULE_INVALID,
                         "the speculation is unknown, draft_tokens is above %d, or draft_model is missing",
                         FORGE_MAX_DRAFT_TOKENS);
    return check_sizes(model, o, error);
}

joule_status engine_read_options(const forge_model *model, const forge_engine_options *options,
                                 forge_engine_options *out_options, joule_error *out_error)
{
    *out_options = (forge_engine_options){.struct_size = sizeof *out_options};
    joule_status status = options ? abi_read(out_options, sizeof *out_options,
                                             SIZE_UP_TO(forge_engine_options, reserved3), options)
                                  : JOULE_OK;
    if (status != JOULE_OK)
        return error_set(out_error, status,
                         "cannot create an engine: the options have a wrong struct_size, or "
                         "an unknown member is set");
    status = set_defaults(model, out_options, out_error);
    return status == JOULE_OK ? check_options(model, out_options, out_error) : status;
}
