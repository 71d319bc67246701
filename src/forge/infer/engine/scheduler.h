/* infer/engine/scheduler.h - decides which tokens of which sequences the next step computes.
 *
 * There are no separate phases for prompts and answers: in each step, every sequence tries to compute all its
 * tokens whose keys and values are not in the cache yet. Running sequences come first, in order; then waiting
 * sequences are admitted. If the cache is full, the sequence that was admitted last is preempted: it loses
 * its pages, waits at the front, and computes its tokens again later. With priorities, lower numbers run
 * first. So that no sequence waits without end, a sequence that has waited for MAX_WAIT_STEPS steps in all
 * becomes urgent. Urgent sequences run before all others, in the order of arrival.
 * Note: a sequence is admitted only if its whole prompt and one more page fit, so that prompts do not preempt
 * each other in turn.
 *
 * Threads: one thread at a time. */
#ifndef FORGE_INFER_SCHEDULER_H
#define FORGE_INFER_SCHEDULER_H

#include "forge/infer/engine/page_table.h"

enum {
    MAX_DRAFTS = 32,      /* maximum number of draft tokens of a sequence in a step */
    MAX_WAIT_STEPS = 512, /* a multiple of WAIT_PERIOD */
    WAIT_PERIOD = 16,     /* number of steps between two counts of the waiting sequences */
};

enum sequence_state { SEQUENCE_NEW, SEQUENCE_WAITING, SEQUENCE_RUNNING };

/* A sequence of tokens. The engine appends tokens and drafts; the scheduler changes the other members.
 * Members that each step uses come first, so that they need few cache lines. */
struct sequence {
    struct sequence *next, *previous; /* neighbours in a list of the scheduler */
    size_t computed;                  /* number of tokens whose keys and values are in the cache */
    size_t token_count, draft_count;
    int32_t *tokens;         /* [token_count] */
    struct page_table table; /* has memory for MAX_DRAFTS + 1 positions after the tokens */
    size_t token_capacity;
    int32_t drafts[MAX_DRAFTS]; /* [draft_count] proposed tokens after the last token */
    enum sequence_state state;
    int32_t priority; /* lower numbers run first */
    unsigned waited;  /* number of steps that the sequence waited, if there are priorities */
    uint64_t arrival; /* number of the call of scheduler_add */
    size_t found;     /* number of tokens that were found in the cache when the sequence was last admitted */
    bool was_admitted;
    bool avoids_prefixes; /* all tokens must be computed, for example to report their probabilities */
};

struct sequence_list {
    struct sequence *first, *last;
    size_t count;
};

/* The tokens of one sequence in a step: tokens [first, first + count) of its tokens and drafts. */
struct scheduled {
    struct sequence *sequence;
    size_t first, count;
};

struct scheduler_options {
    size_t max_rows;      /* tokens per step */
    size_t max_sequences; /* running sequences */
    size_t max_length;    /* tokens per sequence */
    size_t chunk;         /* tokens of one sequence per step; 0: max_rows */
    bool is_by_priority;  /* false: first come, first served */
};

struct scheduler {
    struct scheduler_options options; /* the engine may lower max_rows and max_sequences between steps */
    struct page_pool *pool;
    struct sequence_list running, waiting;
    struct scheduled *batch; /* [batch_count]: the result of scheduler_plan */
    size_t batch_count, batch_capacity, rows;
    struct sequence **preempted; /* [preempted_count]: the sequences that the last plan preempted */
    size_t preempted_count;
    uint64_t steps, arrivals, preemptions;
    /* Tokens looked up in the prefix cache, and found; without recomputed tokens. */
    uint64_t queried_tokens, found_tokens;
};

/* Initialises a scheduler that takes pages from `pool`. The caller calls scheduler_close to free its
 * memory. */
joule_status scheduler_open(struct scheduler *scheduler, const struct scheduler_options *options,
                            struct page_pool *pool, joule_error *out_error);
void scheduler_close(struct scheduler *scheduler);

/* Adds a new sequence with tokens and an empty page table. The caller owns the sequence, and calls
 * scheduler_remove before it frees it. */
void scheduler_add(struct scheduler *scheduler, struct sequence *sequence);
/* Removes a sequence in any state, and releases its pages. */
void scheduler_remove(struct scheduler *scheduler, struct sequence *sequence);
/* Returns true if a sequence of this many tokens can ever be admitted. */
bool scheduler_can_admit(const struct scheduler *scheduler, size_t token_count);

/* Plans the next step: sets batch, batch_count, rows and the preempted sequences. No sequence is in the batch
 * twice. Returns false if there is nothing to compute. */
bool scheduler_plan(struct scheduler *scheduler);
/* Records that the batch was computed, and makes full pages findable. */
void scheduler_complete(struct scheduler *scheduler);
/* Removes the last `count` computed tokens, which were rejected drafts. */
void scheduler_reject(struct sequence *sequence, size_t count);

#endif
