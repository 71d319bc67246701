/* infer/engine/speculation.c - see speculation.h. */
#include "forge/infer/engine/speculation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"

#define TIME_DECAY       0.98 /* factor by which a new step reduces the weight of earlier steps */
#define ACCEPTANCE_START 0.7  /* assumed acceptance of a sequence without proposals */
#define ACCEPTANCE_STEP  0.15 /* weight of a new proposal in the mean acceptance */
#define PROBE_TOKENS     32   /* after this number of tokens without drafts, one draft is tried again */
#define DRAFT_PURPOSE    3    /* `purpose` of sampler_draw for drafts; no other caller uses this number */

/* --- times of steps ------------------------------------------------------------------------------------- */

void step_times_add(struct step_times *t, double rows, double seconds)
{
    t->count = TIME_DECAY * t->count + 1;
    t->rows = TIME_DECAY * t->rows + rows;
    t->seconds = TIME_DECAY * t->seconds + seconds;
    t->rows_squared = TIME_DECAY * t->rows_squared + rows * rows;
    t->rows_seconds = TIME_DECAY * t->rows_seconds + rows * seconds;
}

double step_times_expect(const struct step_times *t, double rows)
{
    double spread = t->count * t->rows_squared - t->rows * t->rows;
    if (!(spread > 1e-6 * t->rows * t->rows))
        return NAN;
    double slope = (t->count * t->rows_seconds - t->rows * t->seconds) / spread;
    slope = slope > 0 ? slope : 0;
    return t->seconds / t->count + slope * (rows - t->rows / t->count);
}

/* --- life ----------------------------------------------------------------------------------------------- */

static joule_status open_draft_model(struct speculation *s, const forge_engine_options *options,
                                     forge_device *device, const struct model_graph_sizes *sizes,
                                     size_t vocabulary, joule_error *error)
{
    struct model_graph_sizes own = *sizes;
    const struct model_config *config = &options->draft_model->file->config;
    if ((size_t)config->vocabulary != vocabulary)
        return error_set(
            error, JOULE_INVALID,
            "the draft model has %lld tokens, but the model has %zu: they must have one vocabulary",
            (long long)config->vocabulary, vocabulary);
    if (config->context < (int64_t)options->max_length)
        return error_set(
            error, JOULE_INVALID,
            "the draft model has a context of %lld tokens: set max_length to at most this number",
            (long long)config->context);
    own.pages = own.max_sequences * own.sequence_pages;
    own.cache_dtype = FORGE_F32;
    if (own.pages > INT32_MAX / own.page_size)
        return error_set(error, JOULE_INVALID,
                         "the cache of the draft model has more than 2^31 - 1 tokens: set max_length or "
                         "max_batch_size to smaller numbers");
    s->logits = malloc(vocabulary * sizeof *s->logits);
    return s->logits ? runner_open(&s->draft, options->draft_model, device, &own,
                                   options->keeps_weights_mapped, error)
                     : error_set(error, JOULE_NO_MEMORY, "cannot create an engine: out of memory");
}

joule_status speculation_open(struct speculation *s, const forge_engine_options *options,
                              forge_device *device, const struct model_graph_sizes *sizes, size_t vocabulary,
                              joule_error *out_error)
{
    *s = (struct speculation){.kind = options->speculation,
                              .keeps_count = options->keeps_draft_tokens,
                              .max_drafts = options->draft_tokens ? options->draft_tokens : 4,
                              .min_match = options->min_match ? options->min_match : 2,
                              .max_match = options->max_match ? options->max_match : 4};
    if (s->kind == FORGE_SPECULATION_NONE)
        return JOULE_OK;
    s->requests = calloc(options->max_batch_size, sizeof *s->requests);
    if (!s->requests)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create an engine: out of memory");
    return s->kind == FORGE_SPECULATION_MODEL
               ? open_draft_model(s, options, device, sizes, vocabulary, out_error)
               : JOULE_OK;
}

void speculation_close(struct speculation *s)
{
    if (s->kind == FORGE_SPECULATION_MODEL)
        runner_close(&s->draft);
    free(s->requests);
    free(s->logits);
}

