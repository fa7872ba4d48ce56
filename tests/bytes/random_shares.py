#!/usr/bin/env python3
"""Random policies, planned in exact arithmetic and measured in bytes on emulated NICs.

    random_shares.py EMULATOR DAEMON CTL [--seed N] [--cases N] [--print]

Each case is a policy of siblings and nodes with guarantees, caps and shares; some nodes are empty, or have their levels
on another device. A program of perftest sends in each level as much as it can. What each should have of the link is
max-min fair: guarantees first, the rest by shares, all of it under caps; this is computed here with fractions, by
nothing of the daemon's. What it has is its part of the bytes that the NIC has sent in one interval, the same for all.

A case fails if a level is more than 2 points of the link off. One is for the weights of the device, which are whole numbers;
where they differ more from the fair parts, the daemon must have said so, and its figure is compared. The other is for the
measurement: what moves in an interval is whole pieces of messages, and the emulator may catch up with a tenth of a second of
what a program could not post.

With --print, prints the policies and what is planned, and measures nothing. Exit status 77: something is missing.
"""
import argparse
import dataclasses
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from fractions import Fraction

import table

LINK = 50  # Mbit/s: what a program has posted lasts for a third of a second, so that it need not have a processor sooner
MOVED = 16 << 20  # bytes of all together that are measured: 2.7 s
MOST_LEVELS = 6  # that send: two processes each
TOLERANCE = 2  # points of the link
TOLD = 1  # point of the link: weights that are farther from the fair parts are told of


@dataclasses.dataclass
class Wish:
    """A level, or a node with others below it. Mbit/s."""

    name: str
    minimum: int = 0  # 0: by share
    cap: int | None = None
    share: int = 1
    below: list["Wish"] | None = None  # None: a level
    elsewhere: bool = False  # a level that is not on this device

    usable: Fraction = Fraction(0)
    rate: Fraction = Fraction(0)

    def all_below(self) -> list["Wish"]:
        return [wish for child in self.below or [] for wish in [child, *child.all_below()]]

    def levels(self) -> list["Wish"]:
        if self.below is None:
            return [] if self.elsewhere else [self]
        return [level for child in self.below for level in child.levels()]


# ---- what is fair ----


def find_usable(wish: Wish) -> Fraction:
    most = Fraction(0 if wish.elsewhere else LINK)
    if wish.below is not None:
        most = sum((find_usable(child) for child in wish.below), Fraction(0))
    wish.usable = most if wish.cap is None else min(most, Fraction(wish.cap))
    return wish.usable


def pour(whole: Fraction, wishes: list[Wish], weight) -> Fraction:
    """Each gets its weight's part, but no more than it can use: what that leaves is for the others. Returns the rest."""
    thirsty = list(wishes)
    while thirsty:
        level = whole / sum(weight(wish) for wish in thirsty)
        full = [wish for wish in thirsty if wish.usable <= weight(wish) * level]
        if not full:
            for wish in thirsty:
                wish.rate = weight(wish) * level
            return Fraction(0)
        for wish in full:
            wish.rate = wish.usable
            whole -= wish.usable
        thirsty = [wish for wish in thirsty if wish not in full]
    return whole


def fill(node: Wish, whole: Fraction) -> None:
    guaranteed = [child for child in node.below if child.minimum]
    others = [child for child in node.below if not child.minimum]
    kept = sum((min(Fraction(child.minimum), child.usable) for child in guaranteed), Fraction(0))
    left = kept + pour(max(whole - kept, Fraction(0)), others, lambda wish: wish.share)
    pour(left, guaranteed, lambda wish: wish.minimum)
    for child in node.below:
        if child.below is not None:
            fill(child, child.rate)


# ---- random policies ----


def children(numbers: random.Random, prefix: str, sure: float, deepest: int) -> list[Wish]:
    """`sure`: what their parent has when all are busy, or less. Guarantees take at most 60 % of that: all can be met."""
    all_of_them, left = [], 0.6 * sure
    for place in range(numbers.randint(2, 4) if not prefix else numbers.randint(1, 3)):
        wish = Wish("")
        if numbers.randint(1, 3) == 1 and left > 2:
            wish.minimum = numbers.randint(1, int(left))
            left -= wish.minimum
        else:
            wish.share = numbers.randint(1, 40)
        if numbers.randint(1, 3) == 1:
            least = max(wish.minimum, 1)
            wish.cap = numbers.randint(least, max(least, int(1.5 * sure)))
        wish.name = f"{prefix}{'g' if wish.minimum else 's'}{place}"
        all_of_them.append(wish)
    shares = sum(wish.share for wish in all_of_them if not wish.minimum)
    rest = sure - sum(wish.minimum for wish in all_of_them)
    for wish in all_of_them:
        if deepest == 1 or numbers.randint(1, 3) > 1:
            continue
        has = wish.minimum or rest * wish.share / shares
        kind = numbers.randint(1, 5)
        wish.below = [] if kind == 1 else children(numbers, wish.name, min(has, wish.cap or has), deepest - 1)
        for level in wish.levels() if kind == 2 else []:
            level.elsewhere = True
    return all_of_them


def random_policy(numbers: random.Random) -> Wish:
    while True:
        root = Wish("", below=children(numbers, "", LINK, 2))
        find_usable(root)
        fill(root, Fraction(LINK))
        # A guarantee that nobody can use is refused. Who should have nearly nothing moves too few pieces to be measured.
        if (2 <= len(root.levels()) <= MOST_LEVELS and all(level.rate >= 1 for level in root.levels())
                and all(wish.elsewhere or wish.minimum <= wish.usable for wish in root.all_below())):
            return root


