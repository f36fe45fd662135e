; Without specialization constants a static stays what it is.
@OTHER = external global [16 x i8], align 4
; SPEC kernel: kernel entry 0 1
define void @kernel(ptr %out) {
  %value = load float, ptr @OTHER
  store float %value, ptr %out
  ret void
}

; BLESS: the output, line by line
; CHECK: @OTHER = external global [16 x i8], align 4
; CHECK-EMPTY:
; CHECK-NEXT: define void @kernel(ptr %out) {
; CHECK-NEXT: %value = load float, ptr @OTHER, align 4
; CHECK-NEXT: store float %value, ptr %out, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
