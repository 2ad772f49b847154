#!/usr/bin/env python3
"""Tests `doppio help WORD` with questions of newcomers: the first result must have the answer."""
import os
import re
import sys

import tool_case

sys.path.insert(0, os.path.join(os.getcwd(), "tests/docs"))
import links_test  # noqa: E402

# Chosen before the search was written: a question and what the first result must contain.
QUESTIONS = [
    ("warmup", "warmup_iter"),
    ("freeze", "lr_mult: 0"),
    ("finetune", "--weights"),
    ("resume", "--resume"),
    ("clip", "clip_gradients"),
    ("lr_policy", "lr_policy"),
    ("dropout", "Dropout"),
    ("early stopping", "--early_stop"),
    ("class weights", "class_weighting"),
    ("fp16", "--precision"),
    ("gpu", "--gpu"),
    ("mpi", "mpirun"),
    ("snapshot", "snapshot_prefix"),
    ("accuracy", "Accuracy"),
    ("augmentation", "--augment"),
    ("crop", "crop_size"),
    ("mean", "mean_file"),
    ("lmdb", "data convert"),
    ("onnx", "doppio export"),
    ("memory", "--recompute"),
]

# Words of newcomers and of other programs, and the name of the first result.
WORDS = {
    # What first users looked for and did not find.
    "silu": "SiLU", "embedding": "embedding", "squeeze": "squeeze and excitation", "layer norm": "norms of samples",
    "transformer": "transformers", "self attention": "transformers", "cutmix": "CutMix", "bce": "binary cross entropy", "distillation": "distillation",
    "exact resume": "resuming", "save best": "snapshots", "quiet": "quiet and verbose", "verbose": "quiet and verbose",
    "wandb": "W&B and MLflow", "tensorrt": "TensorRT and OpenVINO", "openvino": "TensorRT and OpenVINO",
    "yaml": "configuration files", "config": "configuration files", "keras": "Keras", "segmentation": "segmentation",
    "ema": "averaged weights", "stochastic depth": "drop path", "randaugment": "RandAugment", "trivialaugment": "TrivialAugment",
    "random erasing": "random erasing", "std_value": "standard deviation", "layer scale": "layer scale",
    # Of Ultralytics' settings.
    "cos_lr": "learning rate policy", "lr0": "learning rate policy", "warmup_epochs": "warm-up", "nbs": "batch size",
    "cache": "caching data", "imgsz": "input size", "save_period": "snapshots", "plots": "logs and curves",
    "conf": "detection thresholds", "iou": "detection thresholds",
    # Of Lightning's Trainer.
    "fast_dev_run": "trying a training", "overfit_batches": "trying a training", "limit_train_batches": "trying a training",
    "accumulate_grad_batches": "batch size", "gradient_clip_val": "gradient clipping", "val_check_interval": "test interval",
    "log_every_n_steps": "log interval", "max_time": "stopping", "detect_anomaly": "NaN", "profiler": "speed", "ddp": "GPUs",
    "auto_lr_find": "learning rate finder", "auto_scale_batch_size": "largest batch",
    # Of Keras.
    "ModelCheckpoint": "snapshots", "ReduceLROnPlateau": "learning rate policy", "TerminateOnNaN": "NaN",
    "CSVLogger": "logs and curves", "BackupAndRestore": "resuming", "History": "logs and curves", "fit": "training",
    "compile": "Keras", "Sequential": "Keras", "callbacks": "callbacks", "categorical_crossentropy": "losses",
    # Of timm.
    "drop-path": "drop path", "layer-decay": "several learning rates", "channels-last": "channels last",
    "cooldown": "learning rate policy", "torchcompile": "compilers", "model zoo": "model zoo",
}


