; SPEC kernel: one entry 0 1
; SPEC kernel: two entry 0 1
; Two kernels share a reader: both have variants, and the reader one copy.
define void @one(ptr %out) {
  call void @reader(ptr %out)
  ret void
}
define void @two(ptr %out) {
  call void @reader(ptr %out)
  call void @reader(ptr null)
  ret void
}
define internal void @reader(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  %again = call i64 @__schism_global_offset_x()
  %sum = add i64 %x, %again
  store i64 %sum, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: define void @one_with_offset(
; CHECK-NEXT: call void @reader_with_offset(ptr %out, i64 %offset.x,
; CHECK: define void @two_with_offset(
; CHECK-NEXT: call void @reader_with_offset(ptr %out, i64 %offset.x,
; CHECK-NEXT: call void @reader_with_offset(ptr null, i64 %offset.x,
; CHECK: define internal void @reader_with_offset(
; CHECK-NEXT: %sum = add i64 %offset.x, %offset.x
; CHECK-NOT: define
; CHECK: kernel one: offset-variant=one_with_offset
; CHECK-NEXT: kernel two: offset-variant=two_with_offset
