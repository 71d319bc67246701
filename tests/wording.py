#!/usr/bin/env python3
"""Finds wording in comments, messages and pages that a newcomer would have to read twice.

usage: wording.py [FILE...]        default: the tracked files

Checks a list of words, the width of comments, and that every function in a public header has a comment. Prints
FILE:LINE: RULE: TEXT. Exit status: 0 nothing found, 1 something found, 2 wrong usage.
Note: no program can tell whether a sentence is clear. This one keeps known habits from coming back.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_COLUMNS = 110
TEXT = re.compile(r"\.(?:c|h|cpp|def|inc|py|sh|md|[1-8])$|^dev$")
LEFT_OUT = re.compile(r"^tests/(?:fixtures|fuzz/corpus)/|^tests/wording\.py$")
COMMENT_OR_STRING = re.compile(r"/\*|^\s*\*|//|\"")
STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
PUBLIC_FUNCTION = re.compile(r"^(?:JOULE|FORGE)_API\b.*\(")

# Rules for text: comments and strings of C files, every line of other files. Strings of tests are data.
WORDS = {
    "heading": r"\bNewcomers:|^\W*Owns\b",
    "clause as subject": r"(?:^|[.;:] |\* )(?:Who|Whoever|Whose|What) (?!is\b.*\?)[a-z][^?]{10,}",
    "fragment": r"(?:/\* |\* )(?:Of (?!course)[a-z]|As [a-z]+_[a-z]+ (?:but|for|of))",
    "phrase": r"\b(?:be it|anew|its like|its kin|in the way|nobody (?:can|has|is|may|else)|(?:is|are) told|tells? of|goes on|go on with|"
              r"so that who|what becomes of|that there (?:is|are)\b|(?:for|of) whom|as (?:many|much) as there (?:is|are)|"
              r"nothing to type|good to know|memory is used up|doomed)\b",
}
# Rules for names in C files.
NAMES = {
    "limit": r"(?<!AT)_MOST\b|\bMOST_[A-Z]|\bLEAST_[A-Z]|\bleast\(",
    "verb": r"\b\w+_look\(",
}


def tracked_files():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return listed.splitlines()


def wording_faults(line, is_c):
    """Yields the rules that one line of text breaks."""
    if not is_c or COMMENT_OR_STRING.search(line):
        yield from (rule for rule, pattern in WORDS.items() if re.search(pattern, line))
    if is_c:
        yield from (rule for rule, pattern in NAMES.items() if re.search(pattern, line))


def without_data(path, line):
    """Returns the line without strings if it is a test's: its strings are inputs and expected outputs."""
    is_text = not path.startswith("tests/") or path.endswith(".md") or line.lstrip().startswith(("#", "*", "/*"))
    return line if is_text else STRING.sub('""', line)


def faults_of(path, text):
    """Yields (line number, rule, line) for each fault of a file."""
    is_c = path.endswith((".c", ".h", ".cpp", ".def", ".inc"))
    # is_described: the current block of lines (up to a blank line) begins with a comment.
    in_comment = is_described = False
    for number, line in enumerate(text.splitlines(), 1):
        for rule in wording_faults(without_data(path, line), is_c):
            yield number, rule, line
        in_comment = is_c and (in_comment or "/*" in line)
        if in_comment and len(line) > MAX_COLUMNS:
            yield number, f"comment over {MAX_COLUMNS} columns", line
        if in_comment and "*/" in line[line.rfind("/*") + 2:]:
            in_comment = False
        is_described = line.startswith("/*") or (is_described and bool(line.strip()))
        if path.startswith("include/") and PUBLIC_FUNCTION.match(line) and not is_described:
            yield number, "function without comment", line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    paths = [path for path in parser.parse_args().files or tracked_files() if TEXT.search(path)]
    count = 0
    for path in paths:
        if LEFT_OUT.search(path):
            continue
        for number, rule, line in faults_of(path, (ROOT / path).read_text(encoding="utf-8", errors="replace")):
            print(f"{path}:{number}: {rule}: {line.strip()[:160]}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
