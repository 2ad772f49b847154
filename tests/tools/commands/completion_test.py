#!/usr/bin/env python3
"""Tests completion by calling it as the shells do."""
import re
import shutil
import subprocess
import unittest

import tool_case


class CompletionTest(tool_case.ToolCase):
    def script(self, shell):
        self.write("completion", self.succeed("completion", shell))

    def test_wants_a_shell(self):
        self.assertEqual("error: 'completion' needs bash|zsh|fish\ntry: doppio completion --help\n",
                         self.fail_with(2, "completion"))
        self.assertEqual("error: 'completion' knows bash, zsh and fish, not 'tcsh'\n",
                         self.fail_with(2, "completion", "tcsh"))


class BashTest(CompletionTest):
    def complete(self, *words):
        """Returns what TAB offers after these words, which bash splits at '='."""
        self.script("bash")
        line = "source ./completion; COMP_WORDS=(%s); COMP_CWORD=%d; _doppio; printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
            " ".join("'%s'" % w for w in words), len(words) - 1)
        r = subprocess.run(["bash", "--norc", "-c", line], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual("", r.stderr)
        return r.stdout.split()

    def test_completes_commands(self):
        self.assertEqual(["train"], self.complete("doppio", "tr")[:1])
        self.assertIn("device_query", self.complete("doppio", ""))
        self.assertEqual([], self.complete("doppio", "nothing"))

    def test_flags_of_the_command(self):
        self.assertEqual(["--solver"], self.complete("doppio", "train", "--sol"))
        self.assertEqual([], self.complete("doppio", "check", "--sol")[1:])
        self.assertIn("--help", self.complete("doppio", "version", "--"))

    def test_a_switch_that_is_on_is_offered_turned_off(self):
        offered = self.complete("doppio", "train", "--")
        self.assertIn("--nofusion", offered)
        self.assertNotIn("--fusion", offered)

    def test_completes_values(self):
        self.assertEqual(["TEST"], self.complete("doppio", "summary", "--phase", "=", "TE"))
        self.assertEqual(["TRAIN", "TEST"], self.complete("doppio", "summary", "--phase", "="))
        self.assertEqual(["linear"], self.complete("doppio", "train", "--scale_lr", "lin"))

    def test_completes_the_values_of_precision(self):
        for command in "train", "test", "time", "classify":
            self.assertEqual(["fp32", "tf32", "bf16", "fp16"], self.complete("doppio", command, "--precision", "="))

    def test_offers_no_placeholders(self):
        self.assertEqual(["stop"], self.complete("doppio", "train", "--on_bad_record", "="))
        self.assertEqual([], self.complete("doppio", "train", "--monitor", "="))
        self.assertEqual([], self.complete("doppio", "classify", "--resize", "="))
        self.assertEqual(["copy", "link"], self.complete("doppio", "classify", "--sort_by", "="))
        words = re.findall(r"compgen -W '([^']*)'", self.read("completion").decode())
        self.assertFalse([w for w in words if re.search(r"skip:N|HxW|max:NAME", w)])

    def test_files_are_left_to_bash(self):
        self.assertEqual([], self.complete("doppio", "train", "--solver", "=", "mod"))
        self.script("bash")
        r = subprocess.run(["bash", "--norc", "-c", "source ./completion; complete -p doppio"], cwd=self.folder,
                           capture_output=True, text=True, check=False)
        self.assertEqual("complete -o default -F _doppio doppio\n", r.stdout)

    def test_verbs_have_their_own_flags(self):
        self.assertIn("--encode_type", self.complete("doppio", "data", "convert", "--"))
        self.assertNotIn("--fractions", self.complete("doppio", "data", "convert", "--"))
        self.assertIn("--fractions", self.complete("doppio", "data", "split", "--"))

    def test_help_knows_commands_layers_verbs_and_topics(self):
        self.assertEqual(["Pooling"], self.complete("doppio", "help", "Pool"))
        self.assertEqual(["gradient-clipping"], self.complete("doppio", "help", "gradient"))
        self.assertEqual(["convert"], self.complete("doppio", "help", "data", "conv"))
        self.assertIn("submit", self.complete("doppio", "help", "su"))

    def test_words_that_a_command_begins_with(self):
        self.assertEqual(["ls", "diff", "average"], self.complete("doppio", "weights", ""))
        self.assertEqual(["slurm"], self.complete("doppio", "submit", "sl"))
        self.assertEqual([], self.complete("doppio", "weights", "ls", "d"))

    def test_knows_every_flag_of_every_command(self):
        commands = re.findall(r"(?m)^  (\w+) ", self.succeed("help").split("Commands:")[1].split("\n\n")[0])
        for command in ("train", "time", "classify"):
            self.assertIn(command, commands)
            offered = self.complete("doppio", command, "--")
            for flag in re.findall(r"(?m)^  --(\w+)", self.succeed("help", command)):
                self.assertTrue({"--" + flag, "--no" + flag} & set(offered), command + " --" + flag)


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class ZshTest(CompletionTest):
    def test_is_sourced_and_completes(self):
        self.script("zsh")
        # Runs zsh in a pseudo-terminal, in which TAB lists the candidates.
        line = ("zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z 'PS1=; autoload -U compinit; compinit -u -d ./dump; "
                "source ./completion; print READY'; zpty -r z out '*READY*READY*'; zpty -w -n z $'doppio summary --pha\\t'; "
                "zpty -r z out '*--phase*'; print -r -- $out")
        r = subprocess.run(["zsh", "-f", "-c", line], cwd=self.folder, capture_output=True, text=True, check=False, timeout=60)
        self.assertIn("--phase", r.stdout + r.stderr)


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class FishTest(CompletionTest):
    def complete(self, line):
        self.script("fish")
        r = subprocess.run(["fish", "--no-config", "-c", "source ./completion; complete -C '%s'" % line], cwd=self.folder,
                           capture_output=True, text=True, check=False)
        self.assertEqual("", r.stderr)
        return [offer.split("\t")[0] for offer in r.stdout.splitlines()]

    def test_commands_flags_and_values(self):
        self.assertIn("train", self.complete("doppio tr"))
        self.assertEqual(["--phase"], [offer.rstrip("=") for offer in self.complete("doppio summary --pha")])
        self.assertEqual(["--phase=TEST"], self.complete("doppio summary --phase=TE"))
        self.assertIn("Pooling", self.complete("doppio help Pool"))
        self.assertIn("warm-up", self.complete("doppio help warm"))
        self.assertIn("convert", self.complete("doppio data conv"))
        self.assertEqual(["--fractions"], [offer.rstrip("=") for offer in self.complete("doppio data split --frac")])
        self.assertEqual([], self.complete("doppio data convert --frac"))


if __name__ == "__main__":
    tool_case.main()
