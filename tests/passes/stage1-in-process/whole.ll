; SPEC kernel: kernel entry 8 8
; SPEC param: 0 8 8 pointer
; SPEC in-process: yes
; Panics stay calls of the host's functions, and cleanup stays.
target triple = "x86_64-unknown-linux-gnu"
@COUNT = global i64 7
declare i32 @rust_eh_personality(...)
declare void @panic() noreturn cold
declare void @drop(ptr)
define void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) personality ptr @rust_eh_personality {
  %to = load ptr, ptr %k
  %bad = icmp eq i64 %x, 3
  br i1 %bad, label %panics, label %next
panics:
  invoke void @panic() to label %never unwind label %cleanup
never:
  unreachable
next:
  %old = atomicrmw add ptr @COUNT, i64 1 monotonic
  store i64 %old, ptr %to
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  call void @drop(ptr %to)
  resume { ptr, i32 } %pad
}
define void @unused() {
  ret void
}
; CHECK: @COUNT = external global i64
; CHECK: invoke void @panic()
; CHECK: atomicrmw add ptr @COUNT
; CHECK: landingpad
; CHECK: call void @drop
; CHECK: resume
; CHECK: define void @kernel(ptr
; CHECK-NOT: @unused
