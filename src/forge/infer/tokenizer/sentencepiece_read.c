/* infer/tokenizer/sentencepiece_read.c - reads models of SentencePiece: see tokenizer_read.h.
 *
 * A message of protocol buffers is a list of fields. A field is a varint, number << 3 | type, followed by a
 * value. Unknown fields are skipped.
 * Note: the text on each side of a user-defined token is converted separately, with a space before it.
 * SentencePiece adds no space there. */
#include <string.h>
#include "base/error.h"
#include "forge/core/random_access_file.h"
#include "forge/infer/tokenizer/tokenizer_read.h"

enum { MAX_FILE = 256 << 20 };                                      /* bytes */
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 }; /* types of values */
enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };                          /* TrainerSpec.model_type */

/* --- messages ------------------------------------------------------------------------------------------- */

/* The part of a message that was not read yet. */
struct message {
    const char *at, *end;
};

/* One field. `number`: a varint, or the bits of a 32- or 64-bit value. */
struct field {
    uint64_t id, type, number;
    struct bytes bytes;
};

static bool read_varint(struct message *message, uint64_t *out_value)
{
    *out_value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        uint8_t byte = (uint8_t)*message->at++;
        *out_value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* Reads the next field. Returns false if the message is damaged. The message must have bytes left. */
static bool read_field(struct message *message, struct field *out)
{
    uint64_t tag;
    *out = (struct field){0};
    if (!read_varint(message, &tag))
        return false;
    out->id = tag >> 3;
    out->type = tag & 7;
    if (out->type == WIRE_VARINT)
        return read_varint(message, &out->number);
    uint64_t size = out->type == WIRE_64 ? 8 : 4;
    if (out->type == WIRE_BYTES ? !read_varint(message, &size) : out->type != WIRE_64 && out->type != WIRE_32)
        return false;
    if (size > (uint64_t)(message->end - message->at))
        return false;
    if (out->type == WIRE_BYTES)
        out->bytes = (struct bytes){message->at, size};
    else
        memcpy(&out->number, message->at, size);
    message->at += size;
    return true;
}

static struct message message_of(struct bytes bytes)
{
    return (struct message){bytes.data, bytes.data + bytes.size};
}

/* --- ModelProto ----------------------------------------------------------------------------------------- */

struct model {
    struct vocabulary *vocabulary;
    uint64_t kind;
    bool has_suffix_spaces;
    int64_t bos, eos, padding; /* ids in TrainerSpec */
};

static bool read_piece(struct vocabulary *v, struct bytes bytes)
{
    struct message message = message_of(bytes);
    struct field field;
    size_t i = v->count++;
    v->types[i] = TOKEN_NORMAL;
    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        if (field.id == 1 && field.type == WIRE_BYTES)
            v->tokens[i] = field.bytes;
        else if (field.id == 2 && field.type == WIRE_32)
            memcpy(&v->scores[i], &field.number, sizeof v->scores[i]);
        else if (field.id == 3 && field.type == WIRE_VARINT)
            v->types[i] = field.number <= TOKEN_BYTE ? (uint8_t)field.number : 0;
    }
    if (v->types[i] == TOKEN_UNKNOWN && v->unknown < 0)
        v->unknown = (int32_t)i;
    return true;
}

static bool read_trainer(struct model *model, struct bytes bytes)
{
    struct message message = message_of(bytes);
    struct field field;
    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        if (field.type != WIRE_VARINT)
            continue;
        if (field.id == 3)
            model->kind = field.number;
        else if (field.id == 24)
            model->has_suffix_spaces = field.number != 0;
        else if (field.id == 41)
            model->bos = (int64_t)field.number;
        else if (field.id == 42)
            model->eos = (int64_t)field.number;
        else if (field.id == 43)
            model->padding = (int64_t)field.number;
    }
    return true;
}

static bool read_normalizer(struct vocabulary *v, struct bytes bytes)
{
    struct message message = message_of(bytes);
    struct field field;
    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        if (field.id == 2 && field.type == WIRE_BYTES)
            v->charsmap = field.bytes;
        else if (field.id == 3 && field.type == WIRE_VARINT)
            v->adds_space_prefix = field.number != 0;
        else if (field.id == 4 && field.type == WIRE_VARINT)
            v->removes_extra_spaces = field.number != 0;
    }
    return true;
}

