#!/usr/bin/env python3
"""Shows the energy of a training by layer and operation.

Draws digits of a small font with noise, writes them in the format of MNIST, and trains a network on them with
`forge train`. Needs only Python's standard library.
"""
import argparse
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

SIDE = 28
FONT = """
.###. ..#.. .###. ##### ...#. ##### .###. ##### .###. .###.
#...# .##.. #...# ....# ..##. #.... #.... ....# #...# #...#
#...# ..#.. ....# ...#. .#.#. ####. #.... ...#. #...# #...#
#...# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .####
#...# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ....#
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .###.
"""


def glyphs():
    """Returns ten digits of 5 by 7 pixels, as lists of (x, y)."""
    rows = [line.split() for line in FONT.strip().splitlines()]
    return [[(x, y) for y, row in enumerate(rows) for x, mark in enumerate(row[digit]) if mark == "#"]
            for digit in range(10)]


def draw(points, rng, noise):
    """Returns one image: a digit of 10 to 15 by 14 to 21 pixels at a random position, on noise."""
    start = rng.randrange(len(noise) - SIDE * SIDE)
    image = bytearray(noise[start:start + SIDE * SIDE])
    wide, high = rng.choice((2, 3)), rng.choice((2, 3))
    left, top, ink = rng.randrange(SIDE - 5 * wide + 1), rng.randrange(SIDE - 7 * high + 1), rng.randrange(150, 256)
    for x, y in points:
        for row in range(top + y * high, top + (y + 1) * high):
            begin = row * SIDE + left + x * wide
            image[begin:begin + wide] = bytes([ink]) * wide
    return image


def write_digits(folder, kind, count, seed):
    rng, shapes = random.Random(seed), glyphs()
    noise = bytes(max(0, int(rng.gauss(20, 30))) % 256 for _ in range(1 << 16))
    labels = [rng.randrange(10) for _ in range(count)]
    images = b"".join(draw(shapes[label], rng, noise) for label in labels)
    (folder / f"{kind}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, SIDE, SIDE) + images)
    (folder / f"{kind}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(labels))


def positive(text):
    """Returns a whole number above 0, for argparse."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forge", required=True, help="path of forge")
    parser.add_argument("--examples", type=positive, default=12000, help="number of training examples (12000)")
    parser.add_argument("--epochs", type=positive, default=6, help="number of epochs (6)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print(f"Drawing {options.examples} digits and training a network of two layers ...\n", flush=True)
        write_digits(folder, "train", options.examples, 1)
        write_digits(folder, "t10k", max(1, options.examples // 6), 2)
        command = [options.forge, "train", "--data", name, "--epochs", str(options.epochs)]
        try:
            return subprocess.run(command, check=False).returncode
        except OSError as error:
            print(f"demo: cannot run {options.forge}: {error.strerror}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
