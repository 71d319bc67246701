/* tests/corpus/joulec/breadth_first.c - the number of steps from the middle of a 32 x 32 grid to each cell,
 * by breadth-first search. A quarter of the cells are walls.
 *
 * The programs use a queue of cells with a border of walls, a queue with checks of the edges, lists of
 * neighbours, or a bit mask for each row.
 */
#include <joule/budget.h>
#include <stdbool.h>
#include <string.h>
#include "corpus.h"

#define N         32
#define WIDTH     (N + 2) /* with a border of walls */
#define START     (N / 2)
#define MAX_STEPS (N * N / 2) /* upper limit of the length of a path */
#define NO_WAY    0xffff

static uint8_t is_wall[N][N], is_wall_around[WIDTH * WIDTH];
static uint32_t free_rows[N];
static uint16_t begins[N * N + 1],
    neighbours[4 * N * N]; /* the neighbours of cell i are neighbours[begins[i] .. begins[i + 1]) */
static uint16_t steps[N][N];

static void list_neighbours(void)
{
    static const int sides[4][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}};
    uint16_t count = 0;
    for (int i = 0; i < N * N; i++) {
        begins[i] = count;
        for (int s = 0; s < 4; s++) {
            int y = i / N + sides[s][0], x = i % N + sides[s][1];
            if (!is_wall[i / N][i % N] && !is_wall_around[(y + 1) * WIDTH + x + 1])
                neighbours[count++] = (uint16_t)(y * N + x);
        }
    }
    begins[N * N] = count;
}

static void prepare(void)
{
    memset(is_wall_around, 1, sizeof is_wall_around);
    for (int y = 0; y < N; y++) {
        free_rows[y] = 0;
        for (int x = 0; x < N; x++) {
            bool wall = corpus_random() % 4 == 0 && (x != START || y != START);
            is_wall[y][x] = is_wall_around[(y + 1) * WIDTH + x + 1] = wall;
            free_rows[y] |= (uint32_t)!wall << x;
        }
    }
    list_neighbours();
}

static uint64_t breadth_first_queue(void)
{
    static const int sides[4] = {1, -1, WIDTH, -WIDTH};
    static uint16_t queue[N * N], distances[WIDTH * WIDTH];
    int first = 0, count = 1;
    for (int i = 0; i < WIDTH * WIDTH; i++)
        distances[i] = is_wall_around[i] ? 0 : NO_WAY;
    queue[0] = (START + 1) * WIDTH + START + 1;
    distances[queue[0]] = 0;
    JOULE_LOOP(1, N * N)
    while (first < count) {
        int at = queue[first++];
        for (int s = 0; s < 4; s++) {
            int next = at + sides[s];
            if (distances[next] == NO_WAY) {
                distances[next] = (uint16_t)(distances[at] + 1);
                queue[count++] = (uint16_t)next;
            }
        }
    }
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++)
            steps[y][x] = is_wall[y][x] ? NO_WAY : distances[(y + 1) * WIDTH + x + 1];
    return 0;
}

struct square {
    int x, y;
};

static uint64_t breadth_first_edges(void)
{
    static const struct square sides[4] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    static struct square queue[N * N];
    int first = 0, count = 1;
    memset(steps, 0xff, sizeof steps);
    queue[0] = (struct square){START, START};
    steps[START][START] = 0;
    JOULE_LOOP(1, N * N)
    while (first < count) {
        struct square at = queue[first++];
        for (int s = 0; s < 4; s++) {
            int x = at.x + sides[s].x, y = at.y + sides[s].y;
            if (x < 0 || x >= N || y < 0 || y >= N)
                continue;
            if (is_wall[y][x] || steps[y][x] != NO_WAY)
                continue;
            steps[y][x] = (uint16_t)(steps[at.y][at.x] + 1);
            queue[count++] = (struct square){x, y};
        }
    }
    return 0;
}

/* Treats the grid as a graph in which each cell has a list of neighbours. */
static uint64_t breadth_first_graph(void)
{
    static uint16_t queue[N * N];
    uint16_t *distances = &steps[0][0];
    int first = 0, count = 1;
    memset(steps, 0xff, sizeof steps);
    queue[0] = START * N + START;
    distances[queue[0]] = 0;
    JOULE_LOOP(1, N * N)
    while (first < count) {
        uint32_t at = queue[first++];
        JOULE_LOOP(0, 4)
        for (uint32_t i = begins[at]; i < begins[at + 1]; i++) {
            uint32_t next = neighbours[i];
            if (distances[next] == NO_WAY) {
                distances[next] = (uint16_t)(distances[at] + 1);
                queue[count++] = (uint16_t)next;
            }
        }
    }
    return 0;
}

/* Removes each reached cell from `left`, the mask of the cells that are not reached yet. */
static uint64_t breadth_first_waves(void)
{
    uint32_t left[N], wave[N + 2] = {0}, any = 1; /* with an empty row before and after */
    memcpy(left, free_rows, sizeof left);
    memset(steps, 0xff, sizeof steps);
    wave[START + 1] = 1u << START;
    left[START] &= ~(1u << START);
    steps[START][START] = 0;
    JOULE_LOOP(1, MAX_STEPS)
    for (uint16_t distance = 1; any; distance++) {
        uint32_t above = 0;
        any = 0;
        for (int y = 0; y < N; y++) {
            uint32_t here = wave[y + 1];
            uint32_t reached = (here << 1 | here >> 1 | above | wave[y + 2]) & left[y];
            above = here;
            wave[y + 1] = reached;
            left[y] &= ~reached;
            any |= reached;
            JOULE_LOOP(0, N)
            for (; reached; reached &= reached - 1)
                steps[y][__builtin_ctz(reached)] = distance;
        }
    }
    return 0;
}

const struct group breadth_first = {prepare,
                                    steps,
                                    sizeof steps,
                                    {PROGRAM(breadth_first_queue), PROGRAM(breadth_first_edges),
                                     PROGRAM(breadth_first_graph), PROGRAM(breadth_first_waves)}};
