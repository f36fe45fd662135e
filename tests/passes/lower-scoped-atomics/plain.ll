; LLVM's own atomics stay.
define i32 @f(ptr %p) {
  %old = atomicrmw add ptr %p, i32 1 syncscope("device") monotonic, align 4
  fence seq_cst
  ret i32 %old
}

; BLESS: the output, line by line
; CHECK: define i32 @f(ptr %p) {
; CHECK-NEXT: %old = atomicrmw add ptr %p, i32 1 syncscope("device") monotonic, align 4
; CHECK-NEXT: fence seq_cst
; CHECK-NEXT: ret i32 %old
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
