"""A supervisor for tests: starts the worker as the real one does and speaks the protocol of proto/worker.proto."""

import fcntl
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import textwrap

import numpy as np
from wire import decode, encode, numbers, one, packed, text

GENERATION = 7
LIMIT_S = 30
PACKET = 1 << 16
ALIGNMENT = 64
SEGMENT = 4 << 20

TYPES = {"bool": 1, "uint8": 2, "uint16": 3, "uint32": 4, "uint64": 5, "int8": 6, "int16": 7, "int32": 8, "int64": 9}
TYPES |= {"float16": 10, "float32": 11, "float64": 12, "object": 13}
BF16 = 14
DTYPES = {number: np.dtype(name) for name, number in TYPES.items()}
CODES = ["UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED"]


class Died(Exception):
    """The worker closed its sockets."""


class Raw:
    """A tensor by its parts, for types that numpy has not."""

    def __init__(self, number, shape, data):
        self.number, self.shape, self.data = number, shape, data


class Response:
    """One answer, with its outputs read."""

    def __init__(self, fields, worker):
        self.ticket = one(fields, 1)
        self.final = bool(one(fields, 5))
        self.outputs = dict(worker.read_output(decode(raw)) for raw in fields.get(2, []))
        self.error = self.code = None
        if 3 in fields:
            failure = decode(one(fields, 3))
            self.code, self.error = CODES[one(failure, 1)], text(failure, 2)
        self.parameters = [decode(raw) for raw in fields.get(4, [])]