/* Counts the pieces. Returns false if the file is damaged. */
static bool count_pieces(struct bytes bytes, size_t *out_count)
{
    struct message message = message_of(bytes);
    struct field field;
    *out_count = 0;
    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        *out_count += field.id == 1 && field.type == WIRE_BYTES;
    }
    return true;
}

static bool read_model(struct model *model, struct bytes bytes)
{
    struct message message = message_of(bytes);
    struct field field;
    while (message.at < message.end) {
        if (!read_field(&message, &field))
            return false;
        if (field.type != WIRE_BYTES)
            continue;
        if ((field.id == 1 && !read_piece(model->vocabulary, field.bytes)) ||
            (field.id == 2 && !read_trainer(model, field.bytes)) ||
            (field.id == 3 && !read_normalizer(model->vocabulary, field.bytes)))
            return false;
    }
    return true;
}

/* Returns `id` if it is the number of a control token, else -1. */
static int32_t control_token(const struct vocabulary *v, int64_t id)
{
    return id >= 0 && (uint64_t)id < v->count && v->types[id] == TOKEN_CONTROL ? (int32_t)id : -1;
}

static joule_status finish(const struct model *model, const char *path, joule_error *error)
{
    struct vocabulary *v = model->vocabulary;
    if (model->kind != MODEL_UNIGRAM && model->kind != MODEL_BPE)
        return error_set(error, JOULE_UNSUPPORTED,
                         "cannot read %s: model_type %llu is not supported, only 1 (unigram) and 2 (BPE)",
                         path, (unsigned long long)model->kind);
    if (model->has_suffix_spaces)
        return error_set(error, JOULE_UNSUPPORTED,
                         "cannot read %s: treat_whitespace_as_suffix is not supported", path);
    v->kind = model->kind == MODEL_BPE ? VOCABULARY_SPM : VOCABULARY_UNIGRAM;
    v->bos = control_token(v, model->bos);
    v->eos = control_token(v, model->eos);
    v->padding = control_token(v, model->padding);
    v->adds_bos = v->kind == VOCABULARY_SPM && v->bos >= 0;
    v->adds_eos = v->kind == VOCABULARY_UNIGRAM && v->eos >= 0;
    return JOULE_OK;
}

joule_status sentencepiece_read(struct arena *arena, struct vocabulary *vocabulary, const char *path,
                                joule_error *out_error)
{
    struct model model = {.vocabulary = vocabulary, .kind = MODEL_UNIGRAM, .bos = 1, .eos = 2, .padding = -1};
    char *data;
    size_t size, count;
    joule_status status = file_read_all(path, MAX_FILE, arena, &data, &size, out_error);
    if (status != JOULE_OK)
        return status;
    struct bytes bytes = {data, size};
    if (!count_pieces(bytes, &count))
        return error_set(out_error, JOULE_INVALID, "cannot read %s: damaged, or not a model of SentencePiece",
                         path);
    if (count == 0 || count > INT32_MAX)
        return error_set(out_error, JOULE_INVALID, "cannot read %s: the model has %zu pieces, not 1 to %d",
                         path, count, INT32_MAX);
    *vocabulary = (struct vocabulary){.tokens = arena_alloc(arena, count * sizeof *vocabulary->tokens),
                                      .scores = arena_alloc(arena, count * sizeof *vocabulary->scores),
                                      .types = arena_alloc(arena, count),
                                      .eot = -1,
                                      .unknown = -1,
                                      .adds_space_prefix = true,
                                      .removes_extra_spaces = true};
    if (!vocabulary->tokens || !vocabulary->scores || !vocabulary->types)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
    if (!read_model(&model, bytes))
        return error_set(out_error, JOULE_INVALID,
                         "cannot read %s: piece, trainer_spec or normalizer_spec is "
                         "damaged",
                         path);
    return finish(&model, path, out_error);
}
