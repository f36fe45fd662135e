; SPEC kernel: kernel entry 0 1
; What the device check accepts stays as it is.
define void @kernel() {
  call void @helper()
  ret void
}
define internal void @helper() {
  ret void
}
; CHECK: define void @kernel() {
; CHECK-NEXT: call void @helper()
