; Nothing is known of the address.
define void @f(ptr %p, i64 %i) {
  %at = getelementptr i8, ptr %p, i64 %i
  store i8 1, ptr %at, align 1
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @f(ptr %p, i64 %i) {
; CHECK-NEXT: %at = getelementptr i8, ptr %p, i64 %i
; CHECK-NEXT: store i8 1, ptr %at, align 1
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
