"""Runs rdma-core's own Python tests and says of each, on a line, how it ended: `passed ID`, `skipped ID REASON` or
`failed ID WHAT`, with tabs between. What else there is to say goes to stderr.

    rdma_core_runner.py FOLDER DEVICE [ID...]

FOLDER is `tests` of the source. IDs are as in the output; without any, all tests run.
"""
import importlib.util
import random
import signal
import sys
import traceback
import unittest

SECONDS = 60    # that a test may take
SEED = 1


class Outcomes(unittest.TestResult):
    """A line for each test. A test whose sub-tests fail has failed once."""

    def __init__(self, out):
        super().__init__()
        self.out = out
        self.told = set()

    def tell(self, outcome, test, *more):
        name = getattr(test, 'test_case', test).id()
        if name not in self.told:
            self.told.add(name)
            print(outcome, name, *(' '.join(str(each).split()) for each in more), sep='\t', file=self.out, flush=True)

    def startTest(self, test):
        super().startTest(test)
        print('===', test.id(), file=sys.stderr, flush=True)
        random.seed(SEED)
        signal.alarm(SECONDS)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def addSuccess(self, test):
        self.tell('passed', test)

    def addSkip(self, test, reason):
        self.tell('skipped', test, reason)

    def addError(self, test, err):
        traceback.print_exception(*err)
        self.tell('failed', test, traceback.format_exception_only(*err[:2])[-1])

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addError(subtest, err)


def too_long(*_):
    raise TimeoutError(f'{SECONDS} s are over')


def each_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from each_of(one)
        else:
            yield one


def main():
    folder, device, wanted = sys.argv[1], sys.argv[2], set(sys.argv[3:])
    # Lines of what the tests print must not get between ours.
    out, sys.stdout = sys.stdout, sys.stderr
    sys.path.insert(0, folder)
    from args_parser import parser    # of rdma-core: its tests ask it for the device
    sys.argv = ['run_tests.py', '--dev', device]
    parser.parse_args()
    spec = importlib.util.spec_from_file_location('tests', folder + '/__init__.py')
    package = importlib.util.module_from_spec(spec)
    sys.modules['tests'] = package
    spec.loader.exec_module(package)
    signal.signal(signal.SIGALRM, too_long)
    every = each_of(unittest.defaultTestLoader.loadTestsFromModule(package))
    unittest.TestSuite(one for one in every if not wanted or one.id() in wanted).run(Outcomes(out))


main()
