"""Writes record files (docs/record-format.md) with chosen power and regions, for tests of programs that read records."""
import struct
import zlib

MODES = {"counter": 0, "power": 1, "gauge": 3}
BLOCK_POINTS = 20000


def text(string):
    data = string if isinstance(string, bytes) else string.encode()
    return struct.pack("<H", len(data)) + data


class RecordWriter:
    """Writes a record to `path`. Times are seconds since its begin. Use it in a with statement."""

    def __init__(self, path, program="test", period_s=0.001):
        self.file = open(path, "wb")
        self.begin_ns = 5_000_000_000
        self.channels = 0
        self.file.write(struct.pack("<8sII", b"JOULEREC", 1, 16))
        self.block(1, struct.pack("<qqd", self.begin_ns, 1_790_000_000_000_000_000, period_s) + text(program))

    def block(self, kind, payload):
        head = struct.pack("<III", kind, len(payload), zlib.crc32(payload))
        self.file.write(head + struct.pack("<I", zlib.crc32(head)) + payload)

    def channel(self, name, scope=1, device="cpu:0", cls=1, tick_s=0.001, zone=None):
        """Adds an energy counter. Returns its number. Scopes: 1 package, 4 DRAM, 6 GPU; classes: 1 measured, 3 modelled."""
        number = self.channels
        self.channels += 1
        numbers = struct.pack("<IIIIIIIiII", number, 0, scope, 1, 0, cls, 3 if scope == 6 else 2, 0, 0, 20)
        texts = (name, "", device, "rapl_powercap", "rapl", "intel", "Test CPU", "", "", zone or name, "")
        self.block(2, numbers + struct.pack("<dddd", tick_s, 0.01, tick_s, 1e-6) + b"".join(map(text, texts)))
        return number

    def points(self, number, points):
        """Adds points (seconds, joules, covered seconds), which ascend."""
        packer = struct.Struct("<qdddd")
        chunk = []
        for seconds, joules, covered_s in points:
            chunk.append(packer.pack(self.begin_ns + round(seconds * 1e9), joules, covered_s, 0, 0))
            if len(chunk) == BLOCK_POINTS:
                self.block(3, struct.pack("<II", number, len(chunk)) + b"".join(chunk))
                chunk = []
        if chunk:
            self.block(3, struct.pack("<II", number, len(chunk)) + b"".join(chunk))

    def region(self, begin_s, end_s, name, thread=0, flags=0):
        times = struct.pack("<QQII", self.begin_ns + round(begin_s * 1e9), self.begin_ns + round(end_s * 1e9), thread, flags)
        self.block(5, times + text(name))

    def end(self, seconds):
        self.block(6, struct.pack("<q", self.begin_ns + round(seconds * 1e9)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def steps(watts, period_s, gaps=()):
    """Yields the points of a sensor that reads the power of each period; periods in `gaps` are not covered."""
    joules = covered = 0.0
    yield 0.0, 0.0, 0.0
    for i, power in enumerate(watts):
        if i not in gaps:
            joules += power * period_s
            covered += period_s
        yield (i + 1) * period_s, joules, covered
