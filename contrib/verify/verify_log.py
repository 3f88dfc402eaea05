#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
"""Verifies an audit log of agent-supervisor without any part of agent-supervisor.

Exit: 0 good and covered by the given checkpoint, 1 tampered with or damaged, 2 good but its end rests on the
word of the machine that wrote it, 3 cannot be read. Formats: audit-log/FORMAT.md. Needs the standard library
and, for Ed25519, python3-cryptography or the openssl command."""
import argparse, base64, hashlib, json, subprocess, sys, tempfile
from pathlib import Path
try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None
DASH = "\u2014".encode()
EPOCH_USEC, EPOCH_RECORDS, CREATION_RECORDS = 25 * 3600 * 1000000, 100064, 16

class Bad(Exception):
    """Tampered with or damaged."""
sha = lambda data: hashlib.sha256(data).digest()
key_id = lambda name, pk: sha(name + b"\n\x01" + pk)[:4]
def ed25519(pk, signature, text):
    if Ed25519PublicKey:
        try:
            return Ed25519PublicKey.from_public_bytes(pk).verify(signature, text) is None
        except InvalidSignature:
            return False
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder, name) for name in ("key", "sig", "text")]
        for name, data in zip(names, (bytes.fromhex("302a300506032b6570032100") + pk, signature, text)):
            name.write_bytes(data)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", names[0], "-rawin",
                   "-sigfile", names[1], "-in", names[2]]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
def b64(text):
    raw = base64.b64decode(text, validate=True)
    if base64.b64encode(raw) != text:
        raise ValueError("base64 in a second spelling")
    return raw
def parse_vkey(text):
    name, ident, key = text.encode().split(b"+", 2)
    raw = b64(key)
    if len(raw) != 33 or raw[0] != 1 or key_id(name, raw[1:]).hex().encode() != ident:
        raise ValueError("not a verifier key")
    return name, raw[1:]
def parse_note(data):
    """A signed checkpoint: text, origin, size, root, [(key name, key id, signature)]."""
    try:
        text, lines = data.rsplit(b"\n\n", 1)
        origin, size, root = text.split(b"\n")[:3]
        sigs = [line.split(b" ") for line in lines.split(b"\n")[:-1]]
        data.decode()
        if lines[-1:] != b"\n" or str(int(size)).encode() != size or any(sig[0] != DASH for sig in sigs):
            raise ValueError
        return text + b"\n", origin, int(size), b64(root), [(n, b64(s)[:4], b64(s)[4:]) for _, n, s in sigs]
    except ValueError as error:
        raise Bad("a checkpoint cannot be read") from error
def split_notes(data):
    """The notes of "checkpoints": text, an empty line, signature lines."""
    note, signing = b"", False
    for line in data.splitlines(keepends=True):
        if signing and not line.startswith(DASH):
            yield note
            note, signing = b"", False
        signing = signing or line == b"\n"
        note += line
    yield from [note] if note else []

