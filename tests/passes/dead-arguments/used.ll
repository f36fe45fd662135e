; SPEC kernel: kernel entry 0 1
; A kernel whose address other code has stays as it is.
@table = internal constant ptr @kernel
define void @kernel(i64 %unused) {
  ret void
}
; CHECK: define void @kernel(i64 %unused)
; CHECK: ; kernel kernel:
; CHECK-NEXT: end of violations
