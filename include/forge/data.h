/* forge/data.h - datasets, and a loader that produces batches of their examples.
 *
 * The examples of batch n of epoch e are a pure function of seed, e and n. So a loader can continue at any
 * position, and produces the same batches with any number of workers.
 */
#ifndef FORGE_DATA_H
#define FORGE_DATA_H

#include <forge/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads an IDX file (the format of MNIST), uncompressed or gzip, into a packed tensor in a new buffer.
 * Element types: u8, i8, i16, i32, f32, f64; bytes are converted to little-endian. Uses at most twice the
 * memory of the elements that the file really contains, even if its header claims more. The caller releases
 * the buffer. JOULE_INVALID: wrong format, or trailing bytes; the message names the byte and what was
 * expected there. */
FORGE_API joule_status forge_idx_read(const char *path, forge_tensor *out_tensor, joule_error *out_error);

/* A set of examples, stored as columns with the same number of rows. Example i is row i of each column.
 * Immutable; any thread may use it. */
typedef struct forge_dataset forge_dataset;

#define FORGE_DATASET_MAX_COLUMNS 8

/* Creates a dataset from columns with the same first dimension. count: 1 to FORGE_DATASET_MAX_COLUMNS.
 * Element types must be addressable (no 4-bit or block types). The elements of each row must be packed. The
 * stride between rows may be any number from 0 on, so rows may overlap. The dataset holds a reference to each
 * column's buffer until forge_dataset_free. JOULE_INVALID: a column breaks one of these rules. */
FORGE_API joule_status forge_dataset_new(const forge_tensor *columns, size_t count,
                                         forge_dataset **out_dataset, joule_error *out_error);
/* Reads MNIST from a folder. Columns: images u8 [n, 28, 28], labels u8 [n]. is_test true: reads the files
 * t10k-*; false: train-*. An array may be split into files (train-images-part0-idx3-ubyte.gz, ...-part1-...),
 * which are joined in order of their part numbers. A whole file is preferred to parts, and an uncompressed
 * file to its .gz. JOULE_ABSENT: a file is missing; the message names the files that were searched. */
FORGE_API joule_status forge_dataset_mnist(const char *folder, bool is_test, forge_dataset **out_dataset,
                                           joule_error *out_error);
/* Frees the dataset and its references. NULL is allowed. */
FORGE_API void forge_dataset_free(forge_dataset *dataset);
/* Returns the number of examples. */
FORGE_API size_t forge_dataset_examples(const forge_dataset *dataset);
/* Returns the number of columns. */
FORGE_API size_t forge_dataset_columns(const forge_dataset *dataset);
/* Returns a view of a whole column, [examples, ...], with the strides of the column. The dataset owns the
 * buffer. */
FORGE_API forge_tensor forge_dataset_column(const forge_dataset *dataset, size_t column);

/* --- text ----------------------------------------------------------------------------------------------- */

/* A text as a sequence of tokens, which are numbers below the size of the vocabulary. Immutable; any thread
 * may use it. */
typedef struct forge_text forge_text;

/* How a text is divided into tokens. */
typedef enum forge_text_kind {
    FORGE_TEXT_CHARACTERS = 0, /* one token for each character that occurs, in code point order */
    FORGE_TEXT_BYTES = 1,      /* one token for each of the 256 byte values; for any file */
} forge_text_kind;

/* Reads a text file, uncompressed or gzip. The caller owns the text. JOULE_INVALID: the file is empty, is not
 * UTF-8 (for characters; the message names the byte), or has more than 65536 different characters. */
FORGE_API joule_status forge_text_read(const char *path, forge_text_kind kind, forge_text **out_text,
                                       joule_error *out_error);
/* Frees a text. NULL is allowed. */
FORGE_API void forge_text_free(forge_text *text);
/* Returns the number of different tokens. */
FORGE_API size_t forge_text_vocabulary(const forge_text *text);
/* Returns all tokens, [tokens], u8, or u16 if the vocabulary is above 256. The text owns the buffer. */
FORGE_API forge_tensor forge_text_tokens(const forge_text *text);
/* Writes the bytes of a token to out_bytes, without a terminator. Returns the number of bytes, 1 to 4; 0 if
 * there is no such token. */
FORGE_API size_t forge_text_decode(const forge_text *text, uint32_t token, char out_bytes[4]);
/* Creates a dataset of windows, [windows, context + 1]: the first `context` tokens are the input, and the
 * last `context` tokens are the labels. Each window begins one token after the previous window, so a loader
 * with the stride `context` reads each token about once in an epoch. is_validation false: uses the first 90 %
 * of the text; true: uses the rest. The dataset holds a reference to the tokens and may outlive the text.
 * JOULE_INVALID: this part of the text is shorter than one window. */
FORGE_API joule_status forge_dataset_text(const forge_text *text, bool is_validation, uint32_t context,
                                          forge_dataset **out_dataset, joule_error *out_error);

/* --- batches -------------------------------------------------------------------------------------------- */

/* How a loader divides a dataset into batches. */
typedef struct forge_loader_options {
    uint32_t struct_size; /* sizeof(forge_loader_options) */
    uint32_t batch_size;  /* examples; 1 or more */
    uint64_t seed;
    bool shuffle; /* true: a new random order for each epoch; false: the order of the dataset */
    /* For the examples at the end of an epoch that do not fill a batch. true: they form a smaller batch, with
     * a smaller first dimension; false: they are dropped. */
    bool keep_last;
    uint32_t workers;  /* threads that prepare batches, up to 1024; 0: forge_loader_next prepares them */
    uint32_t prefetch; /* batches prepared in advance, up to 65536; 0: 2 for each worker */
    /* An epoch uses every stride-th example, for windows that overlap. The epoch begins with example 0, or
     * with `shuffle` at a random example of the first `stride`. 0 means 1 (all examples). */
    uint32_t stride;
} forge_loader_options;

/* Produces the batches of a dataset. All its memory is allocated at creation. A child process must not use or
 * free its parent's loader after fork. */
typedef struct forge_loader forge_loader;

/* A position in the stream of batches; checkpoints contain it. */
typedef struct forge_cursor {
    uint64_t epoch; /* number of the epoch, from 0 */
    uint64_t batch; /* number of the batch in its epoch, from 0 */
} forge_cursor;

/* Creates a loader. The dataset must outlive the loader. JOULE_INVALID: an option is out of range, an epoch
 * has less than one batch, or `shuffle` is set for more than 2^32 - 1 examples. JOULE_NO_MEMORY: out of
 * memory, or a thread cannot be started. */
FORGE_API joule_status forge_loader_new(const forge_dataset *dataset, const forge_loader_options *options,
                                        forge_loader **out_loader, joule_error *out_error);
/* Stops the workers and frees the loader. NULL is allowed. */
FORGE_API void forge_loader_free(forge_loader *loader);
/* Returns the next batch: one packed tensor for each column, [batch, ...]. After the last batch of an epoch
 * comes the first batch of the next epoch. out_columns: an array of forge_dataset_columns tensors.
 * out_cursor: the position of this batch; may be NULL. The loader owns the buffers; they are valid until the
 * next call of this function or of forge_loader_seek. */
FORGE_API joule_status forge_loader_next(forge_loader *loader, forge_tensor *out_columns,
                                         forge_cursor *out_cursor, joule_error *out_error);
/* Sets the position of the next batch. JOULE_INVALID: the epoch has no such batch. */
FORGE_API joule_status forge_loader_seek(forge_loader *loader, forge_cursor cursor, joule_error *out_error);
/* Returns the number of batches of one epoch. */
FORGE_API uint64_t forge_loader_batches_per_epoch(const forge_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
