; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: kernel entry 0 1
; A kernel that other code calls cannot get other parameters.
define void @kernel(ptr %out) {
  ret void
}
define internal void @caller(ptr %p) {
  call void @kernel(ptr %p)
  ret void
}
; CHECK: pass `address-spaces` failed: the kernel `kernel` is used by other code
