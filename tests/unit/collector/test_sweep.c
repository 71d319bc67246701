/* Tests how the sweep attributes energy: on random schedules its results equal those of a slow direct
 * implementation of the rule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "joule/collector/sweep.h"
#include "support/chance.h"
#include "support/check.h"

static int64_t draw_below(int64_t n)
{
    return (int64_t)(chance_bits() % (uint64_t)n);
}

/* --- slow reference: all intervals between edges, all pairs of regions ---------------------------------- */

static bool is_open(const struct region *r, int64_t from_ns, int64_t to_ns)
{
    return r->begin_ns <= from_ns && r->end_ns >= to_ns;
}

static bool began_later(const struct region *a, const struct region *b)
{
    return a->begin_ns != b->begin_ns ? a->begin_ns > b->begin_ns : a->index > b->index;
}

/* Returns the number of the innermost open region that claims the device group, among the regions on the
 * track (thread) of region i. */
static size_t innermost(const struct sweep *s, size_t i, unsigned group, int64_t from_ns, int64_t to_ns)
{
    if (s->regions[i].track == TRACK_ALONE)
        return i;
    size_t best = i;
    for (size_t k = 0; k < s->region_count; k++)
        if (s->regions[k].track == s->regions[i].track && s->regions[k].claims & 1u << group &&
            is_open(&s->regions[k], from_ns, to_ns) && began_later(&s->regions[k], &s->regions[best]))
            best = k;
    return best;
}

