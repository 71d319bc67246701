/* tools/joulec/response_file.c - see response_file.h. */
#include "response_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/string.h"
#include "common/options.h"
#include "common/output.h"
#include "joulec/source/whole_file.h"

/* Maximum size of all response files together. Without it, files that name others twice could grow
 * exponentially. */
#define MAX_TEXT_BYTES ((size_t)64 << 20)

struct words {
    struct arena *arena;
    const char *folder;
    const char **list;
    size_t count;
    size_t text_left; /* bytes that files may still add */
    bool is_too_long;
};

/* A response file that is being read, and the file that names it. */
struct open_file {
    dev_t device;
    ino_t inode;
    const struct open_file *outer;
};

/* Adds an argument. Returns false if out of memory. */
static bool add_word(struct words *words, const char *word)
{
    const char **list = arena_push(words->arena, words->list, words->count, word);
    words->list = list ? list : words->list;
    words->count += list != NULL;
    return list;
}

static bool is_space(char c)
{
    return c && strchr(" \t\n\r\f\v", c);
}

/* Returns the next argument from *at, unquoted in place, and moves *at past it. Returns "" at the end of the
 * text, and for an empty argument, which clang drops, too. */
static char *next_word(char **at)
{
    char *c = *at, *word, *end, quote = '\0';
    while (is_space(*c))
        c++;
    for (word = end = c; *c && (quote || !is_space(*c)); c++) {
        if (*c == '\\' && c[1])
            *end++ = *++c;
        else if (quote ? *c == quote : *c == '"' || *c == '\'')
            quote = quote ? '\0' : *c;
        else
            *end++ = *c;
    }
    *at = *c ? c + 1 : c;
    *end = '\0';
    return word;
}

/* Returns the text of a response file. NULL: it cannot be read, it includes itself (which clang rejects), or
 * words->is_too_long. */
static char *read_text(struct words *words, const char *name, struct open_file *file)
{
    char path[PATH_MAX];
    struct stat status;
    size_t size;
    bool is_below = words->folder && name[0] != '/';
    string_print(path, sizeof path, "%s%s%s", is_below ? words->folder : "", is_below ? "/" : "", name);
    if (stat(path, &status) != 0)
        return NULL;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    for (const struct open_file *outer = file->outer; outer; outer = outer->outer)
        if (outer->device == file->device && outer->inode == file->inode)
            return NULL;
    char *text = whole_file(path, &size), *copy = NULL;
    words->is_too_long = text && size >= words->text_left;
    if (text && !words->is_too_long) {
        copy = arena_copy(words->arena, text, strlen(text));
        words->text_left -= size + 1; /* + 1, so that an empty file also counts */
    }
    free(text);
    return copy;
}

static bool expand_word(struct words *words, const char *word, const struct open_file *outer)
{
    struct open_file file = {.outer = outer};
    char *text = word[0] == '@' ? read_text(words, word + 1, &file) : NULL;
    if (!text)
        return !words->is_too_long && add_word(words, word);
    bool done = true;
    while (*text && done) {
        const char *part = next_word(&text);
        done = !*part || expand_word(words, part, &file);
    }
    return done;
}

const char **response_expand(struct arena *arena, char **argv, const char *folder, size_t *out_count)
{
    struct words words = {.arena = arena, .folder = folder, .text_left = MAX_TEXT_BYTES};
    bool done = true;
    for (char **word = argv + 1; *word && done; word++)
        done = expand_word(&words, *word, NULL);
    *out_count = words.count;
    done = done && add_word(&words, NULL);
    if (words.is_too_long)
        complain("", "response files expand to more than %zu MiB; does one include another repeatedly?",
                 MAX_TEXT_BYTES >> 20);
    else if (!done)
        complain("", "out of memory");
    return done ? words.list : NULL;
}

/* --- pipes ---------------------------------------------------------------------------------------------- */

/* Returns "@/proc/self/fd/N" for a copy of the pipe in memory, which this program and later clang can read.
 * NULL: the pipe cannot be copied. */
static char *hold_pipe(struct arena *arena, const char *path)
{
    char word[64];
    int from = open(path, O_RDONLY | O_CLOEXEC), to = from < 0 ? -1 : memfd_create("joulec-words", 0);
    bool is_good = to >= 0 && output_copy_all(from, to);
    if (from >= 0)
        close(from);
    if (to >= 0 && !is_good)
        close(to);
    string_print(word, sizeof word, "@/proc/self/fd/%d", to);
    return is_good ? arena_copy(arena, word, strlen(word)) : NULL;
}

void response_hold_pipes(struct arena *arena, char **argv)
{
    struct stat status;
    for (char **word = argv + 1; *word; word++) {
        bool is_pipe = (*word)[0] == '@' && stat(*word + 1, &status) == 0 && S_ISFIFO(status.st_mode);
        char *held = is_pipe ? hold_pipe(arena, *word + 1) : NULL;
        *word = held ? held : *word;
    }
}

/* --- writing response files ----------------------------------------------------------------------------- */

/* Quotes an argument so that next_word and clang read it unchanged. */
static void write_quoted(FILE *file, const char *word)
{
    for (const char *c = word; *c; c++) {
        if (is_space(*c) || *c == '\\' || *c == '"' || *c == '\'')
            putc('\\', file);
        putc(*c, file);
    }
    fputs(*word ? "\n" : "\"\"\n", file);
}

int response_fold(const char **words, struct folded_words *out)
{
    int fd = memfd_create("joulec-words", 0), copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    for (const char **word = words + 1; file && *word; word++)
        write_quoted(file, *word);
    bool is_good = file && !ferror(file);
    if (file)
        is_good = fclose(file) == 0 && is_good;
    else if (copy >= 0)
        close(copy);
    if (!is_good && fd >= 0)
        close(fd);
    string_print(out->list, sizeof out->list, "@/proc/self/fd/%d", fd);
    out->words[0] = words[0];
    out->words[1] = out->list;
    out->words[2] = NULL;
    return is_good ? fd : -1;
}
