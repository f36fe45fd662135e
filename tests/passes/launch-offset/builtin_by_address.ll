; SPEC kernel: kernel entry 0 1
define void @kernel(ptr %out) {
  store ptr @__schism_global_offset_x, ptr %out
  ret void
}
declare i64 @__schism_global_offset_x()
; CHECK: OffsetByAddress("__schism_global_offset_x"), chain: ["kernel"]
