#!/usr/bin/env python3
"""Tests the job scripts of `doppio submit` with stand-ins for the batch systems."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import DOPPIO  # noqa: E402
from tiny_case import TINY_SOLVER, TinyCase  # noqa: E402


class SubmitTest(TinyCase):
    TRAINING = ("--", "train", "--solver=my solver.prototxt", "--set=base_lr=0.1", "--gpu=all")

    def setUp(self):
        super().setUp()
        self.write("my solver.prototxt", TINY_SOLVER)
        self.write("s", TINY_SOLVER)

    def script(self, system, *flags, training=TRAINING):
        r = self.run_tool("submit", system, "--time=01:30:00", "--program=doppio", *flags, *training)
        self.assertEqual((0, ""), (r.returncode, r.stderr))
        return r.stdout

    def run_script(self, script, code):
        """Runs the script with stand-ins for the batch system's programs, which record their arguments; ranks exit with
        `code`. jsrun sends the calling shell SIGUSR1, which LSF sends to the whole job."""
        for name, end in (("srun", code), ("mpirun", code), ("jsrun", code), ("scontrol", 0), ("qsub", 0)):
            signal_shell = "kill -USR1 $PPID\n" if name == "jsrun" else ""
            self.write(name, '#!/bin/bash\necho %s "$@" >>calls\n%sexit %d\n' % (name, signal_shell, end))
            os.chmod(os.path.join(self.folder, name), 0o755)
        self.write("calls", "")
        self.write("job", script)
        done = subprocess.run(["bash", "job"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env={"PATH": self.folder + ":" + os.environ["PATH"], "SLURM_JOB_ID": "77", "PBS_NODEFILE": "nodes", "LSB_DJOB_HOSTFILE": "nodes",
                                   "PBS_O_WORKDIR": self.folder, "LS_SUBCWD": self.folder})
        self.assertEqual("", done.stderr)
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as f:
            return done.returncode, f.read().splitlines()

    def check_scripts(self, *checker):
        for system in ("slurm", "pbs", "lsf"):
            for flags in ((), ("--nodes=2", "--gpus_per_node=4", "--cpus_per_rank=8", "--queue=gpu", "--account=a1"),
                          ("--nompi", "--nodes=2", "--cpus_per_rank=8")):
                self.write("job", self.script(system, *flags))
                r = subprocess.run([*checker, os.path.join(self.folder, "job")], capture_output=True, text=True, timeout=60)
                self.assertEqual((0, ""), (r.returncode, r.stdout + r.stderr))

    def test_scripts_are_sound_bash(self):
        self.check_scripts("bash", "-n")

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_scripts_pass_shellcheck(self):
        self.check_scripts("shellcheck")

    def test_slurm_runs_the_ranks_and_queues_again_what_was_stopped(self):
        script = self.script("slurm", "--nodes=2", "--gpus_per_node=4")
        rank = "doppio train --solver=my solver.prototxt --set=base_lr=0.1 --gpu=all --resume=auto"
        ran = "srun --mpi=pmix --kill-on-bad-exit=0 --wait=120 " + rank
        self.assertEqual((75, [ran, "scontrol requeue 77"]), self.run_script(script, 75))
        self.assertEqual((0, [ran]), self.run_script(script, 0))
        self.assertEqual((8, [ran]), self.run_script(script, 8))
        for line in ("--nodes=2", "--ntasks-per-node=4", "--gpus-per-node=4", "--time=01:30:00", "--signal=USR1@120", "--requeue"):
            self.assertIn("\n#SBATCH %s\n" % line, script)

    def test_pbs_runs_the_ranks_and_queues_again_what_was_stopped(self):
        script = self.script("pbs", "--nodes=2", "--ranks_per_node=3")
        ran = ("mpirun -n 6 --hostfile nodes --map-by ppr:3:node doppio train --solver=my solver.prototxt --set=base_lr=0.1 "
               "--gpu=all --resume=auto")
        self.assertEqual((75, [ran, "qsub -v DOPPIO_JOB_RUNS=2 job"]), self.run_script(script, 75))
        self.assertEqual((0, [ran]), self.run_script(script, 0))
        self.assertIn(" --signal=USR1 5280 ", script)

    def test_lsf_hands_the_code_over_though_it_is_sent_the_warning(self):
        script = self.script("lsf", "--nodes=2", "--gpus_per_node=6", "--warn_seconds=150")
        ran = ("jsrun --nrs=2 --rs_per_host=1 --tasks_per_rs=6 --cpu_per_rs=ALL_CPUS --gpu_per_rs=6 doppio train "
               "--solver=my solver.prototxt --set=base_lr=0.1 --gpu=all --resume=auto")
        self.assertEqual((75, [ran]), self.run_script(script, 75))
        for line in ("-W 01:30", "-wa USR1", "-wt 3", '-Q "75"'):
            self.assertIn("\n#BSUB %s\n" % line, script)

    def test_starts_ranks_without_mpi(self):
        script = self.script("slurm", "--nodes=2", "--nompi")
        rank = "doppio train --solver=my solver.prototxt --set=base_lr=0.1 --gpu=all --resume=auto"
        self.assertEqual((75, ["srun --mpi=none --kill-on-bad-exit=0 --wait=120 " + rank, "scontrol requeue 77"]), self.run_script(script, 75))
        self.write("doppio", "#!/bin/bash\necho doppio \"$@\" >>calls\nexit 75\n")
        os.chmod(os.path.join(self.folder, "doppio"), 0o755)
        for system, launch, again in (("pbs", "--hostfile=nodes", ["qsub -v DOPPIO_JOB_RUNS=2 job"]), ("lsf", "--rsh=blaunch --hostfile=nodes", [])):
            ran = "doppio launch %s -- %s" % (launch, rank.split(" ", 1)[1])
            self.assertEqual((75, [ran] + again), self.run_script(self.script(system, "--nodes=2", "--nompi"), 75))

    def test_names_the_flag_on_a_machine_without_mpi(self):
        env = {"DOPPIO_MPI_LIBRARY": self.path("nothing/libmpi.so")}
        arguments = ("--time=1:00:00", "--nodes=2", "--", "train", "--solver=s")
        for system, start in (("slurm", "srun --mpi=none"), ("pbs", "doppio launch")):
            r = self.run_tool("submit", system, *arguments, **env)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertIn("this machine has no MPI library. If the nodes of the job have none either, add --nompi", r.stderr)
            self.assertIn("started by " + start, r.stderr)
        r = self.run_tool("submit", "slurm", "--nompi", *arguments, **env)
        self.assertEqual((0, ""), (r.returncode, r.stderr))

    def test_obeys_what_the_training_says_itself(self):
        training = ("--", "train", "--solver=s", "--resume", "--stop_exit_code=99")
        script = self.script("slurm", training=training)
        self.assertIn("doppio train --solver=s --resume --stop_exit_code=99\n", script)
        self.assertIn('[ "$code" -eq 99 ]', script)

    def test_names_this_program_unless_another_is_given(self):
        r = self.run_tool("submit", "slurm", "--time=1:00", *self.TRAINING)
        self.assertIn(" %s train " % os.path.realpath(DOPPIO), r.stdout)

    def test_warns_of_a_solver_that_is_not_here(self):
        self.write_tiny()
        for solver, warned in (("solver.prototxt", False), ("nothere.prototxt", True)):
            r = self.run_tool("submit", "slurm", "--time=1:00", "--", "train", "--solver=" + solver)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertEqual(warned, "'%s' does not exist in this folder, in which the job starts" % solver in r.stderr)

    def test_refuses_what_would_fail_on_the_cluster(self):
        training = ("--", "train", "--solver=s")
        for arguments, text in [
                (("slurm", *training), "'submit' needs --time"),
                (("--time=1:00", *training), "'submit' knows slurm, pbs and lsf, not 'train'"),
                (("--time=1:00",), "'submit' needs slurm|pbs|lsf -- train FLAGS"),
                (("slrm", "--time=1:00", *training), "not 'slrm'; did you mean 'slurm'?"),
                (("slurm", "--time=2 days", *training), "--time needs HH:MM:SS or D-HH:MM:SS, such as 24:00:00; got '2 days'"),
                (("slurm", "--time=0:01", *training), "--warn_seconds=120 is not less than --time=0:01"),
                (("slurm", "--time=1:00", "--warn_seconds=0", *training), "--warn_seconds needs 1 to 65535; got 0"),
                (("slurm", "--time=1:00", "--nodes=0", *training), "--nodes needs 1 to 100000; got 0"),
                (("slurm", "--time=1:00", "--gpus_per_node=-1", *training), "--gpus_per_node needs 0 to 1000; got -1"),
                (("slurm", "--time=1:00", "--gpus_per_node=2", *training), "give it --gpu, such as --gpu=all"),
                (("slurm", "--time=1:00", "--cpus_per_rank=-1", *training), "--cpus_per_rank needs 0 to 100000; got -1"),
                (("slurm", "--time=1:00", "--ranks_per_node=0", *training), "--ranks_per_node needs 1 to 100000; got 0"),
                (("slurm", "--time=1:00", "--queue=a b", *training), "--queue needs letters, digits and"),
                (("slurm", "--time=1:00", "--account=a;b", *training), "--account needs letters, digits and"),
                (("slurm", "--time=1:00", "--partition=a b", *training), "--partition needs letters, digits and"),
                (("slurm", "--time=1:00", "--partition=a", "--queue=b", *training), "--queue and --partition mean the same"),
                (("slurm", "--time=1:00", "--directive=comment=x", *training), "--directive needs an option of the batch system"),
                (("slurm", "--time=1:00", "--directive=--comment=a\nrm -r x", *training), "--directive needs one line"),
                (("slurm", "--time=1:00", "--setup=a\nb", *training), "--setup needs one line"),
                (("slurm", "--time=1:00", "--setup=", *training), "--setup needs one line"),
                (("slurm", "--time=1:00", "--gres=gpu:2 x", *training), "--gres needs letters, digits and"),
                (("slurm", "--time=1:00", "--gres=gpu:2", *training), "give it --gpu, such as --gpu=all"),
                (("slurm", "--time=1:00", "--gres=gpu:2", "--gpus_per_node=4", *training, "--gpu=all"),
                 "--gpus_per_node=4 and --gres=gpu:2 ask for different numbers of GPUs"),
                (("pbs", "--time=1:00", "--gres=gpu:2", *training), "--gres is an option of SLURM; use --gpus_per_node"),
                (("pbs", "--time=1:00", "--container_image=ubuntu", *training), "--container_image needs an image of Apptainer"),
                (("lsf", "--time=1:00", "--container_image=a.sif", "--nompi", *training), "cannot start ranks in containers"),
                (("slurm", "--time=1:00", "--job_name=", *training), "--job_name must not be empty"),
                (("slurm", "--time=1:00"), "the command after -- must be a training"),
                (("slurm", "--time=1:00", "--", "test", "--model=m", "--weights=w"), "the command after -- must be a training"),
                (("slurm", "--time=1:00", "train", "--solver=s"), "put the flags of the training after --"),
                (("slurm", "--time=1:00", "--", "train"), "'train' needs --solver"),
                (("slurm", "--time=1:00", "--name=x", *training), "unknown flag '--name'; did you mean '--job_name'?"),
                (("slurm", "--time=1:00", *training, "--bach=3"), "unknown flag '--bach'; did you mean '--batch'?"),
                (("slurm", "--time=1:00", *training, "--iterations=3"), "--iterations has no effect on 'train'"),
                (("slurm", "--time=1:00", *training, "--elastic=2:4"), "joined by TCP; add --nompi before the --"),
                (("slurm", "--time=1:00", *training, "--snapshot=x"), "leave out --snapshot"),
                (("slurm", "--time=1:00", *training, "--resume=s_iter_5.solverstate"),
                 "a job that is requeued would go back to --resume=s_iter_5.solverstate each time"),
                (("slurm", "--time=1:00", *training, "--stop_exit_code=0"), "--stop_exit_code needs 1 to 125; got 0")]:
            r = self.run_tool("submit", *arguments)
            self.assertEqual((2, ""), (r.returncode, r.stdout), arguments)
            self.assertIn(text, r.stderr)

    def test_has_the_lines_of_the_site(self):
        flags = ("--directive=--comment=caffe", "--setup=module() { echo module \"$@\" >>calls; }", "--setup=module load cuda",
                 "--partition=gpu")
        for system, queue in (("slurm", "#SBATCH --partition=gpu"), ("pbs", "#PBS -q gpu"), ("lsf", "#BSUB -q gpu")):
            script = self.script(system, *flags)
            self.assertIn("\n" + queue + "\n", script)
            self.assertIn(" --comment=caffe\n", script)
            code, calls = self.run_script(script, 0)
            self.assertEqual((0, "module load cuda"), (code, calls[0]))
            self.assertIn("doppio train", calls[1])

    def test_asks_slurm_for_gpus_by_gres(self):
        script = self.script("slurm", "--gres=gpu:v100:2,nvme:1")
        self.assertIn("\n#SBATCH --gres=gpu:v100:2,nvme:1\n", script)
        self.assertIn("\n#SBATCH --ntasks-per-node=2\n", script)
        self.assertNotIn("--gpus-per-node", script)

    def test_runs_the_ranks_in_containers(self):
        self.write("apptainer", '#!/bin/bash\nshift; exec "${@:2}"\n')
        os.chmod(self.path("apptainer"), 0o755)
        r = self.run_tool("submit", "slurm", "--time=1:00:00", "--container_image=my image.sif", *self.TRAINING)
        self.assertIn(" \"$apptainer\" exec 'my image.sif' doppio train ", r.stdout, r.stderr)
        code, calls = self.run_script(r.stdout, 75)
        self.assertEqual(75, code)
        self.assertIn(" %s exec my image.sif doppio train " % self.path("apptainer"), calls[0])
        r = self.run_tool("submit", "slurm", "--time=1:00:00", "--container_image=doppio:cuda", "--program=/opt/d", *self.TRAINING)
        self.assertIn('--container-image=doppio:cuda --container-mounts="$PWD:$PWD" --container-workdir="$PWD" /opt/d train ',
                      r.stdout.replace("'doppio:cuda'", "doppio:cuda"))

    def test_takes_the_defaults_of_the_site(self):
        self.write("사이트 site", "# of our centre\n\nqueue=gpu\naccount=p1\ncpus_per_rank=8\nmpi=false\n"
                   "directive=--comment=caffe\nsetup=module load cuda\n")
        for arguments, env in ((("--site=" + self.path("사이트 site"),), {}), ((), {"DOPPIO_SITE": self.path("사이트 site")})):
            r = self.run_tool("submit", "slurm", "--time=1:00:00", *arguments, *self.TRAINING, **env)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertIn("site defaults of %s: queue, account, cpus_per_rank, mpi, directive, setup" % self.path("사이트 site"), r.stderr)
            for line in ("#SBATCH --partition=gpu", "#SBATCH --account=p1", "#SBATCH --cpus-per-task=8", "#SBATCH --comment=caffe",
                         "module load cuda"):
                self.assertIn("\n" + line + "\n", r.stdout)
            self.assertIn("srun --mpi=none ", r.stdout)

    def test_flags_win_over_the_site(self):
        self.write("site", "queue=gpu\naccount=p1\nmpi=false\ndirective=--comment=caffe\n")
        r = self.run_tool("submit", "slurm", "--time=1:00:00", "--site=" + self.path("site"), "--partition=cpu", "--mpi",
                          "--directive=--comment=doppio", *self.TRAINING)
        self.assertIn("\n#SBATCH --partition=cpu\n#SBATCH --account=p1\n", r.stdout, r.stderr)
        self.assertIn("srun --mpi=pmix ", r.stdout)
        # SLURM takes the last one.
        self.assertIn("\n#SBATCH --comment=caffe\n#SBATCH --comment=doppio\n", r.stdout)
        self.assertIn(": account, directive\n", r.stderr)

    def test_finds_the_site_of_the_user(self):
        os.makedirs(self.path(".config/doppio"))
        self.write(".config/doppio/site", "queue=own\n")
        r = self.run_tool("submit", "slurm", "--time=1:00:00", *self.TRAINING, HOME=self.folder)
        self.assertIn("\n#SBATCH --partition=own\n", r.stdout, r.stderr)
        r = self.run_tool("submit", "slurm", "--time=1:00:00", "--site=", *self.TRAINING, HOME=self.folder)
        self.assertNotIn("partition", r.stdout, r.stderr)

    def test_names_the_line_of_a_mistake_in_the_site(self):
        for text, code, message in (("queue=gpu\nqeue=x\n", 3, "site:2: error: 'qeue' is not a default of a site; did you mean 'queue'?"),
                                    ("time=1:00\n", 3, "site:1: error: 'time' is not a default of a site"),
                                    ("queue\n", 3, "site:1: error: expected NAME=VALUE, such as queue=gpu; got 'queue'"),
                                    ("cpus_per_rank=many\n", 3, "site:1: error: cpus_per_rank needs an integer; got 'many'"),
                                    ("directive=#SBATCH --x\n", 2, "--directive needs an option of the batch system"),
                                    (None, 4, "cannot read")):
            path = self.path("site")
            if text is None:
                os.remove(path)
            else:
                self.write("site", text)
            r = self.run_tool("submit", "slurm", "--time=1:00:00", "--site=" + path, *self.TRAINING)
            self.assertEqual((code, ""), (r.returncode, r.stdout), r.stderr)
            self.assertIn(message, r.stderr)

    def test_says_how_it_reads_a_time_of_two_numbers(self):
        training = ("--", "train", "--solver=solver.prototxt")
        r = self.run_tool("submit", "slurm", "--time=48:00", *training)
        self.assertIn("--time=48:00 is 48:00:00, hours and minutes", r.stderr)
        self.assertIn("--time=48:00:00\n", r.stdout)
        for time in ("48:00:00", "2-00", "2-00:00"):
            self.assertNotIn("hours and minutes", self.run_tool("submit", "slurm", "--time=" + time, *training).stderr)


if __name__ == "__main__":
    tool_case.main()
