/* tools/joule/boards.h - what NVIDIA's driver says of its boards, for `joule devices`.
 *
 * Owns asking for it, and its words and JSON. What boards use is in the domains; this is what they are: identity,
 * memory, limits, MIG instances, processes.
 * Newcomers: the driver may hang for minutes, so it is asked in a thread, which is left behind when it is late.
 */
#ifndef JOULE_BOARDS_H
#define JOULE_BOARDS_H

#include "joule/report/json.h"
#include "joule/sources/nvml.h"

struct boards {
    struct nvml_description *list;
    size_t count;
    bool is_known; /* false: the driver did not answer in time, and the list is empty */
};

/* Waits for at most wait_s seconds. */
void boards_ask(struct joule_host *host, double wait_s, struct boards *out_boards);
void boards_free(struct boards *boards);

/* Lines with what is known of a board beside its name, each after `indent`. */
void board_add_lines(const struct nvml_description *board, const char *indent, struct text *out);
/* One object. `device` is its name among the domains: "gpu:0"; NULL: it has none. */
void board_add_json(const struct nvml_description *board, const char *device, struct json *json);

#endif
