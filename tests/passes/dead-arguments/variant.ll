; SPEC kernel: kernel_with_offset entry 0 1
; The variant for launches that begin elsewhere is a kernel like any other: a launch names one of them.
define void @kernel(ptr %out, i64 %len) {
  ret void
}
define void @kernel_with_offset(ptr %out, i64 %len, i64 %x, i64 %y, i64 %z) {
  store i64 %x, ptr %out
  ret void
}
; CHECK: define void @kernel(ptr %out, i64 %len)
; CHECK: define void @kernel_with_offset(ptr %out, i64 %x)
; CHECK: ; kernel kernel_with_offset: passes [0, 2]
