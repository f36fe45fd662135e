; SPEC kernel: kernel entry 0 1
; RUN: launch-offset,device-check
; A function of that name and another type is no builtin.
define void @kernel(ptr %out) {
  %x = call i32 @__schism_global_offset_x()
  store i32 %x, ptr %out
  ret void
}
declare i32 @__schism_global_offset_x()
; CHECK: ExternalFunction("__schism_global_offset_x"), chain: ["kernel"]
