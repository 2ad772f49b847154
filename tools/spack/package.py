"""Doppio for Spack: installs the portable bundle of a release, because Doppio's build needs Debian's packages.

Add it to a repository of your centre:

    spack repo create centre && mkdir -p centre/packages/doppio && cp package.py centre/packages/doppio/
    spack repo add centre
    cd FOLDER_OF_THE_RELEASE && spack install doppio        # takes the archive from the working directory

The recipe that comes with a release (doppio-VERSION-spack.py) has the archive's checksum.
"""
import os

from spack.package import *


class Doppio(Package):
    """Trains the networks that Caffe's prototxt files describe, on CPUs, NVIDIA GPUs and clusters."""

    # The archive has no download address. Spack takes it from its working directory or a mirror.
    manual_download = True
    url = "file://{0}/doppio-0.1.0-linux-x86_64.tar.gz".format(os.getcwd())

    version("0.1.0")

    license("BSD-2-Clause")

    variant("mpi", default=True, description="Train on several machines with Open MPI")
    variant("cuda", default=False, description="Train on NVIDIA GPUs")

    depends_on("openmpi@4:", type="run", when="+mpi")
    depends_on("cuda@13:", type="run", when="+cuda")
    depends_on("cudnn@9:", type="run", when="+cuda")
    depends_on("nccl@2.10:", type="run", when="+cuda")

    conflicts("platform=darwin", msg="the bundle is for Linux")
    conflicts("target=aarch64:", msg="the bundle is for x86-64")
    conflicts("target=ppc64le:", msg="the bundle is for x86-64")

    sanity_check_is_file = ["bin/doppio"]

    def url_for_version(self, version):
        return "file://{0}/doppio-{1}-linux-x86_64.tar.gz".format(os.getcwd(), version)

    def install(self, spec, prefix):
        home = join_path(prefix, "libexec", "doppio")
        install_tree(".", home)
        mkdirp(prefix.bin)
        symlink(join_path(home, "doppio"), join_path(prefix.bin, "doppio"))

        doppio = Executable(join_path(home, "doppio"))
        doppio("man", "--man_dir=" + join_path(prefix.share, "man", "man1"))
        completions = join_path(prefix.share, "bash-completion", "completions")
        mkdirp(completions)
        doppio("completion", "bash", output=join_path(completions, "doppio"))

    def setup_run_environment(self, env):
        env.set("DOPPIO_HOME", join_path(self.prefix, "libexec", "doppio"))
        if self.spec.satisfies("+mpi"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec["openmpi"].prefix.lib)
        if self.spec.satisfies("+cuda"):
            folders = [self.spec["cuda"].prefix.lib64, self.spec["cudnn"].prefix.lib, self.spec["nccl"].prefix.lib]
            env.set("DOPPIO_CUDA_LIBRARIES", ":".join(folders))

    def test_version(self):
        """Checks the version of the installed program."""
        doppio = which(join_path(self.prefix.bin, "doppio"))
        assert str(self.spec.version) in doppio("--version", output=str)
