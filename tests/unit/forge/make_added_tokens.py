#!/usr/bin/env python3
"""Writes added_tokens_expected.h: tokens that the package tokenizers finds in texts with added tokens.

Usage: make_added_tokens.py > added_tokens_expected.h

Needs the package tokenizers, which the tests do not need.
"""
import itertools
import json
import random
import textwrap

import tokenizers

MARK = "\u2581"
PIECES = ["a", "b", " ", "  ", "\n", "\t ", "_", "é", "\u00a0", "foo", "o", "<l>", "<r>", "<b>", "<w>", "<n>", "<m>",
          "ab", MARK, "<", "中", " a", " foo ", "b<n", " <l> ", "<u>", "x"]
TEXTS = ["", " ", "a  <l> a", "a <r>  a", "a<w>a", "a <w> a", "<w>", "é<w>", "_<w> <w>_", "中<w> <w>\n", "a\n <b>\n a",
         "a <r>  <l> a", "<b> <b>", "a \u00a0<l>", "ab", " ab b", "<r>\u0085a", "<r>\u2003<l>", "foo", "a foo", "afoo",
         "foo<l>foo foo", "<n>a <n>", "a<n> a", "b<n>", "<n>" + MARK + "a", MARK + "<l>" + MARK, "<u>  <u>", "a<m>b <m> <m>",
         "foofoo foo_ foo", "<w><w>", "<w> <l><w>", "<r><w> x<w>"]


RANDOM_TEXTS = 24
BYTES = sorted(set("".join(PIECES + TEXTS).encode()))


def random_texts(seed):
    chance = random.Random(seed)
    while True:
        yield "".join(chance.choice(PIECES) for _ in range(chance.randint(2, 9)))


def token(content, **rules):
    return dict(dict(content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True),
                **rules)


ADDED = [token("<l>", lstrip=True), token("<r>", rstrip=True), token("<b>", lstrip=True, rstrip=True),
         token("<w>", single_word=True), token("<n>", normalized=True), token("<u>", special=False),
         token("<m>", normalized=True, lstrip=True, rstrip=True, single_word=True, special=False),
         token("foo", normalized=True, special=False)]
SPACES = [token(" ", lstrip=True, special=False), token("  ", rstrip=True, special=False),
          token("\n", lstrip=True, rstrip=True, special=False), token("b<n", special=False),
          token("<n>", normalized=True, lstrip=True), token("foo", single_word=True, special=False),
          token("a", normalized=True, single_word=True, rstrip=True, special=False)]


# --- files -------------------------------------------------------------------------------------------------------

def file(model, added, normalizer, pre_tokenizer):
    """Returns a tokenizer.json. Added tokens that are not in the vocabulary get the next free numbers."""
    vocab = model["vocab"]
    known = {item[0]: i for i, item in enumerate(vocab)} if isinstance(vocab, list) else dict(vocab)
    tokens = []
    for item in added:
        known.setdefault(item["content"], len(known))
        tokens.append(dict(id=known[item["content"]], **item))
    return dict(version="1.0", added_tokens=tokens, normalizer=normalizer, pre_tokenizer=pre_tokenizer,
                post_processor=None, decoder=None, model=model)


def bpe(merges, byte_fallback, names):
    vocab = {}
    for name in names + [left + right for left, right in merges]:
        vocab.setdefault(name, len(vocab))
    return dict(type="BPE", dropout=None, unk_token="<unk>" if byte_fallback else None, continuing_subword_prefix=None,
                end_of_word_suffix=None, fuse_unk=byte_fallback, byte_fallback=byte_fallback, ignore_merges=False,
                vocab=vocab, merges=merges)


def byte_level(added):
    others = [byte for byte in range(256) if not (33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte)]
    every = [chr(256 + others.index(byte) if byte in others else byte) for byte in BYTES]
    merges = [("a", "b"), ("Ġ", "a"), ("f", "o"), ("fo", "o"), ("Ġ", "Ġ")]
    pre = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    return file(bpe(merges, False, every), added, None, pre)


def sentencepiece(added, normalizer, pre_tokenizer):
    names = ["<unk>"] + [f"<0x{byte:02X}>" for byte in BYTES] + [MARK] + list("abfox<>lrnw_")
    merges = [("a", "b"), (MARK, "a"), ("f", "o"), ("fo", "o"), (MARK, "foo"), (MARK, MARK)]
    return file(bpe(merges, True, names), added, normalizer, pre_tokenizer)


def unigram(added, normalizer, pre_tokenizer):
    vocab = [["<unk>", 0.0], [MARK, -2.5]] + [[c, -3.25 - i / 8] for i, c in enumerate("abfox<>lrnw_é\n")]
    vocab += [["ab", -4.5], ["foo", -5.0], [MARK + "a", -4.25], [MARK + "foo", -6.5]]
    model = dict(type="Unigram", unk_id=0, vocab=vocab, byte_fallback=False)
    return file(model, added, normalizer, pre_tokenizer)


