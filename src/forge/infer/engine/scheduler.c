/* infer/engine/scheduler.c - see scheduler.h. */
#include "forge/infer/engine/scheduler.h"

#include <stdlib.h>
#include "base/error.h"

/* --- lists ---------------------------------------------------------------------------------------------- */

/* Inserts a sequence before `next`; NULL: at the end. */
static void insert(struct sequence_list *list, struct sequence *sequence, struct sequence *next)
{
    sequence->next = next;
    sequence->previous = next ? next->previous : list->last;
    *(sequence->previous ? &sequence->previous->next : &list->first) = sequence;
    *(next ? &next->previous : &list->last) = sequence;
    list->count++;
}

static void unlink_from(struct sequence_list *list, struct sequence *sequence)
{
    *(sequence->previous ? &sequence->previous->next : &list->first) = sequence->next;
    *(sequence->next ? &sequence->next->previous : &list->last) = sequence->previous;
    sequence->next = sequence->previous = NULL;
    list->count--;
}

static bool is_urgent(const struct sequence *sequence)
{
    return sequence->waited >= MAX_WAIT_STEPS;
}

/* Returns true if a runs before b. */
static bool is_before(const struct scheduler *s, const struct sequence *a, const struct sequence *b)
{
    if (s->options.is_by_priority && is_urgent(a) != is_urgent(b))
        return is_urgent(a);
    if (s->options.is_by_priority && !is_urgent(a) && a->priority != b->priority)
        return a->priority < b->priority;
    return a->arrival < b->arrival;
}

/* Inserts a sequence into the waiting list in the order of is_before. A preempted sequence arrived before
 * those that were never admitted, so it is the first of its priority. */
static void wait_in_order(struct scheduler *s, struct sequence *sequence)
{
    struct sequence *first = s->waiting.first, *next = first && is_before(s, sequence, first) ? first : NULL;
    if (!next)
        for (struct sequence *at = s->waiting.last; at && is_before(s, sequence, at); at = at->previous)
            next = at;
    insert(&s->waiting, sequence, next);
    sequence->state = SEQUENCE_WAITING;
}

/* --- life ----------------------------------------------------------------------------------------------- */

joule_status scheduler_open(struct scheduler *scheduler, const struct scheduler_options *options,
                            struct page_pool *pool, joule_error *out_error)
{
    *scheduler =
        (struct scheduler){.options = *options, .pool = pool, .batch_capacity = options->max_sequences};
    scheduler->batch = calloc(options->max_sequences + 1, sizeof *scheduler->batch);
    scheduler->preempted = calloc(options->max_sequences + 1, sizeof *scheduler->preempted);
    if (!scheduler->batch || !scheduler->preempted)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a scheduler: out of memory");
    return JOULE_OK;
}

void scheduler_close(struct scheduler *scheduler)
{
    free(scheduler->batch);
    free(scheduler->preempted);
    scheduler->batch = NULL;
    scheduler->preempted = NULL;
}

static void release_pages(struct sequence *sequence)
{
    page_table_release(&sequence->table);
    sequence->computed = sequence->draft_count = 0;
}

void scheduler_add(struct scheduler *s, struct sequence *sequence)
{
    sequence->arrival = s->arrivals++;
    wait_in_order(s, sequence);
}

void scheduler_remove(struct scheduler *s, struct sequence *sequence)
{
    if (sequence->state == SEQUENCE_NEW)
        return;
    for (size_t i = 0; i < s->batch_count; i++)
        if (s->batch[i].sequence == sequence)
            s->batch[i].sequence = NULL;
    unlink_from(sequence->state == SEQUENCE_RUNNING ? &s->running : &s->waiting, sequence);
    release_pages(sequence);
    sequence->state = SEQUENCE_NEW;
}

bool scheduler_can_admit(const struct scheduler *s, size_t token_count)
{
    return token_count > 0 && token_count < s->options.max_length &&
           page_table_pages(s->pool, token_count) + 1 <= page_pool_count(s->pool);
}

/* --- planning ------------------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of tokens that a sequence may compute in this step, with `budget` rows left. */
static size_t wanted_rows(const struct scheduler *s, const struct sequence *sequence, size_t budget)
{
    size_t all = smaller(sequence->token_count + sequence->draft_count, s->options.max_length);
    size_t count = all > sequence->computed ? all - sequence->computed : 0;
    count = smaller(count, budget);
    return s->options.chunk ? smaller(count, s->options.chunk) : count;
}

