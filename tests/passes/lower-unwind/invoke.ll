; An invoke becomes a call, its landing pad and the personality go.
define void @f() personality ptr @rust_eh_personality {
  invoke void @g() to label %next unwind label %cleanup
next:
  ret void
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  call void @drop()
  resume { ptr, i32 } %pad
}
declare void @g()
declare void @drop()
declare i32 @rust_eh_personality(...)
; CHECK: define void @f()
; CHECK-NOT: personality
; CHECK-NOT: invoke
; CHECK: call void @g()
; CHECK-NEXT: ret void
; CHECK-NOT: landingpad
; CHECK-NOT: resume
; CHECK: declare
