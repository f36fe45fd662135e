; SPEC kernel: kernel entry 0 1
; What inlining shows to be dead is no cost, and is not inlined in the image itself.
define void @kernel(ptr %to) {
  %argument = alloca ptr
  call void @note(ptr %argument, ptr @_ZN4core3fmt5write17h0123456789abcdefE)
  ret void
}
define internal void @note(ptr %argument, ptr %formatter) {
  store ptr %formatter, ptr %argument
  ret void
}
define internal i1 @_ZN4core3fmt5write17h0123456789abcdefE(ptr %to) {
  store volatile i32 1, ptr %to
  ret i1 false
}
; CHECK: call void @note(ptr %argument, ptr @_ZN4core3fmt5write17h0123456789abcdefE)
; CHECK: ; kernel kernel:
; CHECK-NEXT: end of violations
