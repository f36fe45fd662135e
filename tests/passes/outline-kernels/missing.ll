; SPEC kernel: kernel entry 0 1
; A kernel without entry function is refused.
declare void @entry(ptr, i64, i64, i64, i64, i64, i64)
; CHECK: kernel `kernel` has no entry function `entry`
