; RUN: lower-unwind,device-check
; SPEC kernel: kernel entry 0 1
; What catches a panic on the host would not on a device: it is refused, not left out.
define void @kernel(ptr %f, ptr %d, ptr %c) {
  %r = call i32 @__rust_try(ptr %f, ptr %d, ptr %c)
  ret void
}
define internal i32 @__rust_try(ptr %f, ptr %d, ptr %c) personality ptr @p {
  invoke void %f(ptr %d) to label %fine unwind label %caught
fine:
  ret i32 0
caught:
  %pad = landingpad { ptr, i32 } catch ptr null
  %e = extractvalue { ptr, i32 } %pad, 0
  call void %c(ptr %d, ptr %e)
  ret i32 1
}
declare i32 @p(...)
; CHECK: violation: ExternalFunction("__rust_try"), chain: ["kernel"]
; CHECK-NEXT: end of violations
