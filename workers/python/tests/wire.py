"""Protobuf's wire format, as much of it as the tests need, so that they depend on no generated code.

A message is a list of (field number, value) with int, str, bytes or a list of further pairs as value. Reading gives a
dict of the numbers to lists of ints and bytes."""

_MASK = (1 << 64) - 1


def encode(fields):
    out = bytearray()
    for number, value in fields:
        if isinstance(value, bool | int):
            _varint(out, number << 3)
            _varint(out, int(value) & _MASK)
            continue
        if isinstance(value, str):
            value = value.encode()
        elif not isinstance(value, bytes):
            value = encode(value)
        _varint(out, number << 3 | 2)
        _varint(out, len(value))
        out += value
    return bytes(out)


def packed(numbers):
    """The value of a field of repeated integers."""
    out = bytearray()
    for number in numbers:
        _varint(out, number & _MASK)
    return bytes(out)


def decode(data):
    fields = {}
    place = 0
    while place < len(data):
        key, place = _read(data, place)
        kind = key & 7
        if kind == 0:
            value, place = _read(data, place)
        elif kind == 1:
            value, place = data[place : place + 8], place + 8
        else:
            length, place = _read(data, place)
            value, place = bytes(data[place : place + length]), place + length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def numbers(data):
    """The integers of a packed field, signed."""
    out, place = [], 0
    while place < len(data):
        value, place = _read(data, place)
        out.append(value - (1 << 64) if value >> 63 else value)
    return out


def one(fields, number, default=0):
    return fields.get(number, [default])[-1]


def text(fields, number):
    return one(fields, number, b"").decode()


def _varint(out, value):
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _read(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, place
