; Nothing unwinds, so nothing is lowered.
declare void @g()
define void @f() {
  call void @g()
  ret void
}

; BLESS: the output, line by line
; CHECK: declare void @g()
; CHECK-EMPTY:
; CHECK-NEXT: define void @f() {
; CHECK-NEXT: call void @g()
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
