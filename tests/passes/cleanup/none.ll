; SPEC kernel: kernel entry 0 1
; SPEC host-memory: kernel
; A kernel that does not unwind.
define void @kernel(ptr %p) {
  store i64 1, ptr %p
  ret void
}
define void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @kernel(ptr %p) {
; CHECK-NEXT: store i64 1, ptr %p, align 4
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
