/* tools/forge/serve_metrics.c - see serve_metrics.h. */
#include "serve_metrics.h"

#include <inttypes.h>
#include <math.h>

/* --- families ------------------------------------------------------------------------------------------- */

/* Upper bounds of the histograms' buckets, in ascending order. Each list ends with 0. */
static const double first_token_bounds[] = {.001, .005, .01, .02, .04, .06, .08, .1,  .25, .5,   .75, 1,
                                            2.5,  5,    7.5, 10,  20,  40,  80,  160, 640, 2560, 0};
static const double token_bounds[] = {.001, .0025, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4,
                                      .5,   .75,   1,    2.5, 5,    7.5, 10,   20, 40,  80, 0};
static const double latency_bounds[] = {.01, .05, .1, .3, .5, .8, 1,   1.5, 2,   2.5, 5,    10,
                                        15,  20,  30, 40, 50, 60, 120, 240, 480, 960, 1920, 0};
static const double count_bounds[] = {1,    2,    5,    10,    20,    50,    100,    200,    500,
                                      1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 0};
static const double joule_bounds[] = {.0001, .001, .002, .005, .01, .02, .05, .1,  .2,  .5,  1,   2,
                                      5,     10,   20,   50,   100, 200, 500, 1e3, 2e3, 5e3, 1e4, 0};

static void add(struct histogram *histogram, const double *bounds, double value)
{
    size_t i = 0;
    while (bounds[i] != 0 && value > bounds[i])
        i++;
    histogram->counts[i]++;
    histogram->total++;
    histogram->sum += value;
}

void metrics_add_first_token(struct serve_metrics *metrics, double seconds)
{
    add(&metrics->first_token_s, first_token_bounds, seconds);
}

void metrics_add_token(struct serve_metrics *metrics, double seconds)
{
    add(&metrics->token_s, token_bounds, seconds);
}

void metrics_set_facts(struct serve_metrics *metrics, const forge_engine_facts *facts)
{
    uint64_t rows = facts->computed_rows - metrics->facts.computed_rows;
    if (facts->computed_steps > metrics->facts.computed_steps)
        add(&metrics->step_tokens, count_bounds, (double)rows);
    metrics->facts = *facts;
}

static bool is_known(joule_quantity q)
{
    return q.cls != JOULE_CLASS_NONE && isfinite(q.value);
}

void metrics_add_answer(struct serve_metrics *metrics, const forge_engine_event *last, double seconds)
{
    metrics->finished[last->end == FORGE_END_TOKEN       ? FINISHED_STOP
                      : last->end == FORGE_END_CANCELLED ? FINISHED_ABORT
                                                         : FINISHED_LENGTH]++;
    add(&metrics->latency_s, latency_bounds, seconds);
    add(&metrics->queue_s, latency_bounds, last->queue_seconds);
    add(&metrics->prefill_s, latency_bounds, last->prefill_seconds);
    add(&metrics->decode_s, latency_bounds, last->decode_seconds);
    add(&metrics->inference_s, latency_bounds, last->prefill_seconds + last->decode_seconds);
    add(&metrics->prompt_tokens, count_bounds, last->prompt_tokens);
    add(&metrics->answer_tokens, count_bounds, last->answer_tokens);
    if (!is_known(last->joules))
        return;
    add(&metrics->joules, joule_bounds, last->joules.value);
    metrics->prefill_joules += is_known(last->prefill_joules) ? last->prefill_joules.value : 0;
    metrics->decode_joules += is_known(last->decode_joules) ? last->decode_joules.value : 0;
}

/* --- printing ------------------------------------------------------------------------------------------- */

/* The state of printing one page. */
struct printer {
    const struct metrics_page *page;
    struct text *out;
};

