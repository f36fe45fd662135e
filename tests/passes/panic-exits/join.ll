; All panics of a function go to one block; a single one stays where it is.
@shape = private constant [1 x i64] zeroinitializer
@text = private constant [2 x i64] zeroinitializer
@here = private constant [3 x i64] zeroinitializer
@there = private constant [4 x i64] zeroinitializer
declare void @__schism_panic_site.1(ptr, ptr, ptr, i64) cold noreturn nounwind
declare void @__schism_panic_site.2(ptr, ptr, ptr, i64, i64) cold noreturn nounwind

; CHECK: define void @f(
; CHECK: first:
; CHECK-NEXT: call void asm sideeffect "", ""()
; CHECK-NEXT: br label %panic
; CHECK: other:
; CHECK-NEXT: %k = load i64, ptr %to
; CHECK-NEXT: call void asm sideeffect "", ""()
; CHECK-NEXT: br label %panic
; CHECK: panic:
; CHECK-NEXT: %{{...}} = phi ptr [ @shape, %first ], [ @text, %other ]
; CHECK-NEXT: %{{...}} = phi ptr [ @here, %first ], [ @there, %other ]
; CHECK-NEXT: %{{...}} = phi i64 [ %i, %first ], [ %k, %other ]
; CHECK-NEXT: %{{...}} = phi i64 [ %n, %first ], [ poison, %other ]
; CHECK-NEXT: call void @__schism_panic_site.2(ptr %record, ptr %{{...}}, ptr %{{...}}, i64 %{{...}}, i64 %{{...}})
; CHECK-NEXT: unreachable
define void @f(ptr %record, ptr %to, i64 %i, i64 %n) {
  %outside = icmp uge i64 %i, %n
  br i1 %outside, label %first, label %good
good:
  %more = icmp ugt i64 %i, 7
  br i1 %more, label %other, label %done
done:
  ret void
first:
  call void @__schism_panic_site.2(ptr %record, ptr @shape, ptr @here, i64 %i, i64 %n)
  unreachable
other:
  %k = load i64, ptr %to
  call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %k)
  unreachable
}

; CHECK: define void @single(
; CHECK: call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %i)
; CHECK-NEXT: unreachable
define void @single(ptr %record, i64 %i) {
  call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %i)
  unreachable
}
