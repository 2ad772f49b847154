#!/usr/bin/env python3
"""Checks the manifests of tools/kubernetes against the schemas of Kubernetes (from PyPI's kubernetes-validate) and of the MPI
Operator. Cases are skipped if the interpreter lacks the packages they need."""
import copy
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402

try:
    import jsonschema
    import kubernetes_validate
    import yaml
    MISSING = None
except ImportError as error:
    MISSING = "%s; pip install kubernetes-validate jsonschema pyyaml" % error

ROOT = os.getcwd()


def text_of(name):
    with open(os.path.join(ROOT, "tools/kubernetes", name), encoding="utf-8") as f:
        return f.read()


@unittest.skipIf(MISSING, MISSING)
class KubernetesTest(unittest.TestCase):
    def setUp(self):
        self.job = yaml.safe_load(text_of("job.yaml"))
        self.mpijob = yaml.safe_load(text_of("mpijob.yaml"))
        with open(os.path.join(ROOT, "tests/packing/mpijob_schema.json"), encoding="utf-8") as f:
            self.mpijob_schema = json.load(f)

    def validate(self, resource):
        kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)

    def templates(self):
        for name, replicas in self.mpijob["spec"]["mpiReplicaSpecs"].items():
            yield name, replicas["template"]

    def test_the_job_has_the_structure_that_kubernetes_knows(self):
        self.validate(self.job)

    def test_a_misspelt_field_would_be_found(self):
        self.job["spec"]["template"]["spec"]["containers"][0]["arg"] = ["train"]
        with self.assertRaises(kubernetes_validate.ValidationError):
            self.validate(self.job)

    def test_the_mpijob_has_the_structure_that_the_operator_knows(self):
        jsonschema.validate(self.mpijob, self.mpijob_schema)
        for name, template in self.templates():
            with self.subTest(name):
                self.validate({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": template})

    def test_a_misspelt_field_of_the_mpijob_would_be_found(self):
        for path in ("spec", "spec.runPolicy", "spec.mpiReplicaSpecs.Worker"):
            wrong = copy.deepcopy(self.mpijob)
            at = wrong
            for part in path.split("."):
                at = at[part]
            at["nosuch"] = 1
            with self.assertRaises(jsonschema.ValidationError, msg=path):
                jsonschema.validate(wrong, self.mpijob_schema)

    def test_ranks_are_workers_times_slots(self):
        spec = self.mpijob["spec"]
        args = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"]
        ranks = spec["mpiReplicaSpecs"]["Worker"]["replicas"] * spec["slotsPerWorker"]
        self.assertEqual(str(ranks), args[args.index("-n") + 1])

    def test_no_pod_runs_as_root_and_each_has_time_for_a_snapshot(self):
        for name, template in [("Job", self.job["spec"]["template"]), *self.templates()]:
            with self.subTest(name):
                self.assertTrue(template["spec"]["securityContext"]["runAsNonRoot"])
                self.assertGreaterEqual(template["spec"]["terminationGracePeriodSeconds"], 120)


class FoldersTest(unittest.TestCase):
    def test_the_operators_key_lies_where_the_images_server_looks(self):
        with open(os.path.join(ROOT, "tools/docker/Dockerfile.mpi"), encoding="utf-8") as f:
            dockerfile = f.read()
        key = re.search(r"HostKey (\S+)/id_rsa\\n", dockerfile).group(1)
        manifest = text_of("mpijob.yaml")
        self.assertIn("sshAuthMountPath: %s\n" % key, manifest)
        config = re.search(r">(/\S+sshd_config)", dockerfile).group(1)
        self.assertIn('"-f", "%s"' % config, manifest)


if __name__ == "__main__":
    junit.main()
