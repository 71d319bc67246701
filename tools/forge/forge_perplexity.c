/* tools/forge/forge_perplexity.c - `forge perplexity`: measures how well a language model predicts a text.
 *
 * Note: the text is read in windows, each of which begins with the BOS token. Windows overlap, but a token
 * counts only in the first window that contains it. So most tokens are predicted from a long context. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "common/output.h"
#include "common/page.h"
#include "forge_commands.h"
#include "interrupt.h"
#include "language_model.h"
#include "prediction.h"

#define SCHEMA "forge-perplexity-1"

enum { DEFAULT_CONTEXT = 512, BATCH_TOKENS = 512 };

struct perplexity_options {
    struct language_options language;
    const char *file, *json;
    unsigned context, stride; /* tokens of a window; distance between the beginnings of windows */
};

struct perplexity {
    const struct perplexity_options *options;
    struct language_model model;
    int32_t *tokens; /* [count]: the text, without BOS */
    size_t count;
    int32_t *window; /* [context] */
    size_t context, stride;
    bool has_bos;
    size_t scored, windows, computed; /* tokens that counted, windows, and tokens of all windows so far */
    double nll, squares;              /* sums over the scored tokens, of the nats and of their squares */
    double seconds;
    joule_quantity joules;
    const char *energy_source;
};

/* --- windows -------------------------------------------------------------------------------------------- */

/* Computes the window that begins with token `first` of the text. Tokens before `counted` were counted in
 * earlier windows. */
static joule_status compute_window(struct perplexity *p, size_t first, size_t counted, joule_error *error)
{
    uint64_t id;
    size_t size = 0, room = p->context - p->has_bos, left = p->count - first;
    if (p->has_bos)
        p->window[size++] = forge_tokenizer_bos(p->model.tokenizer);
    memcpy(p->window + size, p->tokens + first, (left < room ? left : room) * sizeof *p->window);
    size += left < room ? left : room;
    const forge_request request = {.struct_size = sizeof request,
                                   .max_tokens = 1,
                                   .prompt = p->window,
                                   .prompt_count = size,
                                   .sampling = forge_sampling_default(),
                                   .reports_prompt = true};
    joule_status status = forge_engine_add(p->model.engine, &request, &id, error);
    forge_engine_event event = {.struct_size = sizeof event};
    size_t at = first - p->has_bos; /* index of the event's token in the text; SIZE_MAX: BOS */
    while (status == JOULE_OK && (status = forge_engine_step(p->model.engine, error)) == JOULE_OK)
        while (status == JOULE_OK && forge_engine_next(p->model.engine, &event) == JOULE_OK) {
            if (event.end == FORGE_END_FAILED) {
                status = error_set(error, JOULE_FAILED, "%s", event.failure);
            } else if (event.end != FORGE_END_NONE) {
                bool is_known = event.joules.cls != JOULE_CLASS_NONE;
                p->joules.value += is_known ? event.joules.value : NAN;
                p->joules.low += event.joules.low;
                p->joules.high += event.joules.high;
                p->joules.cls = event.joules.cls;
            } else if (event.is_prompt) {
                bool counts = at != SIZE_MAX && at >= counted && !isnan(event.logprob);
                p->scored += counts;
                p->nll -= counts ? (double)event.logprob : 0;
                p->squares += counts ? (double)event.logprob * (double)event.logprob : 0;
                at++;
            }
        }
    p->windows++;
    p->computed += size;
    return status == JOULE_ABSENT ? JOULE_OK : status;
}

static void print_progress(const struct perplexity *p, size_t end)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r%zu of %zu tokens, perplexity %.4f ", end, p->count, exp(p->nll / (double)p->scored));
    if (end == p->count || interrupted_by)
        fputs("\r\033[K", stderr);
}

static joule_status compute(struct perplexity *p, joule_error *error)
{
    size_t room = p->context - p->has_bos, counted = 0;
    int64_t begin_ns = clock_now_ns();
    joule_status status = JOULE_OK;
    for (size_t first = 0; status == JOULE_OK && counted < p->count && !interrupted_by; first += p->stride) {
        status = compute_window(p, first, counted, error);
        counted = first + room < p->count ? first + room : p->count;
        print_progress(p, counted);
    }
    p->seconds = clock_seconds(clock_now_ns() - begin_ns);
    if (status == JOULE_OK && p->scored == 0 && !interrupted_by)
        return error_set(error, JOULE_INVALID, "%s has %zu tokens, which are too few to predict one",
                         p->options->file, p->count);
    return status;
}

