"""Each record unpacked in whole numbers of Python, as the format's description says."""

from __future__ import annotations

import numpy as np

Args = dict[str, np.ndarray | int | float]
SHORT, FULL, FAR = 1, 2, 3


class FaultError(Exception):
    """What ends a record, with its code."""


def signed(x: int) -> int:
    return (x + 128) % 256 - 128


class Record:
    def __init__(self, data: list[int], preset: list[int], out: list[int]) -> None:
        self.data, self.preset, self.out = data, preset, out
        self.at = self.made = self.last = 0

    def take(self) -> int:
        if self.at >= len(self.data):
            raise FaultError(SHORT)
        self.at += 1
        return self.data[self.at - 1]

    def length(self, nibble: int) -> int:
        total = nibble
        while nibble == 15:
            more = self.take()
            total += more
            if more != 255:
                break
        return total

    def put(self, byte: int) -> None:
        if self.made >= len(self.out):
            raise FaultError(FULL)
        self.out[self.made] = byte % 256
        self.made += 1

    def token(self) -> None:
        token = self.take()
        literals = self.length(token >> 4)
        if literals > len(self.data) - self.at:
            raise FaultError(SHORT)
        for _ in range(literals):
            if self.made >= len(self.out):
                raise FaultError(FULL)
            half = abs(self.last) // 2 * (1 if self.last > 0 else -1)
            self.last = signed(half + signed(self.take()))
            self.put(self.last)
        if token % 16:
            self.copy(self.length(token % 16) + 3)
        else:
            self.change()

    def copy(self, count: int) -> None:
        back = signed(self.take())
        back = back if back > 0 else 1 - back
        if back > self.made + len(self.preset):
            raise FaultError(FAR)
        for _ in range(count):
            start = self.made - back
            self.put(self.out[start] if start >= 0 else self.preset[start])
        self.last = signed(self.out[self.made - 1])

    def change(self) -> None:
        rest = abs(self.last) % 4 * (1 if self.last > 0 else -1)
        if rest == 3 and self.made > 1 and self.out[self.made - 2] > 127:
            self.out[self.made - 2] ^= 0x55
        if rest in (3, -1) and self.made > 0:
            byte = self.out[self.made - 1]
            self.out[self.made - 1] = (byte << 1 | byte >> 7) % 256
        if rest in (3, -1, 2, -3) and self.at < len(self.data) and self.data[self.at] < 16:
            self.at += 1
        if rest == -2:
            self.last = ~self.last


def reference(args: Args, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    records, stride, room = int(args["records"]), int(args["stride"]), int(args["room"])
    packed = np.asarray(args["packed"], np.uint8).reshape(records, stride)
    out = np.asarray(args["out"], np.int64).reshape(records, room).copy()
    preset = [int(x) for x in np.asarray(args["preset"])]
    state, check = np.empty(records), np.empty(records)
    for r in range(records):
        size = int(np.asarray(args["sizes"])[r])
        one = Record([int(x) for x in packed[r, :size]], preset, [int(x) for x in out[r]])
        try:
            while one.at < size:
                one.token()
            state[r] = one.made
        except FaultError as fault:
            state[r] = -(4 * one.at + int(fault.args[0]))
        low, high = 1, 0
        for byte in one.out[: one.made]:
            low = (low + byte) % 65521
            high = (high + low) % 65521
        out[r], check[r] = one.out, high << 16 | low
    return {"out": out.ravel(), "state": state, "check": check}
