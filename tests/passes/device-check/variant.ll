; SPEC kernel: kernel entry 0 1
; RUN: launch-offset,device-check
; What only a variant reaches is told by the names of the originals.
define void @kernel(ptr %out) {
  call void @work(ptr %out)
  ret void
}
define internal void @work(ptr %out) {
  %x = call i64 @__schism_global_offset_x()
  call void @write(i64 %x)
  ret void
}
declare void @write(i64)
declare i64 @__schism_global_offset_x()
; CHECK: violation: ExternalFunction("write"), chain: ["work", "kernel"]
