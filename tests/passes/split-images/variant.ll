; SPEC kernel: a entry 0 1
; SPEC kernel: b entry 0 1
; SPEC part: b b_with_offset
; A kernel and its variant stay together.
define void @a() {
  ret void
}
define void @b() {
  ret void
}
define void @b_with_offset(i64 %x, i64 %y, i64 %z) {
  ret void
}
; CHECK-NOT: @a
; CHECK: define void @b()
; CHECK: define void @b_with_offset(i64 %x, i64 %y, i64 %z)
; CHECK-NOT: define void @a
