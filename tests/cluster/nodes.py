"""Simulates machines on one: network namespaces, each with a host name of its own, joined by a switch whose cables can be slowed.

The calling process must be root in mount and network namespaces of its own; `enter` restarts it in such."""
import json
import os
import pwd
import shutil
import subprocess
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import own_namespaces  # noqa: E402

os.environ["PATH"] += ":/usr/sbin:/sbin"  # Bazel removes these folders
SWITCH = "doppio-switch"
# ip keeps the names of namespaces in /run; sshd needs /run/sshd.
PREPARE = "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && ip link set lo up"
# Ranks with the same boot count as ranks of one machine.
ENTER = 'mount --bind "$0" /proc/sys/kernel/random/boot_id; hostname "$1"; shift; exec "$@"'
TRIAL = PREPARE + " && ip netns add trial && ip -n trial link add br0 type bridge"


def enter():
    """Restarts this script in separate namespaces. Returns why there are none, or "" inside them."""
    if shutil.which("ip") is None:
        return "there is no program ip"
    missing = own_namespaces.enter(["--mount", "--net"], ["sh", "-ec", TRIAL])
    if not missing:
        subprocess.run(["sh", "-ec", PREPARE], check=True)
    return missing


def call(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Nodes:
    """Machines node-1 to node-N with the addresses 10.77.0.1 to 10.77.0.N. `folder` gets their files."""

    def __init__(self, count, folder):
        self.count, self.folder = count, folder
        self.daemons, self.replaced = [], []
        self.names = ["node-%d" % (i + 1) for i in range(count)]
        self.addresses = ["10.77.0.%d" % (i + 1) for i in range(count)]
        self.boot_ids = []
        for name in self.names:
            self.boot_ids.append(os.path.join(folder, "boot_id." + name))
            with open(self.boot_ids[-1], "w", encoding="utf-8") as file:
                file.write(str(uuid.uuid4()) + "\n")
        self.ssh_config = os.path.join(folder, "ssh_config")
        call("ip", "netns", "add", SWITCH)
        call("ip", "-n", SWITCH, "link", "add", "br0", "type", "bridge")
        call("ip", "-n", SWITCH, "link", "set", "br0", "up")
        for name, address in zip(self.names, self.addresses):
            call("ip", "netns", "add", name)
            call("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", name, "netns", SWITCH)
            call("ip", "-n", SWITCH, "link", "set", name, "master", "br0", "up")
            call("ip", "-n", name, "addr", "add", address + "/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                call("ip", "-n", name, "link", "set", link, "up")
        self.replace("/etc/hosts", "127.0.0.1 localhost\n" + "".join("%s %s\n" % pair for pair in zip(self.addresses, self.names)))

    def replace(self, path, text):
        """Lets this process and those that it starts see another text in the file `path`."""
        own = os.path.join(self.folder, path.replace("/", "_"))
        with open(own, "w", encoding="utf-8") as file:
            file.write(text)
        call("mount", "--bind", own, path)
        self.replaced.append(path)

    def command(self, node, *words):
        """Returns the command that runs `words` on a node, counted from 0."""
        # "ip netns exec" would hide the control groups in /sys, without which slurmd does not start.
        return ["nsenter", "--net=/run/netns/" + self.names[node], "unshare", "--uts", "--mount", "sh", "-ec", ENTER,
                self.boot_ids[node], self.names[node], *words]

    def set_rate(self, rate):
        """Limits what each node sends and receives to a rate such as "1gbit"."""
        for name in self.names:
            for namespace, link in ((name, "eth0"), (SWITCH, name)):
                call("tc", "-n", namespace, "qdisc", "replace", "dev", link, "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")

    def set_cable(self, node, plugged):
        """Plugs the cable of a node into the switch, or pulls it out. No connection notices it."""
        call("ip", "-n", SWITCH, "link", "set", self.names[node], "up" if plugged else "down")

    def sent_bytes(self, node):
        """Returns the bytes that a node has sent since its start."""
        shown = subprocess.run(["ip", "-n", self.names[node], "-s", "-j", "link", "show", "eth0"], check=True, capture_output=True).stdout
        return json.loads(shown)[0]["stats64"]["tx"]["bytes"]

    def start(self, node, *words, log, environment=None):
        """Starts a daemon on a node."""
        with open(log, "w", encoding="utf-8") as file:
            self.daemons.append(subprocess.Popen(self.command(node, *words), stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                                 env=environment))

    def start_sshd(self, sshd):
        """Starts an sshd on each node, and writes the file `ssh_config` for ssh -F."""
        try:
            pwd.getpwnam("sshd")
        except KeyError:
            with open("/etc/passwd", encoding="utf-8") as file:
                self.replace("/etc/passwd", file.read() + "sshd:x:65533:65533::/run/sshd:/usr/sbin/nologin\n")
        key = os.path.join(self.folder, "key")
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        shutil.copy(key + ".pub", os.path.join(self.folder, "authorized_keys"))
        settings = {"HostKey": key, "AuthorizedKeysFile": os.path.join(self.folder, "authorized_keys"), "StrictModes": "no", "UsePAM": "no",
                    "PermitRootLogin": "yes", "PidFile": "none"}
        for node in range(self.count):
            self.start(node, sshd, "-D", "-e", "-f", "/dev/null", *["-o%s=%s" % setting for setting in settings.items()],
                       log=os.path.join(self.folder, "sshd_%d.log" % node))
        with open(self.ssh_config, "w", encoding="utf-8") as file:
            file.write("Host *\n  IdentityFile %s\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n" % key)
        for node in range(self.count):
            until(lambda host=self.names[node]: self.runs(0, "ssh", "-F", self.ssh_config, host, "true"), 20, "sshd on " + self.names[node])

    def runs(self, node, *words, environment=None):
        """Runs a command on a node and returns whether it succeeded."""
        return subprocess.run(self.command(node, *words), env=environment, capture_output=True, check=False).returncode == 0

    def logs(self):
        """Returns the last lines of the daemons' logs."""
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".log"):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    texts.append("%s:\n%s" % (name, "".join(file.readlines()[-5:])))
        return "".join(texts)

    def down(self):
        for name in self.names:
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout.split()
            for pid in pids:
                subprocess.run(["kill", "-9", pid], check=False, capture_output=True)
        for daemon in self.daemons:
            daemon.wait()
        for name in (*self.names, SWITCH):
            call("ip", "netns", "del", name)
        for path in self.replaced:
            call("umount", path)


def until(holds, seconds, what):
    """Waits until holds() is true. Raises TimeoutError after `seconds`."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("waited %d s for %s" % (seconds, what))
        time.sleep(0.1)