/* --- report --------------------------------------------------------------------------------------------- */

/* Returns the standard error of the mean number of nats per token. */
static double standard_error(const struct perplexity *p)
{
    double n = (double)p->scored, mean = p->nll / n;
    return sqrt(fmax(p->squares / n - mean * mean, 0) / fmax(n - 1, 1));
}

static joule_quantity joules_per_token(const struct perplexity *p)
{
    double n = (double)p->scored;
    return (joule_quantity){p->joules.value / n, p->joules.low / n, p->joules.high / n, p->joules.cls, 0};
}

static void print_text(const struct perplexity *p)
{
    double nats = p->nll / (double)p->scored, error = standard_error(p);
    char energy[QUANTITY_TEXT];
    joule_quantity joules = joules_per_token(p);
    printf("%.4f nats/token (standard error %.4f), perplexity %.4f\n", nats, error, exp(nats));
    printf("%zu of %zu tokens in %zu windows of %zu, stride %zu; %.0f tokens/s\n", p->scored, p->count,
           p->windows, p->context, p->stride, (double)p->computed / p->seconds);
    printf("%s%s%s per token\n", quantity_text(joules, JOULE_DIMENSION_ENERGY, energy),
           isnan(joules.value) ? " joules" : ", ", isnan(joules.value) ? "" : joule_class_name(joules.cls));
}

static void print_json(const void *context, struct text *out)
{
    const struct perplexity *p = context;
    struct json json = {.out = out};
    double nats = p->nll / (double)p->scored;
    bool is_known = !isnan(p->joules.value);
    joule_quantity joules = joules_per_token(p);
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "forge_version", joule_version());
    json_string(&json, "model", p->options->language.model);
    json_bool(&json, "interrupted", interrupted_by != 0);
    json_double(&json, "nats_per_token", nats);
    json_double(&json, "standard_error", standard_error(p));
    json_double(&json, "perplexity", exp(nats));
    json_integer(&json, "tokens", (int64_t)p->count);
    json_integer(&json, "scored_tokens", (int64_t)p->scored);
    json_integer(&json, "windows", (int64_t)p->windows);
    json_integer(&json, "context", (int64_t)p->context);
    json_integer(&json, "stride", (int64_t)p->stride);
    json_double(&json, "tokens_per_s", (double)p->computed / p->seconds);
    json_open(&json, "energy", '{');
    json_double(&json, "joules", p->joules.value);
    json_double(&json, "joules_per_token", joules.value);
    json_double(&json, "low", is_known ? joules.low : NAN);
    json_double(&json, "high", is_known ? joules.high : NAN);
    json_string(&json, "class", joule_class_name(is_known ? joules.cls : JOULE_CLASS_NONE));
    json_string(&json, "source", is_known ? p->energy_source : NULL);
    json_close(&json, '}');
    json_close(&json, '}');
    text_add(out, "\n");
}

static int report(const struct perplexity *p)
{
    joule_error error = {0};
    size_t length;
    if (p->scored == 0)
        return interrupt_exit_code(0);
    if (!p->options->json || strcmp(p->options->json, "-") != 0)
        print_text(p);
    char *page = p->options->json ? page_make("perplexity", print_json, p, &length) : NULL;
    bool is_written =
        !p->options->json || (page && output_write(p->options->json, page, length, &error) == JOULE_OK);
    if (!is_written && page)
        complain("perplexity", "%s", error.message);
    free(page);
    return is_written ? interrupt_exit_code(0) : EXIT_OWN_FAILURE;
}

/* --- run ------------------------------------------------------------------------------------------------ */

static joule_status read_text(struct perplexity *p, joule_error *error)
{
    char *text;
    size_t size;
    bool is_stdin = strcmp(p->options->file, "-") == 0;
    joule_status status = input_read(is_stdin ? NULL : p->options->file, &text, &size, error);
    if (status != JOULE_OK)
        return status;
    status = text_to_tokens(p->model.tokenizer, text, size, 0, &p->tokens, &p->count, error);
    free(text);
    return status;
}

