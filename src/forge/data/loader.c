/* data/loader.c - makes batches of a dataset ahead of time, with worker threads.
 *
 * Batches are numbered by tickets, which count from batch 0 of epoch 0. Ticket t uses slot t % slot_count of
 * a ring. One array contains the order of the examples of an epoch. The thread that has claim_lock takes the
 * next ticket and writes the numbers of its examples to the slot. Workers copy the examples in parallel.
 * Note: a worker keeps claim_lock while it waits for a free slot, so the other workers sleep until it has a
 * ticket.
 */
#include <forge/data.h>
#include <forge/random.h>
#include "base/error.h"
#include "base/abi.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORKERS = 1024, MAX_PREFETCH = 1 << 16, PREFETCH_PER_WORKER = 2 };

#define LOADER_OPTIONS_SIZE_1 SIZE_UP_TO(forge_loader_options, stride)

/* Random streams of the loader. A model with the same seed uses other streams, so its random numbers are
 * different. */
#define SHUFFLE_STREAM UINT32_C(0x73687566)
#define OFFSET_STREAM  UINT32_C(0x6f666673)

struct slot {
    bool is_ready; /* the slot contains a batch that the caller has not received yet; guarded by lock */
    size_t count;  /* number of examples */
    size_t *examples;
    forge_tensor columns[FORGE_DATASET_MAX_COLUMNS]; /* [batch_size, ...] */
};

struct forge_loader {
    forge_loader_options options;
    size_t example_count, batch_size, column_count; /* example_count: examples per epoch */
    size_t offsets;                                 /* number of possible first examples of an epoch */
    uint64_t batches_per_epoch;
    forge_tensor columns[FORGE_DATASET_MAX_COLUMNS]; /* columns of the dataset */
    size_t row_bytes[FORGE_DATASET_MAX_COLUMNS];
    size_t row_distances[FORGE_DATASET_MAX_COLUMNS]; /* bytes between the starts of two rows */

    pthread_mutex_t claim_lock; /* always locked before `lock` */
    uint32_t *order;            /* under claim_lock; NULL: not shuffled */
    uint64_t order_epoch;       /* epoch of `order`; under claim_lock */

    pthread_mutex_t lock;
    pthread_cond_t free_slot; /* a slot is free, or workers must end */
    pthread_cond_t progress;  /* a worker has filled a slot */
    uint64_t claimed;         /* under lock: the next ticket for a worker */
    uint64_t limit;           /* under lock: workers claim only tickets below it */
    size_t busy;              /* under lock: number of slots that are being filled */
    bool is_stopping;         /* under lock: true if workers must end */
    uint64_t given;           /* caller's thread only: the next ticket to return to the caller */

    size_t slot_count; /* options.prefetch, and one for the batch that the caller uses */
    struct slot *slots;
    size_t thread_count;
    pthread_t *threads;
};

/* --- making a batch ------------------------------------------------------------------------------------- */

static void shuffle(struct forge_loader *loader, uint64_t epoch)
{
    const forge_random random = {
        .key = loader->options.seed,
        .step = (uint32_t)epoch,
        .stream = SHUFFLE_STREAM ^ (uint32_t)(epoch >> 32),
    };
    forge_random_permutation(&random, loader->example_count, loader->order);
    loader->order_epoch = epoch;
}

/* Returns the first example of an epoch: a random 64-bit number modulo `offsets`, whose bias is
 * negligible. */
static size_t offset_of(const struct forge_loader *loader, uint64_t epoch)
{
    uint32_t words[2];
    const forge_random random = {
        .key = loader->options.seed,
        .step = (uint32_t)epoch,
        .stream = OFFSET_STREAM ^ (uint32_t)(epoch >> 32),
    };
    if (loader->offsets == 1)
        return 0;
    forge_random_bits(&random, 0, 2, words);
    return (size_t)(((uint64_t)words[1] << 32 | words[0]) % loader->offsets);
}

/* Writes the numbers of a ticket's examples to its slot. If there are workers, the calling thread has
 * claim_lock. */
