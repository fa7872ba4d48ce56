#!/usr/bin/python3
"""Stands for timeout(1) in the tests of the completions, as the program `timeout`: limit.py SECONDS COMMAND...

A machine that others keep busy does not begin a command in the second that a user waits for it. So this one may take as
long as it likes, and a line in the file $WAITED says how long it waited for somebody: the time that it neither computed
nor was ready to compute, in milliseconds. (Its exit status is 124 if it hangs.)
"""
import os
import signal
import subprocess
import sys
import time

HUNG = 120  # seconds



def times(process: str) -> tuple[float, float]:
    """In seconds: computed, and ready to compute."""
    with open(f"/proc/{process}/schedstat") as file:
        computed, ready = file.read().split()[:2]
    return int(computed) / 1e9, int(ready) / 1e9


begin, own_before = time.monotonic(), times("self")
process = subprocess.Popen(sys.argv[2:])
signal.signal(signal.SIGALRM, lambda *_: os._exit(124))
signal.alarm(HUNG)
os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
# Of this process, too: it may have seen the end late.
passed = time.monotonic() - begin
waited = passed - sum(times(str(process.pid))) - sum(times("self")) + sum(own_before)
with open(os.environ["WAITED"], "a") as file:
    print(max(0, round(1000 * waited)), file=file)
sys.exit(process.wait())