/* Sets the sizes of windows. A window is shorter than the model's context, because an engine also computes a
 * token of an answer. */
static joule_status set_sizes(struct perplexity *p, joule_error *error)
{
    size_t longest = (size_t)p->model.facts.context - 1;
    p->has_bos = forge_tokenizer_bos(p->model.tokenizer) >= 0;
    p->context = p->options->context ? p->options->context : DEFAULT_CONTEXT;
    if (!p->options->context && p->context > longest)
        p->context = longest;
    if (p->context > longest || p->context < 2)
        return error_set(error, JOULE_INVALID, "--context takes a whole number from 2 to %zu for this model",
                         longest);
    p->stride = p->options->stride ? p->options->stride : (p->context + 1) / 2;
    if (p->stride > p->context - p->has_bos)
        return error_set(error, JOULE_INVALID,
                         "--stride takes a whole number up to %zu for windows of %zu tokens",
                         p->context - p->has_bos, p->context);
    p->window = malloc(p->context * sizeof *p->window);
    return p->window ? JOULE_OK : error_set(error, JOULE_NO_MEMORY, "cannot make a window: out of memory");
}

static joule_status start(struct perplexity *p, joule_error *error)
{
    const struct language_options *language = &p->options->language;
    forge_engine_options engine = {.struct_size = sizeof engine,
                                   .max_batch_size = 1,
                                   .max_batch_tokens = BATCH_TOKENS,
                                   .disables_prefix_cache = true};
    joule_status status = language_model_open(&p->model, language, error);
    if (status == JOULE_OK)
        status = language_model_need_tokenizer(&p->model, error);
    if (status == JOULE_OK)
        status = set_sizes(p, error);
    if (status == JOULE_OK)
        status = read_text(p, error);
    engine.max_length = (uint32_t)p->context + 1;
    if (status == JOULE_OK)
        status = language_model_start(&p->model, language, &engine, error);
    return status;
}

static int perplexity(const struct perplexity_options *o)
{
    joule_error error = {0};
    struct perplexity p = {.options = o};
    forge_engine_facts facts = {.struct_size = sizeof facts};
    joule_status status = start(&p, &error);
    interrupt_handle();
    if (status == JOULE_OK)
        status = compute(&p, &error);
    if (status == JOULE_OK && forge_engine_query(p.model.engine, &facts) == JOULE_OK)
        p.energy_source = facts.energy_source;
    int code = status == JOULE_OK ? report(&p) : EXIT_OWN_FAILURE;
    if (status != JOULE_OK)
        complain("perplexity", "%s", error.message);
    free(p.tokens);
    free(p.window);
    language_model_close(&p.model);
    return code;
}

int perplexity_main(int argc, char **argv)
{
    struct perplexity_options o = {0};
    struct option table[LANGUAGE_ROWS + 4] = {
        {"context", 'c', OPTION_COUNT, &o.context, "N",
         "tokens of a window (default: 512, but less than the model's context)"},
        {"stride", 0, OPTION_COUNT, &o.stride, "N",
         "tokens between the beginnings of windows (default: half a window)"},
        {"json", 'j', OPTION_TEXT, &o.json, "FILE",
         "write the report as JSON; -: to standard output, without the text"},
    };
    language_options_add(&o.language, table + 3);
    const struct command_text text = {
        "forge perplexity MODEL FILE [OPTIONS]",
        "Measures how well a language model predicts a text: nats per token, perplexity, joules per token.",
        "FILE - is standard input.\n"};
    const struct program_operand operands[] = {{"MODEL", &o.language.model, false}, {"FILE", &o.file, false}};
    int read = options_read_operands(table, &text, operands, 2, argc, argv);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    joule_error error = {0};
    const char *const paths[] = {o.language.model, o.language.tokenizer, o.file, o.json};
    if (o.json &&
        (output_check_apart(paths, 3, 4, &error) != JOULE_OK || output_check(o.json, &error) != JOULE_OK)) {
        complain("perplexity", "%s", error.message);
        return EXIT_USAGE;
    }
    return perplexity(&o);
}
