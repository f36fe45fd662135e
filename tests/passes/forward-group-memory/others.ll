; Updates that other threads see, and those that order them.
define i32 @f(ptr %bin, ptr %shared) {
  %a = atomicrmw add ptr %shared, i32 1 monotonic, align 4
  %b = atomicrmw add ptr %bin, i32 1 syncscope("singlethread") seq_cst, align 4
  %sum = add i32 %a, %b
  ret i32 %sum
}

; BLESS: the output, line by line
; CHECK: define i32 @f(ptr %bin, ptr %shared) {
; CHECK-NEXT: %a = atomicrmw add ptr %shared, i32 1 monotonic, align 4
; CHECK-NEXT: %b = atomicrmw add ptr %bin, i32 1 syncscope("singlethread") seq_cst, align 4
; CHECK-NEXT: %sum = add i32 %a, %b
; CHECK-NEXT: ret i32 %sum
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
