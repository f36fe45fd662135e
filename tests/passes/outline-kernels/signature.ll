; SPEC kernel: kernel entry 0 1
; An entry function of another shape is refused.
define void @entry(ptr %k, i64 %x) {
  ret void
}
; CHECK: takes 2 arguments, not 7
