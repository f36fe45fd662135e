; A formatting function with a body stays.
; SPEC type: U32 Display
; SPEC formatter: has_body 0
define void @f(ptr %argument) {
  store ptr @has_body, ptr %argument
  ret void
}
define i1 @has_body(ptr %value, ptr %formatter) {
  ret i1 false
}

; BLESS: the output, line by line
; CHECK: define void @f(ptr %argument) {
; CHECK-NEXT: store ptr @has_body, ptr %argument, align 8
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define i1 @has_body(ptr %value, ptr %formatter) {
; CHECK-NEXT: ret i1 false
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
