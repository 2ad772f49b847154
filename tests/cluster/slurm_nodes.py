"""A SLURM on simulated machines (nodes.py): slurmctld on the first, a slurmd on each."""
import itertools
import os

import nodes

CONFIGURATION = """\
ClusterName=here
SlurmctldHost=node-1(10.77.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=pmix
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
JobRequeue=1
SchedulerParameters=requeue_setup_env_fail
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def start(machines):
    """Starts SLURM and returns the environment of its commands. Raises TimeoutError if it does not come up."""
    folder = machines.folder
    os.chmod(folder, 0o755)
    # On one machine, the servers of PMIx would use the same files of one folder.
    for name in ("state", "munge", *["%s.%s" % pair for pair in itertools.product(("tmp", "spool"), machines.names)]):
        os.mkdir(os.path.join(folder, name))
    configuration = os.path.join(folder, "slurm.conf")
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(CONFIGURATION.format(folder=folder))
        for name, address in zip(machines.names, machines.addresses):
            file.write("NodeName=%s NodeAddr=%s CPUs=%d State=UNKNOWN\n" % (name, address, os.cpu_count()))
    key = os.path.join(folder, "munge", "key")
    with open(key, "wb") as file:
        file.write(os.urandom(1024))
    os.chmod(key, 0o600)
    socket = os.path.join(folder, "munge.socket")
    machines.start(0, "munged", "--foreground", "--force", "--key-file=" + key, "--socket=" + socket,
                   *["--%s-file=%s/munge/%s" % (name, folder, name) for name in ("pid", "seed", "log")],
                   log=os.path.join(folder, "munged.log"))
    nodes.until(lambda: os.path.exists(socket), 20, "munged")
    environment = dict(os.environ, SLURM_CONF=configuration)
    machines.start(0, "slurmctld", "-D", "-f", configuration, log=os.path.join(folder, "slurmctld.log"), environment=environment)
    for node, name in enumerate(machines.names):
        machines.start(node, "slurmd", "-D", "-f", configuration, "-N", name, log=os.path.join(folder, "slurmd_%d.log" % node),
                       environment=environment)
    idle = "test $(sinfo -h -N -o %T | grep -cx idle) = " + str(machines.count)
    nodes.until(lambda: machines.runs(0, "sh", "-c", idle, environment=environment), 60, "SLURM's nodes")
    return environment
