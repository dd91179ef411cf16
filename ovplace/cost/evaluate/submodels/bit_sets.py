"""Sets of small numbers, one in each of many fields that lie side by side in one long integer."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import BoolArray


class BitFields:
    """Operations on a set in each of many fields at once.

    Python's integers have any length, so that one operation of them is on all fields, in as few calls for thousands of
    placements as for one. Above the bits of its elements each field has one for an answer.
    """

    def __init__(self, n_elements: int, n_fields: int) -> None:
        """Lay out the fields.

        Args:
            n_elements: the sets hold numbers below this one.
            n_fields: number of sets A in each integer.
        """
        self._answer, self._width = n_elements, n_elements + 1
        self._bits = n_fields * self._width
        self._bytes = (self._bits + 7) // 8
        (every,) = self.answers(np.ones((1, n_fields), dtype=bool))
        self._lowest = every >> n_elements
        self._elements = every - self._lowest

    def sets(self, members: BoolArray) -> list[int]:
        """Return integers with a set in each field, of the elements that are members `[K, elements, A]`."""
        bits = np.zeros((len(members), members.shape[2], self._width), dtype=bool)
        bits[:, :, : self._answer] = members.transpose(0, 2, 1)
        return self._packed(bits)

    def everywhere(self, members: int) -> int:
        """Return an integer with the same set, the bits of `members`, in each field."""
        return members * self._lowest

    def answers(self, yes: BoolArray) -> list[int]:
        """Return integers with an answer in each field `[K, A]`."""
        bits = np.zeros((*yes.shape, self._width), dtype=bool)
        bits[:, :, self._answer] = yes
        return self._packed(bits)

    def read(self, answers: list[int]) -> BoolArray:
        """Return which fields of each integer have the answer yes, `[K, A]`."""
        lines = b"".join(answer.to_bytes(self._bytes, "little") for answer in answers)
        packed = np.frombuffer(lines, dtype=np.uint8).reshape(-1, self._bytes)
        bits = np.unpackbits(packed, axis=1, count=self._bits, bitorder="little")
        return np.asarray(bits[:, self._answer :: self._width], dtype=bool)

    def some(self, sets: int) -> int:
        """Answer yes in each field whose set is not empty: adding all elements to it carries into the bit above."""
        return sets + self._elements & ~self._elements

    def every(self, answers: int) -> int:
        """Return all elements in each field that has the answer yes."""
        return answers - (answers >> self._answer)

    def _packed(self, bits: BoolArray) -> list[int]:
        packed = np.packbits(bits.reshape(len(bits), self._bits), axis=1, bitorder="little").tobytes()
        return [int.from_bytes(packed[at : at + self._bytes], "little") for at in range(0, len(packed), self._bytes)]
