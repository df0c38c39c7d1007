"""What scripts may use: data, small and the same each time, and checks; of the standard library alone."""
import json
import os
import random
import re
import shutil
import struct
import xml.etree.ElementTree
import zlib
from pathlib import Path


def read(path):
    return Path(path).read_text()


def read_bytes(path):
    return Path(path).read_bytes()


def read_json(path):
    return json.loads(read(path))


def write(path, content):
    """Text or bytes; makes the folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content.encode() if isinstance(content, str) else content)


def well_formed(page):
    """Raises unless the page of HTML is XML, too."""
    xml.etree.ElementTree.fromstring(read(page).removeprefix("<!DOCTYPE html>"))


def edit(path, old, new):
    """Puts new in the place of old, which must be there."""
    text = read(path)
    assert old in text, old
    write(path, text.replace(old, new, 1))


def png(path, width, height, rows, kind="grey", bits=8, palette=b""):
    """PNG of the rows' bytes, which are of kind grey, rgb or palette."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    row_bytes = len(rows) // height
    lines = b"".join(b"\0" + rows[y * row_bytes:(y + 1) * row_bytes] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, bits, {"grey": 0, "rgb": 2, "palette": 3}[kind], 0, 0, 0)
    write(path, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + (chunk(b"PLTE", palette) if palette else b"") +
          chunk(b"IDAT", zlib.compress(lines, 1)) + chunk(b"IEND", b""))


