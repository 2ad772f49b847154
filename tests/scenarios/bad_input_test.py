#!/usr/bin/env python3
"""Tests mistakes of users. Each must give one clear message with its place, the right exit code, and no new file,
except those that a training leaves by design once it has begun.

A row states the mistake in a folder that otherwise trains well, the required message, and the exit code. Columns and
lines are counted by hand in the text that the row writes.
"""
import gzip
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402
from bad_input_files import (  # noqa: E402
    CONFIG, CONV1_WEIGHTS, DEVICE, FILE, HDF5_PARAM, IDX_IMAGES, IDX_PARAM, IMAGE, JPEG_START, LARGE_IMAGE,
    LEVELDB_PARAM, LIST_PARAM, LMDB_PARAM, NET, SOLVER, TRAIN, USAGE, data, field, idx_data, images,
    mean_file, more, net, set_, share, solver, weights_file)


class Bad:
    """A mistake: its name, files that replace those of the good folder, command line, exit code,
    and required parts of the message."""

    def __init__(self, name, files, argv, code, *fragments, errors=1, needs=None, on_stdout=False, leaves=()):
        self.name, self.files, self.argv, self.code = name, files, argv, code
        self.fragments, self.needs = fragments, needs
        self.errors = errors  # number of reported errors; None if one mistake leads to others
        self.on_stdout = on_stdout  # for commands whose purpose is to find mistakes
        # For a mistake during training: the files that it leaves, such as the snapshot of the last
        # complete iteration.
        self.leaves = set(leaves)


LOCK = "tiny.lock"