static void choose(struct forge_loader *loader, uint64_t ticket, struct slot *slot)
{
    uint64_t epoch = ticket / loader->batches_per_epoch;
    size_t first = (size_t)(ticket % loader->batches_per_epoch) * loader->batch_size;
    size_t left = loader->example_count - first;
    if (loader->order && loader->order_epoch != epoch)
        shuffle(loader, epoch);
    slot->count = left < loader->batch_size ? left : loader->batch_size;
    size_t offset = offset_of(loader, epoch);
    for (size_t i = 0; i < slot->count; i++)
        slot->examples[i] =
            offset + loader->options.stride * (loader->order ? loader->order[first + i] : first + i);
}

static void copy_rows(const struct forge_loader *loader, const struct slot *slot)
{
    for (size_t c = 0; c < loader->column_count; c++) {
        const char *source = forge_tensor_data(&loader->columns[c]);
        char *target = forge_tensor_data(&slot->columns[c]);
        size_t bytes = loader->row_bytes[c];
        for (size_t i = 0; i < slot->count; i++)
            memcpy(target + i * bytes, source + slot->examples[i] * loader->row_distances[c], bytes);
    }
}

/* --- workers -------------------------------------------------------------------------------------------- */

/* Waits for a free slot, takes the next ticket, and returns the ticket's slot. Returns NULL if the loader is
 * being freed. */
static struct slot *claim(struct forge_loader *loader)
{
    struct slot *slot = NULL;
    uint64_t ticket = 0;
    pthread_mutex_lock(&loader->claim_lock);
    pthread_mutex_lock(&loader->lock);
    while (!loader->is_stopping && loader->claimed >= loader->limit)
        pthread_cond_wait(&loader->free_slot, &loader->lock);
    if (!loader->is_stopping) {
        ticket = loader->claimed++;
        loader->busy++;
        slot = &loader->slots[ticket % loader->slot_count];
    }
    pthread_mutex_unlock(&loader->lock);
    if (slot)
        choose(loader, ticket, slot);
    pthread_mutex_unlock(&loader->claim_lock);
    return slot;
}

static void *work(void *argument)
{
    struct forge_loader *loader = argument;
    struct slot *slot;
    while ((slot = claim(loader)) != NULL) {
        copy_rows(loader, slot);
        pthread_mutex_lock(&loader->lock);
        slot->is_ready = true;
        loader->busy--;
        pthread_cond_signal(&loader->progress); /* only the caller's thread waits for this condition */
        pthread_mutex_unlock(&loader->lock);
    }
    return NULL;
}

/* Starts a worker with signals blocked, so that the program's own threads receive them. SIGSEGV and SIGBUS
 * stay unblocked, because copying from a mapped file can raise them. */
static joule_status start_worker(struct forge_loader *loader, joule_error *out_error)
{
    sigset_t blocked, before;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t *thread = &loader->threads[loader->thread_count];
    int problem = pthread_create(thread, NULL, work, loader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (problem)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot start worker %zu of a loader: %s",
                         loader->thread_count, strerror(problem));
    char name[16];
    snprintf(name, sizeof name, "loader-%u", (unsigned)loader->thread_count % 10000);
    pthread_setname_np(*thread, name);
    loader->thread_count++;
    return JOULE_OK;
}

static void end_workers(struct forge_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->is_stopping = true;
    pthread_cond_signal(&loader->free_slot); /* only the worker that has claim_lock waits; the other workers
                                              * read is_stopping before they wait */
    pthread_mutex_unlock(&loader->lock);
    for (size_t i = 0; i < loader->thread_count; i++)
        pthread_join(loader->threads[i], NULL);
}

/* --- new, free ------------------------------------------------------------------------------------------ */

static joule_status take_options(const forge_loader_options *given, forge_loader_options *out,
                                 joule_error *out_error)
{
    joule_status status = abi_read(out, sizeof *out, LOADER_OPTIONS_SIZE_1, given);
    if (status != JOULE_OK)
        return error_set(out_error, status, "forge_loader_options: %s",
                         status == JOULE_INVALID ? "set struct_size to sizeof(forge_loader_options)"
                                                 : "an option is set that this library does not know");
    if (out->batch_size == 0)
        return error_set(out_error, JOULE_INVALID, "loader: batch_size is 0; it must be 1 or more");
    if (out->workers > MAX_WORKERS || out->prefetch > MAX_PREFETCH)
        return error_set(out_error, JOULE_INVALID,
                         "loader: %" PRIu32 " workers and %" PRIu32
                         " batches ahead are too many; the limits are %d and %d",
                         out->workers, out->prefetch, MAX_WORKERS, MAX_PREFETCH);
    if (out->stride == 0)
        out->stride = 1;
    if (out->prefetch == 0)
        out->prefetch = PREFETCH_PER_WORKER * out->workers;
    if (out->workers == 0)
        out->prefetch = 0;
    return JOULE_OK;
}

