/* infer/model/gguf_split.c - opens models that are split into several GGUF files.
 *
 * The names of the files end with "-00001-of-00003.gguf". Each file states its number, from 0 on, and the
 * number of files. The first file has all other keys. */
#include "forge/infer/model/gguf.h"

#include <inttypes.h>
#include <string.h>
#include "base/string.h"
#include "forge/infer/model/model_reader.h"

enum { MAX_PARTS = 4096, ENDING_SIZE = 32 };
#define KEY_NUMBER  "split.no"
#define KEY_COUNT   "split.count"
#define KEY_TENSORS "split.tensors.count"

/* Writes the end of the name of part `number`, which counts from 0, to ending[0..ENDING_SIZE). Returns
 * `ending`. */
static const char *ending_of(int64_t number, int64_t count, char *ending)
{
    string_print(ending, ENDING_SIZE, "-%05" PRId64 "-of-%05" PRId64 ".gguf", number + 1, count);
    return ending;
}

/* Returns the path of part `number`, or NULL if out of memory. The name of the first part must end with its
 * number. */
static const char *path_of(const struct gguf *first, int64_t number, int64_t count)
{
    char ending[ENDING_SIZE];
    size_t size = strlen(first->path), end = strlen(ending_of(number, count, ending));
    char *path = arena_copy(&first->file->arena, first->path, size);
    if (path)
        memcpy(path + size - end, ending, end);
    return path;
}

/* Checks that `first` is the first of `count` parts. */
static void check_first(struct gguf *first, int64_t count)
{
    char ending[ENDING_SIZE];
    int64_t number = 0;
    if (count < 0 || count > MAX_PARTS)
        gguf_fail(first, JOULE_INVALID, "key '" KEY_COUNT "' is %" PRId64 "; 1 to %d files are possible",
                  count, MAX_PARTS);
    else if (!gguf_integer(first, KEY_NUMBER, &number))
        gguf_fail(first, JOULE_INVALID, "key '" KEY_NUMBER "' is missing");
    else if (number != 0)
        gguf_fail(first, JOULE_INVALID,
                  "the file is part %" PRId64 " of %" PRId64
                  "; open the first part, whose name ends with '%s'",
                  number < INT64_MAX ? number + 1 : number, count, ending_of(0, count, ending));
    else if (!string_ends(first->path, ending_of(0, count, ending)))
        gguf_fail(first, JOULE_INVALID,
                  "the file is the first of %" PRId64 " parts, but its name does not end with '%s'", count,
                  ending);
}

/* Opens part `number`. Returns NULL after a failure, which is also a failure of `first`. */
static struct gguf *open_part(struct gguf *first, int64_t number, int64_t count)
{
    const char *path = path_of(first, number, count);
    struct gguf *part = path ? arena_alloc(&first->file->arena, sizeof *part) : NULL;
    int64_t own_number = -1, own_count = count;
    if (!part) {
        first->status = model_no_memory(first->path, first->error);
        return NULL;
    }
    if (gguf_open(part, first->file, path, first->error) == JOULE_ABSENT) {
        gguf_fail(first, JOULE_ABSENT, "part %" PRId64 " of %" PRId64 ", %s, does not exist", number + 1,
                  count, path);
        return NULL;
    }
    gguf_integer(part, KEY_NUMBER, &own_number);
    gguf_integer(part, KEY_COUNT, &own_count);
    if (own_number != number)
        gguf_fail(part, JOULE_INVALID,
                  "key '" KEY_NUMBER "' is missing or not %" PRId64 ", the number of this part", number);
    if (own_count != count)
        gguf_fail(part, JOULE_INVALID, "key '" KEY_COUNT "' is %" PRId64 ", but %" PRId64 " in %s", own_count,
                  count, first->path);
    first->status = part->status;
    return part->status == JOULE_OK ? part : NULL;
}

joule_status gguf_open_parts(struct gguf *first)
{
    int64_t count = 1, stated = 0;
    uint64_t found = first->tensor_count;
    if (!gguf_integer(first, KEY_COUNT, &count) || count == 0 || count == 1)
        return first->status;
    check_first(first, count);
    struct gguf *last = first;
    for (int64_t number = 1; number < count && first->status == JOULE_OK; number++) {
        last->next = open_part(first, number, count);
        if (last->next) {
            last = last->next;
            found += last->tensor_count;
        }
    }
    if (first->status != JOULE_OK)
        return first->status;
    if (!gguf_integer(first, KEY_TENSORS, &stated))
        gguf_fail(first, JOULE_INVALID, "key '" KEY_TENSORS "' is missing");
    else if (stated < 0 || (uint64_t)stated != found)
        gguf_fail(first, JOULE_INVALID,
                  "key '" KEY_TENSORS "' is %" PRId64 ", but the %" PRId64 " parts have %" PRIu64 " tensors",
                  stated, count, found);
    return first->status;
}
