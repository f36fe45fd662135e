; SPEC kernel: kernel entry 0 1
; A kernel that every device can run.
define void @kernel(ptr %p, float %a) {
  store float %a, ptr %p
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @kernel(ptr %p, float %a) {
; CHECK-NEXT: store float %a, ptr %p, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