void speculation_release(struct draft_state *state)
{
    page_table_free(&state->table);
    free(state->probabilities);
    state->probabilities = NULL;
    state->computed = 0;
}

/* --- number of drafts ----------------------------------------------------------------------------------- */

/* Returns the number of drafts that gives the most tokens per second, for `sequences` sequences in a step. */
static size_t best_count(const struct speculation *s, const struct draft_state *state, size_t sequences)
{
    double rows = (double)sequences, one = step_times_expect(&s->model_times, rows);
    double a = fmin(state->acceptance, 0.99), best = 1;
    size_t count = 0;
    if (s->keeps_count || !(one > 0))
        return s->max_drafts; /* times are not known yet */
    for (size_t k = 1; k <= s->max_drafts; k++) {
        double tokens = (1 - pow(a, (double)(k + 1))) / (1 - a);
        double step = step_times_expect(&s->model_times, rows * (double)(k + 1));
        double gain = tokens * one / (step + (double)k * s->draft_seconds);
        if (gain > best) {
            best = gain;
            count = k;
        }
    }
    return count;
}

static size_t wanted_count(const struct speculation *s, struct draft_request *r, size_t sequences)
{
    struct draft_state *state = r->state;
    if (!state->has_drafted) {
        state->has_drafted = true;
        state->acceptance = ACCEPTANCE_START;
    }
    size_t count = best_count(s, state, sequences);
    if (count == 0 && ++state->skipped >= PROBE_TOKENS)
        count = 1;
    if (count > 0)
        state->skipped = 0;
    return count < r->room ? count : r->room;
}

/* --- lookup in the sequence ----------------------------------------------------------------------------- */

/* Finds the largest number from min to max for which that many last tokens also occur earlier. Returns the
 * index after their last earlier occurrence; 0: none. */
static size_t find_longest(const int32_t *tokens, size_t count, size_t min, size_t max)
{
    size_t longest = min - 1, at = 0;
    for (size_t end = count - 1; end > longest && longest < max; end--) {
        size_t length = 0;
        while (length < end && length < max && tokens[end - 1 - length] == tokens[count - 1 - length])
            length++;
        if (length > longest) {
            longest = length;
            at = end;
        }
    }
    return at;
}

static void look_up(const struct speculation *s, struct sequence *sequence, size_t count)
{
    size_t tokens = sequence->token_count,
           at = find_longest(sequence->tokens, tokens, s->min_match, s->max_match);
    while (at > 0 && sequence->draft_count < count && at < tokens)
        sequence->drafts[sequence->draft_count++] = sequence->tokens[at++];
}

/* --- draft model ---------------------------------------------------------------------------------------- */

/* Takes pages of the draft model's cache for the first `tokens` tokens, and allocates memory for
 * probabilities. Returns false if there are too few pages, or out of memory. */
static bool make_room(struct speculation *s, struct draft_request *r, size_t tokens)
{
    struct draft_state *state = r->state;
    size_t vocabulary = runner_vocabulary(&s->draft);
    /* Earlier drafts that were never verified are not tokens of the sequence. The last token is computed
     * again, because its logits are needed. */
    if (state->computed >= r->sequence->token_count)
        state->computed = r->sequence->token_count - 1;
    state->table.pool = s->draft.pool;
    if (!r->is_greedy && !state->probabilities)
        state->probabilities = malloc(s->max_drafts * vocabulary * sizeof *state->probabilities);
    return (r->is_greedy || state->probabilities) && page_table_reserve(&state->table, tokens) &&
           page_table_extend(&state->table, tokens);
}

/* Adds rows for the tokens that the draft model has not computed, as many as fit in a step. Returns true if
 * the last token is included. */
static bool add_missing(struct speculation *s, struct draft_request *r)
{
    struct sequence *sequence = r->sequence;
    size_t all = sequence->token_count + sequence->draft_count, first = r->state->computed;
    size_t room = (size_t)s->draft.sizes.max_rows - s->draft.rows,
           count = all - first < room ? all - first : room;
    bool is_last = first + count == all;
    if (count > 0)
        runner_add(&s->draft, sequence, &r->state->table, first, count, is_last);
    r->state->computed += count;
    return is_last && count > 0;
}

