"""Computes the states that a power failure may leave in a folder, from a log of writes (write_log.c).

The model is a file system that promises no more than POSIX. Data that was written to a file but not synced is lost,
present or partly present. Changes of names in a folder since its last sync are present up to any point in their order,
or all but one of them are. A sync of a file does not sync its name."""
import copy
import os


def read_log(path):
    """Returns (kind, inode, offset, data, path) of each record."""
    records = []
    with open(path, "rb") as log:
        while True:
            line = log.readline()
            if not line:
                return records
            kind, inode, offset, length, name = line.decode().rstrip("\n").split(" ", 4)
            records.append((kind, int(inode), int(offset), log.read(int(length)), name))


def apply_write(content, record):
    kind, _, offset, data, _ = record
    if kind == "T":
        return content[:offset].ljust(offset, b"\0")
    return content[:offset].ljust(offset, b"\0") + data + content[offset + len(data):]


def apply_name(names, change):
    for name, inode in change:
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


class Disk:
    """The contents that are certainly on the disk, and the changes that are not synced yet."""

    def __init__(self):
        self.names = {}  # path -> inode, as programs see it
        self.synced_names = {}
        self.changes = []  # changes of names since their folder was synced: (folder, [(path, inode or None)])
        self.synced = {}          # inode -> content
        self.writes = {}  # inode -> records since the last sync
        self.folders = set()
        self.last_inode = 0
        self.inode_of = {}  # the file system's inode -> our number; the file system reuses inodes

    def name(self, *change):
        apply_name(self.names, change)
        self.changes.append((os.path.dirname(change[-1][0]), list(change)))

    def do(self, record):
        kind, inode, _, _, path = record
        if kind == "C":
            self.last_inode += 1
            self.inode_of[inode] = self.last_inode
            self.synced[self.last_inode], self.writes[self.last_inode] = b"", []
            self.name((path, self.last_inode))
        elif kind in "WT":
            self.writes[self.inode_of[inode]].append(record)
        elif kind == "S":
            ours = self.inode_of[inode]
            for write in self.writes[ours]:
                self.synced[ours] = apply_write(self.synced[ours], write)
            self.writes[ours] = []
        elif kind == "D":
            for folder, change in self.changes:
                if folder == path:
                    apply_name(self.synced_names, change)
            self.changes = [c for c in self.changes if c[0] != path]
        elif kind == "R":
            old, new = path.split("\t")
            if old in self.names:
                self.name((old, None), (new, self.names[old]))
        elif kind == "U":
            self.name((path, None))
        elif kind == "M":
            self.folders.add(path)

    def contents(self, inode):
        """Returns the possible contents: nothing since the sync, everything, all but the last
        write, half of the last write."""
        writes = self.writes[inode]
        found = [self.synced[inode]]
        whole = self.synced[inode]
        for write in writes[:-1]:
            whole = apply_write(whole, write)
        if writes:
            kind, number, offset, data, path = writes[-1]
            found += [apply_write(whole, (kind, number, offset, data[:len(data) // 2], path)) if kind == "W" else whole,
                      apply_write(whole, writes[-1])]
            if len(writes) > 1:
                found.append(whole)
        return found

    def name_sets(self):
        changes = [change for _, change in self.changes]
        kept = [changes[:n] for n in range(len(changes) + 1)]
        kept += [changes[:n] + changes[n + 1:] for n in range(len(changes) - 1)]
        for some in kept:
            names = copy.copy(self.synced_names)
            for change in some:
                apply_name(names, change)
            yield names

    def states(self):
        """Yields {path: content} of each possible state. Does not combine different kinds of loss:
        each choice applies to all files."""
        for names in self.name_sets():
            choices = {inode: self.contents(inode) for inode in set(names.values())}
            for choice in range(max([len(c) for c in choices.values()], default=1)):
                yield {path: choices[inode][min(choice, len(choices[inode]) - 1)] for path, inode in names.items()}

    def durable(self):
        """Returns paths whose names and contents no failure can remove any more."""
        pending = {name for _, change in self.changes for name, _ in change}
        return {path for path, inode in self.synced_names.items() if path not in pending and not self.writes[inode]}


def crashes(records):
    """Yields (durable paths, folders, state) of each different state that a failure after any
    record may leave."""
    disk, seen = Disk(), set()
    for record in [None] + records:
        if record is not None:
            disk.do(record)
        durable = disk.durable()
        for state in disk.states():
            key = (frozenset(state.items()), frozenset(durable))
            if key not in seen:
                seen.add(key)
                yield durable, set(disk.folders), state


def put(state, folders, root, to):
    """Writes a state of `root` to the folder `to`."""
    for folder in sorted(folders):
        os.makedirs(os.path.join(to, os.path.relpath(folder, root)), exist_ok=True)
    for path, content in state.items():
        target = os.path.join(to, os.path.relpath(path, root))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as f:
            f.write(content)
