"""A kernel that reads memory: it fills the L2 with other lines, and shows how fast the device can read. Child
side only."""

from __future__ import annotations

from verify.device import Arguments, CudaDevice, load_image

# Reads `count` vectors of 16 bytes. Filling the L2 by reading leaves clean lines there; a memset would leave
# dirty ones, whose writing back the next kernel would pay for. The store never happens: the memory is zero.
_PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry sweep(.param .u64 base, .param .u64 count)
{
    .reg .pred %p<3>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [base];
    ld.param.u64 %rd2, [count];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    cvt.u64.u32 %rd3, %r4;
    mov.u32 %r5, %nctaid.x;
    mul.lo.u32 %r6, %r5, %r2;
    cvt.u64.u32 %rd4, %r6;
    mov.u32 %r7, 0;
LOOP:
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra DONE;
    shl.b64 %rd5, %rd3, 4;
    add.u64 %rd6, %rd1, %rd5;
    ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd6];
    or.b32 %r7, %r7, %r8;
    or.b32 %r7, %r7, %r9;
    or.b32 %r7, %r7, %r10;
    or.b32 %r7, %r7, %r11;
    add.u64 %rd3, %rd3, %rd4;
    bra LOOP;
DONE:
    setp.ne.u32 %p2, %r7, 1592680173;
    @%p2 bra END;
    st.global.u32 [%rd1], %r7;
END:
    ret;
}
"""
_SHAPE = (1024, 1, 1, 256, 1, 1)


class Sweep:
    """`size` bytes of zeros on the device, and the kernel that reads them."""

    def __init__(self, device: CudaDevice, size: int) -> None:
        self.device = device
        self.size = size
        self.address = device.alloc(size)
        device.fill(self.address, 0, size)
        self._kernel = device.call("cuModuleGetFunction", load_image(device, _PTX + b"\0"), b"sweep")
        words = (self.address, size // 16)
        self._arguments = Arguments([w.to_bytes(8, "little") for w in words])

    def enqueue(self) -> None:
        """Read everything once, on the device's stream."""
        table = self._arguments.address
        self.device.call("cuLaunchKernel", self._kernel, *_SHAPE, 0, self.device.stream, table, 0)

    def close(self) -> None:
        self.device.free(self.address)
