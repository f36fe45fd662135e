; SPEC kernel: kernel entry 0 1
; SPEC warnings: off
define void @kernel() {
  %array = alloca [20000 x i8]
  store volatile i8 0, ptr %array
  ret void
}
; CHECK: ; kernel kernel:
; CHECK-NEXT: end of violations