class HelpSearchTest(tool_case.ToolCase):
    def search(self, *words):
        """Returns the lines of the results, best first."""
        return [line for line in self.succeed("help", *words).splitlines() if line.startswith("  ")][1:]

    def test_answers_what_newcomers_ask_with_the_first_line(self):
        self.assertEqual(20, len(QUESTIONS))
        for question, answer in QUESTIONS:
            self.assertIn(answer, self.search(question)[0], question)

    def test_knows_the_words_of_newcomers(self):
        self.assertEqual(27 + 40, len(WORDS))
        for word, topic in WORDS.items():
            self.assertRegex(self.search(word)[0], r"^  topic +%s  " % re.escape(topic), word)
            self.assertEqual(self.search(word)[0].split()[1], self.search(word.upper())[0].split()[1], word)

    def test_says_what_doppio_lacks(self):
        for word in ("lookahead", "rocm", "int8", "serving", "mosaic", "lr finder"):
            self.assertRegex(self.search(word)[0], r"  ([Dd]oppio has )?(no|none|neither|not)\b", word)

    def test_case_and_separators_do_not_matter(self):
        for spellings in (("warm-up", "warmup", "WARM_UP", "warm up"), ("fine-tuning", "finetuning", "Fine Tuning"),
                          ("clip_gradients", "clip-gradients", "Clip Gradients"),
                          ("lr_warmup", "--lr_warmup", "-lr-warmup")):
            self.assertEqual(1, len({self.succeed("help", spelling) for spelling in spellings}), spellings)
        self.assertEqual(self.succeed("help", "early stopping"), self.succeed("help", "early", "stopping"))

    def test_finds_flags_with_their_commands(self):
        self.assertRegex(self.search("early_stop")[0], r"topic +early stopping")
        self.assertTrue(any(re.search(r"flag +--early_stop=.*doppio help train$", line) for line in self.search("early_stop")))
        self.assertRegex(self.search("max_ranks")[0], r"flag +--max_ranks=N .*doppio help scale$")

    def test_finds_fields_with_their_messages(self):
        self.assertRegex(self.search("bias_term")[0], r"field +bias_term .*doppio help \w+Parameter$")
        self.assertRegex(self.search("momentum2")[0], r"field +momentum2 .*Adam.*doppio help SolverParameter$")

    def test_finds_verbs(self):
        self.assertTrue(any(re.search(r"verb +data preview .*doppio help data preview$", line) for line in self.search("preview")))

    def test_finds_words_of_descriptions(self):
        self.assertTrue(any("ignore_label" in line for line in self.search("positions")))

    def test_fields_without_effect_come_last(self):
        lines = self.search("convolution")
        self.assertNotIn("without effect", "\n".join(lines[:3]))

    def test_an_exact_command_layer_or_message_has_its_page(self):
        self.assertTrue(self.succeed("help", "train").startswith("usage: doppio train"))
        self.assertTrue(self.succeed("help", "device-query").startswith("usage: doppio device_query"))
        self.assertTrue(self.succeed("help", "Dropout").startswith("layer {"))
        self.assertTrue(self.succeed("help", "SolverParameter").startswith("SolverParameter {"))

    def test_is_short(self):
        for word in ("layer", "batch", "number", "size", "loss"):
            self.assertLessEqual(len(self.search(word)), 12, word)
        self.assertRegex(self.succeed("help", "loss"), r"\n\d+ more")
        self.assertLessEqual(max(len(line) for line in self.succeed("help", "batch").splitlines()), 140)

    def test_nothing_found_names_what_is_near(self):
        said = self.fail_with(2, "help", "wramup")
        self.assertRegex(said, r"^error: help has nothing on 'wramup'; did you mean .*'warm-?up'")
        self.assertIn("try: doppio help topics", said)
        self.assertEqual("error: help has nothing on 'qqqqqqqqqq'\ntry: doppio help topics\n",
                         self.fail_with(2, "help", "qqqqqqqqqq"))

    def test_names_the_fork_of_a_layer_that_doppio_lacks(self):
        self.assertEqual("error: Doppio has no 'AutoCrop': it comes from HED's or RCF's Caffe; Crop takes the same bottoms; "
                         "give it the offset\n", self.fail_with(2, "help", "AutoCrop"))
        self.assertIn("it comes from the Caffe of Convolutional Pose Machines", self.fail_with(2, "help", "cpm_transform_param"))


class TopicsTest(tool_case.ToolCase):
    def topics(self):
        """Returns the topics and what they lead to, by name."""
        rows = [re.split(r"  +", line.strip()) for line in self.succeed("help", "topics").splitlines() if line.startswith("  ")]
        return {row[0]: row[-1] for row in rows[1:]}

    def test_every_topic_is_found_by_its_name(self):
        self.assertGreater(len(self.topics()), 25)
        for topic in set(self.topics()) - {"exit codes"}:  # has a page of its own
            self.assertRegex(self.succeed("help", topic).splitlines()[1], r"topic +%s  " % re.escape(topic))

    def test_topics_lead_to_documents_and_commands_that_exist(self):
        for topic, where in self.topics().items():
            if where.startswith("doppio help "):
                self.succeed(*where.split()[1:])
                continue
            page, _, heading = where.partition("#")
            self.assertTrue(os.path.exists(os.path.join(links_test.ROOT, page)), topic)
            if heading:
                self.assertIn(heading, links_test.addresses(links_test.read(page)), topic)

    def test_topics_name_flags_and_fields_that_exist(self):
        with open(os.path.join(links_test.ROOT, "docs/cli.md"), encoding="utf-8") as f:
            flags = set(re.findall(r"--(\w+)", f.read()))
        for line in self.succeed("help", "topics").splitlines():
            self.assertLessEqual(set(re.findall(r"--(\w+)", line)), flags, line)


if __name__ == "__main__":
    tool_case.main()