static void share_instant(const struct sweep *s, struct share *shares, double *unattributed, unsigned group,
                          double joules, int64_t from_ns, int64_t to_ns)
{
    unsigned claimants = 0;
    for (size_t i = 0; i < s->region_count; i++)
        claimants += s->regions[i].claims & 1u << group && is_open(&s->regions[i], from_ns, to_ns) &&
                     innermost(s, i, group, from_ns, to_ns) == i;
    if (claimants == 0)
        *unattributed += joules;
    for (size_t i = 0; i < s->region_count; i++) {
        if (!(s->regions[i].claims & 1u << group) || !is_open(&s->regions[i], from_ns, to_ns))
            continue;
        struct share *share = &shares[i * s->columns + s->column_of[group]];
        share->window += joules;
        share->attributed += joules / claimants;
        if (innermost(s, i, group, from_ns, to_ns) == i)
            share->self += joules / claimants;
    }
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void slow_sweep(const struct sweep *s, struct share *shares, double *unattributed)
{
    size_t count = 0;
    int64_t *times = malloc((2 * s->region_count + s->step_count + 1) * sizeof *times);
    times[count++] = s->begin_ns;
    for (size_t i = 0; i < s->step_count; i++)
        times[count++] = s->steps[i].end_ns;
    for (size_t i = 0; i < s->region_count; i++) {
        const int64_t edges[] = {s->regions[i].begin_ns, s->regions[i].end_ns};
        for (int k = 0; k < 2; k++)
            if (edges[k] > s->begin_ns && edges[k] < s->end_ns)
                times[count++] = edges[k];
    }
    qsort(times, count, sizeof *times, by_time);
    for (size_t i = 0; i + 1 < count; i++) {
        size_t step = 0;
        while (s->steps[step].end_ns < times[i + 1])
            step++;
        double length_s = (double)(times[i + 1] - times[i]) * 1e-9;
        for (unsigned g = 0; g < GROUPS; g++)
            if (s->groups & 1u << g && length_s > 0)
                share_instant(s, shares, &unattributed[g], g, s->steps[step].watts[g] * length_s, times[i],
                              times[i + 1]);
    }
    free(times);
}

/* --- random schedules ----------------------------------------------------------------------------------- */

#define SPAN_NS 100000
#define STEPS   5

static struct step steps[STEPS];

static void draw_steps(struct sweep *s)
{
    s->begin_ns = 1000000;
    s->end_ns = s->begin_ns + SPAN_NS;
    s->steps = steps;
    s->step_count = STEPS;
    for (int i = 0; i < STEPS; i++) {
        steps[i].end_ns = s->begin_ns + (i + 1) * (SPAN_NS / STEPS) - (i < STEPS - 1 ? draw_below(500) : 0);
        for (unsigned g = 0; g < GROUPS; g++) {
            steps[i].watts[g] = (double)draw_below(200);
            steps[i].coverage[g] = 1;
        }
    }
}

static uint16_t draw_claims(void)
{
    static const uint16_t choices[] = {GROUPS_ALL, 1u << GROUP_CPU, GROUPS_GPU, 1u << GROUP_CPU | GROUPS_GPU,
                                       1u << GROUP_GPU0};
    return choices[draw_below(5)];
}

/* Times are multiples of a coarse step, so that edges often coincide. */
static void draw_regions(struct sweep *s, size_t count, int tracks)
{
    s->region_count = count;
    for (size_t i = 0; i < count; i++) {
        int64_t begin_ns = s->begin_ns - 20000 + draw_below(1400) * 100;
        s->regions[i] = (struct region){
            .begin_ns = begin_ns,
            .end_ns = draw_below(8) ? begin_ns + draw_below(300) * 100 : STILL_OPEN,
            .track = draw_below(10) ? (uint16_t)draw_below(tracks) : TRACK_ALONE,
            .index = (uint8_t)i,
            .claims = draw_claims(),
        };
    }
}

static void compare(const struct sweep *s, const struct share *slow, const double *unattributed)
{
    for (size_t i = 0; i < s->region_count * s->columns; i++) {
        assert_near(s->shares[i].window, slow[i].window, 1e-12);
        assert_near(s->shares[i].attributed, slow[i].attributed, 1e-12);
        assert_near(s->shares[i].self, slow[i].self, 1e-12);
    }
    for (unsigned g = 0; g < GROUPS; g++)
        assert_near(s->unattributed[g], unattributed[g], 1e-12);
}

static double step_energy(const struct sweep *s, unsigned group)
{
    double joules = 0;
    int64_t from_ns = s->begin_ns;
    for (size_t i = 0; i < s->step_count; i++) {
        joules += s->steps[i].watts[group] * (double)(s->steps[i].end_ns - from_ns) * 1e-9;
        from_ns = s->steps[i].end_ns;
    }
    return joules;
}

/* Fails unless the energy of all innermost regions and the energy without a region add up to the total. */
static void check_conserved(const struct sweep *s, double relative)
{
    for (unsigned g = 0; g < GROUPS; g++) {
        if (!(s->groups & 1u << g))
            continue;
        double sum = s->unattributed[g], all = step_energy(s, g);
        for (size_t i = 0; i < s->region_count; i++)
            sum += sweep_share(s, i, g)->self;
        assert_near(sum, all, relative * all);
    }
}

static void random_schedules_are_shared_by_the_rule(void **state)
{
    (void)state;
    enum { MAX_REGIONS = 60 };
    static struct region regions[MAX_REGIONS];
    static struct share fast[MAX_REGIONS * GROUPS], slow[MAX_REGIONS * GROUPS];
    struct sweep s = {.regions = regions, .shares = fast};
    for (uint64_t seed = 1; seed <= 600; seed++) {
        chance_state = seed * UINT64_C(0x9e3779b97f4a7c15);
        draw_steps(&s);
        draw_regions(&s, (size_t)(1 + draw_below(MAX_REGIONS)), 1 + (int)draw_below(6));
        sweep_set_groups(&s, seed % 3 ? 1u << GROUP_CPU | 1u << GROUP_GPU0 : 1u << GROUP_REST);
        memset(fast, 0, sizeof fast);
        memset(slow, 0, sizeof slow);
        memset(s.unattributed, 0, sizeof s.unattributed);
        double unattributed[GROUPS] = {0};
        assert_true(sweep_run(&s));
        slow_sweep(&s, slow, unattributed);
        compare(&s, slow, unattributed);
        check_conserved(&s, 1e-9);
    }
    sweep_free(&s);
}

/* If the period is split at any time, the sums over both parts equal the sums over the whole period. */
static void two_halves_make_the_whole(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static struct region regions[COUNT];
    static struct share whole[COUNT], halves[COUNT];
    struct sweep s = {.regions = regions};
    sweep_set_groups(&s, 1u << GROUP_CPU);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        chance_state = seed;
        memset(whole, 0, sizeof whole);
        memset(halves, 0, sizeof halves);
        draw_steps(&s);
        for (int i = 1; i < STEPS; i++)
            /* power is constant, so that steps can be split */
            steps[i].watts[GROUP_CPU] = steps[0].watts[GROUP_CPU];
        draw_regions(&s, COUNT, 4);
        int64_t begin_ns = s.begin_ns, end_ns = s.end_ns, cut_ns = begin_ns + 1 + draw_below(SPAN_NS - 1);
        s.shares = whole;
        assert_true(sweep_run(&s));
        struct step one = {.end_ns = cut_ns, .watts = {steps[0].watts[0]}};
        s.steps = &one;
        s.step_count = 1;
        s.shares = halves;
        s.end_ns = cut_ns;
        assert_true(sweep_run(&s));
        s.begin_ns = cut_ns;
        s.end_ns = one.end_ns = end_ns;
        assert_true(sweep_run(&s));
        for (size_t i = 0; i < COUNT; i++) {
            assert_near(halves[i].window, whole[i].window, 1e-12);
            assert_near(halves[i].attributed, whole[i].attributed, 1e-12);
            assert_near(halves[i].self, whole[i].self, 1e-12);
        }
    }
    sweep_free(&s);
}

