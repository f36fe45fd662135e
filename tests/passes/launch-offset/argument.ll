; SPEC kernel: kernel entry 0 1
; The address is an argument of a call of the function itself.
define void @kernel(ptr %out) {
  call void @reader(ptr @reader)
  ret void
}
define internal void @reader(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  store i64 %x, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: OffsetByAddress("reader"), chain: ["kernel"]
