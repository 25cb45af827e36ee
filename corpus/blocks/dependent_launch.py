"""A kernel that starts while the one before it ends: programmatic dependent launch. Traced; sm_90 and later.

    kernel 0    ███ work ███ dependents_may_start │ last stores ███│
    kernel 1                 its launch passes here ▒▒ set up ▒▒   │ wait_for_launches ███ work ███
                                                                   all of kernel 0 is done and seen

    kernel(…).launch(…, use_pdl=True)      the later one, on the same stream as the earlier

Without the launch's attribute both functions do nothing, and kernels follow each other as ever: a kernel that
waits is right either way. A kernel with the attribute that does not wait reads what is not there yet; so does
one that reads before it waits something other than constants of the model. Whoever writes what kernel 0 still
reads must wait too. All threads that touch such memory call it.

The next launch begins when every block has called `dependents_may_start` or ended; that promises nothing
about memory and changes no value. Early is right where the next kernel's blocks find room beside these.
Source of the technique: CUDA's programming guide, programmatic dependent launch; CUTLASS's gdc barriers.
"""

import cutlass
import cutlass.cute as cute


@cute.jit
def wait_for_launches(early: cutlass.Constexpr):
    """Wait until the kernels before have ended and their stores are seen; where launched `early`."""
    if cutlass.const_expr(early):
        cute.arch.griddepcontrol_wait()


@cute.jit
def dependents_may_start(early: cutlass.Constexpr):
    """Let the next kernel of the stream be launched, if kernels are launched `early`."""
    if cutlass.const_expr(early):
        cute.arch.griddepcontrol_launch_dependents()
