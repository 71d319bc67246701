/* tests/fakes/amd/fake_boards.c - parses the script and computes the boards' readings. See fake_boards.h. */
#include "fake_boards.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../fake_words.h"

static const struct {
    const char *name;
    size_t offset;
    double initial;
} keys[] = {
#define KEY(name, initial)                                                                                   \
    {                                                                                                        \
#name, offsetof(struct fake_board, name), initial                                                    \
    }
    KEY(watts, 200),     KEY(energy, 1),        KEY(start, 1000),     KEY(bits, 64),
    KEY(power, 1),       KEY(celsius, 61),      KEY(busy, 42),        KEY(partitions, 1),
    KEY(denied, 0),      KEY(back_at_ms, -1),   KEY(stand_at_ms, -1), KEY(fail_at_ms, -1),
    KEY(busy_at_ms, -1), KEY(busy_for_ms, 300), KEY(block_at_ms, -1), KEY(block_s, 30),
    KEY(gone_at_ms, -1),
#undef KEY
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

struct fake_script fake_script;
static _Atomic int64_t fixed_ns = -1, start_ns = -1;
static _Atomic unsigned starts;
static _Atomic bool has_blocked, has_gone, is_read;

/* --- the script ----------------------------------------------------------------------------------------- */

static bool set_key(void *context, const char *name, double value)
{
    (void)context;
    unsigned first = 0, last = FAKE_MAX_BOARDS - 1;
    if (name[0] >= '0' && name[0] < '0' + FAKE_MAX_BOARDS && name[1] == '.') {
        first = last = (unsigned)(name[0] - '0');
        name += 2;
    }
    if (strcmp(name, "boards") == 0) {
        fake_script.board_count = (unsigned)value;
        return value <= FAKE_MAX_BOARDS;
    }
    if (strcmp(name, "init_code") == 0) {
        fake_script.init_code = value;
        return true;
    }
    for (size_t key = 0; key < KEY_COUNT; key++) {
        if (strcmp(keys[key].name, name) != 0)
            continue;
        for (unsigned b = first; b <= last; b++)
            *(double *)((char *)&fake_script.boards[b] + keys[key].offset) = value;
        return true;
    }
    return false;
}

static bool parse(const char *text)
{
    fake_script = (struct fake_script){.board_count = 1};
    for (unsigned b = 0; b < FAKE_MAX_BOARDS; b++)
        fake_script.boards[b].index = b;
    for (size_t key = 0; key < KEY_COUNT; key++)
        set_key(NULL, keys[key].name, keys[key].initial);
    is_read = true;
    return fake_words_each(text, set_key, NULL);
}

void fake_amd_script(const char *text)
{
    if (!parse(text))
        abort();
    fixed_ns = start_ns = -1;
    starts = 0;
    has_blocked = has_gone = false;
}

void fake_amd_set_time(int64_t monotonic_ns)
{
    fixed_ns = monotonic_ns;
}

unsigned fake_amd_starts(void)
{
    return starts;
}

/* --- time, start and end -------------------------------------------------------------------------------- */

int64_t fake_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return fixed_ns >= 0 ? fixed_ns : (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool fake_has_come(double at_ms)
{
    return at_ms >= 0 && start_ns >= 0 && (double)(fake_now_ns() - start_ns) >= at_ms * 1e6;
}

int fake_start(void)
{
    const char *text = fake_words_find("JOULE_FAKE_AMD");
    if (!is_read && !parse(text))
        fprintf(stderr, "fake amd: the script has a key that does not exist: %s\n", text);
    if (fake_script.init_code != 0)
        return (int)fake_script.init_code;
    if (start_ns < 0)
        start_ns = fake_now_ns();
    starts++;
    return 0;
}

void fake_stop(void)
{
    starts--;
}

bool fake_is_started(void)
{
    if (starts && fake_has_come(fake_script.boards[0].gone_at_ms) && !atomic_exchange(&has_gone, true))
        starts = 0;
    return starts > 0;
}

/* --- boards --------------------------------------------------------------------------------------------- */

static unsigned listed(const struct fake_board *board)
{
    return board->partitions >= 1 ? (unsigned)board->partitions : 1;
}

unsigned fake_device_count(void)
{
    unsigned count = 0;
    for (unsigned b = 0; b < fake_script.board_count; b++)
        count += listed(&fake_script.boards[b]);
    return count;
}

const struct fake_board *fake_device(unsigned number, unsigned *out_partition)
{
    for (unsigned b = 0; b < fake_script.board_count; b++) {
        const struct fake_board *board = &fake_script.boards[b];
        *out_partition = number;
        if (number < listed(board))
            return board;
        number -= listed(board);
    }
    return NULL;
}

unsigned fake_bus(const struct fake_board *board)
{
    return 0xc1 + board->index;
}

enum fake_fate fake_enter(const struct fake_board *board)
{
    if (fake_has_come(board->block_at_ms) && !atomic_exchange(&has_blocked, true)) {
        struct timespec length = {(time_t)board->block_s, 0};
        nanosleep(&length, NULL);
    }
    if (board->denied != 0)
        return FATE_DENIED;
    if (fake_has_come(board->fail_at_ms))
        return FATE_FAILS;
    if (fake_has_come(board->busy_at_ms) && !fake_has_come(board->busy_at_ms + board->busy_for_ms))
        return FATE_BUSY;
    return FATE_FINE;
}

enum fake_fate fake_counts(const struct fake_board *board, uint64_t *out_counts)
{
    enum fake_fate fate = fake_enter(board);
    if (fate != FATE_FINE || board->energy == 0)
        return fate != FATE_FINE ? fate : FATE_UNSUPPORTED;
    if (board->energy == -3)
        return FATE_NOT_FOUND;
    int64_t now_ns = fake_now_ns();
    if (fake_has_come(board->stand_at_ms))
        now_ns = start_ns + (int64_t)(board->stand_at_ms * 1e6);
    uint64_t counts = (uint64_t)((board->start + board->watts * (double)now_ns * 1e-9) * 0x1p16);
    if (fake_has_come(board->back_at_ms))
        counts -= FAKE_STEP_COUNTS;
    if (board->bits < 64)
        counts &= (UINT64_C(1) << (unsigned)board->bits) - 1;
    *out_counts = board->energy == -1 ? FAKE_STUCK_COUNT : board->energy == -2 ? 0 : counts;
    return FATE_FINE;
}

enum fake_fate fake_watts(const struct fake_board *board, double *out_watts)
{
    enum fake_fate fate = fake_enter(board);
    if (fate != FATE_FINE || board->power == 0)
        return fate != FATE_FINE ? fate : FATE_UNSUPPORTED;
    *out_watts = board->power == -2 ? 0 : board->watts;
    return FATE_FINE;
}
