; SPEC kernel: kernel entry 0 1
; SPEC kernel: other entry 0 1
; A read that nobody uses is no read.
define void @kernel(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  ret void
}
define void @other(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  %y = call i64 @__schism_global_offset_y()
  store i64 %y, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
declare i64 @__schism_global_offset_y()
; CHECK: define void @kernel(ptr %out) {
; CHECK-NEXT: ret void
; CHECK: define void @other(ptr %out) {
; CHECK-NEXT: store i64 0, ptr %out
; CHECK: define void @other_with_offset(
; CHECK-NEXT: store i64 %offset.y, ptr %out
; CHECK-NOT: kernel_with_offset
; CHECK: kernel kernel:
; CHECK-NEXT: kernel other: offset-variant=other_with_offset
