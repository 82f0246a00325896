"""A Slurm of two nodes on this machine: its daemons are real, and listen on 127.0.0.1 alone."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
PATIENCE_S = 120.0
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=DEFAULT CPUs=2 Feature=fast,large State=UNKNOWN
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]}
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """The daemons of a cluster of two nodes, and its commands."""

    def __init__(self, folder: Path) -> None:
        self.configuration = folder / "slurm.conf"
        self._folder = folder
        self._daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the daemons; the nodes take jobs then."""
        self._configure()
        munge, configured = self._folder / "munge", ("-D", "-f", str(self.configuration))
        files = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        self._daemon(
            "munged", "--foreground", *(f"--{option}={munge / name}" for option, name in files.items())
        )
        self.until((munge / "socket").exists)
        self._daemon("slurmctld", *configured)
        for node in ("node1", "node2"):
            self._daemon("slurmd", "-N", node, *configured)
        self.until(lambda: self.ask("sinfo", "--noheader", "--format=%T") == "idle")

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints; nothing where it fails, as it does while the daemons come up."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def facts(self, job: str) -> dict[str, str]:
        """What Slurm knows of a job, such as its ``JobState``."""
        lines = self.ask("scontrol", "show", "job", job).splitlines()
        words = (line.strip().split(" ") if "Comment" not in line else [line.strip()] for line in lines)
        return dict(word.split("=", 1) for line in words for word in line if "=" in word)

    def until_state(self, job: str, state: str) -> dict[str, str]:
        """Wait for a job to be ``COMPLETED``, say; gives what Slurm knows of it then."""
        self.until(lambda: self.facts(job).get("JobState") == state, lambda: str(self.facts(job)))
        return self.facts(job)

    def until(self, reached: Callable[[], object], why: Callable[[], str] = str) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not reached():
            gone = [daemon.args for daemon in self._daemons if daemon.poll() is not None]
            assert not gone, f"{gone} ended; {self._logs()}"
            assert time.monotonic() < deadline_s, f"{why()}\n{self._logs()}"
            time.sleep(0.1)

    def stop(self) -> None:
        """End every job and the daemons."""
        self.ask("scancel", "--signal=KILL", "--full", "--state=RUNNING", "--user=root")
        self.ask("scancel", "--user=root")
        deadline_s = time.monotonic() + PATIENCE_S
        while self.ask("squeue", "--noheader") and time.monotonic() < deadline_s:
            time.sleep(0.1)
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _configure(self) -> None:
        for name in ("munge", "state", "spool"):
            (self._folder / name).mkdir(mode=0o755)
        key = self._folder / "munge" / "key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        host = socket.gethostname().partition(".")[0]
        self.configuration.write_text(
            CONFIGURATION.format(host=host, folder=self._folder, ports=_free_ports(3))
        )

    def _daemon(self, name: str, *arguments: str) -> None:
        with (self._folder / f"{name}-{len(self._daemons)}.out").open("wb") as out:
            command = [str(found(name)), *arguments]
            self._daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def _logs(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self._folder.glob("*.out"))


def found(name: str) -> str | None:
    """Where a program is, those included that only root usually starts."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]
