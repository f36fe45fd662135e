; SPEC kernel: kernel entry 0 1
; The kernel reaches everything.
@TABLE = internal constant [1 x ptr] [ptr @called]
define void @kernel(i64 %i) {
  %at = getelementptr ptr, ptr @TABLE, i64 %i
  %function = load ptr, ptr %at
  call void %function()
  ret void
}
define internal void @called() {
  ret void
}

; BLESS: the output, line by line
; CHECK: @TABLE = internal constant [1 x ptr] [ptr @called]
; CHECK-EMPTY:
; CHECK-NEXT: define void @kernel(i64 %i) {
; CHECK-NEXT: %at = getelementptr ptr, ptr @TABLE, i64 %i
; CHECK-NEXT: %function = load ptr, ptr %at, align 8
; CHECK-NEXT: call void %function()
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define internal void @called() {
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
