; SPEC kernel: noticed entry_noticed 0 1
; SPEC kernel: unnoticed entry_unnoticed 0 1
; Landing pads stay where the program would notice that they are missing: in functions that such a kernel reaches, and
; whose own cleanup changes what is not theirs.
define void @entry_noticed(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  call void @guarded(ptr %k)
  call void @with_local()
  ret void
}
define void @entry_unnoticed(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  call void @with_local()
  call void @of_nobody(ptr %k)
  ret void
}
define internal void @guarded(ptr %k) personality ptr @rust_eh_personality {
  invoke void @panics() to label %next unwind label %cleanup
next:
  invoke void @computes(ptr %k) to label %end unwind label %cleanup
end:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  store i32 0, ptr %k
  resume { ptr, i32 } %pad
}
define internal void @with_local() personality ptr @rust_eh_personality {
  %local = alloca i32
  invoke void @panics() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  store i32 0, ptr %local
  resume { ptr, i32 } %pad
}
define internal void @of_nobody(ptr %k) {
  store i32 0, ptr %k
  ret void
}
define internal void @computes(ptr %k) {
  store i32 1, ptr %k
  ret void
}
define internal void @panics() {
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
declare void @__schism_panic(ptr, i64, ptr) noreturn
declare i32 @rust_eh_personality(...)
; CHECK: define internal void @guarded(ptr %k) personality ptr @rust_eh_personality {
; CHECK-NEXT: invoke void @panics()
; CHECK-NEXT: to label %next unwind label %cleanup
; CHECK: next:
; CHECK-NEXT: call void @computes(ptr %k)
; CHECK-NEXT: ret void
; CHECK: landingpad
; CHECK: store i32 0, ptr %k
; CHECK-NEXT: resume
; CHECK: define internal void @with_local() {
; CHECK-NOT: landingpad
; CHECK: call void @panics()
; CHECK: ret void
