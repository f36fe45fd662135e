; SPEC kernel: kernel entry 0 1
; A kernel whose address other code has cannot get other parameters.
@table = internal constant ptr @kernel
define void @kernel(ptr addrspace(3) %memory) {
  ret void
}
; CHECK: pass `lower-local-memory` failed: the kernel `kernel` is used by other code
