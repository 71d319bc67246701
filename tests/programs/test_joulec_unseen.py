#!/usr/bin/env python3
"""Checks that code that joulec cannot see never counts as zero: assembly, unknown LLVM intrinsics, and
functions that can be replaced.
"""
import re

from joulec_support import HEADER, INCLUDE, OneFile, main


class Unseen(OneFile):
    def check(self, text, *options):
        """Returns the report's functions, and the unknowns of each as (kind, name)."""
        found = self.functions(text, "-w", *options)
        for function in found.values():
            function["open"] = [(doubt["kind"], doubt["name"]) for doubt in function["doubts"]]
            self.assertEqual(function["interval_joules"][1] is None, bool(function["open"]), function["name"])
        return found

    def test_inline_assembly_is_reported_as_unknown(self):
        found = self.check('void busy(void) { __asm__ volatile("mov $1000000000, %%ecx\\n1: dec %%ecx\\njnz 1b" ::: "ecx", "cc"); }\n'
                           'int way(int x) { __asm__ goto("jmp %l0" :::: out); return x; out: return 2; }\n'
                           'int kept(int x) { __asm__ volatile("" ::: "memory"); __asm__ volatile("# here"); return x + 1; }\n')
        self.assertEqual(found["busy"]["open"], [("callee", "asm(mov $$1000000000, %ecx ...)")])
        self.assertEqual(len(found["way"]["open"]), 1)
        self.assertEqual(found["kept"]["open"], [])

    def test_assembly_of_a_whole_function(self):
        found = self.check('__attribute__((naked)) void bare(void) { __asm__ volatile("1: jmp 1b"); }\n')
        self.assertEqual(found["bare"]["open"], [("callee", "asm(1: jmp 1b)")])

    def test_all_of_the_mathematical_library(self):
        """Each function is called for float, double and long double, by name and as an LLVM intrinsic."""
        one = ("acos asin atan acosh asinh atanh cos sin tan cosh sinh tanh exp exp2 exp10 expm1 log log10 log1p log2 logb cbrt sqrt fabs erf "
               "erfc tgamma lgamma ceil floor nearbyint rint round trunc roundeven j0 j1 y0 y1").split()
        two = "pow fmod remainder copysign nextafter nexttoward fdim fmax fmin atan2 hypot".split()
        to_whole, with_whole = "lrint llrint lround llround ilogb".split(), "ldexp scalbn scalbln".split()
        of_complex = ("cexp clog csqrt csin ccos ctan csinh ccosh ctanh casin cacos catan casinh cacosh catanh cproj").split()
        text = "#include <math.h>\n#include <complex.h>\n"
        for end, number in (("", "double"), ("f", "float"), ("l", "long double")):
            text += "".join(f"{number} of_{f}{end}({number} x) {{ return {f}{end}(x); }}\n" for f in one)
            text += "".join(f"{number} of_{f}{end}({number} x, {number} y) {{ return {f}{end}(x, y); }}\n" for f in two)
            text += "".join(f"long of_{f}{end}({number} x) {{ return {f}{end}(x); }}\n" for f in to_whole)
            text += "".join(f"{number} of_{f}{end}({number} x, int n) {{ return {f}{end}(x, n); }}\n" for f in with_whole)
            text += "".join(f"{number} complex of_{f}{end}({number} complex x) {{ return {f}{end}(x); }}\n" for f in of_complex)
            text += (f"{number} of_pointers{end}({number} x, {number} y, int *n) {{ {number} a, b; sincos{end}(x, &a, &b); "
                     f"return frexp{end}(x, n) + modf{end}(y, &x) + lgamma{end}_r(x, n) + remquo{end}(a, b, n); }}\n"
                     f"{number} of_more{end}({number} x, {number} complex z) {{ return fma{end}(x, x, x) + jn{end}(3, x) + yn{end}(2, x) + "
                     f"cabs{end}(z) + isnan(x) + isinf(x) + fpclassify(x) + signbit(x); }}\n")
        for options in ([], ["-fno-math-errno"], ["-ffast-math"]):
            found = self.check(text, "-D_GNU_SOURCE", *options)
            self.assertEqual({name: function["open"] for name, function in found.items() if function["open"]}, {}, options)
            self.assertEqual(len(found), 3 * (len(one) + len(two) + len(to_whole) + len(with_whole) + len(of_complex) + 2))

    THREADS = """
extern int omp_get_thread_num(void);
{0}double dot(const double *a, const double *b)
{{
    double s = 0;
#pragma omp parallel for reduction(+:s) schedule(dynamic, 16)
    for (int i = 0; i < 100000; i++)
        s += a[i] * b[i];
    return s;
}}
void tasks(double *a)
{{
#pragma omp parallel
    {{
#pragma omp single
        for (int i = 0; i < 10; i++) {{
#pragma omp task
            a[i] = a[i] / 3;
        }}
#pragma omp critical
        a[omp_get_thread_num()]++;
    }}
}}
#ifdef _OPENMP
int only_with_openmp(int x) {{ return x; }}
#endif
"""

    def test_threads_of_openmp_count_for_the_function_that_has_them(self):
        plain = self.check(self.THREADS.format(""))
        found = self.check(self.THREADS.format(""), "-fopenmp")
        self.assertEqual(set(found), {"dot", "tasks", "only_with_openmp"})
        for name in plain:
            self.assertEqual(found[name]["open"], [], name)
            self.assertAlmostEqual(found[name]["energy_joules"] / plain[name]["energy_joules"], 1, delta=0.01)
        self.assertEqual((found["dot"]["loops"][0]["class"], found["dot"]["loops"][0]["iterations"][1]), ("exact", 100000))

    def test_notes_name_the_threads_of_openmp(self):
        for budget, code in (("100pJ", 1), ("10mJ", 0)):
            done = self.compile(self.THREADS.format(f'JOULE_BUDGET("max_joules={budget}") '), "--energy-check", "-fopenmp", "-w", "--energy-run=no")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn("note: OpenMP's threads are counted as one thread that does all the work", done.stderr)
            self.assertEqual("error: energy budget is exceeded in 'dot'" in done.stderr, code == 1)
        self.assertTrue(self.report(self.THREADS.format(""), "-fopenmp", "-w")["threads_as_one"])
        self.assertFalse(self.report("int f(int x) { return x; }", "-fopenmp", "-w")["threads_as_one"])
        self.assertFalse(self.report("#include <stdlib.h>\nint compare(int x) { return x; }", "-fopenmp", "-w")["threads_as_one"])
        self.assertFalse(self.report(self.THREADS.format(""), "-fopenmp", "-fno-openmp", "-w")["threads_as_one"])

    def test_directives_of_openmp_in_headers_and_macros(self):
        self.write("sum.h", "static inline double sum(const double *x) { double s = 0;\n#pragma omp parallel for reduction(+ : s)\n"
                            "for (int i = 0; i < 100000; i++) s += x[i]; return s; }\n")
        self.write("par.h", "#define TEXT(x) _Pragma(#x)\n#define PARALLEL TEXT(omp parallel for)\n")
        for text in ('#include "sum.h"\ndouble f(const double *x) { return sum(x); }\n',
                     '#include "par.h"\nvoid f(double *x) {\nPARALLEL\nfor (int i = 0; i < 1000; i++) x[i] += 1; }\n',
                     'void f(double *x) {\n_Pragma("omp parallel for")\nfor (int i = 0; i < 1000; i++) x[i] += 1; }\n'):
            self.assertTrue(self.report(text, "-fopenmp", "-w")["threads_as_one"], text)
            self.assertFalse(self.report(text, "-w")["threads_as_one"], text)

    def test_short_functions_with_openmp_are_stamped(self):
        """The cost of starting and joining threads is unknown. The functions therefore cannot be considered
        short."""
        text = 'JOULE_BUDGET("max_joules=1uJ") int f(int x)\n{\n#pragma omp parallel\n    x++;\n    return x;\n}\n'
        for options, is_stamped in (([], False), (["-fopenmp"], True)):
            done = self.joulec("-I", INCLUDE, "-O2", "-w", *options, "--energy-check", "-S", self.write("a.c", HEADER + text), "-o", "a.s")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(("joule_budget_scope_begin" in self.read("a.s"), "joule_budget_count" in self.read("a.s")), (is_stamped, not is_stamped))

    def test_inline_functions_that_are_not_inlined(self):
        """C99 inline functions, whose code is in another file, and GNU inline functions count like any other
        function."""
        prints = 'printf("%d %d\\n", s, n); s += x[i] * 7; ' * 48
        body = "{ int s = 0; for (int i = 0; i < 100; i++) { s += x[i] * n; if (s % 7 == 3) s ^= n; " + prints + "} return s; }\n"
        text = ("#include <stdio.h>\n{} int big(const int *x, int n) " + body +
                "int f(const int *x, int n) {{ return big(x, n) + big(x + 1, n) + big(x + 2, n + 7); }}\n")
        found = {kind: self.check(text.replace("{{", "{").replace("}}", "}").replace("{}", kind, 1), "-D_GNU_SOURCE")["f"]
                 for kind in ("static", "inline", "extern inline __attribute__((gnu_inline))")}
        for kind, f in found.items():
            self.assertEqual(f["open"], [], kind)
            self.assertAlmostEqual(f["energy_joules"] / found["static"]["energy_joules"], 1, delta=0.1, msg=kind)

    def test_mathematics_without_errors_is_the_same(self):
        text = ("#include <math.h>\n"
                "double waves(const double *x) { double s = 0; for (int i = 0; i < 1000; i++) s += sin(x[i]) + exp(x[i]); return s; }\n"
                "float short_ones(float x) { return cosf(x); }\nlong double wide(long double x) { return sinl(x); }\n")
        plain, found = self.check(text), self.check(text, "-fno-math-errno")
        self.assertAlmostEqual(found["waves"]["energy_joules"] / plain["waves"]["energy_joules"], 1, delta=0.05)
        self.assertEqual({name: function["open"] for name, function in found.items()},
                         {"waves": [], "short_ones": [], "wide": []})
        sum_of_two = self.check("float f(float x) { return x + x; }")["f"]["energy_joules"]
        self.assertGreater(found["short_ones"]["energy_joules"], 5 * sum_of_two)

    def test_functions_that_the_compiler_calls_of_itself(self):
        """These functions are for complex numbers and profilers. No source defines them, and no library is
        needed."""
        text = ("#include <complex.h>\ndouble complex both(double complex a, double complex b) { return a * b; }\n"
                "float complex part(float complex a, float complex b) { return a / b; }\nint one(int x) { return x + 1; }\n")
        plain, found = self.check(text), self.check(text, "-pg", "-ffreestanding")
        self.assertEqual([function["open"] for by in (plain, found) for function in by.values()], [[]] * 6)
        # Later versions insert the call after joulec has counted the code.
        if re.search(r"version 14\b", self.joulec("--version").stdout):
            self.assertGreater(found["one"]["energy_joules"], 5 * plain["one"]["energy_joules"])
        self.assertGreater(plain["part"]["energy_joules"], 2 * plain["both"]["energy_joules"])

    def test_instructions_that_look_like_calls(self):
        """LLVM intrinsics count as the instruction that they become."""
        ratio = "double ratio(double x, double y) { return x / y + y; }\n"
        plain = self.check(ratio)["ratio"]
        found = self.check("#pragma STDC FENV_ACCESS ON\n" + ratio +
                           "int sum(int x, int y) { int s; return __builtin_add_overflow(x, y, &s) ? 0 : s; }\n"
                           "int kept(int x) { return x; }\n"
                           "typedef int vector __attribute__((vector_size(32)));\nint all(vector x) { return __builtin_reduce_max(x); }\n"
                           "int hinted(int x) { __builtin_assume(x > 0); return __builtin_expect(x > 9, 0) ? x / 7 : x + 1; }\n")
        self.assertEqual({name: function["open"] for name, function in found.items()}, dict.fromkeys(found, []))
        self.assertEqual(found["ratio"]["energy_joules"], plain["energy_joules"])
        self.assertGreater(found["sum"]["energy_joules"], found["kept"]["energy_joules"])
        self.assertGreater(found["all"]["energy_joules"], found["sum"]["energy_joules"])

    def test_operation_without_instruction_is_a_library_call(self):
        """The first x86-64 processors have no instruction for rounding or fused multiply-add. Other machines
        have these instructions."""
        text = "#include <math.h>\ndouble down(double x) { return floor(x); }\ndouble both(double x) { return fma(x, x, x); }\n"
        old = self.check(text, "--target=x86_64-linux-gnu")
        new = self.check(text, "--target=x86_64-linux-gnu", "-msse4.1", "-mfma")
        for name in ("down", "both"):
            self.assertEqual(old[name]["open"], [])
            self.assertGreater(old[name]["energy_joules"], 2 * new[name]["energy_joules"])

    def test_unknown_intrinsic_is_reported(self):
        found = self.check("unsigned long long now(void) { return __builtin_readcyclecounter(); }\n")
        self.assertEqual(found["now"]["open"], [("callee", "llvm.readcyclecounter")])

    def test_replaceable_functions_are_unknown(self):
        """Weak functions and tables can be replaced, and with -fsemantic-interposition all exported symbols.
        Copies of one inline function cannot be replaced."""
        text = ("__attribute__((weak)) int light(int x) { return x + 1; }\nint calls(int x) { return light(x); }\n"
                "extern int (*const table[2])(int);\nstatic __attribute__((noinline)) int own(int x) { return x - 1; }\n"
                "__attribute__((weak)) int (*const table[2])(int) = {own, own};\n"
                "int through(int x) { return table[x & 1](x); }\nstatic int (*const fixed[2])(int) = {light, own};\n"
                "int one_of(int x) { return fixed[x & 1](x); }\nint shown(int x) { return own(x); }\n"
                "__attribute__((noinline)) int open_to_all(int x) { return own(x) * x; }\nint calls_it(int x) { return open_to_all(x); }\n")
        found = self.check(text)
        self.assertEqual(found["calls"]["open"], [("callee", "light")])
        self.assertEqual([found[name]["open"] for name in ("through", "one_of")], 2 * [[("pointer", None)]])
        self.assertEqual([found[name]["open"] for name in ("light", "shown", "calls_it")], [[], [], []])
        found = self.check(text, "-fPIC", "-fsemantic-interposition")
        self.assertEqual([found[name]["open"] for name in ("shown", "calls_it")], [[], [("callee", "open_to_all")]])

    def test_functions_of_another_type_in_a_table(self):
        """A function in a table may have been cast from another type, so all functions of the table are
        possible callees. A call through a member of a structure reaches only functions that are stored in
        this member."""
        text = ("static int light(int *p) { return *p; }\nstatic void costly(int *p) { for (int i = 0; i < 9999; i++) p[i] ^= i; }\n"
                "static int (*const cast[2])(int *) = {light, (int (*)(int *))costly};\n"
                "int through(int *p, int k) { return cast[k & 1](p); }\n"
                "static const struct { void (*fill)(int *); int (*get)(int *); } both[2] = {{costly, light}, {costly, light}};\n"
                "int member(int *p, int k) { return both[k & 1].get(p); }\n"
                'extern int other(int *) __attribute__((weak, alias("real")));\n__attribute__((noinline)) int real(int *p) { return *p; }\n'
                "static int (*const names[2])(int *) = {light, other};\nint by_name(int *p, int k) { return names[k & 1](p); }\n")
        found = self.check(text)
        self.assertEqual([found[name]["open"] for name in ("through", "member", "by_name")], [[], [], [("pointer", None)]])
        self.assertGreater(found["through"]["interval_joules"][1], 9999 * found["member"]["interval_joules"][0])
        self.assertLess(found["member"]["energy_joules"], found["through"]["energy_joules"] / 100)

    def test_a_name_of_the_librarys_that_is_not_its_function(self):
        text = ("extern int round(const char *, int);\nint own(int x) { return round(\"a\", x); }\n"
                "double sin(double);\ndouble wave(double x) { return sin(x); }\n"
                "int printf(const char *, ...);\nint says(int x) { return printf(\"%d\", x); }\n"
                "void *malloc(__SIZE_TYPE__);\nvoid *memory(__SIZE_TYPE__ n) { return malloc(n); }\n")
        found = self.check(text)
        self.assertEqual({name: function["open"] for name, function in found.items()},
                         {"own": [("callee", "round")], "wave": [], "says": [], "memory": []})
        named = {"own": "round", "wave": "sin", "says": "printf", "memory": "malloc"}
        for option in ("-ffreestanding", "-fno-builtin"):
            found = self.check(text, option)
            self.assertEqual({name: function["open"] for name, function in found.items()},
                             {name: [("callee", callee)] for name, callee in named.items()})
        found = self.check(text, "-fno-builtin-sin")
        self.assertEqual([found[name]["open"] for name in ("wave", "memory")], [[("callee", "sin")], []])

    def test_code_repeated_by_longjmp_is_unknown(self):
        found = self.check("#include <setjmp.h>\nstatic jmp_buf again;\nint work(int);\n"
                           "int tries(int n) { volatile int i = 0; setjmp(again); if (++i < n) longjmp(again, 1); return i; }\n"
                           "__attribute__((returns_twice, noinline)) int own(int x) { static int seen; return seen += x; }\n"
                           "int calls(int x) { return own(x); }\n"
                           "void jumps(void) { longjmp(again, 1); }\n")
        for name, callee in (("tries", "_setjmp"), ("calls", "own")):
            self.assertEqual(found[name]["open"], [("callee", f"{callee} (what a longjmp repeats is not seen)")])
        self.assertEqual(found["jumps"]["open"], [])


if __name__ == "__main__":
    main()
