; Constants without a name in the program stay in the module.
target triple = "x86_64-unknown-linux-gnu"
@text = private unnamed_addr constant [2 x i8] c"ab"
declare void @host(ptr)
define void @f() {
  call void @host(ptr @text)
  ret void
}

; BLESS: the output, line by line
; CHECK: target triple = "x86_64-unknown-linux-gnu"
; CHECK-EMPTY:
; CHECK-NEXT: @text = private unnamed_addr constant [2 x i8] c"ab"
; CHECK-EMPTY:
; CHECK-NEXT: declare void @host(ptr)
; CHECK-EMPTY:
; CHECK-NEXT: define void @f() {
; CHECK-NEXT: call void @host(ptr @text)
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
