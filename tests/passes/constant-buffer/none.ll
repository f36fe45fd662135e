; SPEC kernel: kernel entry 0 1
define void @kernel(ptr %out) {
  ret void
}
; CHECK: define void @kernel(ptr %out) {
; CHECK-NOT: schism.constants
