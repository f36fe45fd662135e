; SPEC kernel: kernel entry 0 1
; A kernel without arrays in local memory.
define void @kernel(ptr %p, i64 %i) {
  %at = getelementptr i32, ptr %p, i64 %i
  store i32 1, ptr %at, align 4
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @kernel(ptr %p, i64 %i) {
; CHECK-NEXT: %at = getelementptr i32, ptr %p, i64 %i
; CHECK-NEXT: store i32 1, ptr %at, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
