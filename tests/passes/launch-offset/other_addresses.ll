; SPEC kernel: kernel entry 0 1
; Pointers to functions that do not read the offset are nobody's concern.
@table = internal constant [1 x ptr] [ptr @innocent]
define void @kernel(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  %f = load ptr, ptr @table
  call void %f(i64 %x)
  ret void
}
define internal void @innocent(i64 %x) {
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: define void @kernel(ptr %out) {
; CHECK: call void %f(i64 0)
; CHECK: define void @kernel_with_offset(
; CHECK-NEXT: %f = load ptr, ptr @table
; CHECK-NEXT: call void %f(i64 %offset.x)
; CHECK-NOT: innocent_with_offset
