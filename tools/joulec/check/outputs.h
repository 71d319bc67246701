/* tools/joulec/check/outputs.h - where the findings of a check go: messages, and the files that were asked for.
 *
 * Owns those files, each written as a whole or not at all, and what stands around the pieces of each source in them.
 * Newcomers: who checks many sources at once gives each outputs of its own, and writes their pieces to the real ones in order.
 */
#ifndef CHECK_OUTPUTS_H
#define CHECK_OUTPUTS_H

#include <limits.h>
#include "arguments.h"
#include "common/output.h"
#include "joulec/report/report.h"
#include "joulec/verdict/tally.h"

enum piece { PIECE_MESSAGES, PIECE_REPORT, PIECE_SARIF, PIECE_GITLAB, PIECE_HTML, PIECE_PAGE, PIECES };

struct outputs {
    int fd[PIECES]; /* -1: nobody asked for it */
    bool is_github; /* its commands follow the messages */
    enum page_kind page;
    enum warnings_kind warnings;
    const char *text; /* what a page needs of the source that is checked now; NULL: nothing */
    const char *root;
    struct tally *tally; /* counts what is told; NULL: nobody asked for it */
    /* Of the real ones. */
    struct output files[PIECES];
    bool has_items[PIECES];
    int why[PIECES];      /* errno of a write that failed; 0: none did */
    const char **refused; /* sources that clang refuses, as clang's own words may be far away */
    size_t refused_count;
    struct arena arena;
};

/* False after a message. `root`: this folder. */
bool outputs_open(struct outputs *out, const struct arguments *arguments, const char *root);
/* All that is said of a source. False after a message: no memory. */
bool outputs_tell(struct outputs *out, const struct judged *judged);
/* Prints the table of functions that differ from the stored report, with the messages. */
void outputs_tell_changes(struct outputs *out, const struct change_tally *changes,
                          const struct baseline *baseline);
/* Bytes that outputs_tell made elsewhere. */
void outputs_add(struct outputs *out, enum piece piece, const char *bytes, size_t count);
void outputs_refused(struct outputs *out, const char *source);
/* is_whole: all was checked; else files stay as they were. False after a message. */
bool outputs_close(struct outputs *out, bool is_whole);

#endif