def colours(path):
    """Those of a PNG of 8 bits red, green and blue."""
    content = read_bytes(path)
    width, height = struct.unpack(">II", content[16:24])
    data, at = b"", 8
    while at < len(content):
        size, kind = struct.unpack(">I4s", content[at:at + 8])
        data += content[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    rows, above, found = zlib.decompress(data), bytes(3 * width), set()
    for y in range(height):
        how, *row = rows[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
        for x in range(3 * width):
            left, corner = (row[x - 3], above[x - 3]) if x > 2 else (0, 0)
            guess = left + above[x] - corner
            nearest = min((left, above[x], corner), key=lambda one: abs(guess - one))
            row[x] = (row[x] + (0, left, above[x], (left + above[x]) // 2, nearest)[how]) % 256
        found.update(zip(row[0::3], row[1::3], row[2::3]))
        above = row
    return found


def grey_jpeg(path):
    """48 x 48 pixels of 100."""
    def segment(marker, content):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(content) + 2) + content

    bits = "10000111110" + "00" * 35 + "1111111"  # the first of 36 blocks, and no change from it
    write(path, b"\xff\xd8" + segment(0xdb, bytes([0]) + bytes([1] * 64)) +
          segment(0xc0, bytes([8, 0, 48, 0, 48, 1, 1, 0x11, 0])) + segment(0xc4, bytes([0x00, 1, 1, *[0] * 14, 0, 8])) +
          segment(0xc4, bytes([0x10, 1, *[0] * 15, 0])) + segment(0xda, bytes([1, 1, 0, 0, 63, 0])) +
          int(bits, 2).to_bytes(11, "big") + b"\xff\xd9")


def pictures(folder, count):
    """Pictures of different widths in the classes a and b: a/0.png, b/1.png and so on."""
    for i in range(int(count)):
        width = 60 + i
        png(f"{folder}/{'ab'[i % 2]}/{i}.png", width, 70, random.Random(i).randbytes(3 * width * 70), "rgb")


def square(path, inside, around=0, number=0, kind="grey"):
    """A square of one value on ground of another; it lies elsewhere for each number."""
    top, left = 8 + number % 8, 4 + number % 16
    values = bytes(int(inside) if top <= y < 24 + number % 8 and left <= x < 24 + number % 16 else around
                   for y in range(48) for x in range(48) for _ in range(3 if kind == "rgb" else 1))
    png(path, 48, 48, values, kind)


def squares(images, masks, count, inside):
    """Bright squares on dark ground, 0.png and so on, and their masks."""
    for i in range(int(count)):
        square(f"{images}/{i}.png", 220, 30, i, "rgb")
        square(f"{masks}/{i}.png", inside, 0, i)


def hdf5(path, groups):
    """HDF5 file of groups {"name": group or (shape, bytes)}; what it holds is uint8, contiguous."""
    at = 96
    parts = []

    def put(content):
        nonlocal at
        content += bytes(-len(content) % 8)
        parts.append(content)
        at += len(content)
        return at - len(content)

    def header(messages):
        body = b"".join(struct.pack("<HHB3x", kind, len(content) + -len(content) % 8, 0) + content +
                        bytes(-len(content) % 8) for kind, content in messages)
        return put(struct.pack("<BxHII4x", 1, len(messages), 1, len(body)) + body)

    def add(item):
        if isinstance(item, dict):
            links = [(6, struct.pack("<BBB", 1, 0, len(name)) + name.encode() + struct.pack("<Q", add(inner)))
                     for name, inner in item.items()]
            return header([(2, struct.pack("<BBQQ", 0, 0, 2**64 - 1, 2**64 - 1)), (10, bytes(2)), *links])
        shape, content = item
        return header([(1, struct.pack(f"<BBB5x{len(shape)}Q", 1, len(shape), 0, *shape)),
                       (3, struct.pack("<B3xIHH", 0x10, 1, 0, 8)), (5, struct.pack("<BBBB", 2, 2, 0, 0)),
                       (8, struct.pack("<BBQQ", 3, 1, put(content), len(content)))])

    root = add(groups)
    write(path, b"\x89HDF\r\n\x1a\n" + struct.pack("<8BHHIQQQQQQI4x16x", 0, 0, 0, 0, 0, 8, 8, 0, 4, 16, 0, 0,
                                                   2**64 - 1, at, 2**64 - 1, 0, root, 0) + b"".join(parts))


def glaucoma(path, train_rows, test_rows):
    """A file of the glaucoma job: maps of 16 x 16 whose brightness tells the class, classes in turn."""
    train, rows = int(train_rows), int(train_rows) + int(test_rows)
    maps = bytes(i % 5 * 50 + (i * 7 + k * 13) % 40 for i in range(rows) for k in range(256))
    names = ("rnfl_input", "cup_disc_input", "rim_input", "juxta_input", "sheath_input", "macular_input")
    hdf5(path, {"features": {name: ((rows, 16, 16), maps) for name in names},
                "labels": ((rows, 5), bytes(i % 5 == k for i in range(rows) for k in range(5))),
                "split": ((rows,), bytes(i >= train for i in range(rows)))})


def hostile(hex_file, path):
    """A damaged HDF5 file of tests/loaders/hostile."""
    size, *lines = read(hex_file).splitlines()[1:]
    content = bytearray(int(size.split()[0]))
    for offset, values in (line.split(": ") for line in lines):
        values = bytes.fromhex(values)
        content[int(offset, 16):int(offset, 16) + len(values)] = values
    write(path, bytes(content))


def run(folder, epochs=4, step_s=0.1, batch=32):
    """A run's folder that no training has made."""
    epochs, step_s, batch = int(epochs), float(step_s), int(batch)
    steps = [step_s * (3 if i == 0 else 1.02 if i % 2 == 0 else 0.98) for i in range(epochs)]
    write(f"{folder}/config.yaml", f"kind: glaucoma\nseed: 42\nmemory: {{limit: 10GiB}}\ntraining:\n  epochs: {epochs}\n"
          f"  batch: {batch}\naugment:\n  - {{flip: {{p: 0.5}}}}\n")
    write(f"{folder}/command.txt", "cd /data && headrace train job.yaml\n")
    write(f"{folder}/env.json", json.dumps({
        "written": "2026-11-27T10:00:00Z", "versions": {"headrace": "0.1.0"}, "kernel": {"host": "node-1"},
        "cpu": {"model": "fast", "cores": 8, "usable_cores": 4}, "pid": epochs}))
    write(f"{folder}/log.txt", "2026-11-27T10:00:00.100Z info run folder runs/x\n")
    write(f"{folder}/events.jsonl", "".join(json.dumps({"time": f"2026-11-27T{time}Z", "event": event, **facts}) + "\n"
                                            for time, event, facts in [
        ("10:00:00", "start", {"device": "cpu (auto: no GPU); 2 threads for LibTorch",
                               "memory": "memory 453 MiB of 10.0 GiB (configuration): data 157 MiB"}),
        *(("10:%02d:30" % i, "verdict", {"verdict": "highly input-bound", "bottleneck": "decode", "said":
           "highly input-bound (data stall 25 %): decode holds the loader back; 2 workers can do "
           f"3{i} samples/s, the consumer would take 500"}) for i in range(epochs)),
        ("11:00:00", "warning", {"said": "something is odd"}),
        ("11:00:01", "end", {"how": "done", "said": "figures and curves: results.csv in runs/x"})]))
    write(f"{folder}/metrics.csv",
          "member,epoch,step,train_loss,val_loss,val_accuracy,improved,learning_rate,steps,wall_s,data_wait_s,copy_s,"
          "compute_s,other_s,validation_s,epoch_s,data_stall_fraction,bottleneck,peak_memory_bytes,"
          "training_tensors_peak_bytes,training_process_bytes,evaluation_process_bytes\n" + "".join(
              f"0,{i},{100 * i + 100},{1 / (i + 1)},{1 / (i + 1) + 0.1},{0.8 - 0.1 / (i + 1)},1,0.001,100,{100 * s},"
              f"{25 * s},0,{75 * s},0,1.5,{100 * s + 2},0.25,decode,500000000,{100000000 + i},400000000,410000000\n"
              for i, s in enumerate(steps)))
    write(f"{folder}/metrics.jsonl", "".join(json.dumps({
        "member": 0, "epoch": i, "step": 100 * i + 50 * part, "loss": 1 / (i + part), "learning_rate": 0.001,
        "samples_per_s": batch / s}) + "\n" for i, s in enumerate(steps) for part in (1, 2)))
    write(f"{folder}/result.json", json.dumps({"members": [{
        "member": "fold 0", "selected_by": "accuracy", "best_epoch": epochs - 1,
        "validation": {"accuracy": 0.8, "loss": 0.3}, "test": {"accuracy": 0.75}}]}))