ROWS = [
    # The command line.
    Bad("unknown_command", {}, ("trian", "--solver=solver.prototxt"), USAGE, "unknown command 'trian'", "'train'"),
    Bad("unknown_flag", {}, TRAIN + ("--sigint_efect=none",), USAGE, "'--sigint_efect'", "'--sigint_effect'",
        "doppio train --help"),
    Bad("no_solver", {}, ("train",), USAGE, "needs --solver"),
    Bad("stray_word", {}, ("train", "solver.prototxt"), USAGE, "'solver.prototxt'", "--solver=solver.prototxt"),
    Bad("flag_not_a_number", {}, TRAIN + ("--batch=many",), USAGE, "--batch", "integer", "'many'"),
    Bad("snapshot_with_weights", {}, TRAIN + ("--snapshot=a.solverstate", "--weights=b.caffemodel"), USAGE,
        "--snapshot", "--weights"),
    Bad("snapshot_with_resume", {}, TRAIN + ("--snapshot=a.solverstate", "--resume=b.solverstate"), USAGE,
        "--resume", "--snapshot"),
    Bad("unknown_effect", {}, TRAIN + ("--sigint_effect=halt",), USAGE, "--sigint_effect", "snapshot_stop", "'halt'"),
    Bad("gpu_that_is_not_there", {}, TRAIN + ("--gpu=99",), DEVICE, "99"),
    Bad("gpu_not_a_number", {}, TRAIN + ("--gpu=first",), USAGE, "--gpu", "'first'"),
    Bad("loss_scale_no_number", {}, TRAIN + ("--loss_scale=dynamik",), USAGE, "--loss_scale must be auto, dynamic",
        "'dynamik'"),
    Bad("loss_scale_zero", {}, TRAIN + ("--loss_scale=0",), USAGE, "--loss_scale", "above 0", "'0'"),
    Bad("loss_scale_of_the_net", net('name: "tiny"', 'name: "tiny"\nglobal_grad_scale: -8'), TRAIN, CONFIG,
        "net.prototxt:2:1: error:", "global_grad_scale is -8", "above 0"),
    Bad("loss_scale_of_a_checked_solver", net('name: "tiny"', 'name: "tiny"\nglobal_grad_scale: -8'),
        ("check", "solver.prototxt"), CONFIG, "net.prototxt:2:1: error:", "global_grad_scale is -8", on_stdout=True),
    Bad("loss_scale_of_a_checked_net", net('name: "tiny"', 'name: "tiny"\nglobal_grad_scale: -8'),
        ("check", "net.prototxt"), CONFIG, "net.prototxt:2:1: error:", "global_grad_scale is -8", on_stdout=True),
    Bad("unknown_engine", {}, TRAIN + ("--engine=onedn",), USAGE, "'onedn'", "onednn"),
    # --set
    Bad("set_unknown_field", {}, set_("base_ler=1"), CONFIG, "base_ler", "'base_lr'"),
    Bad("set_unknown_layer", {}, set_("net.layer[conv2].convolution_param.num_output=3"), CONFIG, "conv2", "'conv1'"),
    Bad("set_bad_value", {}, set_("base_lr=fast"), CONFIG, "base_lr=fast", "number", "got fast"),
    Bad("set_bad_enum", {}, set_("net.layer[pool1].pooling_param.pool=MEDIAN"), CONFIG, "pool", "'MEDIAN'", "MAX"),
    Bad("set_without_value", {}, set_("base_lr"), CONFIG, "base_lr", "="),
    Bad("unset_unknown_field", {}, TRAIN + ("--unset=momentim",), CONFIG, "momentim", "'momentum'"),
    # Files that are missing or have wrong contents.
    Bad("missing_solver", {}, ("train", "--solver=solvr.prototxt"), FILE, "'solvr.prototxt'", "No such file",
        "did you mean 'solver.prototxt'?"),
    Bad("missing_checked_solver", {}, ("check", "solvr.prototxt"), FILE, "'solvr.prototxt'",
        "did you mean 'solver.prototxt'?", on_stdout=True),
    Bad("missing_net", solver('"net.prototxt"', '"nets.prototxt"'), TRAIN, FILE, "solver.prototxt:1:1: error:",
        "'nets.prototxt'", "did you mean 'net.prototxt'?"),
    Bad("solver_is_a_folder", {}, ("train", "--solver=."), FILE, "'.'", "directory"),
    Bad("solver_is_binary", {"solver.prototxt": b"\0\1\2\3" * 20}, TRAIN, CONFIG, "solver.prototxt: error: this is not text"),
    Bad("empty_solver", {"solver.prototxt": ""}, TRAIN, CONFIG, "solver.prototxt", "net"),
    Bad("empty_net", {"net.prototxt": ""}, TRAIN, CONFIG, "net.prototxt", "layer"),
    Bad("net_given_as_solver", {}, ("train", "--solver=net.prototxt"), CONFIG, "net.prototxt:1:1: error:",
        "is this file a net?", errors=6),
    Bad("missing_weights", {}, TRAIN + ("--weights=none.caffemodel",), FILE, "'none.caffemodel'"),
    Bad("misspelt_weights", {"tiny_iter_4.caffemodel": CONV1_WEIGHTS}, TRAIN + ("--weights=tiny_itr_4.caffemodel",),
        FILE, "'tiny_itr_4.caffemodel'", "did you mean 'tiny_iter_4.caffemodel'?"),
    Bad("missing_second_weights", {"w.caffemodel": CONV1_WEIGHTS},
        TRAIN + ("--weights=w.caffemodel,none.caffemodel",), FILE, "'none.caffemodel'"),
    Bad("truncated_weights", {"w.caffemodel": CONV1_WEIGHTS[:-9]},
        TRAIN + ("--weights=w.caffemodel",), FILE, "w.caffemodel"),
    Bad("weights_of_another_shape", {"w.caffemodel": weights_file("conv1", [2, 1, 5, 5], [2])},
        TRAIN + ("--weights=w.caffemodel",), CONFIG, "w.caffemodel", "conv1", "2x1x5x5", "2x1x3x3"),
    Bad("weights_are_text", {"notes.txt": "weights of May\n"}, TRAIN + ("--weights=notes.txt",), FILE, "notes.txt"),
    Bad("weights_are_a_solver", {}, TRAIN + ("--weights=solver.prototxt",), CONFIG, "solver.prototxt:1:1: error:",
        "is this file a solver?", errors=8),
    Bad("damaged_hdf5_weights", {"w.caffemodel.h5": b"\x89HDF\r\n\x1a\n" + b"\0" * 50},
        TRAIN + ("--weights=w.caffemodel.h5",), FILE, "w.caffemodel.h5"),
    Bad("missing_snapshot", {}, TRAIN + ("--snapshot=none.solverstate",), FILE, "'none.solverstate'"),
    Bad("missing_resume", {}, TRAIN + ("--resume=none.solverstate",), FILE, "'none.solverstate'"),
    Bad("snapshot_without_weights", {"s.solverstate": b"\x08\x02" + field(2, b"gone.caffemodel")},
        TRAIN + ("--snapshot=s.solverstate",), FILE, "s.solverstate", "gone.caffemodel"),
    Bad("damaged_snapshot", {"s.solverstate": b"\x08\x02\x12\x7f"}, TRAIN + ("--snapshot=s.solverstate",), FILE,
        "s.solverstate"),
    Bad("snapshot_is_weights", {"w.caffemodel": CONV1_WEIGHTS},
        TRAIN + ("--snapshot=w.caffemodel",), FILE, "w.caffemodel"),
    Bad("snapshot_folder_missing", solver('prefix: "tiny"', 'prefix: "no/such/tiny"'), TRAIN, FILE, "no/such",
        "mkdir"),
    Bad("snapshot_folder_is_a_file", {**solver('prefix: "tiny"', 'prefix: "file/tiny"'), "file": "x"}, TRAIN, FILE,
        "'file/'"),
    # The text of nets and solvers.
    Bad("unknown_field", net("kernel_size: 3", "kernal_size: 3"), TRAIN, CONFIG, "net.prototxt:19:37: error:",
        "'kernal_size'", "'kernel_size'", "ConvolutionParameter"),
    Bad("unknown_solver_field", solver("base_lr", "base_rate"), TRAIN, CONFIG, "solver.prototxt:2:1: error:",
        "'base_rate'"),
    Bad("unknown_message", net("pooling_param", "poling_param"), TRAIN, CONFIG, "net.prototxt:26:3: error:",
        "'poling_param'", "'pooling_param'"),
    Bad("unknown_enum_value", net("pool: MAX", "pool: MAXIMUM"), TRAIN, CONFIG, "net.prototxt:26:25: error:",
        "'MAXIMUM'", "AVE"),
    Bad("unknown_layer_type", net('"Pooling"', '"Poolling"'), TRAIN, CONFIG, "net.prototxt:23:3: error:",
        "'Poolling'", "'Pooling'", "'pool1'"),
    Bad("text_for_a_number", net("num_output: 2", 'num_output: "two"'), TRAIN, CONFIG, "net.prototxt:19:35: error:",
        "num_output", "integer"),
    Bad("negative_count", net("num_output: 2", "num_output: -2"), TRAIN, CONFIG, "net.prototxt:19:35: error:",
        "num_output"),
    Bad("number_for_a_name", net('top: "conv1"', "top: 1"), TRAIN, CONFIG, "net.prototxt:18:8: error:", "top"),
    Bad("fraction_for_an_integer", solver("max_iter: 4", "max_iter: 4.5"), TRAIN, CONFIG,
        "solver.prototxt:4:11: error:", "max_iter"),
    Bad("bad_bool", net("num_output: 2", "num_output: 2 bias_term: maybe"), TRAIN, CONFIG,
        "net.prototxt:19:48: error:", "bias_term", "maybe", "true or false"),
    Bad("field_twice", net("num_output: 2", "num_output: 2 num_output: 3"), TRAIN, CONFIG,
        "net.prototxt:19:37: error:", "num_output"),
    Bad("brace_not_closed", net('  top: "loss"\n}\n', '  top: "loss"\n'), TRAIN, CONFIG, "net.prototxt:35:7: error:",
        "never closed"),
    Bad("brace_too_many", net('  top: "loss"\n}\n', '  top: "loss"\n}\n}\n'), TRAIN, CONFIG,
        "net.prototxt:42:1: error:", "}"),
    Bad("string_not_closed", net('type: "Pooling"', 'type: "Pooling'), TRAIN, CONFIG, "net.prototxt:23:9: error:"),
    # The structure of nets.
    Bad("unknown_bottom", net('bottom: "ip1"', 'bottom: "ip_1"'), TRAIN, CONFIG, "net.prototxt:38:3: error:",
        "'ip_1'", "'ip1'", "'loss'"),
    Bad("bottom_made_later", net('bottom: "conv1"', 'bottom: "ip1"'), TRAIN, CONFIG, "net.prototxt:24:3: error:",
        "'ip1'", "'pool1'"),
    Bad("top_made_twice", net('top: "pool1"', 'top: "data"'), TRAIN, CONFIG, "net.prototxt:25:3: error:", "'data'",
        "'pool1'", "line 2", errors=None),
    Bad("too_few_bottoms", net('  bottom: "label"\n', ""), TRAIN, CONFIG, "net.prototxt:38:3: error:", "'loss'",
        "2 bottom", "got 1"),
    Bad("too_many_bottoms", net('  bottom: "pool1"\n', '  bottom: "pool1"\n  bottom: "label"\n'), TRAIN, CONFIG,
        "net.prototxt:32:3: error:", "'ip1'", "bottom"),
    Bad("layer_without_type", net('  type: "Pooling"\n', ""), TRAIN, CONFIG, "net.prototxt:21:1: error:", "'pool1'",
        "type"),
    Bad("label_count", net("shape { dim: 4 }", "shape { dim: 5 }"), TRAIN, CONFIG, "net.prototxt:39:3: error:",
        "'label'", "5", "4"),
    Bad("kernel_larger_than_input", net("kernel_size: 3", "kernel_size: 9"), TRAIN, CONFIG,
        "net.prototxt:19:37: error:", "'conv1'", "9", "6"),
    Bad("zero_stride", net("stride: 2", "stride: 0"), TRAIN, CONFIG, "net.prototxt:26:44: error:", "'pool1'", "stride"),
    Bad("zero_kernel", net("kernel_size: 3", "kernel_size: 0"), TRAIN, CONFIG, "net.prototxt:19:37: error:", "'conv1'",
        "kernel_size"),
    Bad("no_kernel", net(" kernel_size: 3", ""), TRAIN, CONFIG, "net.prototxt:19:3: error:", "'conv1'", "kernel_size"),
    Bad("no_num_output", net(" num_output: 2", ""), TRAIN, CONFIG, "net.prototxt:19:3: error:", "'conv1'",
        "num_output"),
    Bad("group_does_not_divide", net("num_output: 2", "num_output: 2 group: 2"), TRAIN, CONFIG,
        "net.prototxt:19:37: error:", "'conv1'", "group"),
    Bad("eltwise_shapes", more('layer {\n  name: "sum"\n  type: "Eltwise"\n  bottom: "conv1"\n  bottom: "pool1"\n'
                               '  top: "sum"\n}\n'), TRAIN, CONFIG, "net.prototxt:39:3: error:", "'sum'",
        "4x2x4x4", "4x2x2x2"),
    Bad("concat_shapes", more('layer {\n  name: "cat"\n  type: "Concat"\n  bottom: "conv1"\n  bottom: "pool1"\n'
                              '  top: "cat"\n}\n'), TRAIN, CONFIG, "net.prototxt:39:3: error:", "'cat'",
        "4x2x4x4", "4x2x2x2"),
    Bad("reshape_count", more('layer {\n  name: "re"\n  type: "Reshape"\n  bottom: "pool1"\n  top: "re"\n'
                              '  reshape_param { shape { dim: 4 dim: 7 } }\n}\n'), TRAIN, CONFIG,
        "net.prototxt:40:", "'re'", "32", "28"),
    Bad("slice_points", more('layer {\n  name: "cut"\n  type: "Slice"\n  bottom: "pool1"\n  top: "a"\n  top: "b"\n'
                             '  slice_param { axis: 1 slice_point: 2 }\n}\n'), TRAIN, CONFIG, "net.prototxt:41:",
        "'cut'", "slice_point"),
    Bad("axis_out_of_range", net("inner_product_param { num_output: 3", "inner_product_param { num_output: 3 axis: 7"),
        TRAIN, CONFIG, "net.prototxt:33:39: error:", "'ip1'", "axis 7", "4x2x2x2"),
    Bad("unknown_filler", net('"xavier"', '"xavir"'), TRAIN, CONFIG, "net.prototxt:14:1: error:", "'xavir'",
        "'xavier'", "'conv1'"),
    Bad("include_and_exclude", net('  type: "Pooling"\n', '  type: "Pooling"\n  include { phase: TRAIN }\n'
                                   '  exclude { stage: "x" }\n'), TRAIN, CONFIG, "net.prototxt:2", "'pool1'", "include",
        "exclude"),
    Bad("propagate_down_count", net('  bottom: "label"\n', '  bottom: "label"\n  propagate_down: true\n'), TRAIN,
        CONFIG, "net.prototxt:40:3: error:", "'loss'", "propagate_down", "1", "2"),
    Bad("loss_weight_count", net('  top: "loss"\n', '  top: "loss"\n  loss_weight: 1\n  loss_weight: 2\n'), TRAIN,
        CONFIG, "net.prototxt:4", "'loss'", "loss_weight"),
    Bad("too_many_params", net('  type: "Convolution"\n', '  type: "Convolution"\n  param { lr_mult: 1 }\n'
                               '  param { lr_mult: 1 }\n  param { lr_mult: 1 }\n'), TRAIN, CONFIG,
        "net.prototxt:19:3: error:", "'conv1'", "param"),
    Bad("shared_shapes", share(num_output=5), TRAIN, CONFIG, "net.prototxt:41:", "'ip2'", "'ip1'", "'w'", "5x8", "3x8"),
    Bad("shared_lr_mult", share("lr_mult: 2", own="lr_mult: 1"), TRAIN, CONFIG, "net.prototxt:41:",
        "'ip2'", "'ip1'", "'w'", "lr_mult"),
    # The solver's fields.
    Bad("two_nets", solver('net: "net.prototxt"', 'net: "net.prototxt"\ntrain_net: "net.prototxt"'), TRAIN, CONFIG,
        "solver.prototxt:2:1", "net", "train_net"),
    Bad("no_net", solver('net: "net.prototxt"\n', ""), TRAIN, CONFIG, "solver.prototxt", "net"),
    Bad("unknown_lr_policy", solver('"fixed"', '"fixd"'), TRAIN, CONFIG, "solver.prototxt:3:1: error:", "'fixd'",
        "'fixed'"),
    Bad("unknown_solver_type", solver("max_iter", 'type: "Adm"\nmax_iter'), TRAIN, CONFIG,
        "solver.prototxt:4:1: error:", "'Adm'", "'Adam'"),
    Bad("no_base_lr", solver("base_lr: 0.01\n", ""), TRAIN, CONFIG, "solver.prototxt", "base_lr"),
    Bad("step_without_stepsize", solver('"fixed"', '"step"'), TRAIN, CONFIG, "solver.prototxt:3:", "'step'",
        "stepsize", errors=None),
    Bad("rms_decay_too_large", solver("max_iter", 'type: "RMSProp"\nrms_decay: 1.5\nmax_iter'), TRAIN, CONFIG,
        "solver.prototxt:5:1: error:", "rms_decay", "1.5"),
    Bad("momentum_with_adagrad", solver("max_iter", 'type: "AdaGrad"\nmomentum: 0.9\nmax_iter'), TRAIN, CONFIG,
        "solver.prototxt:5:1: error:", "momentum", "AdaGrad"),
    Bad("test_iter_without_interval", solver("max_iter", 'test_iter: 2\nmax_iter'), TRAIN, CONFIG,
        "solver.prototxt:4:", "test_interval"),
    Bad("test_iter_count", solver('net: ', 'train_net: ', "max_iter", 'test_net: "net.prototxt"\ntest_iter: 2\n'
                                  'test_iter: 2\ntest_interval: 2\nmax_iter'), TRAIN, CONFIG,
        "solver.prototxt:", "test_iter"),
    Bad("zero_iter_size", solver("max_iter", "iter_size: 0\nmax_iter"), TRAIN, CONFIG, "solver.prototxt:4:1: error:",
        "iter_size"),
    Bad("negative_max_iter", solver("max_iter: 4", "max_iter: -4"), TRAIN, CONFIG, "solver.prototxt:4:1: error:",
        "max_iter"),
    Bad("zero_average_loss", solver("max_iter", "average_loss: 0\nmax_iter"), TRAIN, CONFIG,
        "solver.prototxt:4:1: error:", "average_loss"),
    Bad("unknown_regularization", solver("max_iter", 'weight_decay: 0.1\nregularization_type: "L3"\nmax_iter'), TRAIN,
        CONFIG, "solver.prototxt:5:1: error:", "'L3'"),
    # Data.
    Bad("lmdb_missing", data(LMDB_PARAM), TRAIN, FILE, "net.prototxt:7:16: error:", "'in'", "'db'"),
    Bad("lmdb_folder_without_database", {**data(LMDB_PARAM), "db/readme": "x"}, TRAIN, FILE,
        "net.prototxt:7:16: error:", "'db'", "data.mdb"),
    Bad("lmdb_not_a_database", {**data(LMDB_PARAM), "db/data.mdb": b"not a database" * 1000}, TRAIN, FILE,
        "net.prototxt:7:16: error:", "'db'", "LMDB"),
    Bad("lmdb_empty_file", {**data(LMDB_PARAM), "db/data.mdb": b""}, TRAIN, FILE, "net.prototxt:7:16: error:", "'in'",
        "'db/data.mdb'", "it is empty"),
    Bad("lmdb_is_a_leveldb", {**data(LMDB_PARAM), "db/CURRENT": "MANIFEST-000001\n"}, TRAIN, FILE, "'db'",
        "backend: LEVELDB"),
    Bad("leveldb_missing", data(LEVELDB_PARAM), TRAIN, FILE, "net.prototxt:7:16: error:", "'in'", "'db'"),
    Bad("leveldb_not_a_database", {**data(LEVELDB_PARAM), "db/readme": "x"}, TRAIN, FILE, "net.prototxt:7:16: error:",
        "'db'", "CURRENT"),
    Bad("leveldb_is_an_lmdb", {**data(LEVELDB_PARAM), "db/data.mdb": "x"}, TRAIN, FILE, "'db'", "backend: LMDB"),
    Bad("unknown_backend", data('data_param { source: "db" batch_size: 2 backend: LMBD }'), TRAIN, CONFIG,
        "net.prototxt:7:52: error:", "'LMBD'", "'LMDB'"),
    Bad("no_source", data("data_param { batch_size: 2 backend: LMDB }"), TRAIN, CONFIG, "net.prototxt:7:", "'in'",
        "source"),
    Bad("no_batch_size", data('data_param { source: "db" backend: LMDB }'), TRAIN, CONFIG, "net.prototxt:7:", "'in'",
        "batch_size"),
    Bad("idx_missing", idx_data({}), TRAIN, FILE, "net.prototxt:7:16: error:", "'a-images-idx3-ubyte'"),
    Bad("idx_truncated", idx_data({**images([0, 1, 2, 0]), "a-images-idx3-ubyte": IDX_IMAGES[:-5]}), TRAIN, FILE,
        "net.prototxt:7:16: error:", "a-images-idx3-ubyte", "139", "144"),
    Bad("idx_of_another_kind", idx_data({**images([0]), "a-images-idx3-ubyte": IMAGE}), TRAIN, FILE,
        "net.prototxt:7:16: error:", "a-images-idx3-ubyte"),
    Bad("gz_truncated", idx_data({"a-labels-idx1-ubyte": scenario.idx([4], [0, 1, 2, 0]),
                                  "a-images-idx3-ubyte": gzip.compress(IDX_IMAGES)[:-20]}), TRAIN, FILE,
        "net.prototxt:7:16: error:", "a-images-idx3-ubyte"),
    Bad("labels_missing", idx_data({"a-images-idx3-ubyte": IDX_IMAGES}), TRAIN, FILE, "net.prototxt:7:16: error:",
        "'a-labels-idx1-ubyte'"),
    Bad("fewer_labels_than_images", idx_data(images([0, 1, 2])), TRAIN, FILE, "net.prototxt:7:16: error:", "3", "4"),
    Bad("label_out_of_range", idx_data(images([0, 1, 7, 0])), TRAIN, CONFIG, "net.prototxt:30:1: error:", "'loss'",
        "label 7", "3 classes", "ignore_label", leaves=[LOCK, "tiny_iter_1.caffemodel", "tiny_iter_1.solverstate"]),
    Bad("list_missing", data(LIST_PARAM, "ImageData"), TRAIN, FILE, "net.prototxt:7:22: error:", "'list.txt'"),
    Bad("list_empty", data(LIST_PARAM, "ImageData", list__txt="\n"), TRAIN, FILE, "'list.txt'", "empty"),
    Bad("list_without_label", data(LIST_PARAM, "ImageData", list__txt="a.png 0\nb.png\n", a__png=IMAGE, b__png=IMAGE),
        TRAIN, FILE, "list.txt:2: error:", "label", "'b.png'"),
    Bad("list_uneven_labels", data(LIST_PARAM, "ImageData", list__txt="a.png 0\nb.png 1 2\n", a__png=IMAGE,
                                   b__png=IMAGE), TRAIN, FILE, "list.txt:2: error:", "label"),
    Bad("first_image_missing", data(LIST_PARAM, "ImageData", list__txt="a.png 0\n"), TRAIN, FILE, "'a.png'",
        "list.txt:1", "No such file"),
    Bad("later_image_missing", data(LIST_PARAM, "ImageData", list__txt="a.png 0\nb.png 1\n", a__png=IMAGE), TRAIN,
        FILE, "'b.png'", "list.txt:2", "No such file", "'in'", leaves=[LOCK]),
    Bad("corrupt_jpeg", data(LIST_PARAM, "ImageData", list__txt="a.jpg 0\n", a__jpg=JPEG_START), TRAIN, FILE,
        "'a.jpg'", "list.txt:1"),
    Bad("truncated_png", data(LIST_PARAM, "ImageData", list__txt="a.png 0\nb.png 1\n", a__png=IMAGE,
                              b__png=IMAGE[:60]), TRAIN, FILE, "'b.png'", "list.txt:2", leaves=[LOCK]),
    Bad("image_is_text", data(LIST_PARAM, "ImageData", list__txt="a.png 0\n", a__png="no image"), TRAIN, FILE,
        "'a.png'", "list.txt:1"),
    Bad("images_of_two_sizes", data(LIST_PARAM, "ImageData", list__txt="a.png 0\nb.png 1\n", a__png=IMAGE,
                                    b__png=LARGE_IMAGE), TRAIN, FILE, "'b.png'", "8x8", "6x6", "new_height",
        leaves=[LOCK]),
    Bad("one_of_new_height_and_width", data(LIST_PARAM.replace("batch", "new_height: 6 batch"), "ImageData",
                                            list__txt="a.png 0\n", a__png=IMAGE), TRAIN, CONFIG, "net.prototxt:7:",
        "new_height", "new_width"),
    Bad("crop_larger_than_image", idx_data(images([0, 1, 2, 0]), IDX_PARAM + "\ntransform_param { crop_size: 9 }"),
        TRAIN, CONFIG, "net.prototxt:8:", "'in'", "9x9", "6x6"),
    Bad("mean_missing", idx_data(images([0, 1, 2, 0]), IDX_PARAM + '\ntransform_param { mean_file: "m" }'), TRAIN,
        FILE, "net.prototxt:8:21: error:", "'m'", "'in'"),
    Bad("mean_of_other_shape", idx_data({**images([0, 1, 2, 0]), "m": mean_file(1, 5, 5)},
                                        IDX_PARAM + '\ntransform_param { mean_file: "m" }'), TRAIN, CONFIG,
        "net.prototxt:8:21: error:", "'m'", "1x5x5", "1x6x6"),
    Bad("mean_is_text", idx_data({**images([0, 1, 2, 0]), "m": "mean"},
                                 IDX_PARAM + '\ntransform_param { mean_file: "m" }'), TRAIN, FILE, "net.prototxt:8:21: error:",
        "'m'"),
    Bad("mean_value_count", idx_data(images([0, 1, 2, 0]),
                                     IDX_PARAM + "\ntransform_param { mean_value: 1 mean_value: 2 }"), TRAIN, CONFIG,
        "net.prototxt:8:", "mean_value", "2", "1 channel"),
    Bad("hdf5_list_missing", data(HDF5_PARAM, "HDF5Data"), TRAIN, FILE, "net.prototxt:7:21: error:", "'list.txt'"),
    Bad("hdf5_file_missing", data(HDF5_PARAM, "HDF5Data", list__txt="a.h5\n"), TRAIN, FILE, "net.prototxt:7:21: error:",
        "'a.h5'"),
    Bad("hdf5_not_one", data(HDF5_PARAM, "HDF5Data", list__txt="a.h5\n", a__h5="no"), TRAIN, FILE,
        "net.prototxt:7:21: error:", "'a.h5'"),
    Bad("hdf5_without_the_data_set", {**data(HDF5_PARAM, "HDF5Data", list__txt="a.h5\n"), "a.h5": ("images", "label")},
        TRAIN, FILE, "net.prototxt:7:21: error:", "'a.h5'", "'data'", "images", needs="h5py"),
    # Several mistakes at once, in one file and in two.
    Bad("several_in_the_text", net("num_output: 2 kernel_size: 3", 'num_output: "2" kernal_size: 3', "pool: MAX",
                                   "pool: MAXI", '"ip1"\n  type', '"ip1"\n  typ'), TRAIN, CONFIG,
        "net.prototxt:19:35: error:", "net.prototxt:19:39: error:", "net.prototxt:26:25: error:",
        "net.prototxt:30:3: error:", "4 errors in net.prototxt", errors=4),
    Bad("several_in_the_net", net("kernel_size: 3", "kernel_size: 9", '"InnerProduct"', '"InnerProdukt"',
                                  'bottom: "label"', 'bottom: "lable"'), TRAIN, CONFIG,
        "net.prototxt:19:37: error:", "net.prototxt:30:3: error:", "net.prototxt:39:3: error:",
        "3 errors in net.prototxt", errors=3),
    Bad("several_in_solver_and_net", {**solver("max_iter: 4", "max_iter: -4\niter_size: 0"),
                                      **net("kernel_size", "kernal_size")}, TRAIN, CONFIG,
        "solver.prototxt:4:1: error:", "solver.prototxt:5:1: error:", "net.prototxt:19:37: error:",
        "3 errors in 2 files", errors=3),
    Bad("two_unknown_flags", {}, TRAIN + ("--iters=5", "--gpus=0"), USAGE, "'--iters'", "'--gpus'", errors=2),
    # Other commands.
    Bad("test_without_model", {}, ("test", "--weights=w.caffemodel"), USAGE, "--model"),
    Bad("test_missing_model", {}, ("test", "--model=n.prototxt", "--weights=w.caffemodel"), FILE, "'n.prototxt'"),
    Bad("test_missing_weights", {}, ("test", "--model=net.prototxt", "--weights=w.caffemodel"), FILE, "w.caffemodel"),
    Bad("time_missing_model", {}, ("time", "--model=n.prototxt"), FILE, "'n.prototxt'"),
    Bad("time_bad_net", net("kernel_size: 3", "kernel_size: 9"), ("time", "--model=net.prototxt"), CONFIG,
        "net.prototxt:19:37: error:"),
    Bad("time_no_iterations", {}, ("time", "--model=net.prototxt", "--iterations=0"), USAGE, "--iterations"),
    Bad("summary_missing_model", {}, ("summary", "--model=n.prototxt"), FILE, "'n.prototxt'"),
    Bad("check_missing_file", {}, ("check", "n.prototxt"), FILE, "'n.prototxt'", on_stdout=True),
]

