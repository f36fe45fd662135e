; A value from memory lives across the barrier, so it is kept in an array; addresses are computed again.
; CHECK: i32 @schism.loop
; CHECK: %memory.size = and i64
; CHECK: %memory = call ptr @__schism_cpu_group_memory(ptr %group, i64 %memory.size)
; CHECK: phi i32 [ 0, %region.2.x.head ], [ 3, %group.begin ]
; CHECK: region.1.item:
; CHECK: %value5 = load i32
; CHECK: store i32 %value5, ptr
; CHECK: store i32 %value5, ptr
; CHECK: region.2.item:
; CHECK: getelementptr inbounds nuw i32, ptr %memory, i64 %x.local
; CHECK: load i32, ptr %
; CHECK-NOT: call void @schism.meet
; CHECK: add i32
; CHECK: "schism-cut"
; CHECK: !"schism.work_item_loop"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr %p, ptr %q, i32 %n, i1 %c, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) {
start:
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.begin
  %own = getelementptr inbounds i32, ptr %p, i64 %x
  %at = getelementptr inbounds i32, ptr %q, i64 %local
  %value = load i32, ptr %own
  store i32 %value, ptr %at
  call void @schism.meet.__schism_barrier(ptr %group)
  %other = xor i64 %local, 1
  %there = getelementptr inbounds i32, ptr %q, i64 %other
  %others = load i32, ptr %there
  %sum = add i32 %value, %others
  store i32 %sum, ptr %own
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
done:
  ret i32 0
}
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
