/* tests/corpus/joulec/calendar.c - dates and times of day of timestamps in seconds since the beginning of
 * 2020, all before 2028.
 *
 * The programs subtract years and months, divide by spans of four years, use a formula for years that begin
 * in March, or use tables of first days.
 */
#include <joule/budget.h>
#include "corpus.h"

#define MOMENTS        768
#define FIRST          2020 /* first year, a leap year; every fourth year until 2099 is a leap year */
#define YEARS          8
#define DAYS_OF_FOUR   1461
#define DAY_SECONDS    86400u
#define SINCE_MARCH    1401u /* days from 2016-03-01 to 2020-01-01 */
#define FIRST_WEEK_DAY 3     /* 2020-01-01 was a Wednesday */

struct date {
    uint16_t year;
    uint8_t month, day, week_day, hour, minute, second;
};

static uint64_t moments[MOMENTS];
static struct date dates[MOMENTS];
static uint16_t first_of_year[YEARS + 1];
static uint8_t month_of[2][366], day_of[2][366]; /* index 1: leap years */

static const uint8_t month_days[2][12] = {{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31},
                                          {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}};

static inline uint32_t days_of_year(uint32_t year)
{
    return year % 4 == 0 ? 366 : 365;
}

static void make_tables(void)
{
    for (uint32_t y = 0; y < YEARS; y++)
        first_of_year[y + 1] = (uint16_t)(first_of_year[y] + days_of_year(y));
    for (int is_long = 0; is_long < 2; is_long++)
        for (int month = 0, i = 0; month < 12; month++)
            for (int day = 0; day < month_days[is_long][month]; day++, i++) {
                month_of[is_long][i] = (uint8_t)(month + 1);
                day_of[is_long][i] = (uint8_t)(day + 1);
            }
}

static void prepare(void)
{
    make_tables();
    for (int i = 0; i < MOMENTS; i++)
        moments[i] = corpus_random() % (YEARS / 4 * DAYS_OF_FOUR * DAY_SECONDS);
}

static inline void set_time(struct date *date, uint64_t moment)
{
    uint32_t second = (uint32_t)(moment % DAY_SECONDS);
    date->week_day = (uint8_t)((moment / DAY_SECONDS + FIRST_WEEK_DAY) % 7);
    date->hour = (uint8_t)(second / 3600);
    date->minute = (uint8_t)(second / 60 % 60);
    date->second = (uint8_t)(second % 60);
}

static inline void set_day(struct date *date, uint32_t year, uint32_t month, uint32_t day)
{
    date->year = (uint16_t)year;
    date->month = (uint8_t)month;
    date->day = (uint8_t)day;
}

/* Visits the months to find month and day from `day`, the day of the year. The first day of the year has
 * number 0. */
static inline void set_day_of_year(struct date *date, uint32_t year, uint32_t day)
{
    const uint8_t *days = month_days[year % 4 == 0];
    uint32_t month = 0;
    JOULE_LOOP(0, 11)
    while (day >= days[month])
        day -= days[month++];
    set_day(date, year, month + 1, day + 1);
}

static uint64_t calendar_steps(void)
{
    for (int i = 0; i < MOMENTS; i++) {
        uint32_t day = (uint32_t)(moments[i] / DAY_SECONDS), year = FIRST;
        JOULE_LOOP(0, YEARS - 1)
        while (day >= days_of_year(year))
            day -= days_of_year(year++);
        set_day_of_year(&dates[i], year, day);
        set_time(&dates[i], moments[i]);
    }
    return 0;
}

static uint64_t calendar_fours(void)
{
    for (int i = 0; i < MOMENTS; i++) {
        uint32_t day = (uint32_t)(moments[i] / DAY_SECONDS), year = FIRST + day / DAYS_OF_FOUR * 4;
        day %= DAYS_OF_FOUR;
        if (day >= 366) { /* the first of the four years is the leap year */
            year += 1 + (day - 366) / 365;
            day = (day - 366) % 365;
        }
        set_day_of_year(&dates[i], year, day);
        set_time(&dates[i], moments[i]);
    }
    return 0;
}

/* If years begin in March, the leap day is their last day, and each five months have 153 days. */
static uint64_t calendar_formula(void)
{
    for (int i = 0; i < MOMENTS; i++) {
        uint32_t day = (uint32_t)(moments[i] / DAY_SECONDS) + SINCE_MARCH;
        uint32_t fours = day / DAYS_OF_FOUR, four = day % DAYS_OF_FOUR;
        uint32_t year = (four - four / 1460) / 365, day_of_year = four - 365 * year;
        uint32_t month = (5 * day_of_year + 2) / 153;
        day = day_of_year - (153 * month + 2) / 5 + 1;
        year += FIRST - 4 + 4 * fours;
        set_day(&dates[i], month < 10 ? year : year + 1, month < 10 ? month + 3 : month - 9, day);
        set_time(&dates[i], moments[i]);
    }
    return 0;
}

static uint64_t calendar_tables(void)
{
    for (int i = 0; i < MOMENTS; i++) {
        uint32_t day = (uint32_t)(moments[i] / DAY_SECONDS), year = 0;
        for (uint32_t step = YEARS / 2; step > 0; step /= 2)
            if (first_of_year[year + step] <= day)
                year += step;
        day -= first_of_year[year];
        set_day(&dates[i], FIRST + year, month_of[year % 4 == 0][day], day_of[year % 4 == 0][day]);
        set_time(&dates[i], moments[i]);
    }
    return 0;
}

const struct group calendar = {
    prepare,
    dates,
    sizeof dates,
    {PROGRAM(calendar_steps), PROGRAM(calendar_fours), PROGRAM(calendar_formula), PROGRAM(calendar_tables)}};