REPLACE = dict(type="Replace", pattern=dict(String=" "), content=MARK)
PREPEND = dict(type="Prepend", prepend=MARK)


def steps(*normalizers):
    return dict(type="Sequence", normalizers=list(normalizers))


def metaspace(scheme, split=False):
    return dict(type="Metaspace", replacement=MARK, prepend_scheme=scheme, split=split)


CASES = [
    ("byte-level BPE", byte_level(ADDED)),
    ("byte-level BPE with spaces as tokens", byte_level(SPACES)),
    ("Llama 2", sentencepiece(ADDED, steps(PREPEND, REPLACE), None)),
    ("Llama 2 with spaces as tokens", sentencepiece(SPACES, steps(PREPEND, REPLACE), None)),
    ("Gemma", sentencepiece(ADDED, REPLACE, dict(type="Split", pattern=dict(String=" "), behavior="MergedWithPrevious",
                                                 invert=False))),
    ("Metaspace always", sentencepiece(ADDED, None, metaspace("always"))),
    ("Metaspace first", sentencepiece(ADDED, None, metaspace("first"))),
    ("Metaspace never", sentencepiece(SPACES, None, metaspace("never"))),
    ("unigram", unigram(ADDED, None, metaspace("always", True))),
    ("unigram with words", unigram(ADDED, None, dict(type="Sequence", pretokenizers=[
        dict(type="WhitespaceSplit"), metaspace("always", True)]))),
]


# --- output ------------------------------------------------------------------------------------------------------

def quoted(text):
    """Returns a literal of C."""
    out = ""
    for byte in text.encode():
        char = chr(byte)
        out += "\\" + char if char in "\"\\" else char if " " <= char <= "~" else f"\\{byte:03o}"
    return f'"{out}"'


def quoted_lines(text):
    parts = [""]
    for char in text:
        if len(quoted(parts[-1] + char)) > 105:
            parts.append("")
        parts[-1] += char
    return "\n".join("     " + quoted(part) for part in parts)


def lines(items, indent):
    """Returns the items in lines of at most 110 columns. A long item has its tokens in lines of their own."""
    out = [indent]
    for item in items:
        if len(out[-1] + item) > 108 and out[-1] != indent:
            out.append(indent)
        if len(out[-1] + item) > 108:
            text, numbers = item.rsplit(", {", 1)
            wrapped = textwrap.wrap("{" + numbers + ",", 108 - len(indent))
            out += [indent + " " + line for line in wrapped] + [indent]
            out[-len(wrapped) - 2] += text + ","
        else:
            out[-1] += item + ", "
    return "\n".join(line.rstrip() for line in out if line != indent)


def encode(tokenizer, text):
    """Returns the tokens of a text, or None: the package fails if tokens include the same white space."""
    try:
        return tokenizer.encode(text, add_special_tokens=False).ids
    except BaseException as error:
        if "PanicException" not in repr(type(error)):
            raise
        return None


def print_case(seed, name, tree):
    text = json.dumps(tree, ensure_ascii=False, separators=(",", ":"))
    tokenizer = tokenizers.Tokenizer.from_str(text)
    samples, has_words = [], "WhitespaceSplit" in text
    for sample in itertools.chain(TEXTS, random_texts(seed)):
        ids = encode(tokenizer, sample)
        # Files with words usually have a normalizer that leaves spaces as the only white space.
        if ids is not None and not (has_words and set(sample) & set("\n\t\u0085\u00a0\u2003" + MARK)):
            samples.append((sample, ids))
        if len(samples) == len(TEXTS) + RANDOM_TEXTS:
            break
    print(f"    {{\"{name}\",\n{quoted_lines(text)},\n     {{")
    print(lines((f"{{{quoted(sample)}, {len(ids)}, {{{', '.join(map(str, ids or [0]))}}}}}" for sample, ids in samples),
                "         "))
    print("     }},")


def main():
    print("/* added_tokens_expected.h - tokens of texts with added tokens, found by the package tokenizers "
          f"{tokenizers.__version__}.\n * Written by make_added_tokens.py; do not edit. */")
    print("/* clang-format off */")
    print(f"enum {{ TEXTS = {len(TEXTS) + RANDOM_TEXTS} }};")
    print("static const struct added_case {\n    const char *name, *file;\n    struct {\n        const char *text;\n"
          "        size_t count;\n        int32_t tokens[64];\n    } texts[TEXTS];\n} cases[] = {")
    for seed, (name, tree) in enumerate(CASES):
        print_case(seed, name, tree)
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
