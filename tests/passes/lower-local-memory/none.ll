; SPEC kernel: kernel entry 0 1
; Nothing local: nothing changes.
define void @kernel(ptr %p) {
  ret void
}
; CHECK-NOT: __schism_shared
; CHECK: define void @kernel(ptr %p) {
; CHECK-NEXT: ret void
