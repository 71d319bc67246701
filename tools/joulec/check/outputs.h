/* tools/joulec/check/outputs.h - writes the findings of checks: messages, and the files that the user
 * requested.
 *
 * Each file is written as a whole or not at all. Note: each parallel check writes to its own files in memory.
 * The parent process copies these pieces to the real outputs, in order.
 */
#ifndef CHECK_OUTPUTS_H
#define CHECK_OUTPUTS_H

#include <limits.h>
#include "arguments.h"
#include "common/output.h"
#include "joulec/report/function_report.h"
#include "joulec/verdict/tally.h"

enum piece { PIECE_MESSAGES, PIECE_REPORT, PIECE_SARIF, PIECE_GITLAB, PIECE_HTML, PIECE_PAGE, PIECES };

struct outputs {
    int fd[PIECES]; /* -1: not requested */
    bool is_github; /* print GitHub's commands after the messages */
    enum page_kind page;
    enum warnings_kind warnings;
    const char *text; /* text of the current source that a page prints; NULL: none */
    const char *root;
    struct tally *tally; /* counts for the summary; NULL: not needed */
    /* The following members are used only for the real outputs. */
    struct output files[PIECES];
    bool has_items[PIECES];
    int why[PIECES];      /* errno of a failed write; 0: none */
    const char **refused; /* sources that clang rejects */
    size_t refused_count;
    struct arena arena;
};

/* Opens the outputs that `arguments` request. `root`: the current folder. Returns false after a message. */
bool outputs_open(struct outputs *out, const struct arguments *arguments, const char *root);
/* Writes all findings of a source. Returns false after a message if out of memory. */
bool outputs_print(struct outputs *out, const struct judged *judged);
/* Prints the table of functions that differ from the stored report, with the messages. */
void outputs_print_changes(struct outputs *out, const struct change_tally *changes,
                           const struct baseline *baseline);
/* Adds bytes that outputs_print wrote in another process. */
void outputs_add(struct outputs *out, enum piece piece, const char *bytes, size_t count);
/* Records that clang rejects `source`. The text must outlive *out. */
void outputs_refused(struct outputs *out, const char *source);
/* Closes the outputs. is_whole: all sources were checked; otherwise files keep their old contents. Returns
 * false after a message. */
bool outputs_close(struct outputs *out, bool is_whole);

#endif