def text_of(root: Wish) -> str:
    def keys(wish: Wish, parent: str) -> str:
        words = [f"parent: {parent}"] if parent else []
        words.append(f"min-rate: {wish.minimum}Mbps" if wish.minimum else f"share: {wish.share}")
        if wish.cap:
            words.append(f"max-rate: {wish.cap}Mbps")
        return ", ".join(words)

    nodes, levels, rules = [], ["  - {name: DEFAULT, sl: 0}"], []

    def add(wish: Wish, parent: str) -> None:
        if wish.below is not None:
            nodes.append(f"  - {{name: {wish.name}, {keys(wish, parent)}}}")
            for child in wish.below:
                add(child, wish.name)
            return
        devices = ", devices: [mlx5_1]" if wish.elsewhere else ""
        allow = ", allow: {user: [0]}" if wish.minimum else ""
        levels.append(f"  - {{name: {wish.name}, schedule: {{{keys(wish, parent)}}}{devices}{allow}}}")
        rules.append(f"  - {{client: {{command: [{wish.name}]}}, qos-level-name: {wish.name}}}")

    for child in root.below:
        add(child, "")
    lines = ["version: 1", *(["scheduling-nodes:", *nodes] if nodes else []), "qos-levels:", *levels,
             "qos-match-rules:", *rules]
    return "\n".join(lines) + "\n"


# ---- measured ----


@dataclasses.dataclass
class Measured:
    moved: dict[str, int]
    by_tree: dict[str, float]
    said: str  # by the daemon, of its tree


def measure(host: table.Host, root: Wish) -> Measured:
    try:
        host.set_link(LINK)
        host.write_policy(text_of(root))
        host.start()
        for level in root.levels():
            host.run(table.Flow(level.name))
        table.wait_until("not all queue pairs have their place", host.all_have_their_place)
        begun = host.bytes_of(host.running)
        table.wait_until("somebody moves nothing", lambda: all(
            now > begun[name] for name, now in host.bytes_of(host.running).items()))
        time.sleep(table.SETTLE)
        moved = host.moved(MOVED)
        return Measured(moved, host.predicted(), host.ctl("tree", "mlx5_0"))
    finally:
        host.stop()


def judge(case: str, root: Wish, measured: Measured, rows: list[str]) -> str:
    """What is wrong; empty: nothing. Adds a row for each level."""
    sent = sum(measured.moved.values())
    whole = float(sum(level.rate for level in root.levels()))
    wrong = []
    for level in root.levels():
        fair = float(level.rate) * 100 / LINK
        by_tree = measured.by_tree[level.name] * 100 / LINK
        has = measured.moved[level.name] / sent * whole * 100 / LINK
        expected = fair
        if abs(by_tree - fair) > TOLD:
            expected = by_tree
            if level.name not in measured.said:
                wrong.append(f"{level.name} is planned {by_tree:.1f} instead of {fair:.1f}, and nothing says so")
        if abs(has - expected) > TOLERANCE:
            wrong.append(f"{level.name} has {has:.1f} instead of {expected:.1f} points of the link")
        if level.minimum and has < min(level.minimum * 100 / LINK, fair) - TOLERANCE:
            wrong.append(f"{level.name} misses its guarantee")
        rows.append(f"| {case} | {level.name} | {level.minimum or '-'} | {level.cap or '-'} | "
                    f"{'-' if level.minimum else level.share} | {fair:.1f} | {by_tree:.1f} | {has:.1f} | {has - expected:+.1f} |")
    return "; ".join(wrong)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("emulator", "daemon", "ctl"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("RDMAQOS_SEED", "45")))
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--print", action="store_true", dest="prints")
    arguments = parser.parse_args()
    # Each case has a seed of its own, so that it can be run again alone.
    cases = [(seed, random_policy(random.Random(seed)))
             for seed in range(arguments.seed, arguments.seed + arguments.cases)]
    if arguments.prints:
        for seed, root in cases:
            planned = ", ".join(f"{level.name} {float(level.rate):.1f}" for level in root.levels())
            print(f"# seed {seed}, in Mbit/s: {planned}\n{text_of(root)}")
        return 0
    for program in ("ib_write_bw", "stdbuf"):
        if not shutil.which(program):
            print(f"skipped: {program} is not installed")
            return 77
    if "RDMA_QOS_EMULATOR" not in os.environ:
        return subprocess.run([arguments.emulator, "run", "--", sys.executable, *sys.argv]).returncode
    rows: list[str] = []
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        host = table.Host(arguments, folder)
        for seed, root in cases:
            try:
                measured = measure(host, root)
                wrong = judge(f"seed {seed}", root, measured, rows)
            except (RuntimeError, KeyError) as error:
                wrong = str(error)
            except subprocess.CalledProcessError as error:
                wrong = f"{error} {error.stderr}"
            failures += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} seed {seed}: {len(root.levels())} levels{wrong and ': ' + wrong}",
                  flush=True)
    print("| case | level | min | max | share | fair, points of the link | of the tree | measured in bytes | off |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    print("\n".join(rows))
    print(f"seeds {arguments.seed} to {arguments.seed + arguments.cases - 1}: {failures} of {len(cases)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
