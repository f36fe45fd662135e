; SPEC kernel: kernel entry 0 1
; What a call takes to be a pointer is a function's that returns nothing: any function may be called.
define internal void @nothing() {
  ret void
}
define void @kernel() {
  %f = call ptr @nothing()
  call void %f()
  ret void
}
; CHECK-NOT: UnknownFunction
; CHECK: end of violations
