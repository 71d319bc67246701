/* Fuzz target: compilation databases, and command lines that are split into words as a shell does. Checks
 * that each entry has an error message, or has a file, a folder and words. */
#include <stdlib.h>
#include <string.h>
#include "joulec/source/database.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const char **words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        require(words[i]);
    require(!words[count]);
}

static void check_entry(const struct database_entry *e)
{
    if (e->problem)
        return;
    require(e->file && e->path && e->path[0] == '/' && e->folder && e->folder[0] == '/');
    require(!strstr(e->path, "/../") && !strstr(e->path, "//"));
    check_words(e->words, e->word_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct database database;
    joule_error error = {0};
    size_t count;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const char **words = database_split(&arena, text, &count);
    if (words)
        check_words(words, count);
    if (database_read(&arena, text, size, "x", "/db", &database, &error) == JOULE_OK)
        for (size_t i = 0; i < database.count; i++)
            check_entry(&database.entries[i]);
    else
        require(error.message[0] != '\0');
    arena_free(&arena);
    free(text);
    return 0;
}
