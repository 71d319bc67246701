/* joule/sources/rack/sambanova_text.h - parses the output of sntilestat: a row for each tile,
 * "/XRDU_0/RDU_0/TILE_0 8.0 91.6 ... PID". */
#ifndef JOULE_SAMBANOVA_TEXT_H
#define JOULE_SAMBANOVA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMBANOVA_MAX_RDUS      64
#define SAMBANOVA_MAX_PROCESSES 16

struct sambanova_tiles {
    size_t count;
    struct sambanova_rdu {
        char path[40]; /* such as "/XRDU_0/RDU_0" */
        double busy;   /* fraction of time not idle, 0 to 1; mean over the RDU's tiles */
        size_t tiles, process_count;
        uint64_t pids[SAMBANOVA_MAX_PROCESSES];
    } rdus[SAMBANOVA_MAX_RDUS];
};

/* Parses the rows of tiles and skips other lines. Returns false if there is no such row, or if one of
 * them contains impossible values. */
bool sambanova_parse(const char *text, struct sambanova_tiles *out_tiles);

#endif