class Tree:
    """RFC 6962: the perfect subtrees at the right edge, and the C2SP tiles that fill up."""
    def __init__(self, full_tile):
        self.size, self.edge, self.tiles, self.full_tile = 0, [], {}, full_tile
    def append(self, leaf):
        height, node = 0, sha(b"\0" + leaf)
        self.add_to_tile(0, node)
        while self.size >> height & 1:
            node, height = sha(b"\1" + self.edge.pop() + node), height + 1
            if height % 8 == 0:
                self.add_to_tile(height // 8, node)
        self.edge.append(node)
        self.size += 1
    def add_to_tile(self, level, node):
        hashes = self.tiles.setdefault(level, [0])
        hashes.append(node)
        if len(hashes) == 257:
            self.full_tile(level, hashes[0], b"".join(hashes[1:]))
            self.tiles[level] = [hashes[0] + 1]
    def root(self):
        node = self.edge[-1]
        for left in reversed(self.edge[:-1]):
            node = sha(b"\1" + left + node)
        return node

class Verifier:
    def __init__(self, folder, vkey, outside):
        self.folder, self.tree, self.epoch, self.noted, self.keys = folder, Tree(self.check_tile), 0, 0, []
        if not (folder / "seg").is_dir() and not (folder / "checkpoint").exists():
            raise OSError("there is no log in %s" % folder)
        try:
            self.origin = json.loads(self.read("origin"))
            self.name, self.pk = parse_vkey(self.origin["vkeys"][0])
            history, last = list(split_notes(self.read("checkpoints"))), self.read("checkpoint")
        except (ValueError, KeyError, TypeError, IndexError, FileNotFoundError) as error:
            raise Bad("origin, checkpoint or checkpoints is missing or damaged") from error
        if self.name.decode() != self.origin["origin"] or vkey not in (None, (self.name, self.pk)):
            raise Bad("this log is signed by another key")
        if history and len(history[-1]) < len(last) and last.startswith(history[-1]):
            history.pop()  # cut while it was appended
        self.size = self.own(last)[2]
        self.outside = self.own(outside) if outside else None
        self.stops = [(parse_note(note)[2], note) for note in history] + [(self.size, last)]
        if self.stops != sorted(self.stops, key=lambda stop: stop[0]) or self.stops[0][0] > CREATION_RECORDS:
            raise Bad("the log was set back, or its history is damaged")
        if self.outside and self.outside[2] > self.size:
            raise Bad("the log was cut: %d records, once %d" % (self.size, self.outside[2]))
    def read(self, name):
        return (self.folder / name).read_bytes()
    def signed(self, note, pk):
        mine = [sig for name, ident, sig in note[4] if (name, ident) == (self.name, key_id(self.name, pk))]
        return bool(mine) and all(len(sig) == 64 and ed25519(pk, sig, note[0]) for sig in mine)
    def own(self, data):
        note = parse_note(data)
        if note[1] != self.name or not self.signed(note, self.pk):
            raise Bad("a checkpoint is not of this log")
        return note
    def check_note(self, data):
        note = self.own(data)
        if note[3] != self.tree.root():
            raise Bad("the records before %d do not match the checkpoint" % note[2])
        there = {(name, ident) for name, ident, _ in note[4]}
        named = [pk for pk in self.keys if (self.name, key_id(self.name, pk)) in there]
        needed = self.keys[:2 if self.epoch != self.noted else 1]
        if not self.epoch or self.epoch > self.noted + 1 or len(there) != len(named) + 1 or not all(
                self.signed(note, pk) for pk in needed + named):
            raise Bad("the checkpoint of %d records lacks a signature or has a false one" % note[2])
        self.noted = self.epoch
    def check_tile(self, level, number, data):
        digits = str(number).zfill((len(str(number)) + 2) // 3 * 3)
        groups = ["x" + digits[i:i + 3] for i in range(0, len(digits) - 3, 3)] + [digits[-3:]]
        name = "tile/%d/%s" % (level, "/".join(groups))
        if not (self.folder / name).is_file() or self.read(name) != data:
            raise Bad(name + " is missing or damaged")
    def check_key(self, record, last):
        """Epochs follow each other without a gap, and none lasts longer than it may."""
        if record["role"] != "epoch" or record["epoch"] != self.epoch + 1:
            raise Bad("epochs have a gap at record %d" % self.tree.size)
        if self.epoch and (self.tree.size - self.first > EPOCH_RECORDS or last["type"] != "log.tick" and (
                last["boot"] != self.began["boot"] or not 0 <= last["mono"] - self.began["mono"] <= EPOCH_USEC)):
            raise Bad("epoch %d lasted too long" % self.epoch)
        self.epoch, self.began, self.first = record["epoch"], record, self.tree.size
        self.keys = [bytes.fromhex(record["pk"])] + self.keys[:1]
    def lines(self):
        index, start = 0, -1
        while index != start and (name := self.folder / "seg" / ("%012d.jsonl" % index)).is_file():
            start = index
            with open(name, "rb") as file:
                while line := file.readline(65537):
                    if not line.endswith(b"\n"):
                        return
                    index += 1
                    yield line[:-1]
    def run(self):
        before, first = b"", {"type": "log.open", "vkey": self.origin["vkeys"][0], "time": self.origin.get("created")}
        for line in self.lines():
            try:
                if self.tree.size == 0 and not first.items() <= json.loads(line).items():
                    raise Bad("record 0 is of another log")
                if b'"type":"log.key"' in line and json.loads(line)["type"] == "log.key":
                    self.check_key(json.loads(line), json.loads(before))
            except (ValueError, KeyError, TypeError) as error:
                raise Bad("record %d is damaged" % self.tree.size) from error
            self.tree.append(line)
            before = line
            while self.stops and self.stops[0][0] == self.tree.size:
                self.check_note(self.stops.pop(0)[1])
            if self.outside and self.outside[2] == self.tree.size and self.outside[3] != self.tree.root():
                raise Bad("this is not the log of the given checkpoint")
            if not self.stops:
                return 0 if self.outside and self.outside[2] == self.size else 2
        raise Bad("records are missing from %d on" % self.tree.size)

def main():
    parser = argparse.ArgumentParser(description="Verifies an audit log of agent-supervisor.")
    for name in ("folder", "--vkey", "--checkpoint"):
        parser.add_argument(name)
    args = parser.parse_args()
    try:
        vkey = args.vkey and parse_vkey(args.vkey)
        outside = args.checkpoint and Path(args.checkpoint).read_bytes()
        verifier = Verifier(Path(args.folder), vkey, outside)
        status = verifier.run()
    except (Bad, OSError, ValueError) as error:
        print(("TAMPERED: %s" if isinstance(error, Bad) else "cannot read: %s") % error)
        return 1 if isinstance(error, Bad) else 3
    print("%d records verified%s" % (verifier.size, "" if status == 0 else "; the end is not anchored"))
    return status
if __name__ == "__main__":
    sys.exit(main())
