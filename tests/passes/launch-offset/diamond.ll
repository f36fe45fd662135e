; SPEC kernel: kernel entry 0 1
; Two ways lead to the read: one copy of each function, and each call goes to a copy.
define void @kernel(ptr %out) {
  call void @left(ptr %out)
  call void @right(ptr %out)
  ret void
}
define internal void @left(ptr %out) {
  call void @bottom(ptr %out, i64 1)
  ret void
}
define internal void @right(ptr %out) {
  call void @bottom(ptr %out, i64 2)
  ret void
}
define internal void @bottom(ptr %out, i64 %k) {
  %x = call i64 @__schism_global_offset_x()
  %sum = add i64 %x, %k
  store i64 %sum, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: define void @kernel(ptr %out) {
; CHECK-NEXT: call void @left(ptr %out)
; CHECK-NEXT: call void @right(ptr %out)
; CHECK: define internal void @bottom(ptr %out, i64 %k) {
; CHECK-NEXT: %sum = add i64 0, %k
; CHECK: define void @kernel_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
; CHECK-NEXT: call void @left_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK-NEXT: call void @right_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK-NEXT: ret void
; CHECK: define internal void @left_with_offset(
; CHECK-NEXT: call void @bottom_with_offset(ptr %out, i64 1, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK: define internal void @right_with_offset(
; CHECK-NEXT: call void @bottom_with_offset(ptr %out, i64 2, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK: define internal void @bottom_with_offset(ptr %out, i64 %k, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
; CHECK-NEXT: %sum = add i64 %offset.x, %k
; CHECK-NOT: define
