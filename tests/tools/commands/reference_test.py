#!/usr/bin/env python3
"""Tests `doppio reference`, help for layers, and the page in docs/ that contains the output of
`doppio reference`."""
import os
import re

import tool_case

ROOT = os.getcwd()


def rows(page, heading):
    """Returns the cells of the table under a heading."""
    section = re.split(r"(?m)^#+ %s$" % re.escape(heading), page)[1]
    section = re.split(r"(?m)^#+ ", section)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


class ReferenceTest(tool_case.ToolCase):
    def page(self):
        return self.succeed("reference")

    def document(self):
        """Returns the two parts of docs/reference.md: the one written by hand, and the program's."""
        with open(os.path.join(ROOT, "docs/reference.md"), encoding="utf-8") as f:
            text = f.read()
        parts = re.split(r"(?m)^(?=# Reference of fields$)", text)
        self.assertEqual(2, len(parts))
        return parts

    def test_the_document_is_up_to_date(self):
        self.assertEqual(self.page(), self.document()[1], "make it again: tools/dev reference")

    def test_every_field_has_a_meaning(self):
        tables = self.page().split("\n## Fields of every layer\n")[1]
        fields = [line for line in tables.splitlines() if re.match(r"\| `\w+` \|.*\|.*\|.*\|", line)]
        self.assertGreater(len(fields), 400)
        without = [line for line in fields if re.search(r"\|\s*(; without effect)?\s*\|$", line)]
        self.assertEqual([], without, "write a comment behind these fields in proto/")

    def test_shows_types_and_defaults_as_files_have_them(self):
        page = self.page()
        fields = {row[0]: row[1:] for row in rows(page, "convolution_param")}
        self.assertEqual(["several: integer from 0", ""], fields["`kernel_size`"][:2])
        self.assertEqual(["true or false", "`true`"], fields["`bias_term`"][:2])
        self.assertEqual("[FillerParameter](#fillerparameter)", fields["`weight_filler`"][0])
        self.assertIn("CAFFE, CUDNN", fields["`engine`"][0])
        self.assertTrue(fields["`conv_algos_override`"][2].endswith("without effect"))
        solver = {row[0]: row[1:] for row in rows(page, "Solver")}
        self.assertEqual('`"SGD"`', solver["`type`"][1])
        self.assertEqual("`0.999`", solver["`momentum2`"][1])

    def test_links_lead_to_headings(self):
        page = self.page()
        headings = {re.sub(r"[^\w-]", "", h.lower().replace(" ", "-")) for h in re.findall(r"(?m)^#+ (.*)$", page)}
        self.assertEqual(set(), set(re.findall(r"\]\(#([^)]*)\)", page)) - headings)

    def test_layers_have_the_messages_that_the_manual_says(self):
        """A message whose name differs from its layer's is named by Reads() in
        the layer's registration."""
        page = self.page()
        table = self.document()[0].split("\n## Layers\n")[1]
        layers = {row[0].strip("`"): set(re.findall(r"#(\w+)\)", row[2])) for row in rows(page, "Index of layers")}
        compared = 0
        for line in table.splitlines():
            cells = line.split(" | ")
            if not re.match(r"\| `[A-Z]\w*`$", cells[0]):
                continue
            has = layers.get(cells[0][3:-1], set())
            inside = {row[0].strip("`") for message in has for row in rows(page, message)}
            said = set(re.findall(r"`(\w+_param)`", cells[3])) - inside
            self.assertLessEqual(said, has, cells[0])
            compared += len(said)
        self.assertGreater(compared, 50)


class CombinationsPageTest(tool_case.ToolCase):
    def test_the_page_is_that_of_the_table(self):
        with open(os.path.join(ROOT, "docs/combinations.md"), encoding="utf-8") as f:
            self.assertEqual(self.succeed("reference", "combinations"), f.read(), "make it again: tools/dev reference")

    def test_the_matrix_shows_each_reason(self):
        page = self.succeed("reference", "combinations")
        matrix = page.split("\n## Matrix\n")[1].split("\n## ")[0]
        for letter in "RNFOIL":
            section = re.split(r"(?m)^## %s: .*$" % letter, page)[1].split("\n## ")[0]
            reasons = [line for line in section.splitlines() if line.startswith("* **")]
            self.assertGreater(len(reasons), 0)
            self.assertEqual(len(reasons), len(re.findall(r"\| %s (?=\|)" % letter, matrix)), letter)

    def test_another_page_is_a_mistake(self):
        self.assertIn("'reference combinations'", self.fail_with(2, "reference", "combination"))


class SolversPageTest(tool_case.ToolCase):
    """docs/solvers.md must have a row for each update rule and each policy, and no other rows."""

    def names(self, heading):
        with open(os.path.join(ROOT, "docs/solvers.md"), encoding="utf-8") as f:
            return {row[0].strip("`") for row in rows(f.read(), heading)}

    def test_the_page_names_all_rules(self):
        net = 'layer { name: "x" type: "Parameter" top: "x" parameter_param { shape { dim: 1 } } loss_weight: 1 }'
        self.write("solver.prototxt", 'net_param { %s } base_lr: 1 lr_policy: "fixed" max_iter: 1 type: "none"' % net)
        said = re.search(r"unknown solver type 'none' \((.*)\)", self.run_tool("check", "solver.prototxt").stdout)
        self.assertEqual(set(said.group(1).split(", ")), self.names("Rules"))

    def test_the_page_names_all_policies(self):
        said = re.search(r"`lr_policy` is (.*); formulas", self.succeed("reference")).group(1)
        self.assertEqual(set(re.split(", | and ", said)), self.names("Rates"))


class DataPageTest(tool_case.ToolCase):
    def test_the_page_names_all_backends(self):
        """The table at the start of docs/data.md must have each backend of layer Data once."""
        fields = {row[0]: row[1] for row in rows(self.succeed("reference"), "data_param")}
        with open(os.path.join(ROOT, "docs/data.md"), encoding="utf-8") as f:
            cells = re.findall(r"(?m)^\| Data(?:, \w+)* \| ([^|]*) \|", f.read())
        self.assertEqual(sorted(fields["`backend`"].split(", ")), sorted(", ".join(cells).split(", ")))


class LayerHelpTest(tool_case.ToolCase):
    def test_shows_the_fields_of_a_layer(self):
        page = self.succeed("help", "SoftmaxWithLoss")
        self.assertIn("bottoms and tops: 2 → 1 to 3", page)
        self.assertRegex(page, r"(?m)^ +ignore_label +integer +positions with this label do not count")
        self.assertIn("softmax_param {", page)
        self.assertNotIn("pooling_param", page)

    def test_layers_under_other_names_have_the_same_fields(self):
        for name in ("Deconvolution", "Im2col", "DepthwiseConvolution"):
            self.assertIn("convolution_param {", self.succeed("help", name))
        self.assertIn("norm_param {", self.succeed("help", "Normalize"))

    def test_shows_a_message(self):
        page = self.succeed("help", "SolverParameter")
        self.assertTrue(page.startswith("SolverParameter {\n"))
        self.assertRegex(page, r"(?m)^ +momentum2 +number +0\.999 +share of the second average")

    def test_a_layer_without_fields(self):
        self.assertNotIn("{", self.succeed("help", "AbsVal").split("\n", 1)[1])

    def test_a_wrong_name_gets_the_nearest(self):
        self.assertEqual("error: help has nothing on 'Convolutoin'; did you mean 'Convolution'?\ntry: doppio help topics\n",
                         self.fail_with(2, "help", "Convolutoin"))


if __name__ == "__main__":
    tool_case.main()
