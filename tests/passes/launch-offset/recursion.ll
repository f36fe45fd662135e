; SPEC kernel: kernel entry 0 1
; Functions that call themselves and each other: their copies do.
define void @kernel(ptr %out, i64 %n) {
  %r = call i64 @even(i64 %n)
  store i64 %r, ptr %out
  ret void
}
define internal i64 @even(i64 %n) {
  %done = icmp eq i64 %n, 0
  br i1 %done, label %end, label %more
more:
  %less = sub i64 %n, 1
  %r = call i64 @odd(i64 %less)
  ret i64 %r
end:
  %x = call i64 @__schism_global_offset_x()
  ret i64 %x
}
define internal i64 @odd(i64 %n) {
  %less = sub i64 %n, 1
  %r = tail call i64 @even(i64 %less)
  %self = call i64 @odd(i64 0)
  ret i64 %r
}
declare i64 @__schism_global_offset_x()
; CHECK: define internal i64 @even(i64 %n) {
; CHECK: %r = call i64 @odd(i64 %less)
; CHECK: ret i64 0
; CHECK: define internal i64 @even_with_offset(i64 %n, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
; CHECK: %r = call i64 @odd_with_offset(i64 %less, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK: ret i64 %offset.x
; CHECK: define internal i64 @odd_with_offset(
; CHECK: %r = tail call i64 @even_with_offset(i64 %less, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK: %self = call i64 @odd_with_offset(i64 0, i64 %offset.x, i64 %offset.y, i64 %offset.z)
