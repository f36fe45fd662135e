; SPEC kernel: kernel entry 0 1
; Two calls of one function are no cycle.
define void @kernel() {
  call void @a()
  call void @leaf()
  ret void
}
define internal void @a() {
  call void @leaf()
  ret void
}
define internal void @leaf() {
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @kernel() {
; CHECK-NEXT: call void @a()
; CHECK-NEXT: call void @leaf()
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define internal void @a() {
; CHECK-NEXT: call void @leaf()
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define internal void @leaf() {
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
