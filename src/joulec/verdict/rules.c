/* joulec/verdict/rules.c - table of the rules with their codes and texts, for SARIF and documentation.
 *
 * Note: a code never changes its meaning. findings.c writes the messages about one place.
 */
#include "joulec/verdict/findings.h"

static const struct rule_words rules[RULES] = {
    [RULE_JOULES] = {"JE0001", "EnergyBudget", "A call takes more joules than its budget.",
                     "The joules that a call is expected to take are above max_joules of the function's "
                     "JOULE_BUDGET, or are more likely above it than not.",
                     "Let the loop that is named run less often or do less in it, bound it more tightly with "
                     "JOULE_LOOP(min, max) or JOULE_ASSUME(n <= ...) before it, or raise max_joules.",
                     true},
    [RULE_WATTS] = {"JE0002", "PowerBudget", "A call draws more watts than its budget.",
                    "The mean power of one thread while it is in the function is above max_watts of its "
                    "JOULE_BUDGET, or is more likely above it than not.",
                    "Use less of the core at a time (narrower vectors, fewer divisions), or raise max_watts.",
                    true},
    [RULE_TEMPERATURE] =
        {"JE0003", "TemperatureBudget", "Calls warm the package more than their budget.",
         "The rise of temperature is above max_temp_delta of the function's JOULE_BUDGET, or "
         "is more likely above it than not.",
         "Let calls pause, do less in them, or raise max_temp_delta.", true},
    [RULE_UNDECIDED] =
        {"JE0004", "UndecidedBudget", "Nobody can say whether a budget is kept.",
         "Something that the function does has no bound (a loop, a call that leads out of this "
         "file, a recursion), or the interval of the estimate lies on both sides of the budget.",
         "Bound what is named: JOULE_LOOP(min, max) or JOULE_ASSUME(n <= ...) before a loop, "
         "JOULE_DEPTH(n) before a function that calls itself; or measure it.",
         false},
    [RULE_BAD_BUDGET] = {"JE0005", "MalformedBudget", "The words of a budget cannot be read.",
                         "What stands in JOULE_BUDGET(\"...\") is not a list of limits with units.",
                         "Write it as in JOULE_BUDGET(\"max_joules=50uJ,max_watts=12,max_temp_delta=2K\").",
                         true},
    [RULE_BAD_MARK] =
        {"JE0006", "MalformedBound", "A JOULE_LOOP or JOULE_DEPTH cannot be read, or is of no loop.",
         "A JOULE_LOOP does not hold two whole numbers from 0, the first not above the second, or no "
         "loop follows it; or a JOULE_DEPTH is no whole number from 1.",
         "Write JOULE_LOOP(min, max) with numbers, or macros that are numbers, right before for, "
         "while or do, without a semicolon; and JOULE_DEPTH(n) before the function.",
         true},
    [RULE_VACUOUS] = {"JW0103", "VacuousBudget", "A budget is so large that nothing can exceed it.",
                      "The limit is more than a thousand times what a call can take.",
                      "Lower it to what the function may really take; max_temp_delta needs 'sustained' to be "
                      "about more than one call.",
                      false},
    [RULE_UNUSED_MARK] =
        {"JW0105", "UnusedLoopBound", "A JOULE_LOOP is not used.",
         "The loop runs another number of times, as its code alone shows; or it cannot be told "
         "which of the loops of a line is meant.",
         "Correct the numbers, or give each loop a line of its own.", false},
    [RULE_GPU_KERNEL] = {"JN0201", "GpuKernel", "A budget is one of a GPU.",
                         "joulec knows cores, not GPUs: it does not judge functions with JOULE_GPU_KERNEL.",
                         "Measure it: joule run, or JOULE_ENERGY_JSON=1.", false},
    [RULE_STALE] =
        {"JW0102", "StaleCalibration", "A calibration is old, or of another machine.",
         "Figures are of what was measured more than 180 days ago; or what was measured is of another "
         "CPU, or cannot be read, and figures are those of this CPU's family.",
         "Run 'joule calibrate' on this machine.", false},
    [RULE_PROFILE] =
        {"JW0104", "StaleProfile", "A profile has no counts of a function as it is now.",
         "The function has changed since the profiled program was built, or is not in it.",
         "Make the profile anew: build with joulec --profile-generate, run the program, and name "
         "what it wrote with --profile-use=FILE.",
         false},
    [RULE_FOREIGN] =
        {"JW0106", "ForeignTarget", "Code for another architecture than this machine's.",
         "joulec knows the core on which it runs. Figures of code that is built for another one are those of "
         "this core, and no budget is decided by them.",
         "Judge budgets where the code runs, or build for this machine to judge them.", false},
    [RULE_LEVEL] = {"JW0107", "LowerLevel", "Code is built with less optimisation than is counted.",
                    "Figures are of what clang makes at -O2. What it makes at -O0, which is the default, and "
                    "at -O1 takes more, "
                    "often several times as much; so nothing is proved.",
                    "Judge budgets with the options of the build that is used, -O2 or more.", false},
    [RULE_THREADS] =
        {"JN0202", "ThreadsAsOne", "OpenMP's threads are counted as one.",
         "Joules are those of the work that all threads do together; seconds, watts and warmth are "
         "those of one thread that does it alone. Starting threads, waiting for each other and work "
         "that each of them repeats are not counted, so nothing is proved.",
         "Measure it: joule run, or JOULE_ENERGY_JSON=1.", false},
    [RULE_GROWN] =
        {"JE0007", "EnergyRegression", "A call takes more joules than in a stored report.",
         "The joules that a call is expected to take have grown, against --energy-baseline, by more "
         "than --energy-fail-over accepts, or more likely so than not. Errors of the model that both "
         "figures share cancel.",
         "Undo what the notes name; or accept it: write the stored report again with "
         "--energy-report.",
         true},
    [RULE_GROWN_UNDECIDED] =
        {"JW0108", "UndecidedRegression", "A call may take more joules than in a stored report.",
         "The interval of the change has --energy-fail-over in it; or only one of the two versions does "
         "something that has no figure, such as calling a function of another file.",
         "Bound what is named, or measure both versions; then write the stored report again with "
         "--energy-report.",
         false},
    [RULE_OTHER_BASELINE] =
        {"JW0109", "OtherBaseline", "A stored report is of another build, or does not have the file.",
         "Options that decide the code, or the release of joulec, differ from those of the stored report; or "
         "it has no entry for this file.",
         "Write the stored report again with --energy-report and the options of this build.", false},
    [RULE_LOOP_ORDER] =
        {"JA0201", "LoopOrder", "Loops walk through data across its order.",
         "The innermost loop goes on by a cache line or more in each round, and the loop around it by "
         "less: each round moves a line of which little is used before it is gone.",
         "Let the two loops change places, if the order of their rounds does not matter; or work on "
         "blocks that stay in a cache.",
         false},
    [RULE_STRIDE] = {"JA0202", "SparseWalk", "A loop uses little of each cache line.",
                     "Rounds go on by more bytes than they use, and all of a line moves with each.",
                     "Keep what the loop reads side by side: an array for each member instead of an array of "
                     "structures.",
                     false},
    [RULE_ALLOCATION] =
        {"JA0203", "AllocationInLoop", "A loop allocates and frees memory in every round.",
         "The memory does not outlive the round.",
         "Allocate once before the loop, as much as the largest round needs, and free behind it.", false},
    [RULE_GROWTH] = {"JA0204", "GrowthByConstant", "Memory grows by a constant in every round.",
                     "realloc is called each time with a little more, and may copy all of it each time.",
                     "Double the size when it is full.", false},
    [RULE_OVERLAP] = {"JA0205", "VectorsNeverUsed",
                      "Vectors of a loop are never used, for it may write what it reads again in each round.",
                      "Before such a loop clang compares what is written with the place that is read; here "
                      "they always meet, and the loop "
                      "goes on by one at a time.",
                      "Read that place into a variable before the loop, if no round changes it.", false},
};

const struct rule_words *rule_words(enum rule rule)
{
    return &rules[rule];
}
