/* tools/joulec/check/outputs.c - see outputs.h. */
#include "outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/options.h"
#include "common/page.h"

/* The functions that print the beginning, the items and the end of each output. */
static const struct form {
    page_print_fn print, begin_page, end_page;
    const char *begin, *end;
    bool is_list; /* items are separated by commas */
} forms[PIECES] = {
    [PIECE_REPORT] = {.print = report_object},
    [PIECE_SARIF] = {report_sarif, report_sarif_begin, report_sarif_end, .is_list = true},
    [PIECE_GITLAB] = {report_gitlab, .begin = "[\n", .end = "]\n", .is_list = true},
    [PIECE_HTML] = {report_html, report_html_begin},
};

static const page_print_fn pages[] = {
    [PAGE_C] = report_c, [PAGE_EIR] = report_eir, [PAGE_LIFT] = report_lift};

static const page_print_fn messages[] = {[WARNINGS_SHOWN] = report_messages,
                                         [WARNINGS_HIDDEN] = report_messages_without_warnings,
                                         [WARNINGS_ARE_ERRORS] = report_messages_as_errors};

static page_print_fn print_of(const struct outputs *out, enum piece piece)
{
    if (piece == PIECE_MESSAGES)
        return messages[out->warnings];
    return piece == PIECE_PAGE ? pages[out->page] : forms[piece].print;
}

static void write_raw(struct outputs *out, enum piece piece, const char *bytes, size_t count)
{
    if (out->fd[piece] >= 0 && !out->why[piece] && !file_write_all(out->fd[piece], bytes, count))
        out->why[piece] = errno;
}

void outputs_add(struct outputs *out, enum piece piece, const char *bytes, size_t count)
{
    bool is_first = out->files[piece].path && forms[piece].is_list && !out->has_items[piece] && count;
    write_raw(out, piece, bytes + is_first, count - is_first); /* the first item has no comma before it */
    out->has_items[piece] = out->has_items[piece] || is_first;
}

static bool add_page(struct outputs *out, enum piece piece, page_print_fn print, const void *context)
{
    size_t length;
    char *page = page_make("", print, context, &length);
    if (page)
        outputs_add(out, piece, page, length);
    free(page);
    return page;
}

bool outputs_print(struct outputs *out, const struct judged *judged)
{
    if (out->tally)
        tally_add(out->tally, judged);
    for (int i = 0; i < PIECES; i++) {
        page_print_fn print = print_of(out, (enum piece)i);
        if (out->fd[i] >= 0 && print && !add_page(out, (enum piece)i, print, judged))
            return false;
    }
    return !out->is_github || add_page(out, PIECE_MESSAGES, report_github, judged);
}

void outputs_print_changes(struct outputs *out, const struct change_tally *changes,
                           const struct baseline *baseline)
{
    const struct change_page page = {changes, baseline};
    add_page(out, PIECE_MESSAGES, change_tally_print, &page);
}

void outputs_refused(struct outputs *out, const char *source)
{
    const char **list = arena_push(&out->arena, out->refused, out->refused_count, source);
    out->refused = list ? list : out->refused;
    out->refused_count += list != NULL;
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void write_frame(struct outputs *out, enum piece piece, page_print_fn print, const char *words)
{
    struct sarif_log log = {out->root, out->refused, out->refused_count};
    size_t length = words ? strlen(words) : 0;
    char *page = print ? page_make("", print, &log, &length) : NULL;
    if (print && !page)
        out->why[piece] = ENOMEM;
    write_raw(out, piece, page ? page : words, length);
    free(page);
}

bool outputs_open(struct outputs *out, const struct arguments *arguments, const char *root)
{
    joule_error error;
    const char *paths[PIECES] = {[PIECE_REPORT] = arguments->report,
                                 [PIECE_SARIF] = arguments->sarif,
                                 [PIECE_GITLAB] = arguments->gitlab,
                                 [PIECE_HTML] = arguments->html};
    const char *page = arguments_value(arguments, "-o");
    if (arguments->page != PAGE_NONE)
        paths[PIECE_PAGE] = page ? page : "-";
    *out = (struct outputs){.is_github = arguments->is_github,
                            .page = arguments->page,
                            .warnings = arguments->warnings,
                            .root = root};
    for (int i = 0; i < PIECES; i++)
        out->fd[i] = -1;
    if (arguments->checks)
        out->fd[PIECE_MESSAGES] = STDERR_FILENO;
    for (int i = 0; i < PIECES; i++) {
        if (!paths[i])
            continue;
        if (output_open(paths[i], &out->files[i], &error) != JOULE_OK) {
            complain("", "%s", error.message);
            out->files[i].path = NULL;
            outputs_close(out, false);
            return false;
        }
        out->fd[i] = out->files[i].fd;
        write_frame(out, (enum piece)i, forms[i].begin_page, forms[i].begin);
    }
    return true;
}

bool outputs_close(struct outputs *out, bool is_whole)
{
    joule_error error;
    bool is_good = true;
    for (int i = 0; i < PIECES; i++) {
        if (!out->files[i].path)
            continue;
        if (is_whole)
            write_frame(out, (enum piece)i, forms[i].end_page, forms[i].end);
        if (output_close(&out->files[i], is_whole ? out->why[i] : ECANCELED, &error) == JOULE_OK)
            continue;
        if (is_whole)
            complain("", "%s", error.message);
        is_good = false;
    }
    arena_free(&out->arena);
    return is_good;
}
