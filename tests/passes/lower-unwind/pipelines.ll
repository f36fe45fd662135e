; SPEC kernel: pipeline entry 0 1
; SPEC host-memory: pipeline
; Pipelines of rayon unwind by an image of their own: here they do not.
define void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) personality ptr @rust_eh_personality {
  invoke void @__schism_panic(ptr null, i64 0, ptr null) to label %next unwind label %cleanup
next:
  unreachable
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  store i32 0, ptr %k
  resume { ptr, i32 } %pad
}
declare void @__schism_panic(ptr, i64, ptr) noreturn
declare i32 @rust_eh_personality(...)
; CHECK: define void @entry
; CHECK-NOT: landingpad
; CHECK: call void @__schism_panic(ptr null, i64 0, ptr null)
; CHECK-NEXT: unreachable
