; SPEC kernel: kernel entry 0 1
; RUN: launch-offset,allocate-local-memory
; A kernel and its variant have the same memory.
@A = constant i8 0
define void @kernel(ptr %out) {
  call void @work(ptr %out)
  ret void
}
define internal void @work(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  %a = call ptr @__schism_local_static(ptr @A, i64 48, i64 4)
  %more = call ptr @__schism_local_dynamic()
  store i64 %x, ptr %a
  store i64 %x, ptr %more
  ret void
}
declare i64 @__schism_global_offset_x()
declare ptr @__schism_local_static(ptr, i64, i64)
declare ptr @__schism_local_dynamic()
; CHECK: define internal void @work(
; CHECK: %2 = getelementptr inbounds i8, ptr %{{.*}}, i64 128
; CHECK: define internal void @work_with_offset(
; CHECK: %2 = getelementptr inbounds i8, ptr %{{.*}}, i64 128
; CHECK: kernel kernel: groups with 128 bytes at multiples of 128 offset-variant=kernel_with_offset
