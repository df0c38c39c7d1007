"""Generated pictures to train on, as PNG, by Python's own library: a bright square somewhere on a dark ramp."""
import random
import struct
import zlib

SIDE = 48
RAMP = [bytes(byte for x in range(SIDE) for byte in (x, y, x ^ y)) for y in range(SIDE)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, channels):
    """Of rows of bytes; 1 channel or 3."""
    header = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, 2 if channels == 3 else 0, 0, 0, 0)
    lines = zlib.compress(b"".join(b"\0" + row for row in rows), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


def drawn(number):
    """(picture, mask, whether the square is red) as PNG."""
    draw = random.Random(number)
    red, side = draw.random() < 0.5, draw.randint(12, 32)
    left, top = draw.randint(0, SIDE - side), draw.randint(0, SIDE - side)
    square = bytes((230, 60, 60) if red else (60, 60, 230)) * side
    picture, mask = [bytearray(row) for row in RAMP], [bytearray(SIDE) for _ in RAMP]
    for y in range(top, top + side):
        picture[y][3 * left:3 * (left + side)] = square
        mask[y][left:left + side] = b"\xff" * side
    return png(picture, 3), png(mask, 1), red


def write_classes(folder, count):
    """A folder for each of two classes."""
    for name in ("blue", "red"):
        (folder / name).mkdir(parents=True)
    for number in range(count):
        picture, _, red = drawn(number)
        (folder / ("red" if red else "blue") / f"{number:05}.png").write_bytes(picture)


def write_masked(folder, count):
    """Folders images and masks."""
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for number in range(count):
        picture, mask, _ = drawn(number)
        (folder / "images" / f"{number:05}.png").write_bytes(picture)
        (folder / "masks" / f"{number:05}.png").write_bytes(mask)
