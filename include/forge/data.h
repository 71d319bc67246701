/* forge/data.h - examples to learn from.
 *
 * Owns the reading of datasets, and the loader that gives them out in batches.
 * Newcomers: which examples make batch number n of epoch e is a pure function of seed, e and n; a loader can be put back to
 * any place, and gives the same batches with any number of workers.
 */
#ifndef FORGE_DATA_H
#define FORGE_DATA_H

#include <forge/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads an IDX file (the format of MNIST), plain or compressed by gzip, into a packed tensor in a new buffer: elements u8,
 * i8, i16, i32, f32 or f64, made little-endian. INVALID names the byte where something is wrong, and what was expected;
 * nothing may follow the last element. A file that claims more elements than it has costs no more than twice the memory
 * of those it has. */
FORGE_API joule_status forge_idx_read(const char *path, forge_tensor *out_tensor, joule_error *out_error);

/* Examples: columns of equal length, of which example i is row i. */
typedef struct forge_dataset forge_dataset;

#define FORGE_DATASET_MAX_COLUMNS 8

/* The dataset holds a reference to each column's buffer until forge_dataset_free. Columns have the same first dimension and
 * types with addresses. Their rows are packed, and lie at any distance that is not negative: they may overlap. */
FORGE_API joule_status forge_dataset_new(const forge_tensor *columns, size_t count,
                                         forge_dataset **out_dataset, joule_error *out_error);
/* MNIST in a folder: columns images u8 [n,28,28] and labels u8 [n]. is_test: the files t10k-*, else train-*. An array may be
 * cut into several files (train-images-part0-idx3-ubyte.gz, ...-part1-...), which follow each other by name, numbers by their
 * value; a whole file goes before parts, and a plain one before its .gz. ABSENT names the files that were looked for. */
FORGE_API joule_status forge_dataset_mnist(const char *folder, bool is_test, forge_dataset **out_dataset,
                                           joule_error *out_error);
FORGE_API void forge_dataset_free(forge_dataset *dataset);
FORGE_API size_t forge_dataset_examples(const forge_dataset *dataset);
FORGE_API size_t forge_dataset_columns(const forge_dataset *dataset);
/* A view of the whole column, as it lies. */
FORGE_API forge_tensor forge_dataset_column(const forge_dataset *dataset, size_t column);

/* --- text ---------------------------------------------------------------------------------------------------- */

/* A text as tokens, each of which is a number below the size of its vocabulary. Immutable: any thread. */
typedef struct forge_text forge_text;

typedef enum forge_text_kind {
    FORGE_TEXT_CHARACTERS = 0, /* the different characters of the text in the order of their code points */
    FORGE_TEXT_BYTES = 1,      /* any file: 256 tokens */
} forge_text_kind;

/* Reads a file, plain or compressed by gzip. INVALID: it is empty, or is to be characters and is not UTF-8, where the message
 * names the byte, or has more than 65536 different ones. The text is the caller's. */
FORGE_API joule_status forge_text_read(const char *path, forge_text_kind kind, forge_text **out_text,
                                       joule_error *out_error);
/* NULL is allowed. */
FORGE_API void forge_text_free(forge_text *text);
FORGE_API size_t forge_text_vocabulary(const forge_text *text);
/* All of it, u8 [tokens], or u16 where the vocabulary is above 256. The buffer is the text's. */
FORGE_API forge_tensor forge_text_tokens(const forge_text *text);
/* The bytes that a token stands for, 1 to 4, without a terminator; returns how many, 0 where there is no such token. */
FORGE_API size_t forge_text_spell(const forge_text *text, uint32_t token, char out_bytes[4]);
/* The windows of context + 1 tokens, of which the first are what is seen and the last are what follows: one column [windows,
 * context + 1], each window one token further than the one before; a loader with a stride of `context` goes through the
 * text about once in an epoch. Of the text's first 90 %, or of the rest, for validation. INVALID: no window fits. The
 * dataset holds a reference to the tokens, and may outlive the text. */
FORGE_API joule_status forge_dataset_text(const forge_text *text, bool is_validation, uint32_t context,
                                          forge_dataset **out_dataset, joule_error *out_error);

/* --- batches ------------------------------------------------------------------------------------------------- */

typedef struct forge_loader_options {
    uint32_t struct_size; /* sizeof(forge_loader_options) */
    uint32_t batch_size;  /* examples; 1 or more */
    uint64_t seed;
    bool shuffles;   /* a new order for each epoch; else as they lie */
    bool keeps_last; /* a last batch that is not full is given, with its own first dimension; else left out */
    uint32_t workers;  /* threads that make batches ahead, up to 1024; 0: the caller makes them */
    uint32_t prefetch; /* batches made ahead, up to 65536; 0: 2 for each worker */
    /* An epoch has every stride-th example, for windows that overlap: the first is 0, or where it shuffles one of the first
     * `stride`, drawn for each epoch. 0 counts as 1: all. */
    uint32_t stride;
} forge_loader_options;

/* Its memory is taken when it is made. One thread at a time; not to be used, nor freed, in the child of a fork. */
typedef struct forge_loader forge_loader;

/* A place in the stream of batches, to be kept in checkpoints. */
typedef struct forge_cursor {
    uint64_t epoch; /* from 0 */
    uint64_t batch; /* within it, from 0 */
} forge_cursor;

/* The dataset must outlive the loader. INVALID: an option is out of range, there is not one batch, or there are more
 * than 2^32 - 1 examples to shuffle. NO_MEMORY: no memory or no thread. */
FORGE_API joule_status forge_loader_new(const forge_dataset *dataset, const forge_loader_options *options,
                                        forge_loader **out_loader, joule_error *out_error);
/* Ends the workers. NULL is allowed. */
FORGE_API void forge_loader_free(forge_loader *loader);
/* The next batch: one packed tensor for each column, whose buffer is the loader's: valid until the next call of this
 * function or of forge_loader_seek. Epochs follow each other without end; *out_cursor (may be NULL) says which batch this
 * is. */
FORGE_API joule_status forge_loader_next(forge_loader *loader, forge_tensor *out_columns,
                                         forge_cursor *out_cursor, joule_error *out_error);
/* The next batch will be this one. INVALID: an epoch has not that many batches. */
FORGE_API joule_status forge_loader_seek(forge_loader *loader, forge_cursor cursor, joule_error *out_error);
FORGE_API uint64_t forge_loader_batches_per_epoch(const forge_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
