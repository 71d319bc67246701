/* tests/corpus/joulec/query.c - a query of a table of orders. For each region, it computes the count, sum and
 * maximum amount of the orders in a range of days and of some kinds.
 *
 * The programs store orders as rows or as columns, make a list of selected orders, use an index by day, or
 * apply masks to all orders.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define ORDERS  8192
#define REGIONS 12
#define DAYS    365
#define KINDS   32
#define SPAN    250 /* days of the query */

struct order {
    uint32_t id, customer;
    uint16_t day;
    uint8_t region, kind;
    uint32_t quantity, price;
};

struct answer {
    uint64_t sum;
    uint32_t count, maximum;
};

static struct order orders[ORDERS];
static uint16_t days[ORDERS];
static uint8_t regions[ORDERS], kinds[ORDERS];
static uint32_t quantities[ORDERS], prices[ORDERS];
static uint16_t by_day[ORDERS], first_of_day[DAYS + 1]; /* orders sorted by day */
static uint32_t first_day, kinds_asked;                 /* kinds_asked: one bit for each kind */
static struct answer answers[REGIONS];

static void index_days(void)
{
    uint16_t next[DAYS];
    memset(first_of_day, 0, sizeof first_of_day);
    for (int i = 0; i < ORDERS; i++)
        first_of_day[days[i] + 1]++;
    for (int d = 0; d < DAYS; d++) {
        first_of_day[d + 1] = (uint16_t)(first_of_day[d + 1] + first_of_day[d]);
        next[d] = first_of_day[d];
    }
    for (int i = 0; i < ORDERS; i++)
        by_day[next[days[i]]++] = (uint16_t)i;
}

static void prepare(void)
{
    first_day = corpus_random() % (DAYS - SPAN);
    kinds_asked = corpus_random() | corpus_random();
    for (uint32_t i = 0; i < ORDERS; i++) {
        uint32_t chance = corpus_random();
        days[i] = (uint16_t)(corpus_random() % DAYS);
        regions[i] = (uint8_t)((chance & 0xff) % REGIONS);
        kinds[i] = (uint8_t)((chance >> 8) % KINDS);
        quantities[i] = 1 + (chance >> 16) % 20;
        prices[i] = 100 + corpus_random() % 50000;
        orders[i] = (struct order){i, chance >> 20, days[i], regions[i], kinds[i], quantities[i], prices[i]};
    }
    index_days();
}

static inline void add(struct answer *answer, uint32_t amount)
{
    answer->sum += amount;
    answer->count++;
    answer->maximum = amount > answer->maximum ? amount : answer->maximum;
}

static uint64_t query_rows(void)
{
    memset(answers, 0, sizeof answers);
    for (int i = 0; i < ORDERS; i++) {
        const struct order *o = &orders[i];
        if (o->day >= first_day && o->day < first_day + SPAN && kinds_asked >> o->kind & 1)
            add(&answers[o->region], o->quantity * o->price);
    }
    return 0;
}

static uint64_t query_columns(void)
{
    memset(answers, 0, sizeof answers);
    for (int i = 0; i < ORDERS; i++) {
        if (days[i] < first_day || days[i] >= first_day + SPAN)
            continue;
        if (kinds_asked >> kinds[i] & 1)
            add(&answers[regions[i]], quantities[i] * prices[i]);
    }
    return 0;
}

static uint64_t query_chosen(void)
{
    static uint16_t chosen[ORDERS];
    uint32_t count = 0;
    for (int i = 0; i < ORDERS; i++) {
        chosen[count] = (uint16_t)i;
        count += ((uint32_t)(days[i] - first_day) < SPAN) & (kinds_asked >> kinds[i]);
    }
    memset(answers, 0, sizeof answers);
    JOULE_LOOP(0, ORDERS)
    for (uint32_t c = 0; c < count; c++) {
        uint32_t i = chosen[c];
        add(&answers[regions[i]], quantities[i] * prices[i]);
    }
    return 0;
}

static uint64_t query_index(void)
{
    memset(answers, 0, sizeof answers);
    uint32_t end = first_of_day[first_day + SPAN];
    JOULE_LOOP(0, ORDERS)
    for (uint32_t c = first_of_day[first_day]; c < end; c++) {
        const struct order *o = &orders[by_day[c]];
        if (kinds_asked >> o->kind & 1)
            add(&answers[o->region], o->quantity * o->price);
    }
    return 0;
}

static uint64_t query_all(void)
{
    memset(answers, 0, sizeof answers);
    for (int i = 0; i < ORDERS; i++) {
        struct answer *answer = &answers[regions[i]];
        uint32_t is_chosen = ((uint32_t)(days[i] - first_day) < SPAN) & (kinds_asked >> kinds[i]);
        uint32_t amount = quantities[i] * prices[i] * is_chosen;
        answer->sum += amount;
        answer->count += is_chosen;
        answer->maximum = amount > answer->maximum ? amount : answer->maximum;
    }
    return 0;
}

const struct group query = {prepare,
                            answers,
                            sizeof answers,
                            {PROGRAM(query_rows), PROGRAM(query_columns), PROGRAM(query_chosen),
                             PROGRAM(query_index), PROGRAM(query_all)}};