static void begin(const struct printer *p, const char *name, const char *type, const char *help)
{
    text_printf(p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Writes a label value with Prometheus' escapes. */
static void add_escaped(struct text *out, const char *value)
{
    for (; *value; value++)
        if (*value == '\n')
            text_add(out, "\\n");
        else if (*value == '"' || *value == '\\')
            text_add_bytes(out, (char[]){'\\', *value}, 2);
        else
            text_add_bytes(out, value, 1);
}

/* Writes the name of a sample with the labels that all samples have. If `label` is not NULL, adds this
 * label. */
static void add_name(const struct printer *p, const char *name, const char *suffix, const char *label,
                     const char *value)
{
    text_printf(p->out, "%s%s{engine=\"0\",model_name=\"", name, suffix);
    add_escaped(p->out, p->page->model_name);
    text_add(p->out, "\"");
    if (label)
        text_printf(p->out, ",%s=\"%s\"", label, value);
    text_add(p->out, "} ");
}

static void add_value(const struct printer *p, double value)
{
    text_add_double(p->out, value);
    text_add(p->out, "\n");
}

/* Writes a family with one sample. Writes nothing if the value is unknown. */
static void print_one(const struct printer *p, const char *name, const char *type, const char *help,
                      double value)
{
    if (!isfinite(value))
        return;
    begin(p, name, type, help);
    add_name(p, name, "", NULL, NULL);
    add_value(p, value);
}

static void print_histogram(const struct printer *p, const char *name, const char *help, const double *bounds,
                            const struct histogram *histogram)
{
    uint64_t below = 0;
    begin(p, name, "histogram", help);
    for (size_t i = 0;; i++) {
        char bound[32];
        struct text text;
        text_init(&text, bound, sizeof bound);
        below += histogram->counts[i];
        if (bounds[i] != 0)
            text_add_double(&text, bounds[i]);
        else
            text_add(&text, "+Inf");
        add_name(p, name, "_bucket", "le", bound);
        add_value(p, (double)below);
        if (bounds[i] == 0)
            break;
    }
    add_name(p, name, "_sum", NULL, NULL);
    add_value(p, histogram->sum);
    add_name(p, name, "_count", NULL, NULL);
    add_value(p, (double)histogram->total);
}

static void print_counts(const struct printer *p)
{
    const struct serve_metrics *m = &p->page->metrics;
    const forge_engine_facts *f = &m->facts;
    static const char *const reasons[FINISHED_REASONS] = {"stop", "length", "abort"};
    double used = f->pages ? 1 - (double)f->free_pages / (double)f->pages : 0;
    print_one(p, "vllm:num_requests_running", "gauge", "Requests that are computed.", f->running);
    print_one(p, "vllm:num_requests_waiting", "gauge", "Requests that wait.",
              (double)f->waiting + (double)p->page->queued);
    print_one(p, "vllm:kv_cache_usage_perc", "gauge",
              "Used fraction of the cache of keys and values, 0 to 1.", used);
    print_one(p, "vllm:prompt_tokens_total", "counter", "Tokens of prompts.", (double)f->prompt_tokens);
    print_one(p, "vllm:generation_tokens_total", "counter", "Tokens of answers.", (double)f->answer_tokens);
    print_one(p, "vllm:num_preemptions_total", "counter",
              "Times that a request lost its pages of the full cache, and waited.", (double)f->preemptions);
    print_one(p, "vllm:prefix_cache_queries_total", "counter",
              "Tokens that were looked up in the prefix cache.", (double)f->prefix_queries);
    print_one(p, "vllm:prefix_cache_hits_total", "counter", "Tokens that the prefix cache contained.",
              (double)f->prefix_hits);
    begin(p, "vllm:request_success_total", "counter", "Answers that ended, by reason.");
    for (size_t i = 0; i < FINISHED_REASONS; i++) {
        add_name(p, "vllm:request_success_total", "", "finished_reason", reasons[i]);
        add_value(p, (double)m->finished[i]);
    }
    print_one(p, "tensorforge:requests_refused_total", "counter",
              "Requests refused because the queue was full.", (double)m->refused);
    print_one(p, "tensorforge:requests_failed_total", "counter", "Answers that failed.", (double)m->failed);
    print_one(p, "tensorforge:steps_total", "counter", "Steps of the engine.", (double)f->computed_steps);
}

/* Writes the families of speculative decoding, if it is in use. */
static void print_drafts(const struct printer *p)
{
    const forge_engine_facts *f = &p->page->metrics.facts;
    static const char by_position[] = "vllm:spec_decode_num_accepted_tokens_per_pos_total";
    if (!f->proposals)
        return;
    print_one(p, "vllm:spec_decode_num_drafts_total", "counter", "Proposals of draft tokens.",
              (double)f->proposals);
    print_one(p, "vllm:spec_decode_num_draft_tokens_total", "counter", "Proposed draft tokens.",
              (double)f->draft_tokens);
    print_one(p, "vllm:spec_decode_num_accepted_tokens_total", "counter", "Accepted draft tokens.",
              (double)f->accepted_tokens);
    begin(p, by_position, "counter", "Accepted draft tokens, by position in the proposal.");
    for (size_t i = 0; i < FORGE_MAX_DRAFT_TOKENS && f->accepted_at[i]; i++) {
        char position[8];
        string_print(position, sizeof position, "%zu", i);
        add_name(p, by_position, "", "position", position);
        add_value(p, (double)f->accepted_at[i]);
    }
}

static void print_histograms(const struct printer *p)
{
    const struct serve_metrics *m = &p->page->metrics;
    print_histogram(p, "vllm:time_to_first_token_seconds", "Time until the first token.", first_token_bounds,
                    &m->first_token_s);
    print_histogram(p, "vllm:inter_token_latency_seconds", "Time between two tokens of an answer.",
                    token_bounds, &m->token_s);
    print_histogram(p, "vllm:time_per_output_token_seconds",
                    "Time between two tokens of an answer (former name of inter_token_latency).",
                    token_bounds, &m->token_s);
    print_histogram(p, "vllm:e2e_request_latency_seconds", "Time from arrival to end.", latency_bounds,
                    &m->latency_s);
    print_histogram(p, "vllm:request_queue_time_seconds", "Time until the first step.", latency_bounds,
                    &m->queue_s);
    print_histogram(p, "vllm:request_inference_time_seconds", "Time from the first step to the end.",
                    latency_bounds, &m->inference_s);
    print_histogram(p, "vllm:request_prefill_time_seconds", "Time from the first step to the first token.",
                    latency_bounds, &m->prefill_s);
    print_histogram(p, "vllm:request_decode_time_seconds", "Time from the first token to the end.",
                    latency_bounds, &m->decode_s);
    print_histogram(p, "vllm:request_prompt_tokens", "Tokens of the prompt.", count_bounds,
                    &m->prompt_tokens);
    print_histogram(p, "vllm:request_generation_tokens", "Tokens of the answer.", count_bounds,
                    &m->answer_tokens);
    print_histogram(p, "vllm:iteration_tokens_total", "Tokens that one step computed.", count_bounds,
                    &m->step_tokens);
}

/* Returns the value of a quantity, or NaN if it is unknown. */
static double value_of(joule_quantity q)
{
    return is_known(q) ? q.value : NAN;
}

static void print_energy(const struct printer *p)
{
    const struct serve_metrics *m = &p->page->metrics;
    const forge_engine_facts *f = &m->facts;
    if (m->joules.total) {
        begin(p, "tensorforge:energy_joules_total", "counter", "Energy of answers that ended, by phase.");
        add_name(p, "tensorforge:energy_joules_total", "", "phase", "prefill");
        add_value(p, m->prefill_joules);
        add_name(p, "tensorforge:energy_joules_total", "", "phase", "decode");
        add_value(p, m->decode_joules);
        print_histogram(p, "tensorforge:request_energy_joules", "Energy of an answer.", joule_bounds,
                        &m->joules);
    }
    print_one(p, "tensorforge:meter_joules_total", "counter", "Energy of the machine since the start.",
              value_of(f->meter_joules));
    print_one(p, "tensorforge:request_joules_total", "counter", "Energy attributed to requests.",
              value_of(f->request_joules));
    print_one(p, "tensorforge:idle_joules_total", "counter", "Energy of idle time.",
              value_of(f->idle_joules));
    print_one(p, "tensorforge:unattributed_joules", "gauge",
              "Energy of the meter minus that of requests and idle time; may be negative.",
              value_of(f->unattributed_joules));
    print_one(p, "tensorforge:power_watts", "gauge", "Mean power of the last second.",
              value_of(f->meter_joules) >= 0 ? f->power_watts : NAN);
    print_one(p, "tensorforge:power_cap_watts", "gauge", "Limit of the mean power.",
              p->page->power_cap_watts > 0 ? p->page->power_cap_watts : NAN);
    print_one(p, "tensorforge:energy_limited_requests_total", "counter", "Answers that max_joules ended.",
              (double)f->energy_limited);
}

void metrics_print(const void *context, struct text *out)
{
    const struct printer p = {context, out};
    print_counts(&p);
    print_drafts(&p);
    print_histograms(&p);
    print_energy(&p);
}