static joule_status plan(struct forge_loader *loader, const forge_dataset *dataset, joule_error *out_error)
{
    const forge_loader_options *options = &loader->options;
    size_t rows = forge_dataset_examples(dataset), stride = options->stride;
    loader->offsets = !options->shuffle || rows == 0 ? 1 : stride < rows ? stride : rows;
    size_t count = rows >= loader->offsets ? (rows - loader->offsets) / stride + 1 : 0;
    loader->example_count = count;
    loader->batch_size = options->batch_size < count ? options->batch_size : count;
    loader->batches_per_epoch = count / options->batch_size;
    if (options->keep_last && count % options->batch_size != 0)
        loader->batches_per_epoch++;
    if (loader->batches_per_epoch == 0)
        return error_set(out_error, JOULE_INVALID,
                         "loader: %zu examples do not make one batch of %" PRIu32
                         "; make batch_size smaller, or set keep_last",
                         count, options->batch_size);
    if (options->shuffle && count > UINT32_MAX)
        return error_set(out_error, JOULE_INVALID,
                         "loader: %zu examples are too many to shuffle; the limit is %" PRIu32, count,
                         UINT32_MAX);
    loader->column_count = forge_dataset_columns(dataset);
    for (size_t c = 0; c < loader->column_count; c++) {
        forge_tensor column = loader->columns[c] = forge_dataset_column(dataset, c);
        loader->row_bytes[c] = forge_dtype_size_bytes(column.dtype, forge_tensor_elements(&column) / rows);
        loader->row_distances[c] = forge_dtype_size_bytes(column.dtype, (size_t)column.strides[0]);
    }
    return JOULE_OK;
}

static joule_status make_slot(const struct forge_loader *loader, struct slot *slot, joule_error *out_error)
{
    slot->examples = calloc(loader->batch_size, sizeof *slot->examples);
    if (!slot->examples)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot make a batch of %zu examples: out of memory",
                         loader->batch_size);
    joule_status status = JOULE_OK;
    for (size_t c = 0; c < loader->column_count && status == JOULE_OK; c++) {
        forge_shape shape = loader->columns[c].shape;
        shape.dims[0] = (forge_dim)loader->batch_size;
        status = forge_tensor_new(loader->columns[c].dtype, &shape, &slot->columns[c], out_error);
    }
    return status;
}

static joule_status take_memory(struct forge_loader *loader, joule_error *out_error)
{
    loader->slot_count = (size_t)loader->options.prefetch + 1;
    loader->slots = calloc(loader->slot_count, sizeof *loader->slots);
    loader->threads = calloc((size_t)loader->options.workers + 1, sizeof *loader->threads);
    if (loader->options.shuffle)
        loader->order = calloc(loader->example_count, sizeof *loader->order);
    if (!loader->slots || !loader->threads || (loader->options.shuffle && !loader->order))
        return error_set(out_error, JOULE_NO_MEMORY, "cannot make a loader of %zu examples: out of memory",
                         loader->example_count);
    joule_status status = JOULE_OK;
    for (size_t i = 0; i < loader->slot_count && status == JOULE_OK; i++)
        status = make_slot(loader, &loader->slots[i], out_error);
    return status;
}

joule_status forge_loader_new(const forge_dataset *dataset, const forge_loader_options *options,
                              forge_loader **out_loader, joule_error *out_error)
{
    if (!dataset || !out_loader)
        return error_set(out_error, JOULE_INVALID, "forge_loader_new: %s is NULL",
                         dataset ? "out_loader" : "dataset");
    forge_loader *loader = calloc(1, sizeof *loader);
    if (!loader)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot make a loader: out of memory");
    pthread_mutex_init(&loader->claim_lock, NULL);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->free_slot, NULL);
    pthread_cond_init(&loader->progress, NULL);
    loader->order_epoch = UINT64_MAX; /* no epoch is shuffled yet */
    joule_status status = take_options(options, &loader->options, out_error);
    if (status == JOULE_OK)
        status = plan(loader, dataset, out_error);
    if (status == JOULE_OK)
        status = take_memory(loader, out_error);
    loader->limit = loader->options.prefetch;
    for (uint32_t i = 0; i < loader->options.workers && status == JOULE_OK; i++)
        status = start_worker(loader, out_error);
    if (status != JOULE_OK) {
        forge_loader_free(loader);
        return status;
    }
    *out_loader = loader;
    return JOULE_OK;
}