/* With 10^6 short regions on 250 threads, rounding loses no energy. */
static void a_million_regions_conserve(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    struct sweep s = {.regions = calloc(COUNT, sizeof *s.regions),
                      .shares = calloc(COUNT, sizeof *s.shares),
                      .region_count = COUNT};
    sweep_set_groups(&s, 1u << GROUP_CPU);
    assert_non_null(s.regions);
    assert_non_null(s.shares);
    chance_state = 7;
    draw_steps(&s);
    s.end_ns = s.begin_ns + 100000000;
    for (int i = 0; i < STEPS; i++)
        steps[i].end_ns = s.begin_ns + (i + 1) * 20000000;
    int64_t next_ns[250];
    for (int i = 0; i < 250; i++)
        next_ns[i] = s.begin_ns + draw_below(1000);
    for (size_t i = 0; i < COUNT; i++) {
        int track = (int)(i % 250);
        s.regions[i] = (struct region){.begin_ns = next_ns[track],
                                       .end_ns = next_ns[track] + 1 + draw_below(20000),
                                       .track = (uint16_t)track,
                                       .claims = GROUPS_ALL};
        next_ns[track] = s.regions[i].end_ns + draw_below(20000);
    }
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    assert_true(sweep_run(&s));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    print_message("10^6 regions: %.1f ms\n",
                  (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6);
    check_conserved(&s, 1e-9);
    free(s.regions);
    free(s.shares);
    sweep_free(&s);
}

static void nested_regions_share_by_the_innermost(void **state)
{
    (void)state;
    struct step step = {.end_ns = 10000000000, .watts = {10}};
    struct region regions[] = {
        {.begin_ns = 1000000000, .end_ns = 9000000000, .track = 0, .claims = GROUPS_ALL},
        {.begin_ns = 3000000000, .end_ns = 5000000000, .track = 0, .claims = GROUPS_ALL},
        {.begin_ns = 4000000000, .end_ns = 8000000000, .track = 1, .claims = GROUPS_ALL},
    };
    struct share shares[3] = {0};
    struct sweep s = {.regions = regions,
                      .region_count = 3,
                      .shares = shares,
                      .steps = &step,
                      .step_count = 1,
                      .end_ns = step.end_ns};
    sweep_set_groups(&s, 1u << GROUP_CPU);
    assert_true(sweep_run(&s));
    assert_near(shares[0].window, 80, 1e-9);
    assert_near(shares[0].attributed, 20 + 10 + 5 + 15 + 10, 1e-9);
    assert_near(shares[0].self, 20 + 15 + 10, 1e-9);
    assert_near(shares[1].attributed, 15, 1e-9);
    assert_near(shares[2].attributed, 20, 1e-9);
    assert_near(s.unattributed[GROUP_CPU], 20, 1e-9);
    sweep_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_regions_share_by_the_innermost),
        cmocka_unit_test(random_schedules_are_shared_by_the_rule),
        cmocka_unit_test(two_halves_make_the_whole),
        cmocka_unit_test(a_million_regions_conserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
