; SPEC kernel: kernel entry 0 1
; An invoke passes the offset on, too, and the variant has its landing pad.
define void @kernel(ptr %out) personality ptr @rust_eh_personality {
  invoke void @reader(ptr %out) to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  store i64 7, ptr %out
  resume { ptr, i32 } %pad
}
define internal void @reader(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  store i64 %x, ptr %out
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
declare i64 @__schism_global_offset_x()
declare void @__schism_panic(ptr, i64, ptr) noreturn
declare i32 @rust_eh_personality(...)
; CHECK: define void @kernel_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z) personality ptr @rust_eh_personality {
; CHECK: invoke void @reader_with_offset(ptr %out, i64 %offset.x, i64 %offset.y, i64 %offset.z)
; CHECK: to label %next unwind label %cleanup
; CHECK: landingpad
