"""The jobs of tests/night/run."""
from typing import NamedTuple

MINUTE = 60  # seconds
LONGEST = 100  # minutes of a shard, and so of a job


class Job(NamedTuple):
    name: str
    finds: str
    # For bash in the repository's root. {first} is the first seed of this run, and {seeds} the number of seeds.
    command: str
    minutes: float  # an estimate for two cores and warm caches, used until the ledger has a measured time
    # root, nvcc, shared (the tests' data folder), paths of files, and Debian packages, which tools/setup installs.
    needs: str = ""
    seeds: int = 0  # how many seeds a run takes; the next run continues after them


HOST = "tools/check --config=cpu "
ASAN, TSAN = HOST + "--config=asan --config=ubsan ", HOST + "--config=tsan "
DOUBLE = "tools/check --config=double --build_tests_only --test_tag_filters="
SCENARIO = HOST + "--test_timeout=5400 --test_env=DOPPIO_TEST_%s //tests/scenarios:"
EACH = "tools/dev build --config=cpu --config=each --keep_going "
PROGRAM_ONLY = "tools/dev build --config=cpu && "
PROGRAM = PROGRAM_ONLY + "python3 tests/cluster/"
RANDOM = "tools/dev build --config=cpu //tests/random:random_trainings && "
# Makes the folder $d, which is removed at the end.
SCRATCH = "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && "
# Packages without CUDA and for one level of CPU take a fraction of the time.
SMALL = SCRATCH + "export DOPPIO_BAZEL_OPTIONS=--config=cpu DOPPIO_LEVELS=v2 && "
THIS_DEBIAN = ' "$(. /etc/os-release; echo "$VERSION_CODENAME")"'
NEW_SYSTEM, IMAGES = "root debootstrap", "root buildah debootstrap"


def tidy(name, paths, options="--repo_env=DOPPIO_CUDA_ARCHS=80", needs=""):
    """Returns the job that checks the C++ files of `paths`, which are git's pathspecs."""
    command = "git ls-files -- %s | grep -E '\\.(cc|h|cu|cuh)$' | xargs tools/tidy %s" % (paths, options)
    return Job("tidy-" + name, "findings of clang-tidy in " + paths, command, 50, needs + " clang-tidy clang-format")


