; SPEC kernel: uses entry 0 1
; SPEC kernel: does_not entry 0 1
; One kernel of two reads the offset. What both call and does not read it has no copy; what reads it stays right for each.
define void @uses(ptr %out) {
  call void @helper(ptr %out)
  call void @reader(ptr %out)
  ret void
}
define void @does_not(ptr %out) {
  call void @helper(ptr %out)
  ret void
}
define internal void @helper(ptr %out) {
  store i64 3, ptr %out
  ret void
}
define internal void @reader(ptr %out) {
  call void @helper(ptr %out)
  %x = call i64 @__schism_global_offset_z()
  store i64 %x, ptr %out
  ret void
}
declare i64 @__schism_global_offset_z()
; CHECK: define void @uses(ptr %out) {
; CHECK-NEXT: call void @helper(ptr %out)
; CHECK-NEXT: call void @reader(ptr %out)
; CHECK: define void @does_not(ptr %out) {
; CHECK-NEXT: call void @helper(ptr %out)
; CHECK: define internal void @reader(ptr %out) {
; CHECK-NEXT: call void @helper(ptr %out)
; CHECK-NEXT: store i64 0, ptr %out
; CHECK: define void @uses_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) {
; CHECK-NEXT: call void @helper(ptr %out)
; CHECK-NEXT: call void @reader_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK: define internal void @reader_with_offset(
; CHECK-NEXT: call void @helper(ptr %out)
; CHECK-NEXT: store i64 %offset.z, ptr %out
; CHECK-NOT: helper_with_offset
; CHECK-NOT: does_not_with_offset
; CHECK: kernel uses: offset-variant=uses_with_offset
; CHECK-NEXT: kernel does_not:
; CHECK-NEXT: end of violations
