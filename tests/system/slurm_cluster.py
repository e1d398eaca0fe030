"""A Slurm of one node for tests: munged, slurmctld and slurmd on loopback, in its own folder."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo")

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MpiDefault=none
MaxArraySize={max_array_size}
ReturnToService=2
SlurmdTimeout=10
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Why no cluster can be had here; empty where one can."""
    absent = [name for name in PROGRAMS if not find(name)]
    if absent:
        return f"{', '.join(absent)} not installed (slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "needs root"


def find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    """Started on entry, ended on exit with all it started; commands of Slurm need `environment`."""

    def __init__(self, folder, max_array_size=64, cpus=2):
        self.folder, self.processes = pathlib.Path(folder), {}
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        os.chmod(self.folder, 0o755)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(
            CONFIGURATION.format(
                host=socket.gethostname().split(".")[0],
                ports=free_ports(2),
                folder=self.folder,
                max_array_size=max_array_size,
                cpus=cpus,
            )
        )
        self.environment = dict(os.environ, SLURM_CONF=str(configuration))

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.ask("scancel", "--user=root", "--signal=KILL", "--full")
        for name in ("slurmd", "slurmctld", "munged"):
            self.end(name)
        for process in self.step_daemons():
            os.kill(process, signal.SIGKILL)

    def start(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.run(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={self.folder}/munge.socket",
            f"--pid-file={self.folder}/munged.pid",
            f"--log-file={self.folder}/munged.log",
            f"--seed-file={self.folder}/munged.seed",
        )
        self.wait_for(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.run("slurmctld", "-D")
        self.wait_for(lambda: self.ask("scontrol", "ping").returncode == 0, "slurmctld")
        self.start_slurmd()
        self.wait_for(
            lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == "1",
            "slurmd",
        )

    def run(self, name, *arguments):
        # Away from the caller's standard streams and signals.
        with open(self.folder / f"{name}.out", "a") as out:
            self.processes[name] = subprocess.Popen(
                [find(name), *arguments],
                env=self.environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def start_slurmd(self):
        self.run("slurmd", "-D")

    def end(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name, None)
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def step_daemons(self):
        """Processes of slurmd that watch over a task; they outlive it."""
        found, mark = [], f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.path.basename(os.readlink(entry / "exe")) == "slurmstepd" and mark in (
                    entry / "environ"
                ).read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True)

    def wait_for(self, ready, what, seconds=30):
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                logs = "".join(
                    path.read_text(errors="replace")[-2000:]
                    for path in sorted(self.folder.glob("*.log"))
                )
                raise RuntimeError(f"{what} does not start: {logs}")
            time.sleep(0.1)