# Texts that must not be in any message.
NOT_FOR_USERS = ("Check failed", "*** ", "terminate called", "Aborted", "internal error", "core dumped", "std::",
                 "google::protobuf", "[libprotobuf", "HDF5-DIAG", "Stack trace")


class BadInputTest(scenario.Scenario):
    def write_all(self, files):
        for name, content in {"solver.prototxt": SOLVER, "net.prototxt": NET, **files}.items():
            if isinstance(content, tuple):  # HDF5, with these data sets
                import h5py
                with h5py.File(self.path(name), "w") as f:
                    for dataset in content:
                        f[dataset] = [[0.0]]
            else:
                self.write(name, content)

    def everything(self):
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.folder)
                found[path] = self.read(path)
        return found

    def check_row(self, row):
        if row.needs:
            try:
                __import__(row.needs)
            except ImportError:
                self.skipTest("there is no python module " + row.needs)
        self.write_all(row.files)
        before = self.everything()
        run = self.doppio(*row.argv)
        show = "\n%s\n%s%s" % (" ".join(row.argv), run.stderr, run.stdout)
        message, rest = (run.stdout, run.stderr) if row.on_stdout else (run.stderr, run.stdout)
        self.assertEqual(row.code, run.returncode, show)
        for ugly in NOT_FOR_USERS:
            self.assertNotIn(ugly, message, show)
        for fragment in row.fragments:
            self.assertIn(fragment, message, show)
        found = len(re.findall(r"^(?:\S.*: )?error: \S", message, re.M))
        if row.errors is not None:
            self.assertEqual(row.errors, found, show)
        self.assertEqual("", rest, show)
        after = self.everything()
        self.assertEqual(row.leaves, after.keys() - before.keys(), "it wrote in the folder" + show)
        self.assertEqual(before, {name: after.get(name) for name in before}, "it changed the folder" + show)

    def test_the_folder_is_good_otherwise(self):
        self.write_all({})
        self.train()
        self.assertTrue(os.path.exists(self.path("tiny_iter_4.solverstate")))

    def test_the_folder_with_images_is_good_otherwise(self):
        for files in (idx_data(images([0, 1, 2, 0])),
                      data(LIST_PARAM, "ImageData", list__txt="a.png 0\nb.png 1\n", a__png=IMAGE, b__png=IMAGE)):
            self.write_all(files)
            self.train()

    def test_shared_weights_are_good_otherwise(self):
        self.write_all(share())
        self.train()

    def test_an_unwritable_folder_is_named(self):
        if os.getuid() == 0:
            self.skipTest("root may write everywhere")
        self.write_all(solver('prefix: "tiny"', 'prefix: "locked/tiny"'))
        os.mkdir(self.path("locked"), 0o555)
        run = self.train(code=FILE)
        self.assertIn("'locked/' is not writable", run.stderr)


def add_rows():
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        setattr(BadInputTest, "test_" + row.name, lambda self, row=row: self.check_row(row))


add_rows()

if __name__ == "__main__":
    junit.main()
