; SPEC kernel: kernel entry 0 1
; The cleanup reaches nothing that a device lacks.
declare i32 @rust_eh_personality(...)
declare void @__schism_panic(ptr, i64, ptr)
define void @kernel(ptr %p) personality ptr @rust_eh_personality {
  invoke void @__schism_panic(ptr null, i64 0, ptr null) to label %next unwind label %cleanup
next:
  unreachable
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  store i32 0, ptr %p
  resume { ptr, i32 } %pad
}

; BLESS: the output, line by line
; CHECK: declare i32 @rust_eh_personality(...)
; CHECK-EMPTY:
; CHECK-NEXT: declare void @__schism_panic(ptr, i64, ptr)
; CHECK-EMPTY:
; CHECK-NEXT: define void @kernel(ptr %p) personality ptr @rust_eh_personality {
; CHECK-NEXT: invoke void @__schism_panic(ptr null, i64 0, ptr null)
; CHECK-NEXT: to label %next unwind label %cleanup
; CHECK-EMPTY:
; CHECK-NEXT: next: ; preds = %0
; CHECK-NEXT: unreachable
; CHECK-EMPTY:
; CHECK-NEXT: cleanup: ; preds = %0
; CHECK-NEXT: %pad = landingpad { ptr, i32 }
; CHECK-NEXT: cleanup
; CHECK-NEXT: store i32 0, ptr %p, align 4
; CHECK-NEXT: resume { ptr, i32 } %pad
; CHECK-NEXT: }
; CHECK-NEXT: ; kernel kernel:
; CHECK-NEXT: end of violations
