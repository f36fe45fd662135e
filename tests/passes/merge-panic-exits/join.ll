; All panics of a function go to one block; a single one stays where it is.
@shape = private constant [1 x i64] zeroinitializer
@text = private constant [2 x i64] zeroinitializer
@here = private constant [3 x i64] zeroinitializer
@there = private constant [4 x i64] zeroinitializer
declare void @__schism_panic_site.1(ptr, ptr, ptr, i64) cold noreturn nounwind
declare void @__schism_panic_site.2(ptr, ptr, ptr, i64, i64) cold noreturn nounwind

; CHECK: define void @f(
; CHECK: first:
; CHECK-NEXT: fence syncscope("block") acq_rel
; CHECK-NEXT: br label %panic
; CHECK: other:
; CHECK-NEXT: %k = load i64, ptr %to
; CHECK-NEXT: fence syncscope("block") acq_rel
; CHECK-NEXT: br label %panic
; CHECK: panic:
; CHECK-NEXT: %{{.*}} = phi ptr [ @shape, %first ], [ @text, %other ]
; CHECK-NEXT: %{{.*}} = phi ptr [ @here, %first ], [ @there, %other ]
; CHECK-NEXT: %{{.*}} = phi i64 [ %i, %first ], [ %k, %other ]
; CHECK-NEXT: %{{.*}} = phi i64 [ %n, %first ], [ poison, %other ]
; CHECK-NEXT: call void @__schism_panic_site.2(ptr %record, ptr %{{.*}}, ptr %{{.*}}, i64 %{{.*}}, i64 %{{.*}})
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

; What LLVM has joined is taken apart, and what only panics need is computed there.
; CHECK: define void @apart(
; CHECK-NEXT: %used = add i64 %i, 5
; CHECK-NEXT: %c = icmp ult i64 %used, %n
; CHECK-NEXT: br i1 %c, label %more, label %{{.*}}
; CHECK: more:
; CHECK-NEXT: switch i64 %n, label %done [
; CHECK: done:
; CHECK-NEXT: ret void
; CHECK: fence syncscope("block") acq_rel
; CHECK-NEXT: br label %panic
; CHECK: %{{.*}} = zext i32 %small to i64
; CHECK-NEXT: %{{.*}} = shl i64 %{{.*}}, 4
; CHECK-NEXT: fence syncscope("block") acq_rel
; CHECK-NEXT: br label %panic
; CHECK: panic:
; CHECK: phi i64 [ %{{.*}}, %{{.*}} ], [ %{{.*}}, %{{.*}} ]
define void @apart(ptr %record, i64 %i, i64 %n, i32 %small) {
  %used = add i64 %i, 5
  %wide = zext i32 %small to i64
  %only = shl i64 %wide, 4
  %c = icmp ult i64 %used, %n
  br i1 %c, label %more, label %both
more:
  switch i64 %n, label %done [
    i64 3, label %both
    i64 4, label %both
  ]
done:
  ret void
both:
  %index = phi i64 [ %used, %0 ], [ %only, %more ], [ %only, %more ]
  call void @__schism_panic_site.1(ptr %record, ptr @text, ptr @there, i64 %index)
  unreachable
}
