; One panic has nothing to be merged with.
declare void @__schism_panic_site.1(ptr, ptr, ptr, i64) cold noreturn nounwind
@text = private constant [2 x i64] zeroinitializer
@there = private constant [4 x i64] zeroinitializer

define void @single(ptr %record, i64 %i) {
  call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %i)
  unreachable
}

; BLESS: the output, line by line
; CHECK: @text = private constant [2 x i64] zeroinitializer
; CHECK-NEXT: @there = private constant [4 x i64] zeroinitializer
; CHECK-EMPTY:
; CHECK-NEXT: ; Function Attrs: cold noreturn nounwind
; CHECK-NEXT: declare void @__schism_panic_site.1(ptr, ptr, ptr, i64) #0
; CHECK-EMPTY:
; CHECK-NEXT: define void @single(ptr %record, i64 %i) {
; CHECK-NEXT: call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %i)
; CHECK-NEXT: unreachable
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { cold noreturn nounwind }
; CHECK-NEXT: end of violations