class Segment:
    """Shared memory, sealed like the supervisor's."""

    def __init__(self, number, length):
        self.number, self.length, self.end = number, length, 0
        self.fd = os.memfd_create("test-arena", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.truncate(self.fd, length)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.memory = mmap.mmap(self.fd, length)

    def place(self, data, offset=None):
        """Writes bytes and returns where."""
        if offset is None:
            offset = self.end
            self.end = (offset + len(data) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self.memory[offset : offset + len(data)] = data
        return offset


class Worker:
    """One worker process with one model."""

    def __init__(self, folder, source, config=None, name="m", filename="model.py", files=None, env=None, load=True, beat_ms=0):
        self.folder = folder / name
        version = self.folder / "1"
        version.mkdir(parents=True)
        for path, contents in {**(files or {}), f"1/{filename}": source}.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(textwrap.dedent(contents))
        self.config = {"name": name, "max_batch_size": 0, "input": [], "output": [], **(config or {})}
        if filename != "model.py":
            self.config["default_model_filename"] = filename
        self.name, self.instance = name, f"{name}_0_0"
        self.stderr, self.stdout = folder / "stderr", folder / "stdout"
        self.control, self.execution = self._spawn(env or {})
        self.inputs, self.input_segments = None, 0
        self.segments, self.released, self.early = {}, [], []
        self.batch, self.logs, self.last_words, self.status = 0, [], None, None
        self.beat_ms, self.beats = beat_ms, []
        self.runtime = self.greet()
        if load:
            self.load()

    def _spawn(self, env):
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        # Out of the way of 3 and 4, where the worker wants them.
        ends = [fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, 64) for _ours, theirs in pairs]
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, end, fd) for fd, end in zip((3, 4), ends)]
        write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        actions += [
            (os.POSIX_SPAWN_OPEN, fd, str(path), write, 0o600) for fd, path in ((1, self.stdout), (2, self.stderr))
        ]
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment = {**os.environ, "NEREID_GENERATION": str(GENERATION), "PYTHONPATH": folder, **env}
        self.pid = os.posix_spawn(
            sys.executable, [sys.executable, "-m", "nereid_worker"], environment, file_actions=actions, setpgroup=0
        )
        for end in ends:
            os.close(end)
        for _ours, theirs in pairs:
            theirs.close()
        return [ours for ours, _theirs in pairs]

    # --- Packets ---

    def _send(self, channel, number, fields, fds=()):
        frame = b"\0" + encode([(15, GENERATION), (number, fields)])
        socket.send_fds(channel, [frame], list(fds))

    def _receive(self, channel, limit_s=LIMIT_S, beat=False):
        """(field number, fields) of the next message; log lines, last words and heartbeats are put aside."""
        while True:
            if not select.select([channel], [], [], limit_s)[0]:
                raise TimeoutError(f"the worker said nothing for {limit_s} s; stderr: {self.stderr.read_text()}")
            try:
                packet, fds, _flags, _address = socket.recv_fds(channel, PACKET, 1)
            except ConnectionResetError:
                packet = b""
            if not packet:
                raise Died(self.stderr.read_text())
            if packet[0] == 1:
                (length,) = struct.unpack("<Q", packet[1:9])
                packet = b"\0" + os.pread(fds[0], length, 0)
                os.close(fds[0])
            fields = decode(packet[1:])
            assert one(fields, 15) == GENERATION
            (number,) = (number for number in fields if number != 15)
            message = decode(one(fields, number, b""))
            if channel is self.control and number == 7:
                self.logs.append((one(message, 1), text(message, 2), text(message, 3), one(message, 4)))
            elif channel is self.control and number == 8:
                self.last_words = text(message, 1)
            elif channel is self.control and number == 9:
                self.beats.append((one(message, 1), one(message, 4)))
                if beat:
                    return number, message
            else:
                return number, message

    # --- Control ---

    def greet(self):
        self._send(self.control, 1, [(1, 1), (2, 1), (3, "test"), (4, self.beat_ms)])
        number, reply = self._receive(self.control)
        assert number == 1 and one(reply, 1) == 1 and text(reply, 3) == "python"
        return text(reply, 4)

    def heartbeat(self):
        """Waits for one: the stage of the loop, and its age in milliseconds."""
        self._receive(self.control, beat=True)
        return self.beats[-1]

    def model(self):
        config = [(1, self.config["name"]), (4, self.config["max_batch_size"])]
        for field, kind, dims in ((5, "input", 4), (6, "output", 3)):
            for tensor in self.config[kind]:
                number = {**{f"TYPE_{k.upper()}": n for k, n in TYPES.items()}, "TYPE_FP32": 11, "TYPE_STRING": 13}
                data_type = number[tensor["data_type"]] if "data_type" in tensor else 0
                config.append((field, [(1, tensor["name"]), (2, data_type), (dims, packed(tensor.get("dims", [])))]))
        if "model_transaction_policy" in self.config:
            config.append((19, [(1, self.config["model_transaction_policy"]["decoupled"])]))
        return [
            (1, self.name),
            (2, 1),
            (3, str(self.folder)),
            (4, str(self.folder / "1")),
            (5, self.instance),
            (6, 2),
            (8, config),
            (9, json.dumps(self.config)),
        ]

    def describe(self):
        """The completed configuration (fields of inference.ModelConfig), None, or the failure's text."""
        self._send(self.control, 2, [(1, self.model())])
        number, reply = self._receive(self.control)
        if number == 4:
            return text(reply, 2)
        return decode(one(reply, 2)) if 2 in reply else None

    def load(self):
        """None, or the failure's text."""
        self._send(self.control, 3, [(1, self.model())])
        number, reply = self._receive(self.control)
        return text(reply, 2) if number == 4 else None

    def check_ready(self):
        """(ready, code, message)"""
        self._send(self.control, 5, [(1, 5)])
        number, reply = self._receive(self.control)
        assert number == 6 and one(reply, 1) == 5
        return bool(one(reply, 2)), CODES[one(reply, 3)], text(reply, 4)

    def ping(self):
        """Once this is answered, all log lines that were sent before are here."""
        self._send(self.control, 4, [(1, 9)])
        assert self._receive(self.control)[0] == 5

    def stop(self):
        """The exit code after an orderly end."""
        self._send(self.control, 6, [])
        try:
            while True:
                self._receive(self.control)
        except Died:
            return self.wait()

    def wait(self):
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        self.control.close()
        self.execution.close()

    # --- Execution ---

    def put(self, name, value, offset=None):
        """An input in the arena, as a descriptor."""
        if self.inputs is None:
            self.input_segments += 1
            # Other numbers than the output segments': RemoveSegment does not tell the two arenas apart.
            self.inputs = Segment(1000 + self.input_segments, SEGMENT)
            self._add(self.inputs, direction=0)
        if isinstance(value, Raw):
            number, shape, data = value.number, value.shape, value.data
        else:
            value = np.asarray(value)
            number, shape, data = TYPES[value.dtype.name], value.shape, value.tobytes()
            if value.dtype == object:
                data = b"".join(struct.pack("<I", len(item)) + item for item in value.ravel().tolist())
        place = self.inputs.place(data, offset)
        return [(1, name), (2, number), (3, packed(shape)), (4, self.inputs.number), (5, place), (6, len(data))]

    def remove_inputs(self):
        """Gives up the input segment; the next input gets a new one."""
        self._send(self.execution, 2, [(1, self.inputs.number)])
        self.inputs = None

    def _add(self, segment, direction):
        fields = [(1, segment.number), (2, direction), (3, segment.length)]
        self._send(self.execution, 1, fields, [segment.fd])

    def request(self, ticket, inputs, requested=(), **more):
        """A request; inputs are arrays by name, or descriptors made by `put`."""
        fields = [(1, ticket), (2, more.get("id", ""))]
        if "correlation" in more:
            fields.append((4 if isinstance(more["correlation"], str) else 3, more["correlation"]))
        fields += [(5, more.get("flags", 0)), (7, more.get("timeout", 0))]
        for name, value in inputs.items():
            fields.append((8, value if isinstance(value, list) else self.put(name, value)))
        fields += [(9, name) for name in requested]
        for name, value in more.get("parameters", {}).items():
            kind = 2 if isinstance(value, bool) else 3 if isinstance(value, int) else 4
            fields.append((10, [(1, name), (kind, value)]))
        return fields

    def start(self, *requests):
        """Sends a batch."""
        self.batch += 1
        fields = [(1, self.batch), *((2, request) for request in requests), (3, packed(self.released))]
        self.released = []
        self._send(self.execution, 4, fields)

    def cancel(self, ticket):
        self._send(self.execution, 5, [(1, ticket)])

    def next_response(self, limit_s=LIMIT_S):
        """The next message about the batch: a Response, or the list of those that end it."""
        while True:
            number, message = self._receive(self.execution, limit_s)
            if number == 3:
                segment = Segment(len(self.segments) + 1, max(SEGMENT, one(message, 1)))
                self.segments[segment.number] = segment
                self._add(segment, direction=1)
            elif number == 2:
                return Response(message, self)
            else:
                assert number == 1 and one(message, 1) == self.batch
                self.timing = {key: one(decode(one(message, 3, b"")), key) for key in (1, 2, 3)}
                return [Response(decode(raw), self) for raw in message.get(2, [])]

    def execute(self, *requests):
        """Runs a batch; all its final responses in the order of the requests. Earlier ones are in `early`."""
        self.start(*requests)
        self.early = []
        while not isinstance(last := self.next_response(), list):
            self.early.append(last)
        final = [response for response in self.early if response.final] + last
        return sorted(final, key=lambda response: response.ticket)

    def infer(self, requested=(), **inputs):
        """One request, its response."""
        (response,) = self.execute(self.request(1, inputs, requested))
        return response

    def read_output(self, tensor):
        """(name, array) of an output; its slot is given back with the next batch."""
        number, shape = one(tensor, 2), numbers(one(tensor, 3, b""))
        place, length = one(tensor, 5), one(tensor, 6)
        data = self.segments[one(tensor, 4)].memory[place : place + length] if length else b""
        if one(tensor, 7):
            self.released.append(one(tensor, 7))
        if number == BF16:
            return text(tensor, 1), Raw(number, shape, data)
        if number != 13:
            return text(tensor, 1), np.frombuffer(data, DTYPES[number]).reshape(shape)
        items = []
        while data:
            (size,) = struct.unpack_from("<I", data)
            items.append(data[4 : 4 + size])
            data = data[4 + size :]
        return text(tensor, 1), np.array(items, dtype=object).reshape(shape)
