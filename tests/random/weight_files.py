"""Reads the files of weights that Doppio writes for other programs, without Doppio: npz, safetensors and HDF5."""
import json
import struct
import urllib.parse

import h5py
import numpy as np

# Indices of blobs by their role in names such as "conv1.weight" (docs/export.md). In a Scale of two bottoms and in a Bias,
# the bias is blob 0.
ROLES = {"weight": 0, "bias": 1, "running_mean": 0, "running_var": 1}
ROLES_OF_BN = {**ROLES, "running_mean": 2, "running_var": 3}


def read_npz(path):
    with np.load(path) as arrays:
        return {urllib.parse.unquote(name): arrays[name] for name in arrays.files}


def read_safetensors(path):
    with open(path, "rb") as f:
        content = f.read()
    size = struct.unpack("<Q", content[:8])[0]
    head = json.loads(content[8:8 + size])
    arrays = {}
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] != "F32":
            raise ValueError("%s of '%s' in %s" % (entry["dtype"], name, path))
        arrays[name] = np.frombuffer(content[8 + size + begin:8 + size + end], "<f4").reshape(entry["shape"])
    return arrays


def read_hdf5(path):
    """Returns {"/layer/0": array} of an HDF5 file of weights."""
    found = {}
    with h5py.File(path, "r") as file:
        def take(name, item):
            if isinstance(item, h5py.Dataset):
                found["/" + name] = np.array(item)
        file["data"].visititems(take)
    return found


def expected_array(name, blobs, kind):
    """Returns what an array must hold, of the blobs of the layer that its name begins with, or None if it must not exist."""
    role = name.rsplit(".", 1)[1]
    if role.startswith("blob"):
        index = int(role[len("blob"):])
    else:
        index = (ROLES_OF_BN if kind == "BN" else ROLES)[role]
        index = min(index, len(blobs) - 1) if role == "bias" else index
    if index >= len(blobs):
        return None
    if kind != "BatchNorm":
        return blobs[index]
    weight = float(blobs[2].reshape(-1)[0])
    return (blobs[index].astype(np.float64) * (1 / weight if weight else 0)).astype(np.float32)
