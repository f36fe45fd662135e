; Without a barrier nothing is convergent, calls through pointers included.
define void @kernel(ptr %f) {
  call void %f()
  call void @step()
  ret void
}
define internal void @step() {
  ret void
}
; CHECK: define void @kernel(ptr %f) {
; CHECK-NEXT: call void %f()
; CHECK-NOT: convergent
; CHECK: define internal void @step() {
; CHECK-NOT: convergent
