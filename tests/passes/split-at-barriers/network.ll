; A step of a sorting network: all work-items meet behind the exchange, and the group decides once about the next step. No
; work-item notes where it continues, or passes the distance to the next one.
; CHECK: i32 @schism.loop
; CHECK: load i64, ptr %count.at
; CHECK: icmp ugt i32
; CHECK: add nuw nsw i64 %x.local
; CHECK: lshr i64
; CHECK: ret i32 0
; CHECK-NOT: @__schism_cpu_agree
; CHECK: "schism-cut"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr noalias readonly %count.at, ptr noalias %from, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) #0 {
start:
  %first.at = getelementptr inbounds i8, ptr %group, i64 0
  %x.group.first = load i64, ptr %first.at
  %memory.at = getelementptr inbounds i8, ptr %group, i64 96
  %memory = load ptr, ptr %memory.at
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.group.first
  %count = load i64, ptr %count.at
  br label %step
step:
  %distance = phi i64 [ %count, %item ], [ %distance.next, %exchanged ]
  call void @schism.meet.__schism_barrier(ptr %group)
  %other = add i64 %local, %distance
  %a.at = getelementptr inbounds i32, ptr %memory, i64 %local
  %b.at = getelementptr inbounds i32, ptr %memory, i64 %other
  %a = load i32, ptr %a.at
  %b = load i32, ptr %b.at
  %wrong = icmp ugt i32 %a, %b
  br i1 %wrong, label %exchange, label %exchanged
exchange:
  store i32 %b, ptr %a.at
  store i32 %a, ptr %b.at
  br label %exchanged
exchanged:
  %distance.next = lshr i64 %distance, 1
  %more = icmp ne i64 %distance.next, 0
  br i1 %more, label %step, label %out
out:
  %own = getelementptr inbounds i32, ptr %from, i64 %x
  %v = load i32, ptr %own
  store i32 %v, ptr %a.at
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
done:
  ret i32 0
}
attributes #0 = { "schism-group-first"="0" "schism-group-local-memory"="96" }
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
