; Memory that others may see.
define i32 @f(ptr %p, i1 %which) {
  %own = alloca i32
  %either = select i1 %which, ptr %p, ptr %own
  %old = atomicrmw add ptr %either, i32 1 seq_cst, align 4
  ret i32 %old
}

; BLESS: the output, line by line
; CHECK: define i32 @f(ptr %p, i1 %which) {
; CHECK-NEXT: %own = alloca i32, align 4
; CHECK-NEXT: %either = select i1 %which, ptr %p, ptr %own
; CHECK-NEXT: %old = atomicrmw add ptr %either, i32 1 seq_cst, align 4
; CHECK-NEXT: ret i32 %old
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
