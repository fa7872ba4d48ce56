#!/usr/bin/python3
"""exchange.py openmpi|mpich: rank 0 sends messages to rank 1 for ever, some at a time, and rank 1 looks at every byte. It
prints a line for each hundredth. By mpi4py, which Debian has for Open MPI; MPICH's library is called as it is."""
import collections
import ctypes
import sys

SIZE = 65536
AT_A_TIME = 64
PATTERNS = 251


class OpenMpi:
    def __init__(self):
        from mpi4py import MPI
        self.mpi = MPI
        self.world = MPI.COMM_WORLD
        self.rank = self.world.rank

    def send(self, buffer):
        return self.world.Isend([buffer, self.mpi.BYTE], 1)

    def receive(self, buffer):
        return self.world.Irecv([buffer, self.mpi.BYTE], 0)

    def wait(self, request):
        request.Wait()

    def abort(self):
        self.world.Abort(1)


class Mpich:
    """Handles are integers there, with these values in its ABI (mpi.h)."""
    WORLD = ctypes.c_int(0x44000000)
    BYTE = ctypes.c_int(0x4C00010D)
    IGNORE = ctypes.c_void_p(1)

    def __init__(self):
        self.library = ctypes.CDLL("libmpich.so.12")
        rank = ctypes.c_int()
        self.library.MPI_Init(None, None)
        self.library.MPI_Comm_rank(self.WORLD, ctypes.byref(rank))
        self.rank = rank.value

    def begin(self, call, buffer, peer):
        request = ctypes.c_int()
        memory = (ctypes.c_char * SIZE).from_buffer(buffer)
        call(memory, SIZE, self.BYTE, peer, 0, self.WORLD, ctypes.byref(request))
        return request

    def send(self, buffer):
        return self.begin(self.library.MPI_Isend, buffer, 1)

    def receive(self, buffer):
        return self.begin(self.library.MPI_Irecv, buffer, 0)

    def wait(self, request):
        self.library.MPI_Wait(ctypes.byref(request), self.IGNORE)

    def abort(self):
        self.library.MPI_Abort(self.WORLD, 1)


def main():
    mpi = {"openmpi": OpenMpi, "mpich": Mpich}[sys.argv[1]]()
    # Each message differs from those under way with it, and each byte from its neighbours.
    block = bytes(range(PATTERNS)) * (SIZE // PATTERNS + 2)
    under_way = collections.deque()
    message = 0
    while True:
        start = message % PATTERNS
        if mpi.rank == 0:
            buffer = bytearray(block[start:start + SIZE])
            request = mpi.send(buffer)
        else:
            buffer = bytearray(SIZE)
            request = mpi.receive(buffer)
        under_way.append((message, buffer, request))
        message += 1
        if len(under_way) < AT_A_TIME:
            continue
        number, buffer, request = under_way.popleft()
        mpi.wait(request)
        if mpi.rank == 1:
            start = number % PATTERNS
            if buffer != block[start:start + SIZE]:
                print(f"WRONG: message {number}", flush=True)
                mpi.abort()
            if number % 100 == 0:
                print(f"right: {number}", flush=True)


main()
