/* tests/corpus/joulec/ray_boxes.c - the first of 64 boxes that each of 96 rays meets.
 *
 * The programs test all boxes with all three axes, test all boxes with a check after each axis, or use a tree
 * of boxes, with recursion or a stack.
 */
#include <joule/budget.h>
#include <stdbool.h>
#include "corpus.h"

#define RAYS   96
#define BOXES  64
#define LEVELS 7 /* levels of the tree; the last level contains the boxes themselves */
#define NONE   BOXES
#define FAR    1e30f

struct box {
    float low[3], high[3];
};

struct ray {
    float from[3], inverse[3]; /* reciprocals of the direction, which has no zeros */
};

struct hit {
    float distance;
    uint32_t box;
};

/* the children of tree[i] are 2 i and 2 i + 1 */
static struct box tree[2 * BOXES], *const boxes = tree + BOXES;
static struct ray beams[RAYS];
static uint32_t hits[RAYS];

static struct box around(struct box a, struct box b)
{
    for (int axis = 0; axis < 3; axis++) {
        a.low[axis] = a.low[axis] < b.low[axis] ? a.low[axis] : b.low[axis];
        a.high[axis] = a.high[axis] > b.high[axis] ? a.high[axis] : b.high[axis];
    }
    return a;
}

/* Places each box in its own cell of a 4 x 4 x 4 grid. Cells are numbered so that near boxes are near in
 * the tree. */
static void prepare(void)
{
    for (uint32_t i = 0; i < BOXES; i++)
        for (uint32_t axis = 0; axis < 3; axis++) {
            uint32_t block = (i >> (3 + axis) & 1) * 2 + (i >> axis & 1);
            boxes[i].low[axis] = (float)(256 * block + corpus_random() % 128);
            boxes[i].high[axis] = boxes[i].low[axis] + (float)(32 + corpus_random() % 96);
        }
    for (int i = BOXES - 1; i > 0; i--)
        tree[i] = around(tree[2 * i], tree[2 * i + 1]);
    for (int i = 0; i < RAYS; i++)
        for (int axis = 0; axis < 3; axis++) {
            int direction = (int)(corpus_random() % 200) - 100;
            beams[i].from[axis] = (float)(corpus_random() % 1024);
            beams[i].inverse[axis] = 1 / (direction >= 0 ? (float)direction + 1 : (float)direction);
        }
}

static inline float lesser(float a, float b)
{
    return a < b ? a : b;
}

static inline float greater(float a, float b)
{
    return a > b ? a : b;
}

/* Returns the distance to the box. Returns 0 if the ray starts inside the box, and FAR if the ray does not
 * meet the box. */
static inline float distance_to(const struct box *box, const struct ray *ray)
{
    float in = 0, out = FAR;
    for (int axis = 0; axis < 3; axis++) {
        float a = (box->low[axis] - ray->from[axis]) * ray->inverse[axis];
        float b = (box->high[axis] - ray->from[axis]) * ray->inverse[axis];
        in = greater(in, lesser(a, b));
        out = lesser(out, greater(a, b));
    }
    return in <= out ? in : FAR;
}

static uint64_t ray_boxes_all(void)
{
    for (int r = 0; r < RAYS; r++) {
        struct hit best = {FAR, NONE};
        for (uint32_t b = 0; b < BOXES; b++) {
            float distance = distance_to(&boxes[b], &beams[r]);
            if (distance < best.distance)
                best = (struct hit){distance, b};
        }
        hits[r] = best.box;
    }
    return 0;
}

static inline bool meets_before(const struct box *box, const struct ray *ray, struct hit *best)
{
    float in = 0, out = FAR;
    for (int axis = 0; axis < 3; axis++) {
        bool is_ahead = ray->inverse[axis] > 0;
        float near = is_ahead ? box->low[axis] : box->high[axis];
        float far = is_ahead ? box->high[axis] : box->low[axis];
        in = greater(in, (near - ray->from[axis]) * ray->inverse[axis]);
        out = lesser(out, (far - ray->from[axis]) * ray->inverse[axis]);
        if (in > out || in >= best->distance)
            return false;
    }
    best->distance = in;
    return true;
}

static uint64_t ray_boxes_axes(void)
{
    for (int r = 0; r < RAYS; r++) {
        struct hit best = {FAR, NONE};
        for (uint32_t b = 0; b < BOXES; b++)
            if (meets_before(&boxes[b], &beams[r], &best))
                best.box = b;
        hits[r] = best.box;
    }
    return 0;
}

/* Visits a subtree. If several boxes have the same distance, the box with the lowest number is the result, as
 * in the other programs. */
JOULE_DEPTH(LEVELS)
static void visit(uint32_t at, const struct ray *ray, struct hit *best)
{
    float distance = distance_to(&tree[at], ray);
    if (distance >= best->distance)
        return;
    if (at >= BOXES) {
        *best = (struct hit){distance, at - BOXES};
        return;
    }
    visit(2 * at, ray, best);
    visit(2 * at + 1, ray, best);
}

static uint64_t ray_boxes_tree(void)
{
    for (int r = 0; r < RAYS; r++) {
        struct hit best = {FAR, NONE};
        visit(1, &beams[r], &best);
        hits[r] = best.box;
    }
    return 0;
}

static uint64_t ray_boxes_stack(void)
{
    for (int r = 0; r < RAYS; r++) {
        struct hit best = {FAR, NONE};
        uint32_t stack[LEVELS + 1] = {1}, count = 1;
        JOULE_LOOP(1, 2 * BOXES - 1)
        while (count > 0) {
            uint32_t at = stack[--count];
            float distance = distance_to(&tree[at], &beams[r]);
            if (distance >= best.distance)
                continue;
            if (at >= BOXES)
                best = (struct hit){distance, at - BOXES};
            else {
                stack[count++] = 2 * at + 1;
                stack[count++] = 2 * at;
            }
        }
        hits[r] = best.box;
    }
    return 0;
}

const struct group ray_boxes = {
    prepare,
    hits,
    sizeof hits,
    {PROGRAM(ray_boxes_all), PROGRAM(ray_boxes_axes), PROGRAM(ray_boxes_tree), PROGRAM(ray_boxes_stack)}};
