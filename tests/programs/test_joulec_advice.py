#!/usr/bin/env python3
"""Checks joulec's advice: it is given if the code shows that less work would do, and not otherwise."""
import json

from joulec_support import HEADER, OneFile, main

DATA = """#include <stdlib.h>
float image[2048][2048];
double a[512][512], b[512][512], small[16][16];
struct body { float x, y, z, mass; char name[112]; } bodies[100000];
int use(void *memory, int size);
"""


class Advice(OneFile):
    HEAD = HEADER + DATA

    def advise(self, text, *options):
        """Returns the report's functions by name, and the messages."""
        report = self.report(text, *options)
        return {name: function["advice"] for name, function in report["functions"].items()}, report["stderr"]

    def kinds(self, text):
        return {name: [advice["kind"] for advice in list] for name, list in self.advise(text)[0].items()}

    def test_orders_of_loops(self):
        self.assertEqual(self.kinds("""
float across(void) { float s = 0; for (int x = 0; x < 2048; x++) for (int y = 0; y < 2048; y++) s += image[y][x]; return s; }
float along(void) { float s = 0; for (int y = 0; y < 2048; y++) for (int x = 0; x < 2048; x++) s += image[y][x]; return s; }
void transpose(void) { for (int i = 0; i < 512; i++) for (int j = 0; j < 512; j++) a[i][j] = b[j][i]; }
void near(void) { for (int j = 0; j < 16; j++) for (int i = 0; i < 16; i++) small[i][j] += 1; }
float unknown(int s) { float t = 0; for (int x = 0; x < 2048; x++) for (int y = 0; y < 2048; y++) t += image[0][(y * s + x) & 1023]; return t; }
"""), {"across": ["loop_order"], "along": [], "transpose": [], "near": [], "unknown": []})

    def test_filters_have_no_other_order(self):
        self.assertEqual(self.kinds("""
void rows(int *found) { for (int k = 0; k < 2048; k++) { int c = 0; for (int i = 0; i < 2048; i++) if (image[i][k] > 1) bodies[c++].mass = 1;
                                                        found[k] = c; } }
void all(void) { int c = 0; for (int k = 0; k < 500; k++) for (int i = 0; i < 200; i++) { bodies[c].mass = 1; c += image[k][i] > 1; } }
"""), {"rows": [], "all": []})

    def test_walks_that_use_little(self):
        found, _ = self.advise("""
float masses(void) { float s = 0; for (int i = 0; i < 100000; i++) s += bodies[i].mass; return s; }
float places(void) { float s = 0; for (int i = 0; i < 100000; i++) s += bodies[i].x * bodies[i].y * bodies[i].z * bodies[i].mass; return s; }
float dense(void) { float s = 0; for (int i = 0; i < 2048; i++) s += image[7][i]; return s; }
""")
        self.assertEqual([(a["kind"], a["name"]) for a in found["masses"]], [("stride", "bodies")])
        self.assertGreater(found["masses"][0]["saves_share"], found["places"][0]["saves_share"] if found["places"] else 0)
        self.assertEqual(found["dense"], [])

    def test_memory_traffic_gives_advice(self):
        self.assertEqual(self.kinds("""
int rounds(void) { int s = 0; for (int i = 0; i < 1000; i++) { void *p = malloc(100 + i); s += use(p, i); free(p); } return s; }
void keep(void **out) { for (int i = 0; i < 1000; i++) out[i] = malloc(i); }
int *grow(const int *x) { int *p = NULL; for (int i = 0; i < 500; i++) { p = realloc(p, (i + 1) * sizeof *p); p[i] = x[i]; } return p; }
char *twice(const char *x) { char *p = NULL; size_t room = 0; for (size_t i = 0; i < 500; i++) { if (i == room) p = realloc(p, room = room ? room * 2 : 16); p[i] = x[i]; } return p; }
"""), {"rounds": ["allocation"], "keep": [], "grow": ["growth"], "twice": []})

    def test_savings_never_exceed_the_total(self):
        """Only some iterations allocate, so the savings are less than the energy of the loop. Code that is
        inlined into several functions is reported once."""
        text = """
struct big { unsigned *p; unsigned n; };
static inline __attribute__((always_inline)) int grow(struct big *x, unsigned n)
{
    if (x->n >= n)
        return 0;
    unsigned *p = calloc(n, sizeof *p);
    if (!p)
        return -1;
    free(x->p);
    x->p = p;
    x->n = n;
    return 0;
}
int one(struct big *x, unsigned i, unsigned c) { while (c) { if (i >= x->n && grow(x, i + 1)) return -1; x->p[i] += c; c = x->p[i++] < c; } return 0; }
int two(struct big *x, unsigned i, unsigned c) { while (c) { if (i >= x->n && grow(x, i + 1)) return -1; x->p[i] -= c; c = x->p[i++] > c; } return 0; }
"""
        found, message = self.advise(text, "--energy-advice")
        for name in ("one", "two"):
            self.assertEqual([advice["kind"] for advice in found[name]], ["allocation"])
            self.assertLess(found[name][0]["saves_share"], 1)
        self.assertEqual(message.count("[JA0203]"), 1, message)

    def test_vectors_that_are_never_used(self):
        """The loop writes a row. The element that it reads in each iteration is in the same row, in another
        row, in a variable, or at a position that the caller chooses. Only the first case gives advice."""
        head = "int way[40][40], *row;\nint less(int a, int b) { return a < b ? a : b; }\n"
        loops = "void {0}({1}) {{ for (int k = 0; k < 40; k++) for (int i = 0; i < 40; i++) {{ {2} for (int j = 0; j < 40; j++) {3}; }} }}\n"
        found, _ = self.advise(head + loops.format("place", "void", "", "way[i][j] = less(way[i][j], way[i][k] + way[k][j])")
                               + loops.format("kept", "void", "int x = way[i][k];", "way[i][j] = less(way[i][j], x + way[k][j])")
                               + loops.format("other", "void", "", "way[i][j] = less(way[i][j], image[k][i] + way[k][j])")
                               + loops.format("passed", "int *x", "", "way[i][j] = less(way[i][j], x[0] + way[k][j])"))
        self.assertEqual({name: [(a["kind"], a["name"]) for a in advice] for name, advice in found.items()},
                         {"less": [], "place": [("overlap", "way")], "kept": [], "other": [], "passed": []})
        self.assertGreater(found["place"][0]["saves_share"], 0.3)

    def test_advice_is_printed_on_request_only(self):
        walk = "float f(void) { float s = 0; for (int x = 0; x < 2048; x++)\nfor (int y = 0; y < 2048; y++) s += image[y][x]; return s; }\n"
        self.assertNotIn("remark", self.advise(walk)[1])
        remark = r"a\.c:8:1: remark: this loop walks across the rows of image: interchange it with the loop in line 7; " \
                 r"saves about \d+ % of 'f', [\d.]+ [munp]?J \(modelled\) \[JA0201\]"
        self.assertRegex(self.advise(walk, "--energy-advice")[1], remark)
        self.assertRegex(self.advise('JOULE_BUDGET("max_joules=90J")\n' + walk.replace("float f", "float f", 1))[1].replace("a.c:9", "a.c:8")
                         .replace("line 8", "line 7"), remark)
        self.advise(walk + walk.replace("f(", "g("), "--energy-advice", "--energy-sarif", "log.sarif")
        results = json.loads(self.read("log.sarif"))["runs"][0]["results"]
        self.assertEqual([(r["ruleId"], r["level"]) for r in results], [("JA0201", "note")] * 2)
        self.assertEqual(len({json.dumps(r["partialFingerprints"]) for r in results}), 2)


if __name__ == "__main__":
    main()