JOBS = [
    # The double of a machine with GPUs. The third job is quick if .ci/run had time for these tests at the same commit.
    Job("conformance-2-gpus", "results that differ from BVLC Caffe's when a batch is divided between two GPUs",
        DOUBLE + "by_hand //tests/double/...", 25, "nvcc shared"),
    Job("soak", "races of the CUDA code that few orders of the machine's work show",
        "tests/double/soak {seeds} {first}", 45, "nvcc", 4000),
    Job("double", "failures on the double that .ci/run had no time for", DOUBLE + "on_gpu //...", 60, "nvcc"),
    Job("rehearsal", "steps of tools/gpu_check that would fail on a machine with GPUs",
        SCRATCH + 'tests/double/rehearsal "$d"', 60, "nvcc"),
    # Sanitizers. In .ci/run only the readers of files run under them.
    Job("asan-core", "memory errors and undefined behaviour below the layers",
        ASAN + "//tests/core/... //tests/data/... //tests/proto/...", 60),
    Job("asan-layers", "memory errors and undefined behaviour in layers", ASAN + "//tests/layers/...", 60),
    Job("asan-ranks", "memory errors and undefined behaviour in the training loop and in ranks",
        ASAN + "//tests/solvers/... //tests/parallel/...", 60),
    Job("asan-tools", "memory errors and undefined behaviour in commands", ASAN + "//tests/tools/...", 60),
    Job("tsan-core", "data races in nets and sources of data", TSAN + "//tests/core/... //tests/data/...", 70),
    Job("tsan-ranks", "data races in the training loop and between ranks",
        TSAN + "//tests/parallel/... //tests/solvers/...", 80),
    Job("fuzz", "crashes of readers on inputs that no test has", "tests/fuzz/run 66", 80),
    # Other systems and compilers, and packages.
    *[Job("fresh-" + release, "documented steps that fail on a new " + release, "tests/fresh/run " + release, 80,
          NEW_SYSTEM) for release in ("bookworm", "trixie")],
    *[Job("compiler-" + compiler, "warnings of %s, and tests that fail with it" % compiler,
          "tests/fresh/compilers " + compiler, 60, NEW_SYSTEM)
      for compiler in ("g++-12", "clang-14", "g++-14", "clang-19")],
    Job("wheel", "wheels that fail outside of this checkout, or with another NumPy",
        SMALL + 'tools/wheel "$d" && tests/wheel/run "$d"/*.whl && tests/fresh/wheel "$d"/*.whl' + THIS_DEBIAN, 50,
        NEW_SYSTEM + " python3-venv"),
    Job("deb", "Debian packages that do not work or leave files behind",
        SMALL + 'tools/deb "$d" && tests/fresh/deb "$d"/*.deb' + THIS_DEBIAN, 60, NEW_SYSTEM + " dpkg-dev"),
    Job("image-cpu", "container images that fail", "tests/containers/run cpu", 60, IMAGES),
    Job("image-cuda", "container images with CUDA that fail", "tests/containers/run --archs=80 cuda", 80,
        IMAGES),
    Job("apptainer", "sections of doppio.def that fail", SMALL + "tests/containers/run apptainer", 40, IMAGES),
    # The whole tree in other ways than with two threads and joined files.
    *[Job("threads-%d" % n, "tests that fail with %d of OpenMP's threads" % n,
          HOST + "--test_env=OMP_NUM_THREADS=%d" % n, 60) for n in (1, 3)],
    Job("each-code", "missing includes in the code", EACH + " ".join(
        "//%s/..." % folder for folder in "core data layers parallel proto python solvers tools".split()), 70),
    Job("each-tests", "missing includes in the tests", EACH + "//tests/...", 80),
    tidy("core", "core data python proto"),
    tidy("layers", "layers parallel solvers"),
    tidy("tools", "tools"),
    tidy("tests-1", "tests/core tests/data tests/layers"),
    tidy("tests-2", "tests ':!tests/core' ':!tests/data' ':!tests/layers' ':!tests/double'"),
    tidy("double", "tests/double", "--config=double", "nvcc"),
    Job("batches", "batches and numbers of threads at which a net does not train beside its test net",
        HOST + "--test_tag_filters=by_hand --test_env=DOPPIO_TEST_GRID={first} //tests/models:batch_grid_test", 60, "", 1),
    # Random trainings. The build is that of the host alone.
    Job("random", "ways to run that change the numbers of random trainings",
        RANDOM + "bazel-bin/tests/random/random_trainings --seeds={first}:{seeds} --minutes=70", 90, "", 20000),
    Job("random-oracle", "random trainings whose numbers are not those of the oracle",
        RANDOM + "tests/random/oracle/run --seeds={first}:{seeds} --minutes=70", 90, "python3-torch", 5000),
    Job("random-commands", "random trainings on which commands disagree",
        RANDOM + "python3 tests/random/processes.py --seeds={first}:{seeds} --minutes=70", 90, "", 500),
    Job("mutations", "changed files of users on which commands disagree",
        PROGRAM_ONLY + "python3 tests/random/mutate.py --seeds={first}:{seeds} --minutes=70", 90, "shared", 5000),
    # More faults than in .ci/run, and faults of machines that network namespaces simulate.
    Job("kills", "moments at which kill -9 loses more than the work since the last snapshot",
        SCENARIO % "KILLS=1000" + "kill_test --test_arg=LeNetTest", 40),
    Job("rank-kills", "moments at which kill -9 of one of four ranks leaves others behind, or loses more",
        SCENARIO % "KILLS=200" + "ranks_kill_test", 30),
    Job("rank-signals", "signals that ranks handle wrongly in one of their phases",
        SCENARIO % "SIGNALS=all" + "ranks_signals_test", 30),
    Job("elastic-kills", "elastic trainings that end with other weights after kills of ranks",
        PROGRAM + "elastic_kills.py --kills=100 --seed={first}", 30, "", 1),
    Job("elastic-link", "elastic trainings that do not continue after a cable is cut",
        PROGRAM + "elastic_link.py --rounds=20 --seed={first}", 30, "root iproute2 /usr/bin/ssh /usr/sbin/sshd", 1),
    Job("shaped-link", "predictions of `doppio scale` for slow links that are wrong by more than 10 %",
        PROGRAM_ONLY + "tests/cluster/shaped_link_test.sh", 30, "root iproute2"),
]
