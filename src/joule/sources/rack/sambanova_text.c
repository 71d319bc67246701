/* joule/sources/rack/sambanova_text.c - see sambanova_text.h. */
#include "joule/sources/rack/sambanova_text.h"

#include <string.h>
#include "base/string.h"

#define COLUMNS 6 /* per cent of time in each state: idle, exec, pload, aload, chkpt, quiesce */

/* Finds or adds the RDU whose path is the first `length` bytes of a row. Returns NULL if there are too
 * many. */
static struct sambanova_rdu *find_rdu(struct sambanova_tiles *tiles, const char *row, size_t length)
{
    struct sambanova_rdu *rdu = NULL;
    if (length >= sizeof rdu->path)
        return NULL;
    for (size_t i = 0; i < tiles->count; i++)
        if (strlen(tiles->rdus[i].path) == length && memcmp(tiles->rdus[i].path, row, length) == 0)
            return &tiles->rdus[i];
    if (tiles->count == SAMBANOVA_MAX_RDUS)
        return NULL;
    rdu = &tiles->rdus[tiles->count++];
    *rdu = (struct sambanova_rdu){0};
    memcpy(rdu->path, row, length);
    return rdu;
}

static void add_process(struct sambanova_rdu *rdu, uint64_t pid)
{
    for (size_t i = 0; i < rdu->process_count; i++)
        if (rdu->pids[i] == pid)
            return;
    if (rdu->process_count < SAMBANOVA_MAX_PROCESSES)
        rdu->pids[rdu->process_count++] = pid;
}

static bool is_printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return true;
}

/* Adds the tile of a row to its RDU. Skips rows that describe no tile. Returns false if a tile's row contains
 * impossible values. */
static bool parse_row(struct sambanova_tiles *tiles, const char *row, size_t length)
{
    const char *tile = strstr(row, "/TILE_");
    double columns[COLUMNS], pid;
    if (*row != '/' || !tile || tile == row || tile >= row + length ||
        !is_printable(row, (size_t)(tile - row)))
        return true;
    const char *at = row + strcspn(row, " \t\n");
    for (size_t i = 0; i < COLUMNS; i++) {
        at += strspn(at, " \t");
        at = at < row + length ? string_scan_double(at, &columns[i]) : NULL;
        if (!at || !(columns[i] >= 0 && columns[i] <= 100.5))
            return false;
    }
    struct sambanova_rdu *rdu = find_rdu(tiles, row, (size_t)(tile - row));
    if (!rdu)
        return true;
    /* busy is a sum until sambanova_parse divides it */
    rdu->busy += columns[0] < 100 ? 1 - columns[0] / 100 : 0;
    rdu->tiles++;
    at += strspn(at, " \t");
    if (at < row + length && string_scan_double(at, &pid) && pid >= 1 && pid < 4294967296.0)
        add_process(rdu, (uint64_t)pid);
    return true;
}

bool sambanova_parse(const char *text, struct sambanova_tiles *out_tiles)
{
    out_tiles->count = 0;
    for (const char *row = text; *row; row += *row == '\n') {
        size_t length = strcspn(row, "\n");
        if (!parse_row(out_tiles, row, length))
            return false;
        row += length;
    }
    for (size_t i = 0; i < out_tiles->count; i++)
        out_tiles->rdus[i].busy /= (double)out_tiles->rdus[i].tiles;
    return out_tiles->count > 0;
}
