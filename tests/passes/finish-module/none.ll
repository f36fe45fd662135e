; SPEC kernel: kernel entry 0 1
; Without a marker, a local stays.
define void @kernel(ptr %to, i64 %copied) {
  %own = alloca i64
  store volatile i64 %copied, ptr %own
  %value = load volatile i64, ptr %own
  store i64 %value, ptr %to
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @kernel(ptr %to, i64 %copied) {
; CHECK-NEXT: %own = alloca i64, align 8
; CHECK-NEXT: store volatile i64 %copied, ptr %own, align 4
; CHECK-NEXT: %value = load volatile i64, ptr %own, align 4
; CHECK-NEXT: store i64 %value, ptr %to, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