/* Appends a draft that is chosen from logits: [vocabulary]. If this is impossible, the sequence wants no more
 * drafts. */
static void choose_draft(struct speculation *s, struct draft_request *r, const float *logits)
{
    struct sequence *sequence = r->sequence;
    size_t vocabulary = runner_vocabulary(&s->draft), i = sequence->draft_count;
    float *probabilities = r->is_greedy ? s->logits : r->state->probabilities + i * vocabulary;
    memcpy(probabilities, logits, vocabulary * sizeof *logits);
    int32_t token = sampler_probabilities(r->sampler, probabilities, NULL)
                        ? sampler_draw(r->sampler, probabilities, r->position + i, DRAFT_PURPOSE)
                        : -1;
    if (token >= 0 && sampler_add_token(r->sampler, token, false))
        sequence->drafts[sequence->draft_count++] = token;
    else
        r->wanted = i;
}

/* Computes one step of the draft model for all requests that want more than they have. Returns JOULE_ABSENT
 * if no request wants a draft. */
static joule_status draft_step(struct speculation *s, size_t count, joule_error *error)
{
    const float *logits;
    runner_begin(&s->draft);
    for (size_t i = 0; i < count; i++) {
        struct draft_request *r = &s->requests[i];
        r->has_logits = r->sequence->draft_count < r->wanted && add_missing(s, r);
    }
    if (s->draft.rows == 0)
        return JOULE_ABSENT;
    joule_status status = runner_run(&s->draft, &logits, error);
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        if (s->requests[i].has_logits) {
            choose_draft(s, &s->requests[i], logits);
            logits += runner_vocabulary(&s->draft);
        }
    return status;
}

static joule_status run_draft_model(struct speculation *s, size_t count, joule_error *error)
{
    joule_status status = JOULE_OK;
    int64_t begin_ns = clock_now_ns();
    size_t steps = 0;
    for (size_t i = 0; i < count; i++) {
        struct draft_request *r = &s->requests[i];
        if (r->wanted > 0 && !make_room(s, r, r->sequence->token_count + r->wanted))
            r->wanted = 0;
    }
    while (status == JOULE_OK) {
        status = draft_step(s, count, error);
        steps += status == JOULE_OK;
    }
    if (steps > 0) {
        double seconds = clock_seconds(clock_now_ns() - begin_ns) / (double)steps;
        s->draft_seconds =
            s->draft_seconds > 0 ? s->draft_seconds + 0.1 * (seconds - s->draft_seconds) : seconds;
    }
    for (size_t i = 0; i < count; i++)
        sampler_remove_tokens(s->requests[i].sampler, s->requests[i].sequence->draft_count);
    return status == JOULE_ABSENT ? JOULE_OK : status;
}

/* --- proposals ------------------------------------------------------------------------------------------ */

joule_status speculation_propose(struct speculation *s, size_t count, joule_error *out_error)
{
    for (size_t i = 0; i < count; i++)
        s->requests[i].wanted = wanted_count(s, &s->requests[i], count);
    if (s->kind == FORGE_SPECULATION_MODEL)
        return run_draft_model(s, count, out_error);
    for (size_t i = 0; i < count; i++)
        look_up(s, s->requests[i].sequence, s->requests[i].wanted);
    return JOULE_OK;
}

void speculation_record(struct speculation *s, struct draft_state *state, size_t token_count, size_t proposed,
                        size_t accepted)
{
    size_t valid = token_count + accepted;
    state->computed = state->computed < valid ? state->computed : valid;
    if (proposed == 0)
        return;
    s->proposals++;
    s->proposed += proposed;
    s->accepted += accepted;
    for (size_t i = 0; i < accepted; i++)
        s->accepted_at[i]++;
    /* The drafts after the first rejected one were not tested. */
    double tested = (double)(accepted < proposed ? accepted + 1 : accepted);
    state->acceptance += ACCEPTANCE_STEP * ((double)accepted / tested - state->acceptance);
}
