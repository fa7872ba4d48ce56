#!/usr/bin/python3
"""Compares what clients have read (bus_client.py read).

    same_values.py BEFORE READ AFTER     BEFORE and AFTER: the same, read by busctl before and after it

What has moved in between must lie between both, and only counters may have. Prints each difference, then the number of values
compared and of differences.
"""

import json
import sys


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def lies_between(value, before, after):
    if isinstance(value, dict) and isinstance(before, dict) and isinstance(after, dict):
        return set(value) == set(before) == set(after) and all(lies_between(value[key], before[key], after[key]) for key in value)
    if type(value) is not type(before) or type(value) is not type(after):
        return False
    return value == before == after or (type(value) is int and before <= value <= after)


def text_of(value):
    """True is 1 in Python, and is not here. dbus-send prints an empty dictionary as an empty array."""
    return json.dumps(value if value != {} else [], sort_keys=True)


def main():
    before, read, after = (load(name) for name in sys.argv[1:4])
    compared, differences = 0, 0
    for way in read:
        known = before["GetManagedObjects" if way == "GetManagedObjects" else "GetAll"]
        later = after["GetManagedObjects" if way == "GetManagedObjects" else "GetAll"]
        for key in sorted(set(known) | set(read[way])):
            mine, reference = read[way].get(key, {}), known.get(key, {})
            for name in sorted(set(mine) | set(reference)):
                compared += 1
                same = text_of(mine.get(name)) == text_of(reference.get(name))
                counts = name == "Statistics" and lies_between(mine.get(name), reference.get(name), later[key].get(name))
                if not same and not counts:
                    differences += 1
                    print(f"{way} {key} {name}: {mine.get(name)} instead of {reference.get(name)}")
    print(compared, differences)


if __name__ == "__main__":
    main()
