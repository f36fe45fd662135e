; SPEC kernel: kernel entry 0 1
; What cleanup alone reaches refuses no kernel: the function that has it does not unwind. Others do.
define void @kernel(ptr %p) {
  call void @logs(ptr %p)
  call void @unlocks(ptr %p)
  ret void
}
define internal void @logs(ptr %p) personality ptr @rust_eh_personality {
  invoke void @__schism_panic(ptr null, i64 0, ptr null) to label %next unwind label %cleanup
next:
  unreachable
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  call void @log()
  resume { ptr, i32 } %pad
}
define internal void @log() {
  %written = call i64 @write(i32 1, ptr null, i64 4)
  ret void
}
define internal void @unlocks(ptr %p) personality ptr @rust_eh_personality {
  invoke void @__schism_panic(ptr null, i64 0, ptr null) to label %next unwind label %cleanup
next:
  unreachable
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  store i32 0, ptr %p
  resume { ptr, i32 } %pad
}
declare i64 @write(i32, ptr, i64)
declare void @__schism_panic(ptr, i64, ptr) noreturn
declare i32 @rust_eh_personality(...)
; CHECK: define internal void @logs(ptr %p) {
; CHECK-NOT: landingpad
; CHECK: call void @__schism_panic(ptr null, i64 0, ptr null)
; CHECK-NEXT: unreachable
; CHECK: define internal void @unlocks(ptr %p) personality
; CHECK: invoke void @__schism_panic(ptr null, i64 0, ptr null)
; CHECK: landingpad
; CHECK-NOT: @write
; CHECK: declare i32 @rust_eh_personality
