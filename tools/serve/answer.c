/* tools/serve/answer.c - see answer.h. */
#include "answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "power_chart.h"
#include "joule/attribute/attribute_tenant.h"
#include "joule/meter/engine.h"

/* Maximum age of a text, even if readings are less frequent, because a device may become stale. */
#define MAX_AGE_NS  1000000000
#define FIRST_BYTES 65536 /* initial capacity of a page */
#define SPARE_PARTS 8     /* an enlarged page has 1/8 spare bytes, because later values may be longer */

static bool is_current(const struct answers *answers, int64_t printed_ns, int64_t now)
{
    double period_ns = fmin(answers->overview.period_s * 1e9, MAX_AGE_NS);
    return printed_ns && (double)(now - printed_ns) < period_ns;
}

static bool gather(struct answers *answers, int64_t now)
{
    if (is_current(answers, answers->gathered_ns, now))
        return true;
    meter_reserve(answers->meter); /* reserves memory for new domains */
    if (answers->tenants)
        tenants_settle(answers->tenants);
    if (!overview_gather(&answers->overview, answers->meter))
        return false;
    answers->gathered_ns = now;
    return true;
}

static void print(const struct answers *answers, enum answer_kind kind, struct text *out)
{
    switch (kind) {
    case ANSWER_TEXT:
    case ANSWER_OPENMETRICS:
        metrics_print(&answers->overview, kind == ANSWER_TEXT ? METRICS_TEXT : METRICS_OPENMETRICS, out);
        break;
    case ANSWER_DEVICES:
    case ANSWER_EVENT:
        overview_json(&answers->overview, out);
        break;
    case ANSWER_HISTORY:
        history_json(&answers->overview, answers->meter, out);
        break;
    case ANSWER_KINDS:
        break;
    }
}

/* --- pages ---------------------------------------------------------------------------------------------- */

static struct page *add_page(struct answer *answer)
{
    struct page *page = calloc(1, sizeof *page);
    if (!page)
        return NULL;
    page->next = answer->pages;
    answer->pages = page;
    return page;
}

/* Frees unused pages, except for two. */
static void drop_surplus(struct answer *answer)
{
    size_t count = 0;
    for (struct page **at = &answer->pages; *at;) {
        struct page *page = *at;
        if (page->is_used || ++count <= 2) {
            at = &page->next;
            continue;
        }
        *at = page->next;
        free(page->bytes);
        free(page);
    }
}

static struct page *free_page(struct answer *answer)
{
    drop_surplus(answer);
    if (!answer->pages && add_page(answer)) /* each kind starts with two pages */
        add_page(answer);
    for (struct page *page = answer->pages; page; page = page->next)
        if (!page->is_used && page != answer->current)
            return page;
    return add_page(answer);
}

/* Enlarges a page and all unused pages to `wanted` bytes. Writes to the unused pages, so that the system
 * provides their memory now and not while a text is printed. */
static bool reserve(struct answer *answer, struct page *page, size_t wanted)
{
    if (!array_reserve((void **)&page->bytes, &page->capacity, wanted, 1))
        return false;
    for (struct page *other = answer->pages; other; other = other->next)
        if (!other->is_used && other->capacity < wanted &&
            array_reserve((void **)&other->bytes, &other->capacity, wanted, 1))
            memset(other->bytes, 0, other->capacity);
    return true;
}

/* Prints into a page. If the text does not fit, enlarges the page and prints again. */
static bool print_all(struct answers *answers, enum answer_kind kind, struct page *page)
{
    size_t wanted = FIRST_BYTES;
    for (;;) {
        struct text text;
        if (!reserve(&answers->list[kind], page, wanted))
            return false;
        text_init(&text, page->bytes, page->capacity);
        print(answers, kind, &text);
        page->length = text.length;
        if (text.length < page->capacity)
            return true;
        wanted = text.length + text.length / SPARE_PARTS + 1;
    }
}

struct page *answer_make(struct answers *answers, enum answer_kind kind, bool *out_is_new)
{
    struct answer *answer = &answers->list[kind];
    int64_t now = clock_now_ns();
    *out_is_new = false;
    if (is_current(answers, answer->printed_ns, now))
        return answer->current;
    struct page *page = free_page(answer);
    if (!page || !gather(answers, now) || !print_all(answers, kind, page))
        return NULL;
    answer->current = page;
    answer->printed_ns = now;
    page->is_used = *out_is_new = true;
    return page;
}

void answer_release(struct page *page)
{
    page->is_used = false;
}

/* --- interface ------------------------------------------------------------------------------------------ */

const char *answer_media_type(enum answer_kind kind)
{
    if (kind == ANSWER_TEXT || kind == ANSWER_OPENMETRICS)
        return metrics_media_type(kind == ANSWER_TEXT ? METRICS_TEXT : METRICS_OPENMETRICS);
    return "application/json";
}

bool answers_are_fresh(struct answers *answers)
{
    joule_quantity watts;
    joule_status status = joule_power_watts(answers->meter, JOULE_TOTAL, &watts);
    return status == JOULE_OK || status == JOULE_PENDING;
}

void answers_free(struct answers *answers)
{
    for (size_t i = 0; i < ANSWER_KINDS; i++)
        for (struct page *page = answers->list[i].pages, *next; page; page = next) {
            next = page->next;
            free(page->bytes);
            free(page);
        }
    overview_free(&answers->overview);
}
