; SPEC panic: panic_text text located
; SPEC panic: panic_in_cleanup abort
; An invoke stays one. What is called where nothing may unwind ends the process.
define void @f(ptr %p, ptr %text) personality ptr @rust_eh_personality {
  invoke void @panic_text(ptr %text, i64 4, ptr null) to label %never unwind label %cleanup
never:
  unreachable
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  invoke void @drop(ptr %p) to label %next unwind label %terminate
next:
  resume { ptr, i32 } %pad
terminate:
  %other = landingpad { ptr, i32 } filter [0 x ptr] zeroinitializer
  call void @panic_in_cleanup()
  unreachable
}
declare void @panic_text(ptr, i64, ptr)
declare void @panic_in_cleanup()
declare void @drop(ptr)
declare i32 @rust_eh_personality(...)
; CHECK: invoke void @__schism_panic(ptr %text, i64 4, ptr null)
; CHECK-NEXT: to label %never unwind label %cleanup
; CHECK: terminate:
; CHECK-NEXT: landingpad
; CHECK-NEXT: filter
; CHECK-NEXT: call void @__schism_abort(ptr @schism.panic, i64 36, ptr null)
; CHECK-NEXT: unreachable
