"""Make an OpenCL driver for CPUs call its device a GPU, by replacing four entries of its dispatch table.

The replacements are a few bytes of x86-64 machine code (System V calling convention), not Python callbacks: a Python
callback waits for the interpreter lock, and OpenVINO calls the driver from its own threads while a Python thread that
holds the lock waits for them. With callbacks, dropping a model that AUTO was still compiling never returned.
"""

from __future__ import annotations

import ctypes as c
import mmap
import struct
from collections.abc import Mapping

# Slots of cl_icd_dispatch (Khronos cl_icd.h).
_GET_DEVICE_IDS, _GET_DEVICE_INFO, _RETAIN_PROGRAM, _RELEASE_PROGRAM, _GET_PROFILING = 2, 3, 28, 29, 45
_TYPE_CPU, _TYPE_GPU = 1 << 1, 1 << 2
_INFO_TYPE, _INFO_NAME, _INFO_EXTENSIONS, _INFO_IP_VERSION = 0x1000, 0x102B, 0x1030, 0x4250
_XE_LP = 12 << 22  # major version 12 in a cl_version
_HIDDEN = {
    b"cl_intel_subgroups",
    b"cl_intel_subgroups_short",
    b"cl_intel_subgroups_char",
    b"cl_intel_subgroups_long",
    b"cl_intel_required_subgroup_size",
}
_PAUSE_NS, _PAUSES = 50_000, 20_000
"""Pause until an event is asked for its times again, and how many of these it may take: a second, at least."""

_GET_IDS = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint64, c.c_uint, c.c_void_p, c.c_void_p)
_GET_INFO = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint, c.c_size_t, c.c_void_p, c.c_void_p)


def patch(loader: c.CDLL, name: bytes) -> list[object]:
    """Make the device of the loader's only platform a GPU called `name`.

    Args:
        loader: the OpenCL ICD loader, loaded into this process.
        name: the device name that the plugin will see.

    Returns:
        What must stay alive as long as the process.

    Raises:
        OSError: there is no platform or device, or the system forbids executable memory.
    """
    platform = _platform(loader)
    # An OpenCL object begins with a pointer to its driver's dispatch table; this driver's table is writable data.
    table = c.cast(c.c_void_p(c.cast(platform, c.POINTER(c.c_void_p))[0]), c.POINTER(c.c_void_p))
    real_ids, real_info = table[_GET_DEVICE_IDS] or 0, table[_GET_DEVICE_INFO] or 0
    extensions = _extensions(_device(platform, real_ids), real_info)
    answers = {
        _INFO_TYPE: struct.pack("<Q", _TYPE_GPU),
        _INFO_NAME: name + b"\0",
        _INFO_EXTENSIONS: b" ".join(e for e in extensions.split() if e not in _HIDDEN) + b"\0",
        _INFO_IP_VERSION: struct.pack("<I", _XE_LP),
    }
    kept = {what: c.create_string_buffer(answer, len(answer)) for what, answer in answers.items()}
    pause = c.create_string_buffer(struct.pack("<qq", 0, _PAUSE_NS), 16)
    ids_code, ids_at = _executable(_ids_code(real_ids))
    info_code, info_at = _executable(_info_code(real_info, kept))
    times_code, times_at = _executable(_times_code(table[_GET_PROFILING] or 0, _PAUSES, pause))
    table[_GET_DEVICE_IDS], table[_GET_DEVICE_INFO] = c.c_void_p(ids_at), c.c_void_p(info_at)
    table[_GET_PROFILING] = c.c_void_p(times_at)
    # Retaining has the same signature, always succeeds, and never frees.
    table[_RELEASE_PROGRAM] = c.c_void_p(table[_RETAIN_PROGRAM])
    return [loader, kept, pause, ids_code, info_code, times_code]


def _platform(loader: c.CDLL) -> c.c_void_p:
    platform = c.c_void_p()
    if loader.clGetPlatformIDs(1, c.byref(platform), None) != 0 or not platform:
        raise OSError("its loader finds no OpenCL platform")
    return platform


def _device(platform: c.c_void_p, real_ids: int) -> c.c_void_p:
    device = c.c_void_p()
    if _GET_IDS(real_ids)(platform, _TYPE_CPU, 1, c.addressof(device), None) != 0:
        raise OSError("its driver does not know this CPU")
    return device


