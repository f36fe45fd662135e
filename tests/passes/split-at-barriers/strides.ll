; A loop over a grid's strides: the whole group does a step, and then the next. The check is decided before, and the loop stays for where it
; fails. What continues in the loop is in one nest, which the loop is around.
; CHECK: i32 @schism.loop
; CHECK: icmp ult i64 %x.range, 4611686018427387904
; CHECK: icmp ugt i64 %length, 999
; CHECK: call void @schism.panic.text(ptr %panic, i64 %place
; CHECK: [ %x.begin, %group
; CHECK-NEXT: icmp ult i64 %.0, 1000
; CHECK: region.21.x.head:
; CHECK-NOT: i64 %length
; CHECK: atomicrmw add ptr %{{.*}}, i32 1 monotonic
; CHECK: = add nuw nsw i64 %.0, %x.range
; CHECK-NEXT: br label %group.14
; CHECK: "schism-cut" "schism-interchanged"="1"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr %p, i64 %length, ptr %memory, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) {
start:
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.begin
  %own = getelementptr inbounds i32, ptr %memory, i64 %local
  store i32 0, ptr %own
  call void @schism.meet.__schism_barrier(ptr %group)
  br label %loop
loop:
  %place = phi i64 [ %x, %item ], [ %after, %inside ]
  %more = icmp ult i64 %place, 1000
  br i1 %more, label %body, label %end
body:
  %fits = icmp ult i64 %place, %length
  br i1 %fits, label %inside, label %bad
bad:
  call void @schism.panic.text(ptr %panic, i64 %place)
  ret i32 1
inside:
  %at = getelementptr inbounds i32, ptr %p, i64 %place
  %value = load i32, ptr %at
  %bin = and i32 %value, 63
  %bin.at = getelementptr inbounds i32, ptr %memory, i32 %bin
  %unused = atomicrmw add ptr %bin.at, i32 1 monotonic
  %after = add i64 %place, %x.range
  br label %loop
end:
  call void @schism.meet.__schism_barrier(ptr %group)
  store i32 2, ptr %own
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
done:
  ret i32 0
}
declare void @schism.panic.text(ptr, i64)
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
