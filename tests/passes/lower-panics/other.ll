; A function that is not known to panic is called as before.
@msg = constant [3 x i8] c"abc"
define void @f() {
  call void @report(ptr @msg, i64 3)
  unreachable
}
declare void @report(ptr, i64) noreturn

; BLESS: the output, line by line
; CHECK: @msg = constant [3 x i8] c"abc"
; CHECK-EMPTY:
; CHECK-NEXT: define void @f() {
; CHECK-NEXT: call void @report(ptr @msg, i64 3)
; CHECK-NEXT: unreachable
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: ; Function Attrs: noreturn
; CHECK-NEXT: declare void @report(ptr, i64) #0
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { noreturn }
; CHECK-NEXT: end of violations
