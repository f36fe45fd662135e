; RUN: call-sites,remove-refused,device-check
; SPEC kernel: kernel entry 0 1
; What was inlined still tells through which calls it came; which of two calls of one function it was
; is told by the compiler's mark, not by the order of blocks.
define void @kernel(i1 %c) {
  br i1 %c, label %a, label %b
a:
  call void @middle(i1 false), !schism.call !1
  ret void
b:
  call void @middle(i1 true), !schism.call !0
  ret void
}
define internal void @middle(i1 %c) {
  br i1 %c, label %dead, label %live
dead:
  ret void
live:
  %r = call i64 @write(i32 1)
  ret void
}
declare i64 @write(i32)
!0 = !{i32 0}
!1 = !{i32 1}
; CHECK: ExternalFunction("write"), chain: ["kernel"], middle calls write #0, kernel calls middle #1
; CHECK-NEXT: end of violations
