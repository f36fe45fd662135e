; Nobody else has the group's local memory: relaxed accesses become plain ones, in both arrays that change places. Others stay.
; CHECK: i32 @schism.loop
; CHECK: store i32 1, ptr
; CHECK: load i32, ptr
; CHECK: atomicrmw add ptr %memory, i32 {{.*}} syncscope("singlethread") monotonic
; CHECK: load atomic i32, ptr %p monotonic
; CHECK: load atomic i32, ptr %memory acquire
; CHECK: "schism-cut"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr %p, ptr %q, i32 %n, i1 %c, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) {
start:
  %memory.at = getelementptr inbounds i8, ptr %group, i64 96
  %memory = load ptr, ptr %memory.at
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.begin
  %own = getelementptr inbounds i32, ptr %p, i64 %x
  %at = getelementptr inbounds i32, ptr %q, i64 %local
  %mine = getelementptr inbounds i32, ptr %memory, i64 %local
  store atomic i32 1, ptr %mine monotonic, align 4
  call void @schism.meet.__schism_barrier(ptr %group)
  %second = getelementptr inbounds i32, ptr %memory, i64 64
  %which = select i1 %c, ptr %memory, ptr %second
  %a = load atomic i32, ptr %which monotonic, align 4
  %old = atomicrmw add ptr %memory, i32 %a monotonic, align 4
  %shared = load atomic i32, ptr %p monotonic, align 4
  %strong = load atomic i32, ptr %memory acquire, align 4
  %s = add i32 %a, %old
  %t = add i32 %s, %shared
  %u = add i32 %t, %strong
  store i32 %u, ptr %own
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
