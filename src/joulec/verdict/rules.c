/* joulec/verdict/rules.c - table of the rules with their codes and texts, for SARIF and documentation.
 *
 * Note: a code never changes its meaning. findings.c writes the messages about one place.
 */
#include "joulec/verdict/findings.h"

static const struct rule_words rules[RULES] = {
    [RULE_JOULES] = {"JE0001", "EnergyBudget", "A call takes more joules than its budget.",
                     "The joules of a call exceed max_joules of the function's JOULE_BUDGET, or do so with a "
                     "probability of at least 50 %.",
                     "Reduce the work of the loop that the note names, bound it more tightly with "
                     "JOULE_LOOP(min, max) or JOULE_ASSUME(n <= ...) before it, or raise max_joules.",
                     true},
    [RULE_WATTS] =
        {"JE0002", "PowerBudget", "A call draws more watts than its budget.",
         "The mean power of one thread in the function exceeds max_watts of its JOULE_BUDGET, or does so "
         "with a probability of at least 50 %.",
         "Use fewer parts of the core at once (narrower vectors, fewer divisions), or raise max_watts.",
         true},
    [RULE_TEMPERATURE] = {"JE0003", "TemperatureBudget", "Calls warm the package more than their budget.",
                          "The rise of temperature exceeds max_temp_delta of the function's JOULE_BUDGET, or "
                          "does so with a probability of at least 50 %.",
                          "Pause between calls, reduce their work, or raise max_temp_delta.", true},
    [RULE_UNDECIDED] = {"JE0004", "UndecidedBudget", "It is undecided whether a budget is kept.",
                        "Some work of the function has no bound (a loop, a call of another file, recursion), "
                        "or the interval of the estimate contains the budget.",
                        "Bound what the notes name: write JOULE_LOOP(min, max) or JOULE_ASSUME(n <= ...) "
                        "before a loop, and JOULE_DEPTH(n) before a recursive function; or measure the call.",
                        false},
    [RULE_BAD_BUDGET] = {"JE0005", "MalformedBudget", "A budget is invalid.",
                         "The text of JOULE_BUDGET(\"...\") is not a list of limits with units.",
                         "Write it like JOULE_BUDGET(\"max_joules=50uJ,max_watts=12,max_temp_delta=2K\").",
                         true},
    [RULE_BAD_MARK] = {"JE0006", "MalformedBound",
                       "A JOULE_LOOP or JOULE_DEPTH is invalid, or is not before a loop.",
                       "A JOULE_LOOP does not have two whole numbers with 0 <= min <= max, or no loop "
                       "follows it; or a JOULE_DEPTH is not a whole number of at least 1.",
                       "Write JOULE_LOOP(min, max) with numbers, or macros for numbers, directly before "
                       "for, while or do, without a semicolon; and JOULE_DEPTH(n) before the function.",
                       true},
    [RULE_VACUOUS] = {"JW0103", "VacuousBudget", "A budget is so large that nothing can exceed it.",
                      "The limit is more than a thousand times what a call can take.",
                      "Lower the limit to what a call may take; max_temp_delta limits a single call "
                      "unless 'sustained' is added.",
                      false},
    [RULE_UNUSED_MARK] = {"JW0105", "UnusedLoopBound", "A JOULE_LOOP is ignored.",
                          "The code shows that the loop runs another number of times; or it is ambiguous "
                          "which of several loops is meant.",
                          "Correct the numbers, or write each loop on a line of its own.", false},
    [RULE_GPU_KERNEL] =
        {"JN0201", "GpuKernel", "A budget is for code of a GPU.",
         "joulec models CPU cores, not GPUs: it does not check functions with JOULE_GPU_KERNEL.",
         "Measure the function with joule run or JOULE_ENERGY_JSON=1.", false},
    [RULE_STALE] = {"JW0102", "StaleCalibration", "A calibration is old, or of another machine.",
                    "The calibration is more than 180 days old; or it is of another CPU or cannot be read, "
                    "and figures of the CPU family are used.",
                    "Run 'joule calibrate' on this machine.", false},
    [RULE_PROFILE] =
        {"JW0104", "StaleProfile", "A profile has no counts for the current version of a function.",
         "The function has changed since the profiled program was built, or the program does not contain it.",
         "Record the profile again: build with joulec --profile-generate, run the program, and pass the file "
         "that it writes to --profile-use=FILE.",
         false},
    [RULE_FOREIGN] = {"JW0106", "ForeignTarget",
                      "Code is for another architecture than that of this machine.",
                      "joulec models the core on which it runs. For code of another architecture, figures "
                      "are those of this core, and no budget is decided.",
                      "Check budgets on a machine that runs the code, or build for this machine.", false},
    [RULE_LEVEL] = {"JW0107", "LowerLevel", "Code is built with less optimization than joulec assumes.",
                    "Figures are for code at -O2. Code at -O0, which is the default, or at -O1 takes more, "
                    "often several times as much, so nothing is proved.",
                    "Check budgets with the options of the release build, -O2 or more.", false},
    [RULE_THREADS] = {"JN0202", "ThreadsAsOne", "OpenMP's threads are counted as one.",
                      "Joules are those of the work of all threads; seconds, watts and temperature are those "
                      "of one thread that does it alone. Starting threads, waiting, and work that each "
                      "thread repeats are not counted, so nothing is proved.",
                      "Measure the function with joule run or JOULE_ENERGY_JSON=1.", false},
    [RULE_GROWN] =
        {"JE0007", "EnergyRegression", "A call takes more joules than in a stored report.",
         "Compared with --energy-baseline, the joules of a call have grown by more than --energy-fail-over, "
         "or have done so with a probability of at least 50 %. Errors of the model that both figures share "
         "cancel.",
         "Undo what the notes name, or accept it and write the stored report again with --energy-report.",
         true},
    [RULE_GROWN_UNDECIDED] =
        {"JW0108", "UndecidedRegression", "A call may take more joules than in a stored report.",
         "The interval of the change contains --energy-fail-over; or only one of the two versions does "
         "something without a figure, such as calling a function of another file.",
         "Bound what the notes name, or measure both versions; then write the stored report again with "
         "--energy-report.",
         false},
    [RULE_OTHER_BASELINE] =
        {"JW0109", "OtherBaseline", "A stored report is from another build, or has no entry for this file.",
         "Options that change the code, or the release of joulec, differ from those of the stored report; or "
         "it has no entry for this file.",
         "Write the stored report again with --energy-report and the options of this build.", false},
    [RULE_LOOP_ORDER] =
        {"JA0201", "LoopOrder", "Nested loops walk across the layout of their data.",
         "The innermost loop advances by a cache line or more per iteration, and the loop around it by less: "
         "each iteration moves a line of which little is used before it is evicted.",
         "Interchange the two loops if the order of their iterations does not matter, or work on blocks that "
         "fit in a cache.",
         false},
    [RULE_STRIDE] = {"JA0202", "SparseWalk", "A loop uses little of each cache line.",
                     "Iterations advance by more bytes than they use, but whole cache lines are moved.",
                     "Store what the loop reads contiguously: an array for each member instead of an array "
                     "of structures.",
                     false},
    [RULE_ALLOCATION] =
        {"JA0203", "AllocationInLoop", "A loop allocates and frees memory in every iteration.",
         "The memory does not outlive the iteration.",
         "Allocate once before the loop, as much as the largest iteration needs, and free after it.", false},
    [RULE_GROWTH] =
        {"JA0204", "GrowthByConstant", "Memory grows by a constant in every iteration.",
         "realloc is called each time for a constant size more, and may copy everything each time.",
         "Double the size when it is full.", false},
    [RULE_OVERLAP] = {"JA0205", "VectorsNeverUsed",
                      "The vectorized version of a loop never runs, because the loop may write memory that "
                      "each iteration reads.",
                      "Clang inserts a check that the written memory does not overlap the memory that is "
                      "read. Here it always overlaps, so the scalar loop runs.",
                      "Read that memory into a variable before the loop, if no iteration changes it.", false},
};

const struct rule_words *rule_words(enum rule rule)
{
    return &rules[rule];
}