/* Returns the running sequence that is preempted first: the last one in the order of is_before. */
static struct sequence *victim(const struct scheduler *s)
{
    struct sequence *last = s->running.last;
    for (struct sequence *at = s->running.first; at && s->options.is_by_priority; at = at->next)
        if (is_before(s, last, at))
            last = at;
    return last;
}

static void preempt(struct scheduler *s, struct sequence *sequence)
{
    for (size_t i = 0; i < s->batch_count; i++)
        if (s->batch[i].sequence == sequence) {
            s->rows -= s->batch[i].count;
            s->batch[i] = s->batch[--s->batch_count];
        }
    unlink_from(&s->running, sequence);
    release_pages(sequence);
    wait_in_order(s, sequence);
    s->preempted[s->preempted_count++] = sequence;
    s->preemptions++;
}

static void schedule(struct scheduler *s, struct sequence *sequence, size_t count)
{
    s->batch[s->batch_count++] = (struct scheduled){sequence, sequence->computed, count};
    s->rows += count;
}

/* Schedules the running sequences in order, each with at least one row, until the step has no room for more
 * rows. Returns true if a sequence was preempted. */
static bool plan_running(struct scheduler *s)
{
    for (struct sequence *at = s->running.first, *next; at && s->rows < s->options.max_rows; at = next) {
        size_t rows = s->options.max_rows - s->rows, others = s->running.count - s->batch_count - 1;
        size_t count = wanted_rows(s, at, rows > others ? rows - others : 1);
        next = at->next;
        while (count > 0 && !page_table_extend(&at->table, at->computed + count)) {
            struct sequence *last = victim(s);
            next = next && last == next ? next->next : next;
            count = last == at ? 0 : count; /* sequences after `at` may have a higher priority */
            preempt(s, last);
        }
        if (count > 0)
            schedule(s, at, count);
    }
    return s->preempted_count > 0;
}

/* Admits the first waiting sequence. If it does not fit, it stays the first, and the result is false. */
static bool admit(struct scheduler *s)
{
    struct sequence *sequence = s->waiting.first;
    if (!sequence->avoids_prefixes)
        sequence->computed = page_table_find(&sequence->table, sequence->tokens, sequence->token_count);
    size_t all = page_table_pages(s->pool, sequence->token_count), count;
    bool fits = all + 1 - sequence->table.page_count <= page_pool_free_count(s->pool);
    count = wanted_rows(s, sequence, s->options.max_rows - s->rows);
    if (!fits || count == 0 || !page_table_extend(&sequence->table, sequence->computed + count)) {
        release_pages(sequence);
        return false;
    }
    if (!sequence->was_admitted && !sequence->avoids_prefixes && sequence->table.shares_prefixes) {
        s->queried_tokens += sequence->token_count;
        s->found_tokens += sequence->computed;
    }
    sequence->was_admitted = true;
    sequence->found = sequence->computed;
    unlink_from(&s->waiting, sequence);
    insert(&s->running, sequence, NULL);
    sequence->state = SEQUENCE_RUNNING;
    schedule(s, sequence, count);
    return true;
}

/* Counts the steps of waiting sequences, and moves those that become urgent to their place in the list. */
static void count_waits(struct scheduler *s)
{
    for (struct sequence *at = s->waiting.first, *next; at; at = next) {
        next = at->next;
        if (is_urgent(at))
            continue;
        at->waited += WAIT_PERIOD;
        if (is_urgent(at)) {
            unlink_from(&s->waiting, at);
            wait_in_order(s, at);
        }
    }
}

bool scheduler_plan(struct scheduler *s)
{
    if (s->steps++ % WAIT_PERIOD == 0 && s->options.is_by_priority)
        count_waits(s);
    s->batch_count = s->rows = s->preempted_count = 0;
    bool has_preempted = plan_running(s);
    while (!has_preempted && s->waiting.first && s->rows < s->options.max_rows &&
           s->running.count < smaller(s->options.max_sequences, s->batch_capacity) && admit(s))
        continue;
    return s->rows > 0;
}

/* --- after the step ------------------------------------------------------------------------------------- */

void scheduler_complete(struct scheduler *s)
{
    for (size_t i = 0; i < s->batch_count; i++) {
        struct sequence *sequence = s->batch[i].sequence;
        if (!sequence)
            continue;
        sequence->computed += s->batch[i].count;
        /* Pages with drafts are not published, because drafts may be rejected. */
        page_table_publish(&sequence->table, sequence->tokens,
                           smaller(sequence->computed, sequence->token_count));
    }
}

void scheduler_reject(struct sequence *sequence, size_t count)
{
    sequence->computed -= count;
}
