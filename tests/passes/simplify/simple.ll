; Nothing to be promoted, nothing dead.
define i32 @f(ptr %p, i32 %x) local_unnamed_addr {
  %value = load i32, ptr %p, align 4
  %sum = add i32 %value, %x
  ret i32 %sum
}

; BLESS: the output, line by line
; CHECK: define i32 @f(ptr %p, i32 %x) local_unnamed_addr {
; CHECK-NEXT: %value = load i32, ptr %p, align 4
; CHECK-NEXT: %sum = add i32 %value, %x
; CHECK-NEXT: ret i32 %sum
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
