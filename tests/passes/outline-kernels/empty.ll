; SPEC kernel: kernel entry 0 1
; A closure without captures has no parameters.
define internal void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  ret void
}
; CHECK: define void @kernel()
; CHECK: call void @entry
