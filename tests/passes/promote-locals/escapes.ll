; A local whose address another function gets stays in memory.
declare void @g(ptr)
define i32 @f(i32 %x) {
  %local = alloca i32, align 4
  store i32 %x, ptr %local, align 4
  call void @g(ptr %local)
  %value = load i32, ptr %local, align 4
  ret i32 %value
}

; BLESS: the output, line by line
; CHECK: declare void @g(ptr)
; CHECK-EMPTY:
; CHECK-NEXT: define i32 @f(i32 %x) {
; CHECK-NEXT: %local = alloca i32, align 4
; CHECK-NEXT: store i32 %x, ptr %local, align 4
; CHECK-NEXT: call void @g(ptr %local)
; CHECK-NEXT: %value = load i32, ptr %local, align 4
; CHECK-NEXT: ret i32 %value
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
