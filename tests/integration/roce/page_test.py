#!/usr/bin/python3
"""page_test.py PAGE DAEMON CTL RUN, below an emulator: runs the commands of a page's `console` blocks in their
order, in one directory, with the page's first policy and the host's own dcb(8), and compares what they print with what
the page says they print. With RDMAQOS_UPDATE_GOLDEN=1 it writes that into the page. Exit status 77: there is no dcb."""
import difflib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# What takes longer hangs.
HUNG = 3600
# Users have no /usr/sbin in theirs.
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


class Host:
    """A root of its own, with the emulator's /sys, and programs that use it."""

    def __init__(self, scratch, daemon, ctl, run, policy):
        self.root = os.path.join(scratch, "root")
        self.here = os.path.join(scratch, "here")
        self.daemon_file = daemon
        self.daemon = None
        self.log = os.path.join(scratch, "log")
        programs = os.path.join(scratch, "bin")
        for folder in (self.here, programs, os.path.join(self.root, "etc/rdma-qos")):
            os.makedirs(folder)
        os.symlink(os.environ["SYSFS_PATH"], os.path.join(self.root, "sys"))
        with open(os.path.join(self.root, "etc/rdma-qos/policy.yaml"), "w", encoding="utf-8") as file:
            file.write(policy)
        for name, command in (("rdma-qosctl", f"{ctl} --root {self.root}"),
                              ("rdma-qos-run", f"{run} --root {self.root}")):
            file = os.path.join(programs, name)
            with open(file, "w", encoding="utf-8") as script:
                script.write(f'#!/bin/sh\nexec {command} "$@"\n')
            os.chmod(file, 0o755)
        self.environment = {**os.environ, "PATH": f"{programs}:{PATH}", "LC_ALL": "C.UTF-8"}

    def start_daemon(self):
        """Until it has found its device."""
        self.stop_daemon()
        with open(self.log, "w", encoding="utf-8") as log:
            self.daemon = subprocess.Popen([self.daemon_file, "--root", self.root, "--host-devices"], stdout=log,
                                           stderr=log)
        for _ in range(HUNG * 10):
            if "ready" in self.say("rdma-qosctl devices"):
                return
            time.sleep(0.1)
        with open(self.log, encoding="utf-8") as log:
            sys.exit(f"the daemon does not find its device:\n{log.read()}")

    def stop_daemon(self):
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(HUNG)
            self.daemon = None

    def say(self, command):
        if command == "systemctl restart rdma-qosd":
            self.start_daemon()
            return ""
        return subprocess.run(["bash", "-c", command], cwd=self.here, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HUNG,
                              check=False).stdout.decode()


def main():
    page, *programs = sys.argv[1:]
    if not shutil.which("dcb", path=PATH):
        print("dcb (iproute2) is not installed")
        sys.exit(77)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    policy = re.search(r"```yaml\n(.*?)```", text, re.S).group(1)
    count = 0
    with tempfile.TemporaryDirectory() as scratch:
        host = Host(scratch, *programs, policy)

        def run_block(block):
            nonlocal count
            said = ""
            for command in re.findall(r"^\$ (.*)$", block.group(1), re.M):
                count += 1
                said += f"$ {command}\n{host.say(command)}"
            return f"```console\n{said}```\n"

        try:
            now = re.sub(r"```console\n(.*?)```\n", run_block, text, flags=re.S)
        finally:
            host.stop_daemon()
    if count < 10:
        sys.exit(f"{page}: {count} commands: it had more")
    if now == text:
        return
    if os.environ.get("RDMAQOS_UPDATE_GOLDEN") == "1":
        with open(page, "w", encoding="utf-8") as file:
            file.write(now)
        return
    sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), now.splitlines(True), page, "what is printed"))
    sys.exit(f"{page} says otherwise than its commands; RDMAQOS_UPDATE_GOLDEN=1 writes what they say")


main()
