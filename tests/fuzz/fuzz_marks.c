/* Fuzz target: output of clang -E. The reader of marks must not crash. Checks that bounds are valid, that
 * keywords (for, while, do) are sorted by line, that each mark belongs to at most one keyword, and that a
 * mark without a keyword has an error message. */
#include <string.h>
#include "joulec/source/constant.h"
#include "joulec/source/marks.h"
#include "require.h"

#define MAX_LOOPS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_keywords(const struct marks *marks)
{
    for (size_t i = 0; i < marks->keyword_count; i++) {
        const struct marks_keyword *k = &marks->keywords[i];
        require(!i || k[-1].line < k->line || (k[-1].line == k->line && k[-1].order < k->order));
        require(k->mark == MARK_NONE || k->mark < marks->count);
    }
}

static void check_marks(const struct marks *marks)
{
    bool *is_taken = calloc(marks->count + 1, sizeof *is_taken);
    for (size_t i = 0; is_taken && i < marks->keyword_count; i++)
        if (marks->keywords[i].mark != MARK_NONE) {
            require(!is_taken[marks->keywords[i].mark]);
            is_taken[marks->keywords[i].mark] = true;
        }
    for (size_t i = 0; is_taken && i < marks->count; i++) {
        const struct mark *mark = &marks->list[i];
        require(mark->words != NULL);
        require(mark->fault ? mark->fault[0] != '\0'
                            : is_taken[i] && mark->low >= 0 && mark->low <= mark->high);
    }
    free(is_taken);
}

/* Joins the marks with loops: each of the first MAX_LOOPS keywords gets one loop. */
static void join(const struct marks *marks)
{
    struct loop list[MAX_LOOPS];
    struct loops loops = {.list = list};
    uint32_t mark_of[MAX_LOOPS];
    bool *is_unclear = calloc(marks->count + 1, sizeof *is_unclear);
    for (int32_t i = 0; i < MAX_LOOPS && (size_t)i < marks->keyword_count; i++)
        list[loops.count++] = (struct loop){.parent = i % 2 ? i - 1 : -1,
                                            .has_own_place = i % 5 != 3,
                                            .may_be_two = i % 3 == 1,
                                            .place = {"a.c", marks->keywords[i].line, (unsigned)i % 3}};
    if (is_unclear)
        marks_join(marks, &loops, mark_of, is_unclear);
    for (size_t i = 0; is_unclear && i < loops.count; i++)
        require(mark_of[i] == MARK_NONE || !marks->list[mark_of[i]].fault);
    free(is_unclear);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct marks marks;
    int64_t value;
    size_t end;
    joule_error error = {0};
    bool is_number = constant_read((const char *)data, size, &value, &end, &error) == JOULE_OK;
    require(end <= size && (is_number || error.message[0]));
    require(marks_read((const char *)data, size, &marks));
    check_keywords(&marks);
    check_marks(&marks);
    join(&marks);
    marks_free(&marks);
    return 0;
}