def _extensions(device: c.c_void_p, real_info: int) -> bytes:
    text = c.create_string_buffer(1 << 16)
    if _GET_INFO(real_info)(device, _INFO_EXTENSIONS, len(text), c.addressof(text), None) != 0:
        raise OSError("its driver does not list its extensions")
    return text.value


def _executable(code: bytes) -> tuple[mmap.mmap, int]:
    memory = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    return memory, c.addressof(c.c_char.from_buffer(memory))


def _jump(target: int) -> bytes:
    return b"\x48\xb8" + struct.pack("<Q", target) + b"\xff\xe0"  # mov rax, target; jmp rax


def _ids_code(real: int) -> bytes:
    """Return code for clGetDeviceIDs(platform, kind, ...): who asks for GPUs gets CPUs."""
    return (
        b"\x48\x83\xfe" + bytes([_TYPE_GPU])  # cmp rsi, GPU
        + b"\x75\x07"  # jne to the jump
        + b"\x48\xc7\xc6" + struct.pack("<I", _TYPE_CPU)  # mov rsi, CPU
        + _jump(real)
    )  # fmt: skip


def _info_code(real: int, answers: Mapping[int, c.Array[c.c_char]]) -> bytes:
    """Return code for clGetDeviceInfo(device, what, size, value, size_out): fixed answers, the rest is real."""
    blocks, block_bytes = [], 29
    for number, (what, answer) in enumerate(answers.items()):
        to_answer = (len(answers) - number - 1) * block_bytes + len(_jump(real))
        blocks.append(
            b"\x81\xfe" + struct.pack("<I", what)  # cmp esi, what
            + b"\x75\x15"  # jne to the next block
            + b"\x49\xb9" + struct.pack("<Q", c.addressof(answer))  # mov r9, answer
            + b"\x41\xba" + struct.pack("<I", len(answer))  # mov r10d, its length
            + b"\xe9" + struct.pack("<i", to_answer)  # jmp to _ANSWER_CODE
        )  # fmt: skip
    return b"".join(blocks) + _jump(real) + _ANSWER_CODE


_ANSWER_CODE = bytes.fromhex(
    "4d85c0 7403 4d8910"  # test r8, r8; jz +3; mov [r8], r10: *size_out = length
    "4885c9 7410"  # test rcx, rcx; jz to success: no value wanted
    "4c39d2 720e"  # cmp rdx, r10; jb to failure: size < length
    "4889cf 4c89ce 4c89d1 f3a4"  # mov rdi, rcx; mov rsi, r9; mov rcx, r10; rep movsb: copy
    "31c0 c3"  # success: xor eax, eax; ret
    "b8e2ffffff c3"  # failure: mov eax, CL_INVALID_VALUE; ret
)


def _times_code(real: int, pauses: int, pause: c.Array[c.c_char]) -> bytes:
    """Return code for clGetEventProfilingInfo: times that are not there yet are asked for again after a pause.

    The driver may write down the times of a kernel up to 60 ms after it says that the kernel is done.

    Args:
        real: address of the driver's own function.
        pauses: how often it is called at most.
        pause: a timespec, which must stay alive.
    """
    return (
        bytes.fromhex("55 53 4154 4155 4156 4157 4883ec08")  # push rbp, rbx, r12 to r15; sub rsp, 8: aligned to 16
        + bytes.fromhex("4889fb 4989f4 4989d5 4989ce 4d89c7")  # keep the arguments in rbx and r12 to r15
        + b"\xbd" + struct.pack("<I", pauses)  # mov ebp, pauses
        + bytes.fromhex("4889df 4c89e6 4c89ea 4c89f1 4d89f8")  # again: the arguments
        + b"\x48\xb8" + struct.pack("<Q", real) + b"\xff\xd0"  # mov rax, real; call rax
        + bytes.fromhex("83f8f9 7519")  # cmp eax, CL_PROFILING_INFO_NOT_AVAILABLE; jne to the end
        + bytes.fromhex("ffcd 7415")  # dec ebp; jz to the end
        + b"\xb8\x23\x00\x00\x00" + b"\x48\xbf" + struct.pack("<Q", c.addressof(pause))  # nanosleep(pause,
        + bytes.fromhex("31f6 0f05 ebc7")  # NULL): xor esi, esi; syscall; jmp to again
        + bytes.fromhex("4883c408 415f 415e 415d 415c 5b 5d c3")  # end: add rsp, 8; pop all; ret
    )  # fmt: skip