void forge_loader_free(forge_loader *loader)
{
    if (!loader)
        return;
    end_workers(loader);
    for (size_t i = 0; loader->slots && i < loader->slot_count; i++) {
        for (size_t c = 0; c < loader->column_count; c++)
            forge_buffer_release(loader->slots[i].columns[c].buffer);
        free(loader->slots[i].examples);
    }
    pthread_cond_destroy(&loader->progress);
    pthread_cond_destroy(&loader->free_slot);
    pthread_mutex_destroy(&loader->lock);
    pthread_mutex_destroy(&loader->claim_lock);
    free(loader->threads);
    free(loader->slots);
    free(loader->order);
    free(loader);
}

/* --- next, seek ----------------------------------------------------------------------------------------- */

/* Waits until `slot`, the slot of the next ticket, is ready. Allows workers to use the slot of the previous
 * ticket for another batch. */
static void wait_for_slot(struct forge_loader *loader, struct slot *slot)
{
    pthread_mutex_lock(&loader->lock);
    while (!slot->is_ready)
        pthread_cond_wait(&loader->progress, &loader->lock);
    slot->is_ready = false;
    loader->limit++;
    pthread_cond_signal(&loader->free_slot);
    pthread_mutex_unlock(&loader->lock);
}

joule_status forge_loader_next(forge_loader *loader, forge_tensor *out_columns, forge_cursor *out_cursor,
                               joule_error *out_error)
{
    if (!loader || !out_columns)
        return error_set(out_error, JOULE_INVALID, "forge_loader_next: %s is NULL",
                         loader ? "out_columns" : "loader");
    uint64_t ticket = loader->given++;
    struct slot *slot = &loader->slots[ticket % loader->slot_count];
    if (loader->thread_count > 0) {
        wait_for_slot(loader, slot);
    } else {
        choose(loader, ticket, slot);
        copy_rows(loader, slot);
    }
    for (size_t c = 0; c < loader->column_count; c++) {
        out_columns[c] = slot->columns[c];
        out_columns[c].shape.dims[0] = (forge_dim)slot->count;
    }
    if (out_cursor)
        *out_cursor = (forge_cursor){
            .epoch = ticket / loader->batches_per_epoch,
            .batch = ticket % loader->batches_per_epoch,
        };
    return JOULE_OK;
}

joule_status forge_loader_seek(forge_loader *loader, forge_cursor cursor, joule_error *out_error)
{
    if (!loader)
        return error_set(out_error, JOULE_INVALID, "forge_loader_seek: loader is NULL");
    uint64_t ticket;
    if (cursor.batch >= loader->batches_per_epoch)
        return error_set(out_error, JOULE_INVALID,
                         "loader: there is no batch %" PRIu64 "; an epoch has %" PRIu64, cursor.batch,
                         loader->batches_per_epoch);
    if (__builtin_mul_overflow(cursor.epoch, loader->batches_per_epoch, &ticket) ||
        __builtin_add_overflow(ticket, cursor.batch, &ticket) || ticket > INT64_MAX)
        return error_set(out_error, JOULE_INVALID, "loader: epoch %" PRIu64 " is too far away", cursor.epoch);

    pthread_mutex_lock(&loader->lock);
    loader->limit = 0; /* stops workers from claiming tickets */
    while (loader->busy > 0)
        pthread_cond_wait(&loader->progress, &loader->lock);
    for (size_t i = 0; i < loader->slot_count; i++)
        loader->slots[i].is_ready = false;
    loader->claimed = loader->given = ticket;
    loader->limit = ticket + loader->options.prefetch;
    pthread_cond_signal(&loader->free_slot);
    pthread_mutex_unlock(&loader->lock);
    return JOULE_OK;
}

uint64_t forge_loader_batches_per_epoch(const forge_loader *loader)
{
    return loader->batches_per_epoch;
}
