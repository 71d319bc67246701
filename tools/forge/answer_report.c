/* tools/forge/answer_report.c - reports speed and energy of an answer; see answer.h. */
#include <math.h>
#include <stdio.h>
#include "answer.h"
#include "prediction.h"

double answer_prompt_rate(const struct answer *answer)
{
    const forge_engine_event *last = &answer->last;
    double count = (double)last->prompt_tokens - (double)last->cached_tokens;
    return count > 0 && last->prefill_seconds > 0 ? count / last->prefill_seconds : NAN;
}

double answer_rate(const struct answer *answer)
{
    const forge_engine_event *last = &answer->last;
    /* The first token belongs to the time of the prompt, so it is not counted. The end token takes a step,
     * too, so it is counted. */
    double steps = (double)last->answer_tokens - (last->end != FORGE_END_TOKEN);
    return steps > 0 && last->decode_seconds > 0 ? steps / last->decode_seconds : NAN;
}

joule_quantity answer_joules_per_token(const struct answer *answer)
{
    joule_quantity q = answer->last.joules;
    double count = answer->last.answer_tokens ? (double)answer->last.answer_tokens : NAN;
    return (joule_quantity){q.value / count, q.low / count, q.high / count, q.cls, 0};
}

static const char *rate_text(double rate, char out[40])
{
    if (isnan(rate))
        return "";
    string_print(out, 40, rate < 100 ? " (%.1f tokens/s)" : " (%.0f tokens/s)", rate);
    return out;
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

void answer_print_summary(const struct answer *answer)
{
    const forge_engine_event *last = &answer->last;
    joule_quantity each = answer_joules_per_token(answer);
    char prompt[40], rate[40], cached[40] = "", joules[QUANTITY_TEXT], per_token[QUANTITY_TEXT];
    if (last->cached_tokens)
        string_print(cached, sizeof cached, ", %u of them cached", last->cached_tokens);
    fprintf(stderr, "prompt %u token%s%s%s, answer %u token%s%s; ", last->prompt_tokens,
            plural(last->prompt_tokens), cached, rate_text(answer_prompt_rate(answer), prompt),
            last->answer_tokens, plural(last->answer_tokens), rate_text(answer_rate(answer), rate));
    if (isnan(last->joules.value))
        fputs("joules unknown\n", stderr);
    else if (isnan(each.value))
        fprintf(stderr, "%s, %s\n", quantity_text(last->joules, JOULE_DIMENSION_ENERGY, joules),
                joule_class_name(last->joules.cls));
    else
        fprintf(stderr, "%s, %s; %s per token of the answer\n",
                quantity_text(last->joules, JOULE_DIMENSION_ENERGY, joules),
                joule_class_name(last->joules.cls), quantity_text(each, JOULE_DIMENSION_ENERGY, per_token));
    if (last->end == FORGE_END_ENERGY)
        fputs("the answer ended because its energy reached --max-joules\n", stderr);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void energy_json(struct json *json, const struct answer *answer, const char *source)
{
    const forge_engine_event *last = &answer->last;
    bool is_known = !isnan(last->joules.value);
    json_open(json, "energy", '{');
    json_double(json, "joules", last->joules.value);
    json_double(json, "low", last->joules.low);
    json_double(json, "high", last->joules.high);
    json_string(json, "class", joule_class_name(is_known ? last->joules.cls : JOULE_CLASS_NONE));
    json_string(json, "source", is_known ? source : NULL);
    json_double(json, "prefill_joules", last->prefill_joules.value);
    json_double(json, "decode_joules", last->decode_joules.value);
    json_double(json, "joules_per_token", answer_joules_per_token(answer).value);
    json_double(json, "budget_joules", last->budget_joules > 0 ? last->budget_joules : NAN);
    json_string(json, "limited_by", last->end == FORGE_END_ENERGY ? "max_joules" : NULL);
    json_close(json, '}');
}

void answer_json(struct json *json, const struct answer *answer, const char *energy_source)
{
    const forge_engine_event *last = &answer->last;
    json_open(json, "usage", '{');
    json_integer(json, "prompt_tokens", last->prompt_tokens);
    json_integer(json, "cached_tokens", last->cached_tokens);
    json_integer(json, "answer_tokens", last->answer_tokens);
    json_close(json, '}');
    json_open(json, "timings", '{');
    json_double(json, "prefill_seconds", last->prefill_seconds);
    json_double(json, "decode_seconds", last->decode_seconds);
    json_double(json, "prompt_tokens_per_s", answer_prompt_rate(answer));
    json_double(json, "answer_tokens_per_s", answer_rate(answer));
    json_close(json, '}');
    energy_json(json, answer, energy_source);
}

const char *answer_end_name(const struct answer *answer)
{
    static const char *const names[] = {[FORGE_END_NONE] = "interrupted",
                                        [FORGE_END_TOKEN] = "end",
                                        [FORGE_END_LENGTH] = "length",
                                        [FORGE_END_CANCELLED] = "interrupted",
                                        [FORGE_END_ENERGY] = "energy"};
    return answer->has_stop ? "stop" : names[answer->last.end];
}
